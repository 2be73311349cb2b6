//! What a command changed in the folders: looked at before, compared after.
//!
//! A look is a list of stats; contents of small text files are kept within a budget, so that a change can
//! be shown and taken back. Ignored files are not watched. It knows nothing of commands; the engine calls it
//! around each.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use protocol::{FileDiff, FileKind, FilePath};

use crate::diff;
use crate::plan::FileEdit;
use crate::roots::Place;
use crate::spot::{Spot, read_at_most};
use crate::stat::{Files, Stat, look};

/// Contents kept in all, and of one file.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;
const KEPT_FILE_BYTES: u64 = 1024 * 1024;
/// Time for reading contents in one look, the newest files first; the rest follow with the next looks.
const READING: Duration = Duration::from_millis(100);
/// Files whose changes are compared line by line; further ones are told without hunks.
const COMPARED: usize = 200;
/// Changes told of at most.
const TOLD: usize = 2_000;
/// A file changed so shortly before a look may change again without another time of change.
const TICK: Duration = Duration::from_millis(20);

/// Looks at folders and remembers.
pub struct Watch {
    roots: Vec<PathBuf>,
    seen: Files<Seen>,
    kept: u64,
    /// When it last looked; none when the folders have too many files to be watched.
    looked: Option<SystemTime>,
}

struct Seen {
    stat: Stat,
    contents: Contents,
}

enum Contents {
    Kept(Vec<u8>),
    /// Too large, or not text.
    Left,
    Unread,
}

impl Contents {
    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Contents::Kept(bytes) => Some(bytes),
            Contents::Left | Contents::Unread => None,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Contents::Kept(bytes) => bytes.len() as u64,
            Contents::Left | Contents::Unread => 0,
        }
    }
}

impl Watch {
    /// Watches these folders, links of theirs resolved.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        let roots = roots.into_iter().map(|root| root.canonicalize().unwrap_or(root)).collect();
        Self { roots, seen: Files::new(), kept: 0, looked: None }
    }

    /// How things stand before a command.
    pub fn before(&mut self) {
        let started = SystemTime::now();
        let Some(now) = look(&self.roots) else {
            self.seen.clear();
            (self.kept, self.looked) = (0, None);
            return;
        };
        let last = self.looked.replace(started);
        let gone: Vec<OsString> = self.seen.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        for path in gone {
            self.forget(&path);
        }
        let mut unread = Vec::new();
        for (path, stat) in now {
            let sure =
                |seen: &&Seen| seen.stat == stat && last.is_some_and(|last| !stat.is_within(last, TICK));
            let known = self.seen.get(&path).filter(sure);
            let is_read = known.is_some_and(|seen| !matches!(seen.contents, Contents::Unread));
            if !is_read && stat.len <= KEPT_FILE_BYTES {
                unread.push((stat, path.clone()));
            }
            if known.is_none() {
                self.remember(path, stat, Contents::Unread);
            }
        }
        self.read(unread);
    }

    /// Reads contents, as far as time and budget go.
    fn read(&mut self, mut files: Vec<(Stat, OsString)>) {
        files.sort_unstable_by(|a, b| b.0.changed.cmp(&a.0.changed).then_with(|| a.1.cmp(&b.1)));
        let started = std::time::Instant::now();
        for (stat, path) in files {
            if self.kept + stat.len > KEPT_BYTES || started.elapsed() > READING {
                return;
            }
            if let Some(bytes) = contents(path.as_ref()) {
                self.remember(path, stat, Contents::Kept(bytes));
            }
        }
    }

    /// What is different now, in order of the paths.
    pub fn after(&mut self) -> Vec<FileEdit> {
        let Some(looked) = self.looked.replace(SystemTime::now()) else { return Vec::new() };
        let Some(now) = look(&self.roots) else {
            self.looked = None;
            return Vec::new();
        };
        let mut touched: Vec<(OsString, Option<Stat>)> = self
            .seen
            .keys()
            .filter(|path| !now.contains_key(*path))
            .map(|path| (path.clone(), None))
            .collect();
        touched.extend(now.into_iter().filter_map(|(path, stat)| {
            let same =
                self.seen.get(&path).is_some_and(|seen| seen.stat == stat && !stat.is_within(looked, TICK));
            (!same).then_some((path, Some(stat)))
        }));
        touched.sort_by(|a, b| a.0.cmp(&b.0));
        let mut changes = Vec::new();
        for (path, stat) in touched {
            let how = if changes.len() < COMPARED { Told::Compared } else { Told::Named };
            changes.extend(self.change(path, stat, how));
        }
        changes.truncate(TOLD);
        changes
    }

    /// What became of one file, if it is another; and remembers it as it is.
    fn change(&mut self, path: OsString, stat: Option<Stat>, how: Told) -> Option<FileEdit> {
        let old = self.forget(&path);
        let Some(stat) = stat else {
            let before = State { bytes: old?.contents.bytes(), there: true };
            return Some(told(path.as_ref(), before, State { bytes: None, there: false }, how));
        };
        let bytes = contents(path.as_ref()).filter(|_| stat.len <= KEPT_FILE_BYTES);
        let (there, old_stat) = (old.is_some(), old.as_ref().map(|old| old.stat));
        let before = State { bytes: old.and_then(|old| old.contents.bytes()), there };
        let same = match &before.bytes {
            Some(before) => bytes.as_ref() == Some(before),
            None => old_stat == Some(stat),
        };
        let edit = match old_stat.filter(|_| same) {
            Some(old) => mode_changed(path.as_ref(), old, stat, &bytes),
            None => Some(told(path.as_ref(), before, State { bytes: bytes.clone(), there: true }, how)),
        };
        self.remember(path, stat, bytes.map_or(Contents::Left, Contents::Kept));
        edit
    }

    fn remember(&mut self, path: OsString, stat: Stat, contents: Contents) {
        self.forget(&path);
        let contents = match contents {
            Contents::Kept(bytes) if bytes.contains(&0) => Contents::Left,
            Contents::Kept(bytes) if self.kept + bytes.len() as u64 > KEPT_BYTES => Contents::Unread,
            contents => contents,
        };
        self.kept += contents.len();
        self.seen.insert(path, Seen { stat, contents });
    }

    fn forget(&mut self, path: &OsStr) -> Option<Seen> {
        let seen = self.seen.remove(path)?;
        self.kept -= seen.contents.len();
        Some(seen)
    }
}

/// How closely a change is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Compared,
    Named,
}

/// A file before or after; its bytes may be unknown.
struct State {
    bytes: Option<Vec<u8>>,
    there: bool,
}

impl State {
    fn is_known(&self) -> bool {
        self.bytes.is_some() == self.there
    }
}

fn told(path: &Path, before: State, after: State, how: Told) -> FileEdit {
    let kind = match (before.there, after.there) {
        (false, _) => FileKind::Add,
        (true, false) => FileKind::Delete,
        (true, true) => FileKind::Update,
    };
    let cut = match how {
        _ if !before.is_known() => Some("its earlier contents were not kept"),
        _ if !after.is_known() => Some("too large to be compared"),
        Told::Named => Some("one of many changed files, not compared"),
        Told::Compared => None,
    };
    let name = FilePath::from(path);
    let diff = match cut {
        Some(cut) => FileDiff { path: name, kind, hunks: Vec::new(), cut: Some(cut.into()) },
        None => diff(name, kind, before.bytes.as_deref(), after.bytes.as_deref()),
    };
    // Without what was there, what is there must not look like a new file that could be taken back.
    let after = after.bytes.filter(|_| before.bytes.is_some() || !before.there);
    edit(path, before.bytes, after, diff)
}

/// Of a file that is still a small one; it may have become anything since the look.
fn contents(path: &Path) -> Option<Vec<u8>> {
    let file = Spot::of(path).and_then(|spot| spot.open()).ok()?;
    let (bytes, more) = read_at_most(file, KEPT_FILE_BYTES).ok()?;
    (!more).then_some(bytes)
}

/// The same bytes with other rights.
fn mode_changed(path: &Path, old: Stat, new: Stat, bytes: &Option<Vec<u8>>) -> Option<FileEdit> {
    if old.mode == new.mode {
        return None;
    }
    let cut = Some(format!("mode {:o} became {:o}", old.mode & 0o7777, new.mode & 0o7777));
    let diff = FileDiff { path: FilePath::from(path), kind: FileKind::Update, hunks: Vec::new(), cut };
    Some(edit(path, bytes.clone(), bytes.clone(), diff))
}

fn edit(path: &Path, before: Option<Vec<u8>>, after: Option<Vec<u8>>, diff: FileDiff) -> FileEdit {
    let place = Place {
        shown: path.to_path_buf(),
        real: path.to_path_buf(),
        entry: path.to_path_buf(),
        inside: true,
    };
    FileEdit { place, from: None, before, after, diff }
}
