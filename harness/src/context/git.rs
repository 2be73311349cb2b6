//! The state of a repository, read from its files: no program is run, so no hook of it can be.

use std::path::{Path, PathBuf};

/// "branch main, at 1a2b3c4d5e6f", or that there is no commit yet.
pub(super) fn state(cwd: &Path) -> Option<String> {
    let git = git_folder(&super::project_root(cwd).join(".git"))?;
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => {
            let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
            match commit(&git, name) {
                Some(commit) => Some(format!("branch {branch}, at {}", short(&commit))),
                None => Some(format!("branch {branch}, no commit yet")),
            }
        }
        None => Some(format!("no branch, at {}", short(head))),
    }
}

/// `.git` is a folder, or in a worktree a file that names it.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    let text = std::fs::read_to_string(git).ok()?;
    Some(git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim()))
}

fn commit(git: &Path, name: &str) -> Option<String> {
    let common = std::fs::read_to_string(git.join("commondir")).ok();
    let common = common.map(|text| git.join(text.trim()));
    let bases = [Some(git.to_path_buf()), common];
    bases.iter().flatten().find_map(|base| {
        let loose = std::fs::read_to_string(base.join(name)).ok();
        loose.map(|text| text.trim().to_string()).or_else(|| packed(base, name))
    })
}

fn packed(base: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(base.join("packed-refs")).ok()?;
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(_, other)| other == name))?;
    Some(line.split_once(' ')?.0.to_string())
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
