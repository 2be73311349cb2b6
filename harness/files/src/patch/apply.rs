//! Chunks of an update worked into a file's text.
//!
//! Knows bytes and chunks, not paths. Called by the plan.

use std::ops::Range;

use protocol::{EditFailure, Line, PatchChunk};

use crate::edit::Sight;
use crate::matching::{Level, Lines, Wanted, number};
use crate::refused::Refused;
use crate::text::Text;

/// The file's new bytes.
pub(crate) fn apply(bytes: &[u8], chunks: &[PatchChunk], sight: Sight) -> Result<Vec<u8>, Refused> {
    let text = Text::decode(bytes).ok_or(EditFailure::NotText)?;
    let lines = Lines::new(text.shown());
    let mut swaps = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        let (place, used) = locate(&lines, chunk, from, sight)?;
        if !place.is_empty() || !chunk.under.is_empty() || chunk.line.is_some() {
            from = place.end;
        }
        changes(used, place.start, &mut swaps);
    }
    Ok(text.splice(&ranges(&lines, swaps))?)
}

/// Which lines of the file a chunk's old lines are, and the chunk's lines that count.
fn locate<'c>(
    lines: &Lines,
    chunk: &'c PatchChunk,
    from: usize,
    sight: Sight,
) -> Result<(Range<usize>, &'c [Line]), EditFailure> {
    let below = below(lines, chunk, from)?;
    let all = chunk.lines.as_slice();
    let found = find(lines, chunk, all, below, sight);
    // Blank lines at the end of a chunk are often only space before the next.
    let spare = all.iter().rev().take_while(|line| matches!(line, Line::Same(text) if text.is_empty()));
    let fewer = all.get(..all.len() - spare.count()).unwrap_or_default();
    match &found {
        Err(EditFailure::NotFound { .. }) if !fewer.is_empty() && fewer.len() < all.len() => {
            find(lines, chunk, fewer, below, sight)
                .map(|place| (place, fewer))
                .or(found.map(|place| (place, all)))
        }
        _ => found.map(|place| (place, all)),
    }
}

/// Where a chunk may begin.
#[derive(Clone, Copy)]
struct Below {
    /// The line below the last anchor.
    start: usize,
    /// The last anchor's own line.
    anchor: Option<usize>,
}

fn below(lines: &Lines, chunk: &PatchChunk, from: usize) -> Result<Below, EditFailure> {
    let mut below = Below { start: from, anchor: None };
    for anchor in &chunk.under {
        let wanted = Wanted::new(anchor);
        let first = |level: &Level| (below.start..lines.len()).find(|at| lines.is_same(*at, &wanted, *level));
        let found = Level::ALL.iter().find_map(first);
        match found {
            Some(at) => below = Below { start: at + 1, anchor: Some(at) },
            None => return Err(EditFailure::NotFound { old: anchor.clone(), near: lines.near(&wanted) }),
        }
    }
    Ok(below)
}

fn find(
    lines: &Lines,
    chunk: &PatchChunk,
    used: &[Line],
    below: Below,
    sight: Sight,
) -> Result<Range<usize>, EditFailure> {
    let old: Vec<Wanted> = used
        .iter()
        .filter_map(|line| match line {
            Line::Same(text) | Line::Gone(text) => Some(Wanted::new(text)),
            Line::New(_) => None,
        })
        .collect();
    if old.is_empty() {
        let at = only_new(lines, chunk, below.start, sight)?;
        return Ok(at..at);
    }
    for level in Level::ALL {
        if let Some(at) = at_level(lines, chunk, &old, (below.start, level), sight)? {
            return Ok(at..at + old.len());
        }
    }
    // The anchor may be given once more as the first line.
    let again = below.anchor.filter(|at| Level::ALL.iter().any(|level| lines.stand_at(*at, &old, *level)));
    again.map(|at| at..at + old.len()).ok_or_else(|| lines.not_found(&old))
}

/// The line in front of which lines come that have no old ones: below their anchor, at the number given,
/// else at the end of the file.
fn only_new(lines: &Lines, chunk: &PatchChunk, start: usize, sight: Sight) -> Result<usize, EditFailure> {
    match chunk.line {
        _ if chunk.at_end => Ok(lines.len()),
        _ if !chunk.under.is_empty() => Ok(start),
        Some(_) if sight == Sight::Behind => Err(EditFailure::Stale),
        Some(line) => Ok(usize::try_from(line).unwrap_or(usize::MAX).clamp(start, lines.len().max(start))),
        None => Ok(lines.len()),
    }
}

/// Where the old lines stand at this level of forgiving.
fn at_level(
    lines: &Lines,
    chunk: &PatchChunk,
    old: &[Wanted],
    (start, level): (usize, Level),
    sight: Sight,
) -> Result<Option<usize>, EditFailure> {
    let hits = lines.runs(old, level, start);
    let last = lines.len().checked_sub(old.len());
    if chunk.at_end && hits.last().copied() == last {
        return Ok(last);
    }
    match (hits.as_slice(), chunk.line) {
        ([] | [_], _) => Ok(hits.first().copied()),
        // What is forgiven must not choose between places.
        (_, _) if level > Level::Exact => {
            let text = old.first().map_or(String::new(), |line| line.text.into());
            Err(EditFailure::Ambiguous { old: text, lines: hits.into_iter().map(number).collect() })
        }
        (_, _) if sight == Sight::Behind => Err(EditFailure::Stale),
        (_, Some(line)) => Ok(hits.iter().min_by_key(|at| number(**at).abs_diff(line)).copied()),
        (_, None) => Ok(hits.first().copied()),
    }
}

/// Lines `from..to` of the file, and what comes in their place.
struct Swap<'c> {
    from: usize,
    to: usize,
    new: Vec<&'c str>,
}

/// The swaps of one chunk: runs of removed and added lines between lines that stay as they are.
fn changes<'c>(chunk: &'c [Line], start: usize, swaps: &mut Vec<Swap<'c>>) {
    let mut at = start;
    let mut run: Option<Swap> = None;
    for line in chunk {
        match line {
            Line::Same(_) => {
                swaps.extend(run.take());
                at += 1;
            }
            Line::Gone(_) => {
                at += 1;
                run.get_or_insert(Swap { from: at - 1, to: at, new: Vec::new() }).to = at;
            }
            Line::New(new) => run.get_or_insert(Swap { from: at, to: at, new: Vec::new() }).new.push(new),
        }
    }
    swaps.extend(run);
}

/// The swaps as ranges of the text. The file's final newline, or its lack, stays.
fn ranges(lines: &Lines, mut swaps: Vec<Swap>) -> Vec<(Range<usize>, String)> {
    swaps.sort_by_key(|swap| swap.from);
    let mut merged: Vec<Swap> = Vec::new();
    for swap in swaps {
        match merged.last_mut() {
            Some(last) if last.to == swap.from => {
                last.to = swap.to;
                last.new.extend(swap.new);
            }
            _ => merged.push(swap),
        }
    }
    merged.iter().map(|swap| range(lines, swap)).collect()
}

fn range(lines: &Lines, swap: &Swap) -> (Range<usize>, String) {
    let len = lines.text.len();
    let mut body: String = swap.new.iter().flat_map(|line| [*line, "\n"]).collect();
    let mut range = lines.start(swap.from)..lines.start(swap.to);
    let open = len > 0 && !lines.text.ends_with('\n');
    if !open || swap.to < lines.len() {
        return (range, body);
    }
    if swap.from == lines.len() {
        body.insert(0, '\n');
    }
    if body.pop().is_none() {
        // The line before becomes the last, and loses its end as the old last one had none.
        range.start = range.start.saturating_sub(1);
    }
    (range, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A chunk from lines that begin with ` `, `-` and `+`; `@` gives an anchor, `#` a number, `$` the end.
    fn chunk(text: &str) -> PatchChunk {
        let mut chunk = PatchChunk { under: Vec::new(), line: None, lines: Vec::new(), at_end: false };
        for line in text.split('|') {
            let (first, rest) = line.split_at(1);
            match first {
                " " => chunk.lines.push(Line::Same(rest.into())),
                "-" => chunk.lines.push(Line::Gone(rest.into())),
                "+" => chunk.lines.push(Line::New(rest.into())),
                "@" => chunk.under.push(rest.into()),
                "#" => chunk.line = rest.parse().ok(),
                _ => chunk.at_end = true,
            }
        }
        chunk
    }

    fn patched(before: &str, chunks: &[&str], sight: Sight) -> Result<String, EditFailure> {
        let chunks: Vec<PatchChunk> = chunks.iter().map(|text| chunk(text)).collect();
        match apply(before.as_bytes(), &chunks, sight) {
            Ok(bytes) => Ok(String::from_utf8(bytes).unwrap()),
            Err(Refused::Edit(why)) => Err(why),
            Err(Refused::Letter(letter)) => panic!("{letter:?}"),
        }
    }

    #[test]
    fn places_and_ends() {
        let cases: &[(&str, &[&str], &str)] = &[
            // An anchor, a number, the end say which of several is meant.
            ("x\na\nx\n", &["@a|-x|+y"], "x\na\ny\n"),
            ("x\na\nx\na\nx\n", &["#4|-x|+y"], "x\na\ny\na\nx\n"),
            ("x\na\nx\n", &["-x|+y|$"], "x\na\ny\n"),
            // The anchor given once more.
            ("def f\n a\n", &["@def f| def f|- a|+ b"], "def f\n b\n"),
            // Only new lines.
            ("a\nb\n", &["@a|+n"], "a\nn\nb\n"),
            ("a\nb\n", &["#1|+n"], "a\nn\nb\n"),
            ("a\nb\n", &["+n"], "a\nb\nn\n"),
            ("a\nb\n", &["+n", "-a|+A"], "A\nb\nn\n"),
            ("", &["+n"], "n\n"),
            // Blank lines before the next chunk.
            ("a\nb\nc\n", &["-a|+A| ", "-c|+C| "], "A\nb\nC\n"),
            // The final newline, or its lack, stays.
            ("a\nb", &["-b|+B"], "a\nB"),
            ("a\nb", &["-b"], "a"),
            ("a\nb", &["-a|+A", "-b"], "A"),
            ("a\nb", &["-a| b"], "b"),
            ("a\nb", &["-a|-b"], ""),
            ("a\nb", &[" b|+c|+d"], "a\nb\nc\nd"),
            ("a\nb\n", &["-b"], "a\n"),
            ("a\r\nb", &[" b|+c"], "a\r\nb\r\nc"),
        ];
        for (before, chunks, after) in cases {
            assert_eq!(
                patched(before, chunks, Sight::Current).as_deref(),
                Ok(*after),
                "{before:?} {chunks:?}"
            );
        }
    }

    #[test]
    fn refusals() {
        let refused = |before, chunks: &[&str], sight| patched(before, chunks, sight).unwrap_err();
        assert_eq!(
            refused("a \nb\na \n", &["-a|+c"], Sight::Current),
            EditFailure::Ambiguous { old: "a".into(), lines: vec![1, 3] }
        );
        assert_eq!(refused("x\nx\n", &["-x|+y"], Sight::Behind), EditFailure::Stale);
        assert_eq!(refused("x\ny\n", &["#1|+n"], Sight::Behind), EditFailure::Stale);
        assert_eq!(patched("x\ny\n", &["-x|+z"], Sight::Behind).as_deref(), Ok("z\ny\n"));
        assert_eq!(
            refused("row 4\nrow 5\nrow 6\n", &[" row 4| row 5|-row 06|+six"], Sight::Current),
            EditFailure::NotFound { old: "row 06".into(), near: vec![3] }
        );
        assert_eq!(
            refused("one\n", &["@def nope():|-one"], Sight::Current),
            EditFailure::NotFound { old: "def nope():".into(), near: vec![] }
        );
    }

    proptest! {
        /// A patch made from two texts turns one into the other, whatever the final newlines are.
        #[test]
        fn a_patch_of_all_lines_makes_the_new_text(old in "[ab]{1,3}(\n[a-c]{0,2}){0,6}", new in "[ab]{1,3}(\n[a-c]{0,2}){0,6}", closed: bool) {
            let end = if closed { "\n" } else { "" };
            let old = old.trim_end_matches('\n').to_string() + end;
            let new = new.trim_end_matches('\n').to_string() + end;
            let mut lines: Vec<Line> = old.lines().map(|line| Line::Gone(line.into())).collect();
            lines.extend(new.lines().map(|line| Line::New(line.into())));
            let chunk = PatchChunk { under: Vec::new(), line: None, lines, at_end: false };
            let made = apply(old.as_bytes(), &[chunk], Sight::Current).unwrap();
            prop_assert_eq!(String::from_utf8(made).unwrap(), new);
        }
    }
}
