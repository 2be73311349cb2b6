//! Finding lines in a text: exactly, else forgiving trailing space, else indentation, else as the eye sees it.
//!
//! A forgiving match is by whole lines and never wins over a stricter one. It knows lines, not files; edits
//! and patches decide what an ambiguous match means.

use std::cell::OnceCell;
use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;
use protocol::EditFailure;

/// What a comparison forgives, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Exact,
    /// Space at the ends of lines.
    Ends,
    /// Also at their beginnings.
    Trimmed,
    /// Also kinds of quotes, dashes and spaces.
    Eye,
}

impl Level {
    pub(crate) const ALL: [Level; 4] = [Level::Exact, Level::Ends, Level::Trimmed, Level::Eye];
}

/// A text by its lines, their ends left out.
pub(crate) struct Lines<'a> {
    pub(crate) text: &'a str,
    spans: Vec<Range<usize>>,
    /// The lines as the eye sees them, worked out when first needed.
    eyes: OnceCell<Vec<String>>,
}

/// A line that is looked for.
pub(crate) struct Wanted<'a> {
    pub(crate) text: &'a str,
    eye: String,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, eye: eye(text) }
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut spans = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            spans.push(start..end - usize::from(line.ends_with('\n')));
            start = end;
        }
        Self { text, spans, eyes: OnceCell::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn get(&self, at: usize) -> &'a str {
        self.spans.get(at).and_then(|span| self.text.get(span.clone())).unwrap_or_default()
    }

    /// Where line `at` begins; the end of the text behind the last line.
    pub(crate) fn start(&self, at: usize) -> usize {
        self.spans.get(at).map_or(self.text.len(), |span| span.start)
    }

    /// Where line `at` ends, its line end left out.
    pub(crate) fn end(&self, at: usize) -> usize {
        self.spans.get(at).map_or(self.text.len(), |span| span.end)
    }

    pub(crate) fn is_same(&self, at: usize, wanted: &Wanted, level: Level) -> bool {
        if at >= self.len() {
            return false;
        }
        let line = self.get(at);
        match level {
            Level::Exact => line == wanted.text,
            Level::Ends => line.trim_end() == wanted.text.trim_end(),
            Level::Trimmed => line.trim() == wanted.text.trim(),
            Level::Eye => {
                let eyes = self.eyes.get_or_init(|| (0..self.len()).map(|at| eye(self.get(at))).collect());
                eyes.get(at).is_some_and(|line| *line == wanted.eye)
            }
        }
    }

    /// Whether the wanted lines stand from line `at` on.
    pub(crate) fn stand_at(&self, at: usize, wanted: &[Wanted], level: Level) -> bool {
        wanted.iter().enumerate().all(|(offset, wanted)| self.is_same(at + offset, wanted, level))
    }

    /// Every line from `from` on where the wanted lines stand.
    pub(crate) fn runs(&self, wanted: &[Wanted], level: Level, from: usize) -> Vec<usize> {
        let Some(last) = self.len().checked_sub(wanted.len()) else { return Vec::new() };
        (from..=last).filter(|at| self.stand_at(*at, wanted, level)).collect()
    }

    /// Why the wanted lines do not stand here: the first that differs at the place that fits best, and the
    /// lines that resemble it.
    pub(crate) fn not_found(&self, wanted: &[Wanted]) -> EditFailure {
        let fits = |at: usize| {
            wanted.iter().enumerate().filter(|(offset, line)| self.is_meant(at + offset, line)).count()
        };
        let best =
            (0..self.len()).map(|at| (fits(at), at)).max_by_key(|(fits, at)| (*fits, std::cmp::Reverse(*at)));
        if let Some((_, at)) = best.filter(|(fits, _)| *fits > 0) {
            let differs =
                wanted.iter().enumerate().find(|(offset, line)| !self.is_same(at + offset, line, Level::Eye));
            if let Some((offset, line)) = differs {
                let here = (at + offset < self.len()).then_some(number(at + offset));
                return EditFailure::NotFound { old: line.text.into(), near: here.into_iter().collect() };
            }
        }
        let first = wanted.iter().find(|line| !line.is_blank()).or(wanted.first());
        let old = first.map_or(String::new(), |line| line.text.into());
        EditFailure::NotFound { near: first.map(|line| self.near(line)).unwrap_or_default(), old }
    }

    /// The same to the eye, and more than a blank or a bracket.
    fn is_meant(&self, at: usize, wanted: &Wanted) -> bool {
        wanted.eye.len() > 1 && self.is_same(at, wanted, Level::Eye)
    }

    /// Numbers of the lines that resemble one, the closest first.
    pub(crate) fn near(&self, wanted: &Wanted) -> Vec<u32> {
        const MOST: usize = 3;
        let letters = wanted.eye.chars().count();
        if letters < 3 {
            return Vec::new();
        }
        let mut scored: Vec<(usize, u32)> = (0..self.len())
            .map(|at| (common(&eye(self.get(at)), &wanted.eye), number(at)))
            .filter(|(same, _)| same * 10 >= letters * 6)
            .collect();
        scored.sort_by_key(|(same, number)| (std::cmp::Reverse(*same), *number));
        scored.truncate(MOST);
        scored.into_iter().map(|(_, number)| number).collect()
    }
}

/// The number people give to a line.
pub(crate) fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}

/// The number of the line at an offset.
pub(crate) fn number_at(text: &str, offset: usize) -> u32 {
    number(text.get(..offset).unwrap_or(text).matches('\n').count())
}

/// As the eye sees it: plain quotes, dashes and spaces, none around.
fn eye(line: &str) -> String {
    let plain = line.chars().map(|letter| match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    });
    let plain: String = plain.collect();
    DecomposingNormalizerBorrowed::new_nfd().normalize(plain.trim()).into_owned()
}

/// Letters the two lines share at their beginnings and ends.
fn common(a: &str, b: &str) -> usize {
    let head = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = a.chars().count().min(b.chars().count()) - head;
    let tail = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).count().min(rest);
    head + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(lines: &[&'static str]) -> Vec<Wanted<'static>> {
        lines.iter().map(|line| Wanted::new(line)).collect()
    }

    #[test]
    fn levels_forgive_more_and_more() {
        let lines = Lines::new("a\nb \n  c\n  “d”\nno end");
        let found = |line: &'static str, level| lines.runs(&wanted(&[line]), level, 0);
        assert_eq!(found("a", Level::Exact), [0]);
        assert_eq!((found("b", Level::Exact), found("b", Level::Ends)), (vec![], vec![1]));
        assert_eq!((found("c", Level::Ends), found("c", Level::Trimmed)), (vec![], vec![2]));
        assert_eq!((found("\"d\"", Level::Trimmed), found("\"d\"", Level::Eye)), (vec![], vec![3]));
        assert_eq!(lines.runs(&wanted(&["no end", "more"]), Level::Eye, 0), [0; 0]);
        assert_eq!((lines.start(4), lines.start(5), lines.end(0)), (19, 25, 1));
    }

    #[test]
    fn what_is_missing_is_named() {
        let lines = Lines::new("let x = 1;\nlet y = 2;\nlet z = 3;\n");
        let missing = |old: &[&'static str]| match lines.not_found(&wanted(old)) {
            EditFailure::NotFound { old, near } => (old, near),
            other => panic!("{other:?}"),
        };
        assert_eq!(missing(&["let x = 1;", "let y = 9;"]), ("let y = 9;".into(), vec![2]));
        assert_eq!(missing(&["let z = 3;", "end"]), ("end".into(), vec![]));
        assert_eq!(missing(&["let w = 1;"]), ("let w = 1;".into(), vec![1]));
        assert_eq!(missing(&["something else"]), ("something else".into(), vec![]));
    }
}
