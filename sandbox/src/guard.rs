//! Paths inside of a project that can run commands later: hooks, configuration, settings of agents and editors.
//!
//! Only what exists is told, so that nothing has to be made to be held; what a command adds is found after it,
//! by [`new_guarded`].

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Folders looked into for nested repositories.
const FOLDERS: usize = 5_000;
const DEPTH: usize = 6;

/// In a repository: what makes git run something.
const GIT: &[&str] = &["hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir"];
/// In a root: settings of agents and editors, which can run something too.
const SETTINGS: &[&str] =
    &[".openinterpreter", ".agents", ".codex", ".claude", ".vscode", ".idea", ".mcp.json"];

/// What stands below a root and only a person may change; each of them exists.
pub fn guarded_in(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        SETTINGS.iter().map(|name| root.join(name)).filter(|path| exists(path)).collect();
    let mut folders = VecDeque::from([(root.to_path_buf(), 0)]);
    let mut looked = 0;
    while let Some((folder, depth)) = folders.pop_front() {
        looked += 1;
        if looked > FOLDERS {
            break;
        }
        let git = folder.join(".git");
        if exists(&git) {
            found.extend(repository(&git));
        }
        if depth < DEPTH {
            folders.extend(subfolders(&folder).into_iter().map(|sub| (sub, depth + 1)));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// The places of one repository, also of a worktree, whose `.git` is a file that names the real one.
fn repository(git: &Path) -> Vec<PathBuf> {
    let mut bases = vec![git.to_path_buf()];
    let mut found = Vec::new();
    if git.is_file() {
        found.push(git.to_path_buf());
        if let Some(named) = pointer(git, "gitdir:") {
            if let Some(common) = pointer(&named.join("commondir"), "") {
                bases.push(common);
            }
            bases.push(named);
        }
    }
    found.extend(
        bases.iter().flat_map(|base| GIT.iter().map(|name| base.join(name))).filter(|path| exists(path)),
    );
    found
}

fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let target = text.trim().strip_prefix(prefix)?.trim();
    Some(file.parent()?.join(target))
}

/// Folders below, without those that are large and hold no repositories of one's own.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "dist", "build"];
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let kept = entries.flatten().filter(|entry| {
        let real = entry.file_type().is_ok_and(|kind| kind.is_dir());
        real && !entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name))
    });
    kept.map(|entry| entry.path()).collect()
}

/// Guarded places that were not there before.
pub fn new_guarded(root: &Path, before: &[PathBuf]) -> Vec<PathBuf> {
    guarded_in(root).into_iter().filter(|path| !before.contains(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_configs_worktrees_and_nested_repositories() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("w");
        for folder in [".git/hooks", "a/b/.git/hooks", ".vscode", "node_modules/x/.git/hooks"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join(".git/config"), "").unwrap();
        let tree = dir.path().join("tree");
        std::fs::create_dir_all(root.join(".git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(root.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}/.git/worktrees/tree\n", root.display()))
            .unwrap();
        let found = guarded_in(&root);
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [".git/config", ".git/hooks", ".vscode", "a/b/.git/hooks"]);
        let worktree = guarded_in(&tree);
        assert!(worktree.contains(&tree.join(".git")));
        assert!(worktree.iter().any(|path| path.ends_with("../../hooks")), "{worktree:?}");
        std::fs::create_dir_all(root.join("new/.git/hooks")).unwrap();
        assert_eq!(new_guarded(&root, &found), [root.join("new/.git/hooks")]);
    }
}
