//! What an edit does to a file, as hunks of lines with three lines around.

use std::time::{Duration, Instant};

use protocol::{FileDiff, FileKind, FilePath, Hunk, Line};
use similar::{Algorithm, ChangeTag, TextDiff};

use crate::text::Text;

/// Lines shown around a change.
const AROUND: usize = 3;
/// Larger files are not compared line by line.
const COMPARED_BYTES: usize = 4 * 1024 * 1024;
/// A comparison that takes longer gives a coarser answer.
const DEADLINE: Duration = Duration::from_millis(200);
/// Bytes of hunks that are kept.
const KEPT_BYTES: usize = 256 * 1024;

/// The diff of two states of a file; none is "no file".
pub fn diff(path: FilePath, kind: FileKind, before: Option<&[u8]>, after: Option<&[u8]>) -> FileDiff {
    let (old, new) = (shown(before), shown(after));
    let (Some(old), Some(new)) = (old, new) else {
        return FileDiff { path, kind: binary(kind), hunks: Vec::new(), cut: Some("not text".into()) };
    };
    if old.len().max(new.len()) > COMPARED_BYTES {
        let cut = format!("too large to compare: {} bytes before, {} after", old.len(), new.len());
        return FileDiff { path, kind, hunks: Vec::new(), cut: Some(cut) };
    }
    let (hunks, cut) = hunks(&old, &new);
    FileDiff { path, kind, hunks, cut }
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
    let deadline = Instant::now() + DEADLINE;
    let compared = TextDiff::configure().algorithm(Algorithm::Myers).deadline(deadline).diff_lines(old, new);
    let mut hunks = Vec::new();
    let mut bytes = 0;
    let groups = compared.grouped_ops(AROUND);
    let count = groups.len();
    for group in groups {
        let mut lines = Vec::new();
        let first = group.first().map(|op| (op.old_range().start, op.new_range().start)).unwrap_or_default();
        for op in &group {
            for change in compared.iter_changes(op) {
                let text = change.value().to_string();
                bytes += text.len();
                lines.push(match change.tag() {
                    ChangeTag::Equal => Line::Same(text),
                    ChangeTag::Delete => Line::Gone(text),
                    ChangeTag::Insert => Line::New(text),
                });
            }
        }
        if bytes > KEPT_BYTES && !hunks.is_empty() {
            return (hunks.clone(), Some(format!("{} of {count} hunks shown", hunks.len())));
        }
        hunks.push(Hunk { old_line: number(first.0, old), new_line: number(first.1, new), lines });
    }
    (hunks, None)
}

/// Line numbers count from 1; those of an empty side are 0, as in unified diffs.
fn number(index: usize, side: &str) -> u32 {
    if side.is_empty() { 0 } else { u32::try_from(index + 1).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_context_and_numbers() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        let made = diff(FilePath("/f".into()), FileKind::Update, Some(old.as_bytes()), Some(new.as_bytes()));
        assert_eq!(made.hunks.len(), 1);
        assert_eq!((made.hunks[0].old_line, made.hunks[0].lines.len(), made.counts()), (7, 8, (1, 1)));
    }

    #[test]
    fn new_deleted_and_binary_files() {
        let path = || FilePath("/f".into());
        assert_eq!(diff(path(), FileKind::Add, None, Some(b"a\nb")).counts(), (2, 0));
        assert_eq!(diff(path(), FileKind::Delete, Some(b"a\n"), None).counts(), (0, 1));
        let odd = diff(path(), FileKind::Update, Some(b"a\0"), Some(b"b"));
        assert_eq!((odd.kind, odd.cut.is_some()), (FileKind::Binary, true));
    }
}
