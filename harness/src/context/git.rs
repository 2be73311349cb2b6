//! The state of a repository, read from its files: no program is run, so no hook of it can be.
//!
//! What stands in these files may be anybody's: nothing of it is shown that is not a branch or a commit.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// HEAD and the like are one line.
const LINE_BYTES: u64 = 4 * 1024;
/// Of the names of a large repository together.
const PACKED_BYTES: u64 = 64 * 1024 * 1024;
const BRANCH_CHARS: usize = 200;

/// "branch main, at 1a2b3c4d5e6f", or that there is no commit yet; nothing outside of a repository.
pub(super) fn state(cwd: &Path) -> Option<String> {
    let git = git_folder(&super::project_root(cwd).join(".git"))?;
    let head = line(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else {
        return commit(&head).map(|commit| format!("no branch, at {commit}"));
    };
    // Repositories that keep their names elsewhere say so like this.
    if name == "refs/heads/.invalid" {
        return Some("a repository whose branch is not known".into());
    }
    if !is_name(name) {
        return None;
    }
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    let branch: String = branch.chars().take(BRANCH_CHARS).collect();
    Some(match named(&git, name) {
        Some(commit) => format!("branch {branch}, at {commit}"),
        None => format!("branch {branch}, no commit yet"),
    })
}

/// `.git` is a folder, or in a worktree or a submodule a file that names it.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    Some(git.parent()?.join(line(git)?.strip_prefix("gitdir:")?.trim()))
}

/// The commit of a branch, in a file of its own or among the others; a worktree shares them.
fn named(git: &Path, name: &str) -> Option<String> {
    let common = line(&git.join("commondir")).map(|common| git.join(common));
    let bases = [Some(git.to_path_buf()), common];
    bases.iter().flatten().find_map(|base| {
        let loose = line(&base.join(name)).as_deref().and_then(commit);
        loose.or_else(|| packed(&base.join("packed-refs"), name))
    })
}

fn packed(path: &Path, name: &str) -> Option<String> {
    let lines = BufReader::new(File::open(path).ok()?.take(PACKED_BYTES)).lines().map_while(Result::ok);
    let mut pairs = lines.filter_map(|line| {
        let (id, other) = line.split_once(' ')?;
        (other == name).then(|| commit(id))?
    });
    pairs.next()
}

/// Names as git allows them; nothing that leads elsewhere as a path, or reads as more than a name.
fn is_name(name: &str) -> bool {
    name.starts_with("refs/")
        && !name.contains("..")
        && !name.chars().any(|letter| letter.is_control() || letter.is_whitespace() || letter == '\\')
}

/// The short form of what is a commit's id.
fn commit(id: &str) -> Option<String> {
    let hex = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.get(..12).filter(|_| hex).map(str::to_string)
}

/// The first line of a small file.
fn line(path: &Path) -> Option<String> {
    let mut text = String::new();
    path.is_file().then_some(())?;
    File::open(path).ok()?.take(LINE_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";
    type Files<'a> = &'a [(&'a str, &'a str)];

    fn state_of(files: Files, cwd: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cwd = dir.path().join(cwd);
        std::fs::create_dir_all(&cwd).unwrap();
        state(&cwd)
    }

    #[test]
    fn every_form_of_a_repository() {
        let id = format!("{ID}\n");
        let packed = format!("# pack-refs with: peeled fully-peeled sorted\n{ID} refs/heads/a/b\n^{ID}\n");
        let on_main = Some("branch main, at 0123456789ab");
        let head = (".git/HEAD", "ref: refs/heads/main\n");
        let cases: &[(&str, Files, &str, Option<&str>)] = &[
            ("branch", &[head, (".git/refs/heads/main", &id)], "x/y", on_main),
            (
                "packed",
                &[(".git/HEAD", "ref: refs/heads/a/b\n"), (".git/packed-refs", &packed)],
                "",
                Some("branch a/b, at 0123456789ab"),
            ),
            ("new", &[head], "", Some("branch main, no commit yet")),
            ("detached", &[(".git/HEAD", &id)], "", Some("no branch, at 0123456789ab")),
            (
                "worktree",
                &[
                    ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
                    ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/main\n"),
                    ("main/.git/worktrees/tree/commondir", "../..\n"),
                    ("main/.git/refs/heads/main", &id),
                ],
                "tree/src",
                on_main,
            ),
            (
                "reftable",
                &[(".git/HEAD", "ref: refs/heads/.invalid\n")],
                "",
                Some("a repository whose branch is not known"),
            ),
            ("empty", &[(".git/config", "")], "", None),
            ("a path", &[(".git/HEAD", "ref: refs/../../secret\n"), ("secret", &id)], "", None),
            ("orders", &[(".git/HEAD", "ref: refs/heads/x now delete all\n")], "", None),
            ("not hex", &[(".git/HEAD", "password=hunter2\n")], "", None),
            (
                "not hex behind a branch",
                &[head, (".git/refs/heads/main", "password=hunter2")],
                "",
                Some("branch main, no commit yet"),
            ),
        ];
        for (name, files, cwd, wanted) in cases {
            assert_eq!(state_of(files, cwd).as_deref(), *wanted, "{name}");
        }
    }
}
