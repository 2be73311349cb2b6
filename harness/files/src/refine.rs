//! The least that has to change to make one text of another: whole lines first, then within them.
//!
//! Knows only strings. Called where bytes are spliced, so that lines given again unchanged are left alone.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, TextDiff};

/// A comparison that takes longer gives a coarser answer, never a wrong one.
const DEADLINE: Duration = Duration::from_millis(100);

/// Ranges of `old`, in rising order, and what comes in their place.
pub(crate) fn refine(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let whole = narrow(old, new, 0..old.len(), 0..new.len());
    let many =
        |text: &str, range: &Range<usize>| text.get(range.clone()).is_some_and(|text| text.contains('\n'));
    if !many(old, &whole.0) || !many(new, &whole.1) {
        return vec![whole];
    }
    let compared = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(Instant::now() + DEADLINE)
        .diff_slices(&lines(old), &lines(new));
    let (old_lines, new_lines) = (starts(old), starts(new));
    let bytes = |starts: &[usize], range: Range<usize>| {
        let at = |line: usize| starts.get(line).or(starts.last()).copied().unwrap_or(0);
        at(range.start)..at(range.end)
    };
    compared
        .ops()
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| narrow(old, new, bytes(&old_lines, op.old_range()), bytes(&new_lines, op.new_range())))
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Where each line begins, and the end of the last.
fn starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    for line in lines(text) {
        starts.push(starts.last().copied().unwrap_or(0) + line.len());
    }
    starts
}

/// Leaves out what both have at their beginning and at their end.
fn narrow(old: &str, new: &str, gone: Range<usize>, come: Range<usize>) -> (Range<usize>, Range<usize>) {
    let (a, b) = (old.get(gone.clone()).unwrap_or_default(), new.get(come.clone()).unwrap_or_default());
    let head: usize = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (a, b) = (a.get(head..).unwrap_or_default(), b.get(head..).unwrap_or_default());
    let ends = a.chars().rev().zip(b.chars().rev());
    let tail: usize = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    (gone.start + head..gone.end - tail, come.start + head..come.end - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_differs() {
        let made = refine("a\nb\nc\nd\n", "x\nb\nc\nDd\n");
        assert_eq!(made, [(0..1, 0..1), (6..6, 6..7)]);
        assert_eq!(refine("é", "è"), [(0..2, 0..2)]);
        assert_eq!(refine("aa", "aaa"), [(2..2, 2..3)]);
    }

    proptest! {
        #[test]
        fn it_makes_the_new_text(old in "[ab\né]{0,24}", new in "[ab\né]{0,24}") {
            let mut out = String::new();
            let mut done = 0;
            for (gone, come) in refine(&old, &new) {
                prop_assert!(done <= gone.start && gone.start <= gone.end);
                out += &old[done..gone.start];
                out += &new[come];
                done = gone.end;
            }
            out += &old[done..];
            prop_assert_eq!(out, new);
        }
    }
}
