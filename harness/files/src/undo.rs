//! Taking an edit back against the file as it is now: later changes elsewhere in it stay.
//!
//! Pure: it plans, and `commit` writes. Called for `/undo` and for rejected edits.

use protocol::{FileKind, FilePath};
use similar::TextMerge;

use crate::diff;
use crate::plan::FileEdit;
use crate::text::Text;

/// Later changes stand where the edit was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

/// The reverse of an edit. `now` is the file where the edit left it, none when it is gone.
///
/// Errors: the file was changed at the same place, or removed, since; or the edit knows no bytes.
pub fn undo(edit: &FileEdit, now: Option<&[u8]>) -> Result<FileEdit, Overlap> {
    let back = match (&edit.before, &edit.after, now) {
        // Of a file whose bytes were never kept.
        (None, None, _) => return Err(Overlap),
        (before, after, now) if now == after.as_deref() => before.clone(),
        // Somebody took it back already.
        (before, _, now) if edit.from.is_none() && now == before.as_deref() => before.clone(),
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
        (None, Some(_), None) => FileKind::Delete,
        (None, Some(_), Some(_)) => FileKind::Update,
    };
    let diff = diff(path, kind, now, back.as_deref());
    Ok(FileEdit { place, from, before: now.map(<[u8]>::to_vec), after: back, diff })
}

/// What the person made of `after`, without what the edit made of `before`.
fn merge(before: &[u8], after: &[u8], now: &[u8]) -> Result<Vec<u8>, Overlap> {
    let text = |bytes| Text::decode(bytes).ok_or(Overlap);
    let (before, after, now) = (text(before)?, text(after)?, text(now)?);
    let merge = TextMerge::from_lines(after.shown(), now.shown(), before.shown());
    if merge.is_conflicted() {
        return Err(Overlap);
    }
    let mut merged = Vec::new();
    merge.to_writer(&mut merged).map_err(|_| Overlap)?;
    let merged = String::from_utf8(merged).map_err(|_| Overlap)?;
    now.replace_all(&merged).map_err(|_| Overlap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Place;
    use proptest::prelude::*;

    fn edit(before: Option<&str>, after: Option<&str>) -> FileEdit {
        let place = Place { shown: "/f".into(), real: "/f".into(), entry: "/f".into(), inside: true };
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let (before, after) = (bytes(before), bytes(after));
        let diff = diff(FilePath("/f".into()), FileKind::Update, before.as_deref(), after.as_deref());
        FileEdit { place, from: None, before, after, diff }
    }

    fn undone(
        before: Option<&str>,
        after: Option<&str>,
        now: Option<&str>,
    ) -> Result<Option<String>, Overlap> {
        let made = undo(&edit(before, after), now.map(str::as_bytes))?;
        Ok(made.after.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    #[test]
    fn later_changes_stay_or_stand_in_the_way() {
        let (before, after) = ("a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n");
        let back = |now| undone(Some(before), Some(after), Some(now)).map(Option::unwrap_or_default);
        assert_eq!(back(after).as_deref(), Ok(before));
        assert_eq!(back("a\nB\nc\nd\nmine\n").as_deref(), Ok("a\nb\nc\nd\nmine\n"));
        assert_eq!(back("top\na\nB\nc\nd\ne\n").as_deref(), Ok("top\na\nb\nc\nd\ne\n"));
        assert_eq!(back("a\nB!\nc\nd\ne\n"), Err(Overlap));
        assert_eq!(back(before).as_deref(), Ok(before));
        assert_eq!(undone(Some(before), Some(after), None), Err(Overlap));
    }

    #[test]
    fn files_made_and_deleted() {
        assert_eq!(undone(None, Some("a\n"), Some("a\n")), Ok(None));
        assert_eq!(undone(None, Some("a\n"), Some("b\n")), Err(Overlap));
        assert_eq!(undone(Some("a\n"), None, None), Ok(Some("a\n".into())));
        assert_eq!(undone(Some("a\n"), None, Some("new\n")), Err(Overlap));
    }

    #[test]
    fn line_ends_of_the_rest_stay() {
        let back = undone(Some("a\r\nb\nc\r\nd\n"), Some("a\r\nB\nc\r\nd\n"), Some("a\r\nB\nc\r\nd\nmine\n"));
        assert_eq!(back, Ok(Some("a\r\nb\nc\r\nd\nmine\n".into())));
    }

    proptest! {
        #[test]
        fn taking_back_restores(before in "[ab\r\n]{0,20}", after in "[ab\r\n]{0,20}") {
            prop_assert_eq!(undone(Some(&before), Some(&after), Some(&after)), Ok(Some(before)));
        }
    }
}
