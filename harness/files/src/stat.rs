//! The stats of all files of some folders, what git ignores left out.
//!
//! Two threads walk, since a walk waits for the disk. Called before and after each command.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ignore::{DirEntry, WalkState};

use crate::walk::unsorted;

/// Files watched at most; of folders with more nothing is told.
const FILES: usize = 100_000;

/// What of a file's stat changes when the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// On Unix the time of any change to the file, which nobody can set back.
    pub(crate) changed: Option<SystemTime>,
    pub(crate) len: u64,
    pub(crate) mode: u32,
    inode: u64,
}

impl Stat {
    pub(crate) fn new(data: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let (changed, inode, mode) = {
            use std::os::unix::fs::MetadataExt;
            let (secs, nanos) = (u64::try_from(data.ctime()), u32::try_from(data.ctime_nsec()));
            let since = secs.ok().zip(nanos.ok()).map(|(secs, nanos)| Duration::new(secs, nanos));
            (since.map(|since| SystemTime::UNIX_EPOCH + since), data.ino(), data.mode())
        };
        #[cfg(not(unix))]
        let (changed, inode, mode) = (data.modified().ok(), 0, u32::from(data.permissions().readonly()));
        Self { changed, len: data.len(), mode, inode }
    }

    /// Whether the file was changed no longer than `before` ahead of a moment, or after it.
    pub(crate) fn is_within(&self, moment: SystemTime, before: Duration) -> bool {
        self.changed.is_none_or(|changed| changed + before > moment)
    }
}

/// Files by their paths, as the strings they are: a path is compared and hashed piece by piece, which costs
/// more than the walk.
pub(crate) type Files<T> = HashMap<OsString, T>;

/// Every file that is watched; none when there are too many.
pub(crate) fn look(roots: &[PathBuf]) -> Option<Files<Stat>> {
    let found = Mutex::new(Files::new());
    let count = AtomicUsize::new(0);
    for root in roots {
        let walk = unsorted(root, false).threads(2).build_parallel();
        walk.run(|| {
            let mut batch = Batch { found: &found, files: Vec::new() };
            let count = &count;
            Box::new(move |entry| {
                let Some(file) = entry.ok().and_then(stat) else { return WalkState::Continue };
                batch.files.push(file);
                if count.fetch_add(1, Ordering::Relaxed) < FILES {
                    WalkState::Continue
                } else {
                    WalkState::Quit
                }
            })
        });
    }
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    (count.into_inner() <= FILES).then_some(found)
}

fn stat(entry: DirEntry) -> Option<(OsString, Stat)> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let stat = Stat::new(&entry.metadata().ok()?);
    Some((entry.into_path().into_os_string(), stat))
}

/// What one thread found, handed over when it is done.
struct Batch<'a> {
    found: &'a Mutex<Files<Stat>>,
    files: Vec<(OsString, Stat)>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(self.files.drain(..));
    }
}
