//! Taking back the edits of a turn, merged with what the person changed since.

use std::path::PathBuf;

use files::{FileEdit, Place};
use protocol::{Digest, FileKind, FilePath, TurnId};
use serde::{Deserialize, Serialize};

use crate::journal::Store;

/// One edit as the journal keeps it; the bytes are blobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndoEdit {
    /// Where the file ended up; the real path.
    pub path: FilePath,
    /// Where it was moved from.
    pub from: Option<FilePath>,
    /// None where there was no file.
    pub before: Option<Digest>,
    /// None where the file was deleted.
    pub after: Option<Digest>,
}

/// The edits of this process and of the journal, newest turn last.
pub(crate) type UndoStack = Vec<(TurnId, Vec<UndoEdit>)>;

/// Keeps the bytes of edits, so that they can be taken back exactly.
pub(crate) async fn keep(store: &Store, edits: &[FileEdit]) -> Result<Vec<UndoEdit>, String> {
    let mut kept = Vec::with_capacity(edits.len());
    for edit in edits {
        kept.push(UndoEdit {
            path: FilePath::from(edit.place.real.as_path()),
            from: edit.from.as_ref().map(|from| FilePath::from(from.real.as_path())),
            before: blob(store, edit.before.as_deref()).await?,
            after: blob(store, edit.after.as_deref()).await?,
        });
    }
    Ok(kept)
}

async fn blob(store: &Store, bytes: Option<&[u8]>) -> Result<Option<Digest>, String> {
    match bytes {
        None => Ok(None),
        Some(bytes) => store.put_blob(bytes).await.map(Some).map_err(|error| error.to_string()),
    }
}

/// What came of taking back one turn.
pub(crate) struct TakenBack {
    pub(crate) edits: Vec<FileEdit>,
    /// Files whose later changes stand in the way, or whose old bytes are gone.
    pub(crate) kept: Vec<FilePath>,
}

/// Plans the reverse of these edits, newest first, against the files as they are now.
pub(crate) async fn plan(store: &Store, edits: &[UndoEdit]) -> TakenBack {
    let mut taken = TakenBack { edits: Vec::new(), kept: Vec::new() };
    for edit in edits.iter().rev() {
        match reverse(store, edit, &taken.edits).await {
            Some(reverse) => merge(&mut taken.edits, reverse),
            None => taken.kept.push(edit.path.clone()),
        }
    }
    taken
}

async fn reverse(store: &Store, edit: &UndoEdit, planned: &[FileEdit]) -> Option<FileEdit> {
    let before = match &edit.before {
        None => None,
        Some(digest) => Some(store.blob(digest).await?),
    };
    let after = match &edit.after {
        None => None,
        Some(digest) => Some(store.blob(digest).await?),
    };
    let place = place(&edit.path);
    // An earlier reverse of the same file has not been written yet.
    let now = match planned.iter().find(|other| other.place.real == place.real) {
        Some(other) => other.after.clone(),
        None => crate::desk::read_disk(&place.real).await.ok()?,
    };
    let kind = FileKind::Update;
    let diff = files::diff(edit.path.clone(), kind, before.as_deref(), after.as_deref());
    let made = FileEdit { place, from: edit.from.as_ref().map(self::place), before, after, diff };
    files::undo(&made, now.as_deref()).ok()
}

/// Two edits of one file in a row are one.
fn merge(edits: &mut Vec<FileEdit>, next: FileEdit) {
    match edits
        .iter_mut()
        .find(|edit| edit.place.real == next.place.real && edit.from.is_none() && next.from.is_none())
    {
        Some(edit) => {
            edit.after = next.after;
            edit.diff = files::diff(
                edit.diff.path.clone(),
                FileKind::Update,
                edit.before.as_deref(),
                edit.after.as_deref(),
            );
        }
        None => edits.push(next),
    }
}

fn place(path: &FilePath) -> Place {
    let path = PathBuf::from(&path.0);
    Place { shown: path.clone(), real: path.clone(), entry: path, inside: true }
}
