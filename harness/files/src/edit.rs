//! Replacing pieces of a text.
//!
//! Knows bytes and swaps, not paths. Called by the plan.

use std::ops::Range;

use protocol::{EditFailure, Hits, MatchBy, Swap};

use crate::matching::{Level, Lines, Wanted, number, number_at};
use crate::refused::Refused;
use crate::text::{Text, to_lf_only};
use crate::tolerant::{Leads, reworded};

/// The file's new bytes, and how many places were replaced.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    pub(crate) replaced: u32,
}

/// Whether the model knows the bytes that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// As they are, or never read: what is quoted says what is meant.
    Current,
    /// It read others, so only what stands once can be meant.
    Behind,
}

/// Applies the swaps one after the other.
pub(crate) fn edit(bytes: &[u8], swaps: &[Swap], rule: MatchBy, sight: Sight) -> Result<Edited, Refused> {
    let mut now = bytes.to_vec();
    let mut replaced = 0;
    for swap in swaps {
        let text = Text::decode(&now).ok_or(EditFailure::NotText)?;
        let (next, count) = one(&text, swap, rule, sight)?;
        replaced += count;
        now = next;
    }
    if now == bytes { Err(EditFailure::NoChange.into()) } else { Ok(Edited { bytes: now, replaced }) }
}

/// A text from a model, as a file would show it.
fn plain(text: &str) -> String {
    to_lf_only(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn one(text: &Text, swap: &Swap, rule: MatchBy, sight: Sight) -> Result<(Vec<u8>, u32), Refused> {
    let (old, new) = (plain(&swap.old), plain(&swap.new));
    if old.is_empty() {
        // Nothing to anchor at: only an empty file can be meant as a whole.
        if !text.shown().is_empty() {
            return Err(EditFailure::EmptyOld.into());
        }
        return Ok((text.replace_all(&new)?, 1));
    }
    if old == new {
        return Err(EditFailure::NoChange.into());
    }
    let swaps = match exact(text.shown(), &old, swap.hits, sight)? {
        ranges if ranges.is_empty() => vec![forgiving(text.shown(), &old, &new, rule)?],
        ranges => ranges.into_iter().map(|range| (range, new.clone())).collect(),
    };
    let count = u32::try_from(swaps.len()).unwrap_or(u32::MAX);
    Ok((text.splice(&swaps)?, count))
}

/// The places of exactly the old text.
fn exact(shown: &str, old: &str, hits: Hits, sight: Sight) -> Result<Vec<Range<usize>>, EditFailure> {
    let starts = places(shown, old);
    if starts.len() < 2 {
        return Ok(starts.into_iter().map(|at| at..at + old.len()).collect());
    }
    match (hits, sight) {
        (Hits::All, Sight::Current) => {
            Ok(shown.match_indices(old).map(|(at, _)| at..at + old.len()).collect())
        }
        (Hits::All, Sight::Behind) => Err(EditFailure::Stale),
        (Hits::One, _) => {
            let lines = starts.iter().take(MOST_LINES).map(|at| number_at(shown, *at)).collect();
            Err(EditFailure::Ambiguous { old: old.into(), lines })
        }
    }
}

/// Places of an ambiguous text that are told.
const MOST_LINES: usize = 50;

/// Where the old text begins, places that overlap included: they are as ambiguous as others.
fn places(shown: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = shown.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// The one place that is the old text when something is forgiven, and what comes there.
fn forgiving(
    shown: &str,
    old: &str,
    new: &str,
    rule: MatchBy,
) -> Result<(Range<usize>, String), EditFailure> {
    let body: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let wanted: Vec<Wanted> = body.iter().map(|line| Wanted::new(line)).collect();
    let lines = Lines::new(shown);
    let levels: &[Level] = match rule {
        _ if wanted.iter().all(Wanted::is_blank) => &[],
        MatchBy::Exact => &[],
        MatchBy::TrimmedEnds => &[Level::Ends],
        MatchBy::Fuzzy => &[Level::Ends, Level::Trimmed, Level::Eye],
    };
    let leads = |at: usize| {
        let found: Vec<&str> = (at..at + body.len()).map(|at| lines.get(at)).collect();
        Leads::new(&body, &found)
    };
    for level in levels {
        let hits = lines.runs(&wanted, *level, 0);
        let hits: Vec<(usize, Leads)> = hits.into_iter().filter_map(|at| Some((at, leads(at)?))).collect();
        match hits.as_slice() {
            [] => {}
            [(at, leads)] => return Ok(replacement(&lines, *at, &body, (old, new), leads)),
            _ => {
                let lines = hits.iter().take(MOST_LINES).map(|(at, _)| number(*at)).collect();
                return Err(EditFailure::Ambiguous { old: old.into(), lines });
            }
        }
    }
    Err(lines.not_found(&wanted))
}

/// Whole lines for whole lines; the file's final newline, or its lack, stays.
fn replacement(
    lines: &Lines,
    at: usize,
    body: &[&str],
    (old, new): (&str, &str),
    leads: &Leads,
) -> (Range<usize>, String) {
    let last = at + body.len() - 1;
    let closed = lines.end(last) < lines.text.len();
    let with_end = old.ends_with('\n');
    let range = lines.start(at)..if with_end { lines.start(last + 1) } else { lines.end(last) };
    if new.is_empty() {
        return (range, String::new());
    }
    let found: Vec<&str> = (at..=last).map(|at| lines.get(at)).collect();
    let come: Vec<&str> = new.strip_suffix('\n').unwrap_or(new).split('\n').collect();
    let mut text = reworded(&found, body, &come, leads).join("\n");
    if new.ends_with('\n') && (closed || !with_end) {
        text.push('\n');
    }
    (range, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(old: &str, new: &str, hits: Hits) -> Vec<Swap> {
        vec![Swap { old: old.into(), new: new.into(), hits }]
    }

    fn with(before: &str, old: &str, new: &str, rule: MatchBy, sight: Sight) -> Result<String, EditFailure> {
        match edit(before.as_bytes(), &swap(old, new, Hits::One), rule, sight) {
            Ok(edited) => Ok(String::from_utf8(edited.bytes).unwrap()),
            Err(Refused::Edit(why)) => Err(why),
            Err(Refused::Letter(letter)) => panic!("{letter:?}"),
        }
    }

    fn done(before: &str, old: &str, new: &str) -> Result<String, EditFailure> {
        with(before, old, new, MatchBy::Fuzzy, Sight::Current)
    }

    #[test]
    fn exact_then_forgiving() {
        let cases = [
            ("a\nb\n", "b", "c", "a\nc\n"),
            ("x  \ny\n", "x\ny", "z", "z\n"),
            ("x  \ny\n", "x\ny\n", "x\nz\n", "x  \nz\n"),
            ("  if a:\n    b\n", "if a:\n  b", "if c:\n  b", "  if c:\n    b\n"),
            ("s = “q”\n", "s = \"q\"", "s = 'r'", "s = 'r'\n"),
            ("a = \"x\"\nb = “x”\n", "\"x\"", "\"y\"", "a = \"y\"\nb = “x”\n"),
            ("'q'\n", "'q'", "‘q’", "‘q’\n"),
            ("cafe\u{301}!\n", "caf\u{e9}!", "tea", "tea\n"),
            ("one\nlast", "last\n", "LAST\n", "one\nLAST"),
            ("one\ntwo\n", "one\n", "", "two\n"),
            ("one \ntwo\n", "one\n", "", "two\n"),
            ("\u{feff}a\nb\n", "\u{feff}a\n", "\u{feff}c\n", "\u{feff}c\nb\n"),
            ("a\r\nb\r\n", "a\r\nb", "a\nc", "a\r\nc\r\n"),
            ("", "", "b\n", "b\n"),
            ("\u{feff}", "", "b\n", "\u{feff}b\n"),
        ];
        for (before, old, new, after) in cases {
            assert_eq!(done(before, old, new).as_deref(), Ok(after), "{before:?}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn refusals() {
        let lines = |result| match result {
            Err(EditFailure::Ambiguous { lines, .. }) => lines,
            other => panic!("{other:?}"),
        };
        assert_eq!(lines(done("a\na\n", "a", "b")), [1, 2]);
        assert_eq!(lines(done("}\n}\n}\n", "}\n}\n", "}\n")), [1, 2]);
        assert_eq!(lines(done("“a”\n‟a‟\n", "\"a\"", "b")), [1, 2]);
        assert_eq!(done("a\n", "", "b"), Err(EditFailure::EmptyOld));
        assert_eq!(done("a\n", "\u{feff}", "b"), Err(EditFailure::EmptyOld));
        assert_eq!(done("a\n", "a", "a"), Err(EditFailure::NoChange));
        assert!(matches!(done("a\n\n", "\n\n\n", "b"), Err(EditFailure::NotFound { .. })));
        let missing = done("let x = 1;\nlet y = 2;\n", "let x = 1;\nlet y = 3;", "");
        assert_eq!(missing, Err(EditFailure::NotFound { old: "let y = 3;".into(), near: vec![2] }));
    }

    #[test]
    fn how_much_is_forgiven_is_the_rules() {
        let with = |before, old, rule| with(before, old, "new", rule, Sight::Current).is_ok();
        use MatchBy::{Exact, Fuzzy, TrimmedEnds};
        for (before, old, allowed) in [
            ("a \nb", "a\nb", [false, true, true]),
            ("\ta\n\tb", "a\nb", [false, false, true]),
            ("a – b", "a - b", [false, false, true]),
            ("a\n  b", "  a\nb", [false, false, false]),
        ] {
            let made = [Exact, TrimmedEnds, Fuzzy].map(|rule| with(before, old, rule));
            assert_eq!(made, allowed, "{old:?} in {before:?}");
        }
    }

    #[test]
    fn all_places() {
        let all = |sight| edit("a b a".as_bytes(), &swap("a", "c", Hits::All), MatchBy::Fuzzy, sight);
        let edited = all(Sight::Current).unwrap();
        assert_eq!((edited.bytes.as_slice(), edited.replaced), (&b"c b c"[..], 2));
        assert_eq!(all(Sight::Behind).unwrap_err(), Refused::Edit(EditFailure::Stale));
        assert_eq!(with("a b", "a", "c", MatchBy::Exact, Sight::Behind).unwrap(), "c b");
    }

    #[test]
    fn many_places_of_a_large_file_are_quick() {
        let before = "x\u{e9};\r\n".repeat(100_000);
        let started = std::time::Instant::now();
        let edited =
            edit(before.as_bytes(), &swap("x", "yy", Hits::All), MatchBy::Fuzzy, Sight::Current).unwrap();
        assert_eq!(edited.bytes, before.replace('x', "yy").into_bytes());
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
