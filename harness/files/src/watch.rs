//! What a command changed in the folders: looked at before, compared after.
//!
//! A look is a list of stats; contents of small text files are kept within a budget, so that a change can
//! be shown and taken back. Ignored files are not watched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use protocol::{FileKind, FilePath};

use crate::diff;
use crate::list::walker;
use crate::plan::FileEdit;
use crate::roots::Place;

/// Files watched at most; beyond that the folders are not watched at all.
const FILES: usize = 100_000;
/// Contents kept in all, and of one file.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;
const KEPT_FILE_BYTES: u64 = 1024 * 1024;
/// Files whose contents are read in one look; the rest follow with the next looks.
const READ_FILES: usize = 4_000;
/// Changes told of at most.
const TOLD: usize = 200;

/// Looks at folders and remembers.
pub struct Watch {
    roots: Vec<PathBuf>,
    seen: HashMap<PathBuf, Seen>,
    kept: u64,
    /// Whether the folders have too many files.
    blind: bool,
}

struct Seen {
    stat: Stat,
    /// None for what is large, not text, or over the budget.
    bytes: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stat {
    changed: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl Watch {
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, seen: HashMap::new(), kept: 0, blind: false }
    }

    /// How things stand before a command.
    pub fn before(&mut self) {
        let now = self.look();
        self.blind = now.is_none();
        let Some(now) = now else {
            self.seen.clear();
            self.kept = 0;
            return;
        };
        self.seen.retain(|path, _| now.contains_key(path));
        let mut reads = 0;
        for (path, stat) in now {
            if self.seen.get(&path).is_some_and(|seen| seen.stat == stat) {
                continue;
            }
            let small =
                stat.len <= KEPT_FILE_BYTES && self.kept + stat.len <= KEPT_BYTES && reads < READ_FILES;
            reads += usize::from(small);
            let bytes = if small { std::fs::read(&path).ok() } else { None };
            self.remember(path, stat, bytes);
        }
    }

    /// What is different now.
    pub fn after(&mut self) -> Vec<FileEdit> {
        if self.blind {
            return Vec::new();
        }
        let Some(now) = self.look() else { return Vec::new() };
        let mut changes = Vec::new();
        let gone: Vec<PathBuf> = self.seen.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        for path in gone {
            let before = self.seen.remove(&path).and_then(|seen| seen.bytes);
            self.kept = self.kept.saturating_sub(before.as_ref().map_or(0, |bytes| bytes.len() as u64));
            changes.push(change(&path, FileKind::Delete, before, None));
        }
        let mut news: Vec<(PathBuf, Stat)> = now
            .into_iter()
            .filter(|(path, stat)| self.seen.get(path).is_none_or(|seen| seen.stat != *stat))
            .collect();
        news.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, stat) in news {
            let old = self.seen.remove(&path);
            let bytes = if stat.len <= KEPT_FILE_BYTES { std::fs::read(&path).ok() } else { None };
            let touched = old.as_ref().is_some_and(|old| old.bytes.is_some() && old.bytes == bytes);
            if !touched {
                let kind = if old.is_some() { FileKind::Update } else { FileKind::Add };
                let before = old.as_ref().and_then(|old| old.bytes.clone());
                let unknown = old.is_some() && before.is_none();
                changes.push(if unknown {
                    unseen(&path)
                } else {
                    change(&path, kind, before, bytes.clone())
                });
            }
            if let Some(bytes) = old.and_then(|old| old.bytes) {
                self.kept = self.kept.saturating_sub(bytes.len() as u64);
            }
            self.remember(path, stat, bytes);
        }
        changes.sort_by(|a, b| a.place.real.cmp(&b.place.real));
        changes.truncate(TOLD);
        changes
    }

    fn remember(&mut self, path: PathBuf, stat: Stat, bytes: Option<Vec<u8>>) {
        let bytes = bytes.filter(|bytes| self.kept + bytes.len() as u64 <= KEPT_BYTES && !bytes.contains(&0));
        self.kept += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.seen.insert(path, Seen { stat, bytes });
    }

    /// Every file that is watched; none when there are too many.
    fn look(&self) -> Option<HashMap<PathBuf, Stat>> {
        let mut found = HashMap::new();
        for root in &self.roots {
            let mut walk = walker(root, false);
            walk.skip_stdout(false);
            for entry in walk.build().flatten() {
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                let Ok(data) = entry.metadata() else { continue };
                let stat = Stat { changed: data.modified().ok(), len: data.len(), inode: inode(&data) };
                found.insert(entry.into_path(), stat);
                if found.len() > FILES {
                    return None;
                }
            }
        }
        Some(found)
    }
}

#[cfg(unix)]
fn inode(data: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

fn change(path: &Path, kind: FileKind, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> FileEdit {
    let diff = diff(FilePath::from(path), kind, before.as_deref(), after.as_deref());
    let place = Place { shown: path.to_path_buf(), real: path.to_path_buf(), inside: true };
    FileEdit { place, from: None, before, after, diff }
}

/// A file that changed and whose old contents were not kept.
fn unseen(path: &Path) -> FileEdit {
    let mut edit = change(path, FileKind::Update, None, None);
    edit.diff.hunks.clear();
    edit.diff.cut = Some("changed; its earlier contents were not kept".into());
    edit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_command() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write(".gitignore", "skip\n");
        write("same", "1\n");
        write("changed", "1\n");
        write("gone", "1\n");
        let mut watch = Watch::new(vec![dir.path().to_path_buf()]);
        watch.before();
        write("changed", "22\n");
        write("new", "1\n");
        write("skip", "1\n");
        std::fs::remove_file(dir.path().join("gone")).unwrap();
        let told: Vec<(String, FileKind, (usize, usize))> = watch
            .after()
            .into_iter()
            .map(|edit| {
                let name = edit.place.real.file_name().unwrap().to_str().unwrap().to_string();
                (name, edit.diff.kind.clone(), edit.diff.counts())
            })
            .collect();
        assert_eq!(
            told,
            [
                ("changed".to_string(), FileKind::Update, (1, 1)),
                ("gone".to_string(), FileKind::Delete, (0, 1)),
                ("new".to_string(), FileKind::Add, (1, 0)),
            ]
        );
        watch.before();
        assert!(watch.after().is_empty());
    }
}
