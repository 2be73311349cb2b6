//! Changing files: planned whole, approved, kept for undo, then written where they are open.

use std::collections::HashMap;
use std::sync::Arc;

use files::{Before, FileEdit, Place, Planned};
use protocol::{Action, FileNow, FilePath, IoWhy, Outcome, PatchOp};

use super::{Bench, Means};
use crate::desk::Via;

/// A change that is worked out and not yet made.
pub(crate) struct Draft {
    pub(crate) planned: Planned,
    /// By real path.
    via: HashMap<FilePath, Via>,
}

/// Reads what the action touches and works out what it would change.
pub(crate) async fn draft(bench: &Bench<'_>, action: &Action) -> Result<Draft, Outcome> {
    let mut befores: HashMap<FilePath, Before> = HashMap::new();
    let mut via = HashMap::new();
    for path in paths(action) {
        let place = bench.means.roots.resolve(&path.0)?;
        Means::visible(bench.resolved, &place.real)?;
        let (bytes, way) = bench.means.desk.read(&place).await?;
        let real = FilePath::from(place.real.as_path());
        let read = bench.means.known.get(&real);
        via.insert(real, way);
        befores.insert(path.clone(), Before { place, bytes, read });
    }
    let action = action.clone();
    let planned = tokio::task::spawn_blocking(move || {
        files::plan(&action, &|path: &FilePath| match befores.get(path) {
            Some(before) => Ok(before.clone()),
            None => Err(Outcome::Failed {
                why: IoWhy::Internal,
                path: Some(path.clone()),
                text: format!("{path} was not looked at"),
            }),
        })
    })
    .await
    .map_err(|error| Outcome::Failed {
        why: IoWhy::Internal,
        path: None,
        text: error.to_string(),
    })??;
    Ok(Draft { planned, via })
}

/// Every path the action names, as it names them.
fn paths(action: &Action) -> Vec<FilePath> {
    match action {
        Action::Write { path, .. } | Action::Edit { path, .. } => vec![path.clone()],
        Action::Patch { files, .. } => files
            .iter()
            .flat_map(|file| {
                let to = match &file.op {
                    PatchOp::Update { to, .. } => to.clone(),
                    PatchOp::Add(_) | PatchOp::Delete => None,
                };
                [Some(file.path.clone()), to].into_iter().flatten()
            })
            .collect(),
        Action::Run { .. }
        | Action::Poll { .. }
        | Action::Stop { .. }
        | Action::Read { .. }
        | Action::Search(_)
        | Action::Find { .. }
        | Action::List { .. }
        | Action::Plan(_)
        | Action::Question(_)
        | Action::Fetch { .. } => Vec::new(),
    }
}

impl Draft {
    /// Writes it. Buffers first, since only they can refuse; the disk's part is all or nothing.
    pub(crate) async fn commit(self, means: &Arc<Means>) -> Outcome {
        let (buffers, disk): (Vec<FileEdit>, Vec<FileEdit>) = self
            .planned
            .edits
            .into_iter()
            .partition(|edit| self.via.get(&real(&edit.place)) == Some(&Via::Buffer) && in_buffer(edit));
        let mut done: Vec<FileNow> = Vec::new();
        for edit in &buffers {
            if let Err(outcome) = means.desk.write_buffer(edit).await {
                return partly(outcome, &done);
            }
            done.push(settle(means, edit));
        }
        if !disk.is_empty() {
            let written = tokio::task::spawn_blocking(move || files::commit(&disk).map(|()| disk)).await;
            match written {
                Ok(Ok(edits)) => done.extend(edits.iter().map(|edit| settle(means, edit))),
                Ok(Err(outcome)) => return partly(outcome, &done),
                Err(error) => {
                    let outcome =
                        Outcome::Failed { why: IoWhy::Internal, path: None, text: error.to_string() };
                    return partly(outcome, &done);
                }
            }
        }
        Outcome::Edited { files: done, replaced: self.planned.replaced }
    }
}

/// Deletes and moves go to the disk: no editor offers them.
fn in_buffer(edit: &FileEdit) -> bool {
    edit.after.is_some() && edit.from.is_none()
}

fn real(place: &Place) -> FilePath {
    FilePath::from(place.real.as_path())
}

/// What the file is now, which the model knows because it said so.
fn settle(means: &Means, edit: &FileEdit) -> FileNow {
    let path = real(&edit.place);
    if let Some(from) = &edit.from {
        means.known.forget(&real(from));
    }
    match &edit.after {
        Some(after) => {
            let digest = files::digest(after);
            let whole = means.known.wrote(&path, &digest, edit.before.as_ref().is_none_or(Vec::is_empty));
            let lines = after.split_inclusive(|byte| *byte == b'\n').count() as u64;
            FileNow { path, digest, lines, bytes: after.len() as u64, whole }
        }
        None => {
            means.known.forget(&path);
            FileNow { path, digest: files::digest(b""), lines: 0, bytes: 0, whole: false }
        }
    }
}

/// A failure names what was written before it.
fn partly(outcome: Outcome, done: &[FileNow]) -> Outcome {
    if done.is_empty() {
        return outcome;
    }
    let names: Vec<&str> = done.iter().map(|file| file.path.0.as_str()).collect();
    Outcome::Failed {
        why: IoWhy::Internal,
        path: None,
        text: format!("{}; already written: {}", outcome.text(), names.join(", ")),
    }
}
