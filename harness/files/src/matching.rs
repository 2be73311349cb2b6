//! Finding a piece of text in a file: exactly, else forgiving trailing space, else as the eye sees it.
//!
//! A forgiving match is by whole lines, never wins over an exact one, and is told apart from it.

use std::ops::Range;

use protocol::MatchBy;

/// Where the piece stands, and how it was found.
pub(crate) struct Hits {
    pub(crate) ranges: Vec<Range<usize>>,
    pub(crate) exact: bool,
}

/// Every place of `old` in `text`, by the strictest rule that finds one.
pub(crate) fn find(text: &str, old: &str, rule: MatchBy) -> Hits {
    let exact: Vec<Range<usize>> = text.match_indices(old).map(|(at, _)| at..at + old.len()).collect();
    if !exact.is_empty() || rule == MatchBy::Exact {
        return Hits { ranges: exact, exact: true };
    }
    let levels: &[fn(&str) -> String] = match rule {
        MatchBy::Exact => &[],
        MatchBy::TrimmedEnds => &[trimmed_end],
        MatchBy::Fuzzy => &[trimmed_end, trimmed, eye],
    };
    for level in levels {
        let ranges = by_lines(text, old, *level);
        if !ranges.is_empty() {
            return Hits { ranges, exact: false };
        }
    }
    Hits { ranges: Vec::new(), exact: false }
}

/// Runs of whole lines that are the same under `level`.
fn by_lines(text: &str, old: &str, level: fn(&str) -> String) -> Vec<Range<usize>> {
    let wanted: Vec<String> = old.strip_suffix('\n').unwrap_or(old).split('\n').map(level).collect();
    if wanted.iter().all(String::is_empty) {
        return Vec::new();
    }
    let lines = spans(text);
    let seen: Vec<String> =
        lines.iter().map(|span| level(text.get(span.clone()).unwrap_or_default())).collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= seen.len() {
        if seen.get(at..at + wanted.len()) == Some(&wanted) {
            let (first, last) = (lines.get(at), lines.get(at + wanted.len() - 1));
            if let (Some(first), Some(last)) = (first, last) {
                let end = if old.ends_with('\n') { (last.end + 1).min(text.len()) } else { last.end };
                ranges.push(first.start..end);
            }
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    ranges
}

/// The lines of a text without their ends, as ranges.
pub(crate) fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        spans.push(start..end - usize::from(line.ends_with('\n')));
        start = end;
    }
    spans
}

/// Line `at` is the same as `wanted`, by the strictest of the levels; the lower the better.
pub(crate) fn line_level(line: &str, wanted: &str) -> Option<u8> {
    if line == wanted {
        Some(0)
    } else if line.trim_end() == wanted.trim_end() {
        Some(1)
    } else if line.trim() == wanted.trim() {
        Some(2)
    } else if eye(line) == eye(wanted) {
        Some(3)
    } else {
        None
    }
}

fn trimmed_end(line: &str) -> String {
    line.trim_end().to_string()
}

fn trimmed(line: &str) -> String {
    line.trim().to_string()
}

/// As the eye sees it: plain quotes, dashes and spaces.
pub(crate) fn eye(line: &str) -> String {
    let plain = line.chars().map(|letter| match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    });
    plain.collect::<String>().trim().to_string()
}

/// The number of the line at an offset, from 1.
pub(crate) fn line_number(text: &str, at: usize) -> u32 {
    let lines = text.get(..at).unwrap_or(text).matches('\n').count();
    u32::try_from(lines + 1).unwrap_or(u32::MAX)
}

/// Lines of the text that resemble the first telling line of what was looked for.
pub(crate) fn near(text: &str, old: &str) -> Vec<u32> {
    const MOST: usize = 3;
    let Some(wanted) = old.lines().map(eye).find(|line| line.len() > 3) else { return Vec::new() };
    let mut scored: Vec<(usize, u32)> = text
        .lines()
        .zip(1u32..)
        .filter_map(|(line, number)| {
            let line = eye(line);
            let same = common(&line, &wanted);
            (same * 10 >= wanted.chars().count() * 7).then_some((same, number))
        })
        .collect();
    scored.sort_by_key(|(same, number)| (std::cmp::Reverse(*same), *number));
    scored.truncate(MOST);
    scored.into_iter().map(|(_, number)| number).collect()
}

/// Letters the two lines share at their beginnings and ends.
fn common(a: &str, b: &str) -> usize {
    let head = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = a.chars().count().min(b.chars().count()) - head;
    let tail = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).count().min(rest);
    head + tail
}
