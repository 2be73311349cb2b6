//! The files of one action as its steps leave them: a patch may touch one several times, move it on, or
//! put another where it was.
//!
//! Knows bytes and places; what is allowed is the plan's business, which calls it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use protocol::{EditFailure, FileKind, FilePath, Outcome};

use crate::plan::{Before, FileEdit, Planned, Sighting};
use crate::refused::Refused;
use crate::roots::Place;
use crate::{diff, digest};

type Look<'a> = &'a dyn Fn(&FilePath) -> Result<Before, Outcome>;

pub(crate) struct Draft<'a> {
    at: Look<'a>,
    /// By real path.
    now: BTreeMap<PathBuf, Change>,
}

struct Change {
    order: usize,
    before: Before,
    now: Option<Vec<u8>>,
    /// Where its first bytes came from.
    origin: Option<Place>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(at: Look<'a>) -> Self {
        Self { at, now: BTreeMap::new() }
    }

    /// The file as the steps so far left it; what they wrote, the model knows.
    pub(crate) fn look(&self, path: &FilePath) -> Result<Before, Outcome> {
        let file = (self.at)(path)?;
        Ok(match self.now.get(&file.place.real) {
            None => file,
            Some(change) => {
                let unknown = change.now == change.before.bytes;
                let unseen =
                    file.read.as_ref().map_or(change.before.bytes.as_ref().map(|_| 1), |read| read.unseen);
                let known = |bytes: &[u8]| Sighting { digest: digest(bytes), unseen };
                let read = if unknown { file.read } else { change.now.as_deref().map(known) };
                Before { place: file.place, bytes: change.now.clone(), read }
            }
        })
    }

    /// The file that an earlier step deleted here; what was moved away is not lost.
    pub(crate) fn deleted(&self, file: &Before) -> Option<&Before> {
        let real = &file.place.real;
        let change = self.now.get(real).filter(|change| change.now.is_none())?;
        let moved =
            self.now.values().filter_map(|change| change.origin.as_ref()).any(|origin| origin.real == *real);
        (!moved).then_some(&change.before)
    }

    pub(crate) fn set(&mut self, file: &Before, bytes: Option<Vec<u8>>) {
        let change = self.change(file);
        if bytes.is_none() {
            change.origin = None;
        }
        change.now = bytes;
    }

    /// Moves a file; `target` is what was looked at where it goes.
    pub(crate) fn shift(&mut self, file: &Before, target: &Before, new: Vec<u8>) {
        let source = self.change(file);
        let origin = source.origin.take().unwrap_or_else(|| source.before.place.clone());
        source.now = None;
        let target = self.change(target);
        target.now = Some(new);
        target.origin = Some(origin);
    }

    fn change(&mut self, file: &Before) -> &mut Change {
        let order = self.now.len();
        let fresh = || Change { order, before: file.clone(), now: file.bytes.clone(), origin: None };
        self.now.entry(file.place.real.clone()).or_insert_with(fresh)
    }

    /// The edits, in the order in which the files were first named.
    ///
    /// Errors: nothing is different; `first` is the file told of then.
    pub(crate) fn finish(self, first: &FilePath, replaced: u32) -> Result<Planned, Outcome> {
        let moves = self.moves();
        let mut changes: Vec<(&PathBuf, &Change)> = self.now.iter().collect();
        changes.sort_by_key(|(_, change)| change.order);
        let mut edits = Vec::new();
        for (path, change) in changes {
            let is_source = moves.values().any(|source| *source == path);
            match moves.get(path.as_path()).and_then(|source| self.now.get(*source)) {
                Some(source) => edits.push(moved(source, change)),
                None if is_source || change.before.bytes == change.now => {}
                None => edits.push(changed(change)),
            }
        }
        if edits.is_empty() {
            return Err(Refused::Edit(EditFailure::NoChange).outcome(first));
        }
        Ok(Planned { edits, replaced })
    }

    /// Target and source of what is a move in the end: a file that is gone, and one where none was. Whatever
    /// else moves made of the files is written and deleted like other changes.
    fn moves(&self) -> BTreeMap<&Path, &PathBuf> {
        let mut moves = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (path, change) in &self.now {
            let Some(origin) = &change.origin else { continue };
            let Some((source, left)) = self.now.get_key_value(&origin.real) else { continue };
            let gone = left.before.bytes.is_some() && left.now.is_none();
            let new = change.before.bytes.is_none() && change.now.is_some();
            if gone && new && taken.insert(source) {
                moves.insert(path.as_path(), source);
            }
        }
        moves
    }
}

fn moved(source: &Change, target: &Change) -> FileEdit {
    let from = source.before.place.clone();
    let kind = FileKind::Move { from: FilePath::from(from.shown.as_path()) };
    edit(target.before.place.clone(), Some(from), kind, (&source.before.bytes, &target.now))
}

fn changed(change: &Change) -> FileEdit {
    let kind = match (&change.before.bytes, &change.now) {
        (None, _) => FileKind::Add,
        (Some(_), None) => FileKind::Delete,
        (Some(_), Some(_)) => FileKind::Update,
    };
    edit(change.before.place.clone(), None, kind, (&change.before.bytes, &change.now))
}

fn edit(
    place: Place,
    from: Option<Place>,
    kind: FileKind,
    (before, after): (&Option<Vec<u8>>, &Option<Vec<u8>>),
) -> FileEdit {
    let diff = diff(FilePath::from(place.shown.as_path()), kind, before.as_deref(), after.as_deref());
    FileEdit { place, from, before: before.clone(), after: after.clone(), diff }
}
