//! Searching the contents of files with a regular expression, with ripgrep's own crates.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch};
use protocol::{FilePath, FoundFile, Hit, Outcome, Problem, Search, Want};

use crate::list::{matcher, missing, walker};
use crate::roots::Roots;

/// What is shown of a long line, around the match.
const LINE_BYTES: usize = 400;
/// Larger files are not searched.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Searches; stops early at the cap or when told.
pub fn search(search: &Search, roots: &Roots, stop: &AtomicBool) -> Outcome {
    let place = match roots.resolve(search.root.as_ref().map_or(".", |root| root.0.as_str())) {
        Ok(place) => place,
        Err(outcome) => return outcome,
    };
    if let Some(outcome) = missing(&place.shown) {
        return outcome;
    }
    let regex = match regex(search) {
        Ok(regex) => regex,
        Err(outcome) => return outcome,
    };
    let globs: Vec<GlobMatcher> = match search.include.iter().map(|glob| matcher(glob)).collect() {
        Ok(globs) => globs,
        Err(outcome) => return outcome,
    };
    let mut hunt =
        Hunt { search, regex, searcher: searcher(search), files: Vec::new(), total: 0, shown: 0, bytes: 0 };
    let mut more = false;
    for entry in walker(&place.shown, search.ignored).build().flatten() {
        if stop.load(Ordering::Relaxed) || hunt.is_full() {
            more = true;
            break;
        }
        let file = entry.file_type().is_some_and(|kind| kind.is_file());
        let inner = entry.path().strip_prefix(&place.shown).unwrap_or(entry.path());
        let wanted =
            globs.is_empty() || inner.as_os_str().is_empty() || globs.iter().any(|glob| glob.is_match(inner));
        if file && wanted {
            hunt.file(entry.path());
        }
    }
    Outcome::Found { more: more || hunt.is_full(), files: hunt.files, total: hunt.total }
}

fn regex(search: &Search) -> Result<RegexMatcher, Outcome> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(search.ignore_case).multi_line(true).fixed_strings(search.literal);
    if search.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
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
        .line_number(true)
        .multi_line(search.multiline)
        .before_context(before as usize)
        .after_context(after as usize)
        .build()
}

/// A search under way.
struct Hunt<'a> {
    search: &'a Search,
    regex: RegexMatcher,
    searcher: Searcher,
    files: Vec<FoundFile>,
    total: u64,
    /// Lines or files shown so far, and their bytes.
    shown: u64,
    bytes: u64,
}

impl Hunt<'_> {
    fn is_full(&self) -> bool {
        let cap = self.search.cap;
        cap.lines.is_some_and(|lines| self.shown >= u64::from(lines))
            || cap.bytes.is_some_and(|bytes| self.bytes >= bytes)
    }

    fn file(&mut self, path: &Path) {
        let Ok(data) = path.metadata() else { return };
        if data.len() > FILE_BYTES {
            return;
        }
        let cap = self.search.cap;
        let mut sink = Found {
            regex: &self.regex,
            want: &self.search.want,
            hits: Vec::new(),
            count: 0,
            lines: cap.lines.map_or(u64::MAX, |lines| u64::from(lines).saturating_sub(self.shown)),
            bytes: cap.bytes.unwrap_or(u64::MAX).saturating_sub(self.bytes),
            path_bytes: path.as_os_str().len() as u64 + 8,
        };
        // A file that cannot be read is none that matches.
        let _ = self.searcher.search_path(&self.regex, path, &mut sink);
        if sink.count == 0 {
            return;
        }
        let (lines, bytes) = match self.search.want {
            Want::Lines => (sink.hits.len() as u64, sink.spent()),
            Want::Files | Want::Counts => (1, sink.path_bytes),
        };
        self.shown += lines;
        self.bytes += bytes;
        self.total += sink.count;
        let changed = data.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        self.files.push(FoundFile {
            path: FilePath::from(path),
            changed_ms: changed.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            count: sink.count,
            hits: sink.hits,
        });
    }
}

/// What is found in one file.
struct Found<'a> {
    regex: &'a RegexMatcher,
    want: &'a Want,
    hits: Vec<Hit>,
    count: u64,
    lines: u64,
    bytes: u64,
    path_bytes: u64,
}

impl Found<'_> {
    fn spent(&self) -> u64 {
        self.hits.iter().map(|hit| hit.text.len() as u64 + self.path_bytes).sum()
    }

    /// Whether more may be looked for in this file.
    fn go_on(&self) -> bool {
        match self.want {
            Want::Files => false,
            Want::Counts => true,
            Want::Lines => (self.hits.len() as u64) < self.lines && self.spent() < self.bytes,
        }
    }
}

impl Sink for Found<'_> {
    type Error = Stopped;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.count += 1;
        if matches!(self.want, Want::Lines) {
            let first = found.line_number().unwrap_or(0);
            for (line, number) in found.lines().zip(first..) {
                let (text, column) = around_match(self.regex, line);
                self.hits.push(Hit { line: number, column, text, context: false });
            }
        }
        Ok(self.go_on())
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Self::Error> {
        if matches!(self.want, Want::Lines) {
            let line = near.line_number().unwrap_or(0);
            let text = window(&String::from_utf8_lossy(trimmed(near.bytes())), 0);
            self.hits.push(Hit { line, column: 1, text, context: true });
        }
        Ok(self.go_on())
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line, or of a long one the text around the match; and the match's column, from 1.
fn around_match(regex: &RegexMatcher, line: &[u8]) -> (String, u32) {
    use grep_matcher::Matcher;
    let line = trimmed(line);
    let at = regex.find(line).ok().flatten().map_or(0, |found| found.start());
    let text = String::from_utf8_lossy(line);
    let column = String::from_utf8_lossy(line.get(..at).unwrap_or_default()).chars().count() + 1;
    (window(&text, at), u32::try_from(column).unwrap_or(u32::MAX))
}

/// The part of a long line around an offset, with notes of what is left out.
fn window(line: &str, at: usize) -> String {
    if line.len() <= LINE_BYTES {
        return line.to_string();
    }
    let start = line.floor_char_boundary(at.saturating_sub(LINE_BYTES / 2).min(line.len()));
    let end = line.floor_char_boundary((start + LINE_BYTES).min(line.len()));
    let shown = line.get(start..end).unwrap_or_default();
    let before = if start > 0 { format!("[{start} bytes] ... ") } else { String::new() };
    let after = if end < line.len() { format!(" ... [{} bytes]", line.len() - end) } else { String::new() };
    format!("{before}{shown}{after}")
}

/// A search of one file that broke off.
#[derive(Debug)]
struct Stopped;

impl SinkError for Stopped {
    fn error_message<T: std::fmt::Display>(_: T) -> Self {
        Stopped
    }
}
