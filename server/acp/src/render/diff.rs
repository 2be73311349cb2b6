//! Hunks as ACP's diff blocks, and the places they are at.

use protocol::{Act, Action, FileDiff, FileKind, Hunk, Line, Outcome, ReadBody};
use serde_json::{Value, json};

use super::View;
use super::outcome::text;

/// A file's diff beyond this is told by its counts: clients keep what they are shown.
const DIFF_BYTES: usize = 1024 * 1024;

/// One block a hunk: the region before and after.
pub(super) fn diffs(files: &[FileDiff], view: View<'_>) -> Vec<Value> {
    files.iter().flat_map(|file| diff(file, view)).collect()
}

fn diff(file: &FileDiff, view: View<'_>) -> Vec<Value> {
    let path = view.place.absolute(&file.path);
    let mut shown = Vec::new();
    if let FileKind::Move { from } = &file.kind {
        shown.push(text(&format!("Moved from {}", view.place.absolute(from))));
    }
    if let Some(cut) = &file.cut {
        shown.push(text(&format!("{path}: {cut}")));
    }
    if file.bytes() > DIFF_BYTES {
        let (added, removed) = file.counts();
        shown.push(text(&format!("{path}: {added} lines added, {removed} removed; too much to show")));
        return shown;
    }
    match file.kind {
        // Nothing is in the file, so no hunk says that it comes or goes.
        FileKind::Add if file.hunks.is_empty() && file.cut.is_none() => {
            shown.push(json!({"type": "diff", "path": path, "newText": ""}));
        }
        FileKind::Delete if file.hunks.is_empty() && file.cut.is_none() => {
            shown.push(json!({"type": "diff", "path": path, "oldText": "", "newText": ""}));
        }
        FileKind::Binary if file.cut.is_none() => shown.push(text(&format!("{path}: a binary file"))),
        FileKind::Add | FileKind::Delete | FileKind::Update | FileKind::Move { .. } | FileKind::Binary => {}
    }
    shown.extend(file.hunks.iter().map(|hunk| region(hunk, &file.kind, &path)));
    shown
}

fn region(hunk: &Hunk, kind: &FileKind, path: &str) -> Value {
    let new: String =
        hunk.lines.iter().filter(|line| !matches!(line, Line::Gone(_))).map(Line::text).collect();
    if matches!(kind, FileKind::Add) {
        return json!({"type": "diff", "path": path, "newText": new});
    }
    let old: String =
        hunk.lines.iter().filter(|line| !matches!(line, Line::New(_))).map(Line::text).collect();
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

/// Files that exist in the session's folders, with the line where to look; clients watch them.
pub(super) fn locations(act: &Act, view: View<'_>) -> Option<Value> {
    let mut places: Vec<(String, Option<u32>)> = act
        .files
        .iter()
        .map(|file| (view.place.absolute(&file.path), file.hunks.first().map(first_line)))
        .collect();
    if places.is_empty() {
        places.extend(named(act).map(|(path, line)| (view.place.absolute(path), line)));
    }
    let list: Vec<Value> = places
        .into_iter()
        .filter(|(path, _)| view.place.holds(path))
        .map(|(path, line)| match line {
            Some(line) => json!({"path": path, "line": line.max(1)}),
            None => json!({ "path": path }),
        })
        .collect();
    (!list.is_empty()).then(|| list.into())
}

/// The file that the call itself names.
fn named(act: &Act) -> Option<(&protocol::FilePath, Option<u32>)> {
    if let Some(Outcome::Read { path, body, .. }) = &act.outcome {
        let line = match body {
            ReadBody::Lines { first, .. } => u32::try_from(*first).ok(),
            ReadBody::Image { .. } => None,
        };
        return Some((path, line));
    }
    match &act.action {
        Some(Action::Read { path, .. } | Action::Write { path, .. } | Action::Edit { path, .. }) => {
            Some((path, None))
        }
        Some(
            Action::Run { .. }
            | Action::Poll { .. }
            | Action::Stop { .. }
            | Action::Patch { .. }
            | Action::Search(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Plan(_)
            | Action::Question(_)
            | Action::Fetch { .. },
        )
        | None => None,
    }
}

/// The first line that changes, counted from 1.
fn first_line(hunk: &Hunk) -> u32 {
    let same = hunk.lines.iter().take_while(|line| matches!(line, Line::Same(_))).count();
    hunk.new_line.max(1).saturating_add(u32::try_from(same).unwrap_or(0))
}
