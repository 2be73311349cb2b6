//! Chunks of an update worked into a file's text.

use std::ops::Range;

use protocol::{EditFailure, Line, PatchChunk};

use crate::edit::unwritable;
use crate::matching::{line_level, near, spans};
use crate::text::Text;

/// The file's new bytes.
pub(crate) fn apply(bytes: &[u8], chunks: &[PatchChunk]) -> Result<Vec<u8>, EditFailure> {
    let text = Text::decode(bytes).ok_or(EditFailure::NotText)?;
    let lines = spans(text.shown());
    let mut swaps: Vec<(Range<usize>, String)> = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        let place = locate(text.shown(), &lines, chunk, from)?;
        from = place.end;
        swaps.extend(changes(text.shown(), &lines, chunk, &place));
    }
    text.splice(&swaps).map_err(unwritable)
}

/// Which lines of the file a chunk's old lines are.
fn locate(
    text: &str,
    lines: &[Range<usize>],
    chunk: &PatchChunk,
    from: usize,
) -> Result<Range<usize>, EditFailure> {
    let line = |at: usize| lines.get(at).and_then(|span| text.get(span.clone())).unwrap_or_default();
    let mut start = from;
    for anchor in &chunk.under {
        let found = (0..=3u8).find_map(|level| {
            (start..lines.len()).find(|at| line_level(line(*at), anchor).is_some_and(|found| found <= level))
        });
        match found {
            Some(at) => start = at + 1,
            None => return Err(EditFailure::NotFound { old: anchor.clone(), near: near(text, anchor) }),
        }
    }
    let old: Vec<&str> = chunk
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Same(text) | Line::Gone(text) => Some(text.as_str()),
            Line::New(_) => None,
        })
        .collect();
    if old.is_empty() {
        // Only new lines: behind their anchor, else at the end of the file.
        let at = if chunk.under.is_empty() { lines.len() } else { start };
        return Ok(at..at);
    }
    find_run(&line, lines.len(), &old, start, chunk.at_end)
        .map(|at| at..at + old.len())
        .ok_or_else(|| not_found(text, &line, lines.len(), &old, start))
}

/// The first run of lines that are the old ones, by the strictest level that has one.
fn find_run<'a>(
    line: &impl Fn(usize) -> &'a str,
    count: usize,
    old: &[&str],
    from: usize,
    at_end: bool,
) -> Option<usize> {
    let last = count.checked_sub(old.len())?;
    let same = |at: usize, level: u8| {
        old.iter()
            .enumerate()
            .all(|(offset, old)| line_level(line(at + offset), old).is_some_and(|found| found <= level))
    };
    (0..=3u8).find_map(|level| {
        if at_end && last >= from && same(last, level) {
            return Some(last);
        }
        let mut hits = (from..=last).filter(|at| same(*at, level));
        let first = hits.next()?;
        // Forgiven differences must not choose between places.
        if level > 1 && hits.next().is_some() { None } else { Some(first) }
    })
}

/// Names the line that differs, at the place that fits best.
fn not_found<'a>(
    text: &str,
    line: &impl Fn(usize) -> &'a str,
    count: usize,
    old: &[&str],
    from: usize,
) -> EditFailure {
    let fits = |at: usize| {
        old.iter().enumerate().filter(|(offset, old)| line_level(line(at + offset), old).is_some()).count()
    };
    let best = (from..count).max_by_key(|at| (fits(*at), std::cmp::Reverse(*at)));
    match best.filter(|at| fits(*at) > 0) {
        Some(at) => {
            let differs = (0..old.len()).find(|offset| {
                old.get(*offset)
                    .is_some_and(|old| at + offset >= count || line_level(line(at + offset), old).is_none())
            });
            let offset = differs.unwrap_or(0);
            let number = u32::try_from(at + offset + 1).unwrap_or(u32::MAX);
            EditFailure::NotFound {
                old: old.get(offset).copied().unwrap_or_default().into(),
                near: vec![number],
            }
        }
        None => {
            let first = old.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
            EditFailure::NotFound { old: first.into(), near: near(text, first) }
        }
    }
}

/// The splices of one chunk: runs of removed and added lines between lines that stay as they are.
fn changes(
    text: &str,
    lines: &[Range<usize>],
    chunk: &PatchChunk,
    place: &Range<usize>,
) -> Vec<(Range<usize>, String)> {
    let mut swaps = Vec::new();
    let mut at = place.start;
    let mut run: Option<(usize, Vec<&str>)> = None;
    for line in &chunk.lines {
        match line {
            Line::Same(_) => {
                flush(text, lines, run.take(), at, &mut swaps);
                at += 1;
            }
            Line::Gone(_) => {
                run.get_or_insert((at, Vec::new()));
                at += 1;
            }
            Line::New(new) => run.get_or_insert((at, Vec::new())).1.push(new),
        }
    }
    flush(text, lines, run, at, &mut swaps);
    swaps
}

/// Replaces lines `from..to` by the new ones; the file's final newline, or its lack, stays.
fn flush(
    text: &str,
    lines: &[Range<usize>],
    run: Option<(usize, Vec<&str>)>,
    to: usize,
    swaps: &mut Vec<(Range<usize>, String)>,
) {
    let Some((from, new)) = run else { return };
    let begin = |at: usize| lines.get(at).map_or(text.len(), |span| span.start);
    let (start, end) = (begin(from), begin(to));
    let at_end = end == text.len();
    let open = at_end && !text.is_empty() && !text.ends_with('\n');
    let mut body: String = new.iter().flat_map(|line| [*line, "\n"]).collect();
    let mut range = start..end;
    if open {
        body.pop();
        if new.is_empty() && start > 0 {
            // The line before becomes the last, without an end as the old last one.
            range.start -= 1;
        } else if from >= lines.len() {
            body.insert(0, '\n');
        }
    }
    swaps.push((range, body));
}
