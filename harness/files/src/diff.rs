//! What an edit does to a file, as hunks of lines with three lines around.
//!
//! Knows two states of bytes. Called for every edit before it is shown, and for what commands changed.

use std::time::{Duration, Instant};

use protocol::{FileDiff, FileKind, FilePath, Hunk, Line};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use crate::text::Text;

/// Lines shown around a change.
const AROUND: usize = 3;
/// Beyond this, what lies between the first and the last difference is not compared line by line.
const COMPARED_BYTES: usize = 1024 * 1024;
/// A comparison that takes longer gives a coarser answer.
const DEADLINE: Duration = Duration::from_millis(200);
/// Bytes of hunks that are kept.
const KEPT_BYTES: usize = 256 * 1024;

/// The diff of two states of a file; none is "no file". Lines are shown with LF ends.
///
/// What is left out is said in `cut`: of what is not text or too large everything, else what is beyond 256 KiB.
pub fn diff(path: FilePath, kind: FileKind, before: Option<&[u8]>, after: Option<&[u8]>) -> FileDiff {
    let (Some(old), Some(new)) = (shown(before), shown(after)) else {
        let cut = format!("not text: {}, {}", size("before", before), size("after", after));
        return FileDiff { path, kind: binary(kind), hunks: Vec::new(), cut: Some(cut) };
    };
    let (hunks, cut) = if old == new && before.is_some() && after.is_some() && before != after {
        (Vec::new(), Some("only line ends, the mark or the encoding are different".into()))
    } else {
        hunks(&old, &new)
    };
    FileDiff { path, kind, hunks, cut }
}

fn size(when: &str, bytes: Option<&[u8]>) -> String {
    match bytes {
        None => format!("no file {when}"),
        Some(bytes) => format!("{} bytes {when}", bytes.len()),
    }
}

fn binary(kind: FileKind) -> FileKind {
    match kind {
        FileKind::Update | FileKind::Binary => FileKind::Binary,
        FileKind::Add | FileKind::Delete | FileKind::Move { .. } => kind,
    }
}

fn shown(bytes: Option<&[u8]>) -> Option<String> {
    match bytes {
        None => Some(String::new()),
        Some(bytes) => Text::decode(bytes).map(|text| text.shown().to_string()),
    }
}

fn hunks(old: &str, new: &str) -> (Vec<Hunk>, Option<String>) {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let (gone, come) = different(&old, &new);
    if gone.min(come) > COMPARED_BYTES {
        return (Vec::new(), Some(format!("too large to compare: {gone} bytes make way for {come}")));
    }
    let deadline = Some(Instant::now() + DEADLINE);
    let groups = group_diff_ops(capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline), AROUND);
    let count = groups.len();
    let mut room = KEPT_BYTES;
    let mut made = Vec::new();
    for (done, ops) in groups.iter().enumerate() {
        let (hunk, left) = hunk(&old, &new, ops, &mut room);
        if !hunk.lines.is_empty() {
            made.push(hunk);
        }
        if left > 0 {
            let more = count - done - 1;
            return (made, Some(format!("{left} more lines here and {more} more hunks are not shown")));
        }
    }
    (made, None)
}

/// Bytes of either side between the first and the last difference.
fn different(old: &[&str], new: &[&str]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&str]| -> usize {
        lines.get(head..lines.len() - tail).unwrap_or_default().iter().map(|line| line.len()).sum()
    };
    (middle(old), middle(new))
}

/// One hunk as far as there is room, and the number of its lines left out.
fn hunk(old: &[&str], new: &[&str], ops: &[DiffOp], room: &mut usize) -> (Hunk, usize) {
    let first = ops.first().map(|op| (op.old_range().start, op.new_range().start)).unwrap_or_default();
    let mut lines = Vec::new();
    let mut left = 0;
    for op in ops {
        let gone = old.get(op.old_range()).unwrap_or_default().iter();
        let come = new.get(op.new_range()).unwrap_or_default().iter();
        let all: Vec<Line> = match op.tag() {
            DiffTag::Equal => gone.map(|line| Line::Same(line.to_string())).collect(),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => gone
                .map(|line| Line::Gone(line.to_string()))
                .chain(come.map(|line| Line::New(line.to_string())))
                .collect(),
        };
        for line in all {
            if left > 0 || line.text().len() > *room {
                left += 1;
            } else {
                *room -= line.text().len();
                lines.push(line);
            }
        }
    }
    (Hunk { old_line: number(first.0, old), new_line: number(first.1, new), lines }, left)
}

/// Line numbers count from 1; those of an empty side are 0, as in unified diffs.
fn number(index: usize, side: &[&str]) -> u32 {
    if side.is_empty() { 0 } else { u32::try_from(index + 1).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(before: Option<&[u8]>, after: Option<&[u8]>) -> FileDiff {
        diff(FilePath("/f".into()), FileKind::Update, before, after)
    }

    fn texts(old: &str, new: &str) -> FileDiff {
        made(Some(old.as_bytes()), Some(new.as_bytes()))
    }

    #[test]
    fn hunks_have_context_and_numbers() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n10\n", "\nten\n").replace("\n30\n", "\n30\nthirty\n");
        let made = texts(&old, &new);
        let places: Vec<_> =
            made.hunks.iter().map(|hunk| (hunk.old_line, hunk.new_line, hunk.lines.len())).collect();
        assert_eq!((places, made.counts(), made.cut), (vec![(7, 7, 8), (28, 28, 7)], (2, 1), None));
    }

    #[test]
    fn new_deleted_and_binary_files() {
        let path = || FilePath("/f".into());
        let added = diff(path(), FileKind::Add, None, Some(b"a\nb"));
        assert_eq!((added.counts(), added.hunks[0].old_line, added.hunks[0].new_line), ((2, 0), 0, 1));
        assert_eq!(diff(path(), FileKind::Delete, Some(b"a\n"), None).counts(), (0, 1));
        let empty = diff(path(), FileKind::Add, None, Some(b""));
        assert_eq!((empty.hunks.len(), empty.cut), (0, None));
        let odd = made(Some(b"a\0"), Some(b"b"));
        assert_eq!(
            (odd.kind, odd.cut.as_deref()),
            (FileKind::Binary, Some("not text: 2 bytes before, 1 bytes after"))
        );
        assert!(made(Some(b"a\n"), Some(b"a\r\n")).cut.unwrap().contains("line ends"));
    }

    #[test]
    fn a_small_change_of_a_large_file_is_exact() {
        let old: String = (0..400_000).map(|n| format!("line {n}\n")).collect();
        let made = texts(&old, &old.replace("line 200000\n", "other\n"));
        assert_eq!((made.counts(), made.hunks[0].old_line, made.cut), ((1, 1), 199_998, None));
    }

    #[test]
    fn much_is_cut_and_said() {
        let lines = |tag: &str| -> String { (0..200_000).map(|n| format!("{tag} {n}\n")).collect() };
        let (old, new) = (lines("old"), lines("new"));
        assert!(texts(&old, &new).cut.unwrap().starts_with("too large to compare"));
        let added = made(None, Some(new.as_bytes()));
        assert!(added.bytes() <= KEPT_BYTES && added.cut.unwrap().contains("more lines"));
        let one = made(None, Some(&[b'x'; 2 * KEPT_BYTES]));
        assert!(one.hunks.is_empty() && one.cut.unwrap().starts_with("1 more lines"));
    }

    #[test]
    fn a_hard_comparison_ends() {
        let mixed =
            |step: usize| -> String { (0..50_000).map(|n| format!("{}\n", n * step % 49_999)).collect() };
        let started = Instant::now();
        let made = texts(&mixed(7), &mixed(11));
        assert!(!made.hunks.is_empty() && started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    /// Applies the hunks to the old text.
    fn applied(old: &str, diff: &FileDiff) -> String {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        for hunk in &diff.hunks {
            let start = (hunk.old_line as usize).saturating_sub(1);
            out.extend(lines[at..start].iter().copied());
            at = start;
            for line in &hunk.lines {
                if !matches!(line, Line::New(_)) {
                    assert_eq!(lines[at], line.text());
                    at += 1;
                }
                if !matches!(line, Line::Gone(_)) {
                    out += line.text();
                }
            }
        }
        out.extend(lines[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn hunks_make_the_new_text(old in "[a-c\n]{0,60}", new in "[a-c\n]{0,60}") {
            prop_assert_eq!(applied(&old, &texts(&old, &new)), new);
        }
    }
}
