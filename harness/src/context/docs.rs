//! AGENTS.md: the user's own, then the project's from its root down to cwd, one file a folder.

use std::path::{Path, PathBuf};

use protocol::{FilePath, Level, Notice};

use super::Where;

const OVERRIDE: &str = "AGENTS.override.md";
const NAME: &str = "AGENTS.md";
/// A user's own file may have this much.
const GLOBAL_BYTES: usize = 64 * 1024;

type Instructions = Vec<(FilePath, String)>;

pub(super) fn instructions(at: &Where) -> (Instructions, Vec<Notice>) {
    let (mut found, mut notices) = (Vec::new(), Vec::new());
    if let Some(path) = first(at.home, &[OVERRIDE, NAME]) {
        add(&path, &mut { GLOBAL_BYTES }, &mut found, &mut notices);
    }
    let mut names = vec![OVERRIDE, NAME];
    names.extend(at.doc_names.iter().map(String::as_str));
    let mut left = at.doc_bytes;
    for folder in folders(at) {
        if let Some(path) = first(&folder, &names) {
            add(&path, &mut left, &mut found, &mut notices);
        }
    }
    (found, notices)
}

/// From the project's root down to cwd, then the further roots themselves.
fn folders(at: &Where) -> Vec<PathBuf> {
    let root = super::project_root(at.cwd);
    let mut folders: Vec<PathBuf> =
        at.cwd.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_path_buf).collect();
    folders.reverse();
    let extra: Vec<PathBuf> = at.roots.iter().filter(|root| !folders.contains(root)).cloned().collect();
    folders.extend(extra);
    folders
}

fn first(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Takes what fits; what does not is told.
fn add(path: &Path, left: &mut usize, found: &mut Instructions, notices: &mut Vec<Notice>) {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return notices.push(notice(path, format!("cannot be read: {error}"))),
    };
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return;
    }
    let end = text.floor_char_boundary(*left);
    let taken = text.get(..end).unwrap_or_default();
    if end < text.len() {
        let why =
            format!("{} of its {} bytes are used; project_doc_max_bytes allows no more", end, text.len());
        notices.push(notice(path, why));
    }
    *left -= end;
    if !taken.is_empty() {
        found.push((FilePath::from(path), taken.to_string()));
    }
}

fn notice(path: &Path, text: String) -> Notice {
    let title = format!("{} is not used as a whole", path.display());
    Notice { level: Level::Warning, title, text, retry: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_outside_in_within_the_budget() {
        let dir = tempfile::tempdir().unwrap();
        let (home, root) = (dir.path().join("home"), dir.path().join("p"));
        let cwd = root.join("a/b");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(&cwd).unwrap();
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
        write(dir.path().join(NAME), "outside");
        write(home.join(NAME), "global");
        write(root.join(NAME), "root");
        write(root.join("a").join(NAME), "hidden by the override");
        write(root.join("a").join(OVERRIDE), "override");
        write(cwd.join("CLAUDE.md"), "ééé");
        let names = ["CLAUDE.md".to_string()];
        let roots = [cwd.clone()];
        let at = |doc_bytes| Where {
            cwd: &cwd,
            roots: &roots,
            home: &home,
            doc_bytes,
            doc_names: &names,
            now: std::time::SystemTime::UNIX_EPOCH,
        };
        let texts = |found: &Instructions| found.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
        let (found, notices) = instructions(&at(32_768));
        assert_eq!(texts(&found), ["global", "root", "override", "ééé"]);
        assert!(notices.is_empty());
        let (found, notices) = instructions(&at(15));
        assert_eq!(texts(&found), ["global", "root", "override", "é"]);
        assert!(notices.len() == 1 && notices[0].text.starts_with("2 of its 6 bytes"), "{notices:?}");
    }
}
