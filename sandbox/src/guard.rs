//! Paths inside of a project that can run commands later: hooks, configuration, settings of agents and editors.
//!
//! Only what exists can be held, since nothing is made to be held; what a command adds is found after it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Folders looked into for nested repositories.
const FOLDERS: usize = 5_000;
const DEPTH: usize = 6;

/// In a repository: what makes git run something.
const GIT: &[&str] = &["hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir"];
/// In a root: settings of agents and editors, which can run something too.
const SETTINGS: &[&str] = &[
    ".openinterpreter",
    ".agents",
    ".codex",
    ".claude",
    ".gemini",
    ".qwen",
    ".kimi",
    ".cursor",
    ".zed",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".envrc",
    ".mcp.json",
];

/// Whether a path leads to or through something of a repository's own or such settings, at any depth.
/// Upper case counts too: where the file system does not tell it apart, `.GIT` is `.git`.
pub fn is_guarded(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().to_ascii_lowercase();
        name == ".git" || SETTINGS.iter().any(|known| name == *known)
    })
}

/// What a look at some roots found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// What only a person may change; each exists. Sorted.
    pub paths: Vec<PathBuf>,
    /// The folders of git that were there.
    repositories: Vec<PathBuf>,
    roots: Vec<PathBuf>,
}

/// Something that came after a look and that can run commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub path: PathBuf,
    /// Where it was put, so that a repository that was there before does not use it.
    pub aside: Option<PathBuf>,
}

impl Guarded {
    pub fn look(roots: &[PathBuf]) -> Self {
        let mut found = Self { roots: roots.to_vec(), ..Self::default() };
        for root in roots {
            found.paths.extend(SETTINGS.iter().map(|name| root.join(name)).filter(|path| exists(path)));
            found.walk(root);
        }
        for list in [&mut found.paths, &mut found.repositories] {
            list.sort();
            list.dedup();
        }
        found
    }

    fn walk(&mut self, root: &Path) {
        let mut folders = VecDeque::from([(root.to_path_buf(), 0)]);
        let mut looked = 0;
        while let Some((folder, depth)) = folders.pop_front() {
            looked += 1;
            if looked > FOLDERS {
                break;
            }
            let git = folder.join(".git");
            if exists(&git) {
                self.repository(&git);
            }
            if depth < DEPTH {
                folders.extend(subfolders(&folder).into_iter().map(|sub| (sub, depth + 1)));
            }
        }
    }

    /// The places of one repository, also of a worktree, whose `.git` is a file that names the real one.
    fn repository(&mut self, git: &Path) {
        let mut bases = vec![git.to_path_buf()];
        if git.is_file() {
            self.paths.push(git.to_path_buf());
            if let Some(named) = pointer(git, "gitdir:") {
                if let Some(common) = pointer(&named.join("commondir"), "") {
                    bases.push(common);
                }
                bases.push(named);
            }
        }
        let places = bases.iter().flat_map(|base| GIT.iter().map(|name| base.join(name)));
        self.paths.extend(places.filter(|path| exists(path)));
        self.repositories.extend(bases);
    }

    /// Looks again, and says what came since. In a repository that was there it is put aside: what could not be
    /// changed must not be made up for by something new, such as a `commondir` that leads to other hooks.
    pub fn again(&self) -> (Self, Vec<Added>) {
        let mut now = Self::look(&self.roots);
        let new = now.paths.iter().filter(|path| self.paths.binary_search(path).is_err());
        let added = new.map(|path| {
            let aside = if self.would_use(path) { put_aside(path) } else { None };
            Added { path: path.clone(), aside }
        });
        let added: Vec<Added> = added.collect();
        now.paths.retain(|path| !added.iter().any(|added| added.path == *path && added.aside.is_some()));
        (now, added)
    }

    fn would_use(&self, path: &Path) -> bool {
        let mut places = self.repositories.iter().flat_map(|base| GIT.iter().map(|name| base.join(name)));
        places.any(|place| place == path)
    }
}

/// Another name beside it; none when it cannot be moved.
fn put_aside(path: &Path) -> Option<PathBuf> {
    let (folder, name) = (path.parent()?, path.file_name()?.to_string_lossy());
    // Through a link it would be somebody else's.
    if folder.canonicalize().ok()? != folder.parent()?.canonicalize().ok()?.join(folder.file_name()?) {
        return None;
    }
    let aside =
        (0..100).map(|count| folder.join(format!("{name}.set-aside-{count}"))).find(|path| !exists(path))?;
    std::fs::rename(path, &aside).ok()?;
    Some(aside)
}

fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_hooks_are_guarded_at_any_depth_and_in_any_case() {
        for path in ["/w/.git/hooks/x", "/w/sub/.GIT/config", "/w/.Claude/x", "/w/.mcp.json", "a/.husky/_/h"]
        {
            assert!(is_guarded(Path::new(path)), "{path}");
        }
        for path in ["/w/src/git.rs", "/w/.gitignore", "/w/.github/x", "/w/envrc"] {
            assert!(!is_guarded(Path::new(path)), "{path}");
        }
    }

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
        let look = |root: &Path| Guarded::look(&[root.to_path_buf()]);
        let found = look(&root);
        let names: Vec<_> =
            found.paths.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [".git/config", ".git/hooks", ".vscode", "a/b/.git/hooks"]);
        let worktree = look(&tree).paths;
        assert!(worktree.contains(&tree.join(".git")));
        assert!(worktree.iter().any(|path| path.ends_with("../../hooks")), "{worktree:?}");
    }

    #[test]
    fn what_is_new_in_an_old_repository_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        let roots = [root.clone()];
        let before = Guarded::look(&roots);
        std::fs::write(root.join(".git/commondir"), "../evil").unwrap();
        for folder in [".git/hooks", "new/.git/hooks", ".claude"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let (_, added) = before.again();
        let told: Vec<(&str, bool)> = added
            .iter()
            .map(|added| (added.path.strip_prefix(&root).unwrap().to_str().unwrap(), added.aside.is_some()))
            .collect();
        let wanted =
            [(".claude", false), (".git/commondir", true), (".git/hooks", true), ("new/.git/hooks", false)];
        assert_eq!(told, wanted);
        assert!(!root.join(".git/commondir").exists() && root.join(".git/commondir.set-aside-0").exists());
        assert_eq!(Guarded::look(&roots).again().1, []);
    }
}
