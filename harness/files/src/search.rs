//! Searching the contents of files with a regular expression, with ripgrep's own crates.
//!
//! Knows files on disk; what an editor holds unsaved is not searched. Called by the engine's tools on
//! threads that may block.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use protocol::{FilePath, FoundFile, Outcome, Problem, Search, Want};

use crate::hits::Hits;
use crate::roots::Roots;
use crate::spot::Spot;
use crate::walk::{Globs, missing, walker};

/// Larger files are not searched.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Searches in order of the paths. The cap is of lines, or of files where files or counts are wanted;
/// `more` says that something else would match. It ends early when told to stop.
///
/// Files below one of the `hidden` places, which are real paths, are not looked into.
pub fn search(search: &Search, roots: &Roots, hidden: &[PathBuf], stop: &AtomicBool) -> Outcome {
    match Hunt::new(search) {
        Ok(hunt) => hunt.run(roots, hidden, stop).unwrap_or_else(|outcome| outcome),
        Err(outcome) => outcome,
    }
}

fn regex(search: &Search) -> Result<RegexMatcher, Outcome> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(search.ignore_case).multi_line(true).fixed_strings(search.literal).crlf(true);
    if search.multiline {
        builder.dot_matches_new_line(true).line_terminator(None);
    }
    builder.build(&search.pattern).map_err(|error| {
        let hint = if search.multiline { "" } else { "; a pattern over line ends needs multiline" };
        Outcome::BadInput(vec![Problem::Wrong {
            name: "pattern".into(),
            want: format!("a regular expression in Rust syntax{hint}"),
            got: error.to_string(),
        }])
    })
}

fn searcher(search: &Search) -> Searcher {
    let (before, after) = match search.want {
        Want::Lines => search.around,
        Want::Files | Want::Counts => (0, 0),
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .multi_line(search.multiline)
        .before_context(before as usize)
        .after_context(after as usize)
        .build()
}

/// A search under way.
struct Hunt<'a> {
    search: &'a Search,
    globs: Globs,
    regex: RegexMatcher,
    searcher: Searcher,
    files: Vec<FoundFile>,
    total: u64,
    /// Lines or files told so far, and their bytes.
    told: u64,
    bytes: u64,
    more: bool,
}

impl<'a> Hunt<'a> {
    fn new(search: &'a Search) -> Result<Self, Outcome> {
        let (globs, regex) = (Globs::new(&search.include)?, regex(search)?);
        let searcher = searcher(search);
        Ok(Self {
            search,
            globs,
            regex,
            searcher,
            files: Vec::new(),
            total: 0,
            told: 0,
            bytes: 0,
            more: false,
        })
    }

    fn run(mut self, roots: &Roots, hidden: &[PathBuf], stop: &AtomicBool) -> Result<Outcome, Outcome> {
        let place = roots.resolve(self.search.root.as_ref().map_or(".", |root| root.0.as_str()))?;
        if let Some(outcome) = missing(&place.shown) {
            return Err(outcome);
        }
        // The real folder is walked: whatever its name is made to lead to meanwhile, nothing else is read.
        for entry in walker(&place.real, self.search.ignored).build().flatten() {
            if self.more || stop.load(Ordering::Relaxed) {
                self.more = true;
                break;
            }
            if hidden.iter().any(|hidden| entry.path().starts_with(hidden)) {
                continue;
            }
            let inner = entry.path().strip_prefix(&place.real).unwrap_or(entry.path());
            let named = entry.depth() == 0 && entry.file_type().is_some_and(|kind| kind.is_file());
            let walked = entry.file_type().is_some_and(|kind| kind.is_file()) && self.globs.is_match(inner);
            if named || walked {
                let shown = if named { place.shown.clone() } else { place.shown.join(inner) };
                self.file(entry.path(), &shown);
            }
        }
        Ok(Outcome::Found { files: self.files, total: self.total, more: self.more })
    }

    fn file(&mut self, path: &Path, shown: &Path) {
        let Ok(file) = Spot::of(path).and_then(|spot| spot.open()) else { return };
        let Ok(data) = file.metadata() else { return };
        if data.len() > FILE_BYTES {
            return;
        }
        let cap = self.search.cap;
        let lines_left = cap.lines.map_or(u64::MAX, |lines| u64::from(lines).saturating_sub(self.told));
        let bytes_left = cap.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.bytes));
        let path_bytes = shown.as_os_str().len() as u64 + 8;
        let mut hits = match self.search.want {
            Want::Lines => Hits::lines(&self.regex, lines_left, bytes_left, path_bytes),
            Want::Files => Hits::first(&self.regex),
            Want::Counts => Hits::count(&self.regex),
        };
        // A file that cannot be read is none that matches.
        let _ = self.searcher.search_file(&self.regex, &file, &mut hits);
        let whole = matches!(self.search.want, Want::Files | Want::Counts) && hits.count > 0;
        if hits.more || whole && (lines_left == 0 || bytes_left < path_bytes && self.told > 0) {
            self.more = true;
        }
        if hits.count == 0 || whole && self.more {
            return;
        }
        self.told += if whole { 1 } else { hits.hits.len() as u64 };
        self.bytes += if whole { path_bytes } else { hits.bytes };
        self.total += hits.count;
        let changed = data.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        self.files.push(FoundFile {
            path: FilePath::from(shown),
            changed_ms: changed.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            count: hits.count,
            hits: hits.hits,
        });
    }
}
