//! Taking an edit back against the file as it is now: later changes elsewhere in it stay.

use protocol::{FileKind, FilePath};
use similar::TextMerge;

use crate::diff;
use crate::plan::FileEdit;
use crate::text::Text;

/// Later changes stand where the edit was.
#[derive(Debug, PartialEq, Eq)]
pub struct Overlap;

/// The reverse of an edit. `now` is the file where the edit left it, none when it is gone.
///
/// Errors: the file was changed at the same place, or removed, since.
pub fn undo(edit: &FileEdit, now: Option<&[u8]>) -> Result<FileEdit, Overlap> {
    let back = match (&edit.before, &edit.after, now) {
        (before, after, now) if now == after.as_deref() => before.clone(),
        (Some(before), Some(after), Some(now)) => Some(merge(before, after, now)?),
        _ => return Err(Overlap),
    };
    let (place, from) = match &edit.from {
        None => (edit.place.clone(), None),
        Some(from) => (from.clone(), Some(edit.place.clone())),
    };
    let path = FilePath::from(place.shown.as_path());
    let kind = match (&from, now, &back) {
        (Some(from), _, _) => FileKind::Move { from: FilePath::from(from.shown.as_path()) },
        (None, None, _) => FileKind::Add,
        (None, _, None) => FileKind::Delete,
        (None, _, _) => FileKind::Update,
    };
    let diff = diff(path, kind, now, back.as_deref());
    Ok(FileEdit { place, from, before: now.map(<[u8]>::to_vec), after: back, diff })
}

/// What the person made of `after`, without what the edit made of `before`.
fn merge(before: &[u8], after: &[u8], now: &[u8]) -> Result<Vec<u8>, Overlap> {
    let text = |bytes| Text::decode(bytes).ok_or(Overlap);
    let (before, after, now_text) = (text(before)?, text(after)?, text(now)?);
    let merge = TextMerge::from_lines(after.shown(), now_text.shown(), before.shown());
    if merge.is_conflicted() {
        return Err(Overlap);
    }
    let mut merged = Vec::new();
    merge.to_writer(&mut merged).map_err(|_| Overlap)?;
    let merged = String::from_utf8(merged).map_err(|_| Overlap)?;
    now_text.replace_all(&merged).map_err(|_| Overlap)
}
