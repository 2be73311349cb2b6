//! What a search finds in one file: lines around matches, within what is left of the cap.
//!
//! Called by ripgrep's searcher while it reads the file.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkError, SinkMatch};
use protocol::Hit;

use crate::Text;

/// What is shown of a long line, around the match.
const LINE_BYTES: usize = 400;

/// What is wanted of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Lines,
    First,
    Count,
}

pub(crate) struct Hits<'a> {
    regex: &'a RegexMatcher,
    keep: Keep,
    pub(crate) hits: Vec<Hit>,
    pub(crate) count: u64,
    /// What the hits cost, their paths included.
    pub(crate) bytes: u64,
    /// There is another match than those kept.
    pub(crate) more: bool,
    lines_left: u64,
    bytes_left: u64,
    path_bytes: u64,
}

impl<'a> Hits<'a> {
    /// Keeps lines up to a cap.
    pub(crate) fn lines(regex: &'a RegexMatcher, lines_left: u64, bytes_left: u64, path_bytes: u64) -> Self {
        Self { lines_left, bytes_left, path_bytes, ..Self::new(regex, Keep::Lines) }
    }

    /// Looks only whether there is a match.
    pub(crate) fn first(regex: &'a RegexMatcher) -> Self {
        Self::new(regex, Keep::First)
    }

    /// Counts the matches.
    pub(crate) fn count(regex: &'a RegexMatcher) -> Self {
        Self::new(regex, Keep::Count)
    }

    fn new(regex: &'a RegexMatcher, keep: Keep) -> Self {
        let (lines_left, bytes_left) = (u64::MAX, u64::MAX);
        Self {
            regex,
            keep,
            hits: Vec::new(),
            count: 0,
            bytes: 0,
            more: false,
            lines_left,
            bytes_left,
            path_bytes: 0,
        }
    }

    /// Takes a line if there is room for it.
    fn take(&mut self, hit: Hit) -> bool {
        let cost = hit.text.len() as u64 + self.path_bytes;
        let fits = (self.hits.len() as u64) < self.lines_left && self.bytes + cost <= self.bytes_left;
        if fits {
            self.bytes += cost;
            self.hits.push(hit);
        }
        fits
    }
}

impl Sink for Hits<'_> {
    type Error = Broken;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        match self.keep {
            Keep::First => self.count = 1,
            Keep::Count => self.count += 1,
            Keep::Lines => {
                let first = found.line_number().unwrap_or(0);
                for (line, number) in found.lines().zip(first..) {
                    let (text, column) = around_match(self.regex, line);
                    if !self.take(Hit { line: number, column, text, context: false }) {
                        self.more = true;
                        return Ok(false);
                    }
                }
                self.count += 1;
            }
        }
        Ok(self.keep != Keep::First)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let line = near.line_number().unwrap_or(0);
        let text = window(&letters(trimmed(near.bytes())), 0);
        // Without room for what stands around there is none for the next match, which then says so.
        self.take(Hit { line, column: 1, text, context: true });
        Ok(true)
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// As a read shows it, so that an edit finds it again.
fn letters(line: &[u8]) -> String {
    match Text::decode(line) {
        Some(text) => text.shown().to_string(),
        None => String::from_utf8_lossy(line).into_owned(),
    }
}

/// The line, or of a long one the text around the match; and the match's column in letters, from 1.
fn around_match(regex: &RegexMatcher, line: &[u8]) -> (String, u32) {
    let line = trimmed(line);
    let at = regex.find(line).ok().flatten().map_or(0, |found| found.start());
    let before = letters(line.get(..at).unwrap_or_default());
    let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
    (window(&letters(line), before.len()), column)
}

/// The part of a long line around an offset, with notes of what is left out.
fn window(line: &str, at: usize) -> String {
    if line.len() <= LINE_BYTES {
        return line.to_string();
    }
    let latest = line.len() - LINE_BYTES;
    let start = line.floor_char_boundary(at.saturating_sub(LINE_BYTES / 2).min(latest));
    let end = line.floor_char_boundary((start + LINE_BYTES).min(line.len()));
    let shown = line.get(start..end).unwrap_or_default();
    let before = if start > 0 { format!("[{start} bytes] ... ") } else { String::new() };
    let after = if end < line.len() { format!(" ... [{} bytes]", line.len() - end) } else { String::new() };
    format!("{before}{shown}{after}")
}

/// A search of one file that broke off.
#[derive(Debug)]
pub(crate) struct Broken;

impl SinkError for Broken {
    fn error_message<T: std::fmt::Display>(_: T) -> Self {
        Broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_a_long_line() {
        assert_eq!(window("short", 3), "short");
        let line = format!("{}needle{}", "é".repeat(500), "z".repeat(1_000));
        let shown = window(&line, 1_000);
        assert!(shown.starts_with("[800 bytes] ... é") && shown.contains("needle"), "{shown}");
        assert!(shown.ends_with(" ... [806 bytes]"), "{shown}");
        assert_eq!(window(&line, 2_000), format!("[1606 bytes] ... {}", "z".repeat(400)));
        assert!(window(&line, 0).ends_with("... [1606 bytes]"));
    }
}
