//! An edit action worked out whole, before anybody is asked and before anything is written.
//!
//! Pure: it sees files through the caller's eyes and gives back what each would be. Called by the engine's
//! tools, which show it to a person and then commit it.

use protocol::{
    Action, Digest, EditFailure, EditRule, FileDiff, FilePath, IoWhy, Outcome, PatchFile, PatchOp, Swap,
};

use crate::draft::Draft;
use crate::edit::{Sight, edit};
use crate::refused::Refused;
use crate::roots::Place;
use crate::text::Text;
use crate::{digest, patch};

/// A file as it is, and what the model last saw of it.
#[derive(Clone, Debug)]
pub struct Before {
    pub place: Place,
    /// None where there is no file.
    pub bytes: Option<Vec<u8>>,
    /// None when the model never read or wrote it.
    pub read: Option<Sighting>,
}

/// What the model last saw of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub digest: Digest,
    /// The first line that it did not see, where there is one.
    pub unseen: Option<u64>,
}

/// What an action would change.
#[derive(Debug)]
pub struct Planned {
    pub edits: Vec<FileEdit>,
    pub replaced: u32,
}

/// One file's change, exact.
#[derive(Clone, Debug)]
pub struct FileEdit {
    /// Where it ends up.
    pub place: Place,
    /// Where it is moved from; there is no file yet where it ends up.
    pub from: Option<Place>,
    /// None where there was no file.
    pub before: Option<Vec<u8>>,
    /// None deletes it.
    pub after: Option<Vec<u8>>,
    pub diff: FileDiff,
}

/// Works out an edit action. `at` looks at a file that the action names.
///
/// A rule of `must_be_read` holds for a write and an edit of a file, and for a file that is moved over. An
/// added file never replaces one that was not read; other changes of a patch show by their unchanged lines
/// what the model saw. What changed since it was read is refused, but for edits and patches whose old text
/// still stands there once.
///
/// Errors: the outcome the model reads; nothing is changed then, in no file.
pub fn plan(action: &Action, at: &dyn Fn(&FilePath) -> Result<Before, Outcome>) -> Result<Planned, Outcome> {
    let mut draft = Draft::new(at);
    match action {
        Action::Write { path, text, rule } => {
            write(&mut draft, path, text, rule)?;
            draft.finish(path, 0)
        }
        Action::Edit { path, swaps, rule } => {
            let replaced = swap(&mut draft, path, swaps, rule)?;
            draft.finish(path, replaced)
        }
        Action::Patch { files, rule } => {
            for file in files {
                change(&mut draft, file, rule)?;
            }
            let first = files.first().map_or(FilePath("patch".into()), |file| file.path.clone());
            draft.finish(&first, 0)
        }
        Action::Run { .. }
        | Action::Poll { .. }
        | Action::Stop { .. }
        | Action::Read { .. }
        | Action::Search(_)
        | Action::Find { .. }
        | Action::List { .. }
        | Action::Plan(_)
        | Action::Question(_)
        | Action::Fetch { .. } => {
            let text = format!("not an edit: {}", action.title());
            Err(Outcome::Failed { why: IoWhy::Internal, path: None, text })
        }
    }
}

fn write(draft: &mut Draft, path: &FilePath, text: &str, rule: &EditRule) -> Result<(), Outcome> {
    let file = draft.look(path)?;
    let bytes = match &file.bytes {
        None => text.as_bytes().to_vec(),
        Some(old) => {
            if rule.must_be_read {
                whole_is_known(&file, EditFailure::NotRead).map_err(|why| failed(path, why))?;
            }
            replaced(&file, old, text).map_err(|why| why.outcome(path))?
        }
    };
    draft.set(&file, Some(bytes));
    Ok(())
}

/// Another text in a file that is there, if the model knows what that takes away.
fn replaced(file: &Before, old: &[u8], text: &str) -> Result<Vec<u8>, Refused> {
    if sight(file) == Sight::Behind {
        return Err(EditFailure::Stale.into());
    }
    if old.is_empty() {
        return Ok(text.as_bytes().to_vec());
    }
    let whole = Text::decode(old).ok_or(EditFailure::NotText)?;
    Ok(whole.replace_all(text)?)
}

fn swap(draft: &mut Draft, path: &FilePath, swaps: &[Swap], rule: &EditRule) -> Result<u32, Outcome> {
    let file = draft.look(path)?;
    // An edit of nothing may make a file.
    let makes = swaps.len() == 1 && swaps.iter().all(|swap| swap.old.is_empty());
    let bytes = match &file.bytes {
        Some(bytes) => bytes.as_slice(),
        None if makes => &[],
        None => return Err(failed(path, EditFailure::Gone)),
    };
    if rule.must_be_read && is_unknown(&file) {
        return Err(failed(path, EditFailure::NotRead));
    }
    let edited = edit(bytes, swaps, rule.match_by, sight(&file)).map_err(|why| why.outcome(path))?;
    draft.set(&file, Some(edited.bytes));
    Ok(edited.replaced)
}

fn change(draft: &mut Draft, change: &PatchFile, rule: &EditRule) -> Result<(), Outcome> {
    let path = &change.path;
    let file = draft.look(path)?;
    match (&change.op, &file.bytes) {
        (PatchOp::Add(lines), old) => {
            let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let bytes = match old {
                None => {
                    // What the patch itself deleted first is replaced all the same.
                    if let Some(old) = draft.deleted(&file) {
                        whole_is_known(old, EditFailure::Exists).map_err(|why| failed(path, why))?;
                    }
                    text.into_bytes()
                }
                Some(old) => {
                    whole_is_known(&file, EditFailure::Exists).map_err(|why| failed(path, why))?;
                    replaced(&file, old, &text).map_err(|why| why.outcome(path))?
                }
            };
            draft.set(&file, Some(bytes));
        }
        (PatchOp::Delete | PatchOp::Update { .. }, None) => return Err(failed(path, EditFailure::Gone)),
        (PatchOp::Delete, Some(_)) => {
            if sight(&file) == Sight::Behind {
                return Err(failed(path, EditFailure::Stale));
            }
            draft.set(&file, None);
        }
        (PatchOp::Update { to, chunks }, Some(old)) => {
            // A move may change nothing.
            let new = match chunks.as_slice() {
                [] => old.clone(),
                chunks => patch::apply(old, chunks, sight(&file)).map_err(|why| why.outcome(path))?,
            };
            match to {
                None => draft.set(&file, Some(new)),
                Some(to) => shift(draft, &file, to, new, rule)?,
            }
        }
    }
    Ok(())
}

/// A move; onto itself it is an update. Over another file it needs what a write over it needs.
fn shift(
    draft: &mut Draft,
    file: &Before,
    to: &FilePath,
    new: Vec<u8>,
    rule: &EditRule,
) -> Result<(), Outcome> {
    let target = draft.look(to)?;
    if target.place.real == file.place.real {
        draft.set(file, Some(new));
        return Ok(());
    }
    if rule.must_be_read {
        whole_is_known(&target, EditFailure::Exists).map_err(|why| failed(to, why))?;
    }
    if sight(&target) == Sight::Behind {
        return Err(failed(to, EditFailure::Stale));
    }
    draft.shift(file, &target, new);
    Ok(())
}

/// There is something in it that the model never saw.
fn is_unknown(file: &Before) -> bool {
    file.read.is_none() && file.bytes.as_ref().is_some_and(|bytes| !bytes.is_empty())
}

/// Whether nothing is lost unseen when all of it is replaced; `never` says what to tell of a file that was
/// never read.
fn whole_is_known(file: &Before, never: EditFailure) -> Result<(), EditFailure> {
    if is_unknown(file) {
        return Err(never);
    }
    let there = file.bytes.as_ref().is_some_and(|bytes| !bytes.is_empty());
    match file.read.as_ref().and_then(|read| read.unseen).filter(|_| there) {
        Some(unseen) => Err(EditFailure::PartlyRead { unseen }),
        None => Ok(()),
    }
}

fn sight(file: &Before) -> Sight {
    match (&file.read, &file.bytes) {
        (Some(read), Some(bytes)) if read.digest != digest(bytes) => Sight::Behind,
        _ => Sight::Current,
    }
}

fn failed(path: &FilePath, why: EditFailure) -> Outcome {
    Refused::Edit(why).outcome(path)
}
