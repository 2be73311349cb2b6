//! Where a policy's places really are, and what bubblewrap has to do about each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use protocol::Sandbox;

use crate::policy::Policy;

/// Covered by empty folders: sockets of services and of other programs lie there.
const COVERED: &[&str] = &["/tmp", "/run"];

/// The places of a policy that exist, links resolved, each once.
pub(crate) struct Places {
    sandbox: Sandbox,
    pub(crate) covered: Vec<PathBuf>,
    pub(crate) roots: Vec<PathBuf>,
    /// Read-only inside of the roots; none below another.
    pub(crate) guarded: Vec<PathBuf>,
    /// Folders between a root and what is guarded: not to be moved away and replaced.
    pub(crate) pinned: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
}

impl Places {
    pub(crate) fn of(policy: &Policy) -> Self {
        let roots = real(&policy.roots);
        let mut guarded = Vec::new();
        if policy.sandbox == Sandbox::WorkspaceWrite {
            let inside = real(&policy.guarded).into_iter().filter(|path| within(path, &roots));
            guarded = outermost(inside.collect());
        }
        let pinned: BTreeSet<PathBuf> = guarded.iter().flat_map(|guard| between(guard, &roots)).collect();
        let covered = COVERED.iter().map(PathBuf::from).filter(|folder| is_folder(folder)).collect();
        Self {
            sandbox: policy.sandbox,
            covered,
            guarded,
            pinned: pinned.into_iter().collect(),
            hidden: outermost(real(&policy.hidden)),
            roots,
        }
    }

    /// Roots that may be written.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        let some = self.sandbox == Sandbox::WorkspaceWrite;
        self.roots.iter().filter(move |_| some).map(PathBuf::as_path)
    }

    pub(crate) fn hidden_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.hidden.iter().filter(|path| !path.is_dir())
    }

    /// Whether a command can still see what lies there.
    pub(crate) fn visible(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        // The whole system as a root lies below what is covered, not over it.
        let roots = self.roots.iter().filter(|root| *root != Path::new("/"));
        let uncovered = roots.into_iter().any(|root| path.starts_with(root));
        (uncovered || !within(&path, &self.covered)) && !within(&path, &self.hidden)
    }
}

/// Those that exist, links resolved, sorted.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let found: BTreeSet<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.into_iter().collect()
}

/// Without those that lie below others; `sorted`, so what is above comes first.
fn outermost(sorted: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !within(&path, &kept) {
            kept.push(path);
        }
    }
    kept
}

fn within(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Folders above `path` and below its innermost root.
fn between(path: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let below = above.take_while(|folder| !roots.iter().any(|root| root == folder));
    below.map(PathBuf::from).collect()
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded_is_pinned_down_to_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [".git/hooks", ".claude/x/.git/hooks", "a/b/.git/hooks"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let names = [".git/hooks", ".claude", ".claude/x/.git/hooks", "a/b/.git/hooks", "missing"];
        let policy = Policy {
            sandbox: Sandbox::WorkspaceWrite,
            network: protocol::Network::Off,
            roots: vec![root.clone()],
            guarded: names.iter().map(|name| root.join(name)).chain(["/etc/passwd".into()]).collect(),
            hidden: Vec::new(),
        };
        let places = Places::of(&policy);
        let below = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
        };
        assert_eq!(below(&places.guarded), [".claude", ".git/hooks", "a/b/.git/hooks"]);
        assert_eq!(below(&places.pinned), [".git", "a", "a/b", "a/b/.git"]);
        assert!(places.visible(&root.join("a")));
        let hidden = Places::of(&Policy { hidden: vec![root.join("a")], ..policy.clone() });
        assert!(!hidden.visible(&root.join("a/b")));
        let read_only = Places::of(&Policy { sandbox: Sandbox::ReadOnly, ..policy });
        assert!(read_only.guarded.is_empty() && read_only.writable().next().is_none());
    }
}
