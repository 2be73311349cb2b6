//! Walking folders: files by a pattern, entries of a folder. What git ignores is left out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use protocol::{Cap, FilePath, IoWhy, Outcome, PathInfo, Problem};

use crate::roots::Roots;

/// Entries looked at before a walk gives up.
const WALKED: usize = 500_000;

/// Files below `root` that match, the newest first.
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
    let matcher = match matcher(&glob) {
        Ok(matcher) => matcher,
        Err(outcome) => return outcome,
    };
    if let Some(outcome) = missing(&base) {
        return outcome;
    }
    let mut found: Vec<PathInfo> = Vec::new();
    for entry in walker(&base, ignored).build().flatten().take(WALKED) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
        let inner = entry.path().strip_prefix(&base).unwrap_or(entry.path());
        if is_file && matcher.is_match(inner) {
            found.push(info(&entry));
        }
    }
    found.sort_by(|a, b| b.changed_ms.cmp(&a.changed_ms).then_with(|| a.path.cmp(&b.path)));
    listed(&base, found, cap)
}

/// Entries of a folder, down to a depth, in order of their names.
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
    if place.real.is_file() {
        let text = format!("{} is a file, not a folder", place.shown.display());
        return Outcome::Failed { why: IoWhy::NotAFile, path: Some(place.shown.as_path().into()), text };
    }
    let mut walk = walker(&place.shown, ignored);
    walk.max_depth(Some(usize::try_from(depth.max(1)).unwrap_or(1)));
    let entries = walk.build().flatten().take(WALKED).take_while(|_| !stop.load(Ordering::Relaxed));
    let found = entries.filter(|entry| entry.depth() > 0).map(|entry| info(&entry)).collect();
    listed(&place.shown, found, cap)
}

/// Hidden entries are shown, repositories' insides are not.
pub(crate) fn walker(base: &Path, ignored: bool) -> WalkBuilder {
    let mut walk = WalkBuilder::new(base);
    walk.standard_filters(!ignored)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0);
    walk
}

/// A glob where `*.rs` matches at any depth, as people mean it.
pub(crate) fn matcher(glob: &str) -> Result<GlobMatcher, Outcome> {
    let glob = glob.trim_start_matches("./");
    let anywhere = if glob.contains('/') { glob.to_string() } else { format!("**/{glob}") };
    match GlobBuilder::new(&anywhere).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(Outcome::BadInput(vec![Problem::Wrong {
            name: "pattern".into(),
            want: "a glob such as **/*.rs".into(),
            got: error.to_string(),
        }])),
    }
}

/// Moves the fixed folders at the beginning of a pattern to where to look.
fn split(base: &Path, glob: &str) -> (PathBuf, String) {
    let Some(rest) = glob.strip_prefix('/') else { return (base.to_path_buf(), glob.to_string()) };
    let parts: Vec<&str> = rest.split('/').collect();
    let fixed =
        parts.iter().take(parts.len() - 1).take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let folder = parts.iter().take(fixed).fold(PathBuf::from("/"), |path, part| path.join(part));
    (folder, parts.get(fixed..).unwrap_or_default().join("/"))
}

pub(crate) fn missing(path: &Path) -> Option<Outcome> {
    (!path.exists()).then(|| Outcome::Failed {
        why: IoWhy::NotFound,
        text: format!("{}: there is no such file or folder", path.display()),
        path: Some(path.into()),
    })
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

fn listed(root: &Path, found: Vec<PathInfo>, cap: Cap) -> Outcome {
    let total = found.len() as u64;
    let limit = cap.lines.map_or(usize::MAX, |lines| lines as usize);
    let room = usize::try_from(cap.bytes.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let paths = found
        .into_iter()
        .take(limit)
        .take_while(|entry| {
            bytes += entry.path.0.len() + 1;
            bytes <= room
        })
        .collect();
    Outcome::Listed { root: root.into(), paths, total, ignored: 0 }
}
