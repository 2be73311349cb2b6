//! Walking folders: files by a pattern, entries of a folder. What git ignores is left out, and counted.
//!
//! Knows names and stats, never contents. Called by the engine's tools on threads that may block.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use ignore::DirEntry;
use protocol::{Cap, FilePath, IoWhy, Outcome, PathInfo};

use crate::roots::Roots;
use crate::walk::{Globs, missing, walker};

/// Entries looked at before a walk gives up.
const WALKED: usize = 500_000;

/// Files below `root` that match, the newest first; the cap is of the paths told.
///
/// `Outcome::Listed` says how many there are. When none is found, `ignored` says how many that git ignores match.
pub fn find(
    glob: &str,
    root: Option<&FilePath>,
    ignored: bool,
    cap: Cap,
    roots: &Roots,
    stop: &AtomicBool,
) -> Outcome {
    let place = match roots.resolve(root.map_or(".", |root| root.0.as_str())) {
        Ok(place) => place,
        Err(outcome) => return outcome,
    };
    // A pattern may be given as a path; then the fixed part is where to look.
    let (base, glob) = split(&place.shown, glob);
    let globs = match Globs::new(&[glob]) {
        Ok(globs) => globs,
        Err(outcome) => return outcome,
    };
    if let Some(outcome) = missing(&base) {
        return outcome;
    }
    let matching = |ignored: bool| {
        let entries = walker(&base, ignored).build().flatten().take(WALKED);
        let going = entries.take_while(|_| !stop.load(Ordering::Relaxed));
        going.filter(|entry| {
            let inner = entry.path().strip_prefix(&base).unwrap_or(entry.path());
            entry.file_type().is_some_and(|kind| !kind.is_dir()) && globs.is_match(inner)
        })
    };
    let mut found: Vec<PathInfo> = matching(ignored).map(|entry| info(&entry)).collect();
    found.sort_by(|a, b| b.changed_ms.cmp(&a.changed_ms).then_with(|| a.path.cmp(&b.path)));
    let hidden = if found.is_empty() && !ignored { matching(true).count() } else { 0 };
    listed(&base, found, hidden, cap)
}

/// Entries of a folder, down to a depth, in order of their names; the cap is of the paths told.
///
/// `Outcome::Listed` says how many there are, and how many were left out since git ignores them.
pub fn list(
    path: &FilePath,
    depth: u32,
    ignored: bool,
    cap: Cap,
    roots: &Roots,
    stop: &AtomicBool,
) -> Outcome {
    let place = match roots.resolve(&path.0) {
        Ok(place) => place,
        Err(outcome) => return outcome,
    };
    if let Some(outcome) = missing(&place.shown) {
        return outcome;
    }
    if !place.real.is_dir() {
        let text = format!("{} is a file, not a folder", place.shown.display());
        return Outcome::Failed { why: IoWhy::NotAFile, path: Some(place.shown.as_path().into()), text };
    }
    let depth = usize::try_from(depth.max(1)).unwrap_or(usize::MAX);
    let mut walk = walker(&place.shown, ignored);
    walk.max_depth(Some(depth));
    let entries = walk.build().flatten().take(WALKED).take_while(|_| !stop.load(Ordering::Relaxed));
    let entries: Vec<DirEntry> = entries.collect();
    let hidden = if ignored { 0 } else { left_out(&entries, depth) };
    let found = entries.iter().filter(|entry| entry.depth() > 0).map(info).collect();
    listed(&place.shown, found, hidden, cap)
}

/// How many entries stand in the folders that were walked and were not told.
fn left_out(entries: &[DirEntry], depth: usize) -> usize {
    let mut told: HashMap<&Path, usize> = HashMap::new();
    for parent in entries.iter().filter_map(|entry| entry.path().parent()) {
        *told.entry(parent).or_default() += 1;
    }
    let walked = entries.iter().filter(|entry| {
        entry.depth() < depth && (entry.depth() == 0 || entry.file_type().is_some_and(|kind| kind.is_dir()))
    });
    walked
        .map(|folder| {
            let entries = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
            let all = entries.filter(|entry| entry.file_name() != ".git").count();
            all.saturating_sub(told.get(folder.path()).copied().unwrap_or(0))
        })
        .sum()
}

/// Moves the fixed folders at the beginning of a pattern to where to look.
fn split(base: &Path, glob: &str) -> (PathBuf, String) {
    let Some(rest) = glob.strip_prefix('/') else { return (base.to_path_buf(), glob.to_string()) };
    let parts: Vec<&str> = rest.split('/').collect();
    let folders = parts.iter().take(parts.len() - 1);
    let fixed = folders.take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).count();
    let folder = parts.iter().take(fixed).fold(PathBuf::from("/"), |path, part| path.join(part));
    (folder, parts.get(fixed..).unwrap_or_default().join("/"))
}

fn info(entry: &DirEntry) -> PathInfo {
    let data = entry.metadata().ok();
    let changed = data.as_ref().and_then(|data| data.modified().ok());
    let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    PathInfo {
        path: FilePath::from(entry.path()),
        folder: entry.file_type().is_some_and(|kind| kind.is_dir()),
        bytes: data.map_or(0, |data| data.len()),
        changed_ms: since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
    }
}

fn listed(root: &Path, found: Vec<PathInfo>, ignored: usize, cap: Cap) -> Outcome {
    let total = found.len() as u64;
    let limit = cap.lines.map_or(usize::MAX, |lines| lines as usize);
    let room = usize::try_from(cap.bytes.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let fits = |entry: &PathInfo| {
        bytes += entry.path.0.len() + 1;
        bytes <= room
    };
    let paths = found.into_iter().take(limit).take_while(fits).collect();
    Outcome::Listed { root: root.into(), paths, total, ignored: ignored as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_folders_of_a_pattern_are_where_to_look() {
        let cases = [
            ("*.rs", "/base", "*.rs"),
            ("src/*.rs", "/base", "src/*.rs"),
            ("/a/b/*.rs", "/a/b", "*.rs"),
            ("/a/*/c.rs", "/a", "*/c.rs"),
            ("/a/b/c.rs", "/a/b", "c.rs"),
            ("/*.rs", "/", "*.rs"),
        ];
        for (glob, base, rest) in cases {
            assert_eq!(split(Path::new("/base"), glob), (PathBuf::from(base), rest.to_string()), "{glob}");
        }
    }
}
