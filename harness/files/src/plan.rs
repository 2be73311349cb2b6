//! An edit action worked out whole, before anybody is asked and before anything is written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use protocol::{
    Action, Digest, EditFailure, EditRule, FileDiff, FileKind, FilePath, IoWhy, Outcome, PatchFile, PatchOp,
};

use crate::roots::Place;
use crate::text::Text;
use crate::{diff, digest, edit, patch};

/// A file as it is, and what the model last saw of it.
#[derive(Clone, Debug)]
pub struct Before {
    pub place: Place,
    /// None where there is no file.
    pub bytes: Option<Vec<u8>>,
    /// None when the model never read or wrote it.
    pub read: Option<Digest>,
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
    /// Where it is moved from.
    pub from: Option<Place>,
    /// None where there was no file.
    pub before: Option<Vec<u8>>,
    /// None deletes it.
    pub after: Option<Vec<u8>>,
    pub diff: FileDiff,
}

/// Works out an edit action. `at` looks at a file that the action names.
///
/// Errors: the outcome the model reads; nothing is changed then, in no file.
pub fn plan(action: &Action, at: &dyn Fn(&FilePath) -> Result<Before, Outcome>) -> Result<Planned, Outcome> {
    let mut draft = Draft { at, now: RefCell::new(BTreeMap::new()), replaced: 0 };
    match action {
        Action::Write { path, text, rule } => draft.write(path, text, rule)?,
        Action::Edit { path, swaps, rule } => {
            let file = draft.look(path)?;
            // An edit of nothing may make a file.
            let makes =
                file.bytes.is_none() && swaps.len() == 1 && swaps.iter().all(|swap| swap.old.is_empty());
            let Some(bytes) = file.bytes.as_deref().or(makes.then_some(&[])) else { return Err(gone(path)) };
            let edited = edit::edit(bytes, swaps, rule.match_by).map_err(|why| failed(path, why))?;
            draft.replaced += edited.replaced;
            draft.set(&file, Some(edited.bytes));
        }
        Action::Patch { files, rule } => {
            for file in files {
                draft.patch(file, rule)?;
            }
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
            return Err(Outcome::Failed { why: IoWhy::Internal, path: None, text });
        }
    }
    draft.finish()
}

/// The files so far: a patch may touch one several times.
struct Draft<'a> {
    at: &'a dyn Fn(&FilePath) -> Result<Before, Outcome>,
    now: RefCell<BTreeMap<PathBuf, Change>>,
    replaced: u32,
}

#[derive(Clone)]
struct Change {
    order: usize,
    before: Before,
    now: Option<Vec<u8>>,
    moved_from: Option<Place>,
    /// Taken away by a move; the move's target tells of it.
    moved_away: bool,
}

impl Draft<'_> {
    /// The file as the edits so far left it.
    fn look(&self, path: &FilePath) -> Result<Before, Outcome> {
        let file = (self.at)(path)?;
        match self.now.borrow().get(&file.place.real) {
            Some(change) => {
                let read = change.now.as_deref().map(digest);
                Ok(Before { place: file.place, bytes: change.now.clone(), read })
            }
            None => Ok(file),
        }
    }

    fn set(&self, file: &Before, bytes: Option<Vec<u8>>) {
        let mut now = self.now.borrow_mut();
        let order = now.len();
        let change = now.entry(file.place.real.clone()).or_insert_with(|| Change {
            order,
            before: file.clone(),
            now: None,
            moved_from: None,
            moved_away: false,
        });
        change.now = bytes;
    }

    fn write(&self, path: &FilePath, text: &str, rule: &EditRule) -> Result<(), Outcome> {
        let file = self.look(path)?;
        let bytes = match &file.bytes {
            None => text.as_bytes().to_vec(),
            Some(old) => {
                readable(&file, rule, old).map_err(|why| failed(path, why))?;
                match Text::decode(old) {
                    // A file that was emptied has no line ends or encoding to keep.
                    Some(_) if old.is_empty() => text.as_bytes().to_vec(),
                    Some(whole) => {
                        whole.replace_all(text).map_err(|error| failed(path, edit::unwritable(error)))?
                    }
                    None => return Err(failed(path, EditFailure::NotText)),
                }
            }
        };
        if file.bytes.as_deref() == Some(&bytes) {
            return Err(failed(path, EditFailure::NoChange));
        }
        self.set(&file, Some(bytes));
        Ok(())
    }

    fn patch(&self, change: &PatchFile, rule: &EditRule) -> Result<(), Outcome> {
        let path = &change.path;
        match &change.op {
            PatchOp::Add(lines) => self.add(path, lines),
            PatchOp::Delete => {
                let file = self.look(path)?;
                let Some(old) = &file.bytes else { return Err(gone(path)) };
                if file.read.as_ref().is_some_and(|read| *read != digest(old)) {
                    return Err(failed(path, EditFailure::Stale));
                }
                self.set(&file, None);
                Ok(())
            }
            PatchOp::Update { to, chunks } => {
                let file = self.look(path)?;
                let Some(old) = &file.bytes else { return Err(gone(path)) };
                let new = if chunks.is_empty() {
                    old.clone()
                } else {
                    patch::apply(old, chunks).map_err(|why| failed(path, why))?
                };
                match to {
                    None => {
                        self.set(&file, Some(new));
                        Ok(())
                    }
                    Some(to) => self.shift(&file, to, new, rule),
                }
            }
        }
    }

    /// A new file; one that is there already is replaced only if the model saw it as it is.
    fn add(&self, path: &FilePath, lines: &[String]) -> Result<(), Outcome> {
        let file = self.look(path)?;
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let bytes = match &file.bytes {
            None => text.into_bytes(),
            Some(old) => match &file.read {
                None => return Err(failed(path, EditFailure::Exists)),
                Some(read) if *read != digest(old) => return Err(failed(path, EditFailure::Stale)),
                Some(_) => match Text::decode(old) {
                    Some(whole) => {
                        whole.replace_all(&text).map_err(|error| failed(path, edit::unwritable(error)))?
                    }
                    None => return Err(failed(path, EditFailure::NotText)),
                },
            },
        };
        self.set(&file, Some(bytes));
        Ok(())
    }

    /// A move; onto itself it is an update.
    fn shift(&self, file: &Before, to: &FilePath, new: Vec<u8>, rule: &EditRule) -> Result<(), Outcome> {
        let target = self.look(to)?;
        if target.place.real == file.place.real {
            self.set(file, Some(new));
            return Ok(());
        }
        if let Some(there) = &target.bytes {
            if rule.must_be_read && target.read.is_none() {
                return Err(failed(to, EditFailure::Exists));
            }
            readable(&target, rule, there).map_err(|why| failed(to, why))?;
        }
        self.set(file, None);
        self.set(&target, Some(new));
        let mut now = self.now.borrow_mut();
        if let Some(source) = now.get_mut(&file.place.real) {
            source.moved_away = true;
        }
        if let Some(target) = now.get_mut(&target.place.real) {
            target.moved_from = Some(file.place.clone());
        }
        Ok(())
    }

    fn finish(self) -> Result<Planned, Outcome> {
        let changes = self.now.into_inner();
        let befores: BTreeMap<PathBuf, Option<Vec<u8>>> =
            changes.iter().map(|(path, change)| (path.clone(), change.before.bytes.clone())).collect();
        let mut changes: Vec<Change> = changes.into_values().collect();
        changes.sort_by_key(|change| change.order);
        let mut edits = Vec::new();
        for change in changes {
            if change.moved_away && change.now.is_none() {
                continue;
            }
            if change.before.bytes == change.now && change.moved_from.is_none() {
                continue;
            }
            edits.push(whole(change, &befores));
        }
        if edits.is_empty() {
            let path = FilePath("patch".into());
            return Err(failed(&path, EditFailure::NoChange));
        }
        Ok(Planned { edits, replaced: self.replaced })
    }
}

/// The finished edit with its diff; a move shows against the file it came from.
fn whole(change: Change, befores: &BTreeMap<PathBuf, Option<Vec<u8>>>) -> FileEdit {
    let path = FilePath::from(change.before.place.shown.as_path());
    let kind = match (&change.moved_from, &change.before.bytes, &change.now) {
        (Some(from), _, _) => FileKind::Move { from: FilePath::from(from.shown.as_path()) },
        (None, None, _) => FileKind::Add,
        (None, Some(_), None) => FileKind::Delete,
        (None, Some(_), Some(_)) => FileKind::Update,
    };
    let shown_before = match &change.moved_from {
        Some(from) => befores.get(&from.real).cloned().flatten(),
        None => change.before.bytes.clone(),
    };
    let diff = diff(path, kind, shown_before.as_deref(), change.now.as_deref());
    let before = if change.moved_from.is_some() { shown_before } else { change.before.bytes };
    FileEdit { place: change.before.place, from: change.moved_from, before, after: change.now, diff }
}

fn readable(file: &Before, rule: &EditRule, bytes: &[u8]) -> Result<(), EditFailure> {
    match &file.read {
        None if rule.must_be_read && !bytes.is_empty() => Err(EditFailure::NotRead),
        None => Ok(()),
        Some(read) if *read == digest(bytes) => Ok(()),
        Some(_) => Err(EditFailure::Stale),
    }
}

fn failed(path: &FilePath, why: EditFailure) -> Outcome {
    Outcome::EditFailed { path: path.clone(), why }
}

fn gone(path: &FilePath) -> Outcome {
    failed(path, EditFailure::Gone)
}
