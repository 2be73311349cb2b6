//! Looking without changing: reading, listing, finding, searching.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use files::Roots;
use protocol::{Action, Cap, FilePath, IoWhy, Outcome, Span};

use super::{Bench, Means};

/// Reads one file, through the editor where it has it open.
pub(crate) async fn read(bench: &Bench<'_>, path: &FilePath, span: &Span, cap: Cap) -> Outcome {
    let place = match bench.means.roots.resolve(&path.0) {
        Ok(place) => place,
        Err(outcome) => return outcome,
    };
    if let Err(outcome) = Means::visible(bench.resolved, &place.real) {
        return outcome;
    }
    let bytes = match bench.means.desk.read(&place).await {
        Ok((Some(bytes), _)) => bytes,
        Ok((None, _)) => return missing(path, &place.shown),
        Err(outcome) => return outcome,
    };
    let outcome = files::read(&place.shown, &bytes, span, cap);
    let Outcome::Read { path, digest, body, .. } = outcome else { return outcome };
    let real = FilePath::from(place.real.as_path());
    let seen = bench.means.known.read(&real, &digest, &body);
    Outcome::Read { path, digest, seen, body }
}

fn missing(asked: &FilePath, shown: &std::path::Path) -> Outcome {
    let near = neighbours(shown);
    let hint = if near.is_empty() { String::new() } else { format!("; there are {}", near.join(", ")) };
    Outcome::Failed {
        why: IoWhy::NotFound,
        path: Some(FilePath::from(shown)),
        text: format!("{asked}: there is no such file{hint}"),
    }
}

/// Names in the same folder that differ only in case or ending.
fn neighbours(path: &std::path::Path) -> Vec<String> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some(entries) = path.parent().and_then(|parent| std::fs::read_dir(parent).ok()) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .take(1_000)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !stem.is_empty() && name.to_lowercase().starts_with(&stem))
        .collect();
    names.sort();
    names.truncate(5);
    names
}

/// Searches, finds or lists on a thread of its own; dropped, it stops.
pub(crate) async fn walk(bench: &Bench<'_>, action: &Action) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let guard = StopOnDrop(Arc::clone(&stop));
    let (roots, action) = (bench.means.roots.clone(), action.clone());
    let hidden = bench.resolved.hidden.clone();
    let done = tokio::task::spawn_blocking(move || walk_now(&roots, &hidden, &action, &stop)).await;
    drop(guard);
    let mut outcome = done.unwrap_or_else(|error| Outcome::Failed {
        why: IoWhy::Internal,
        path: None,
        text: format!("the search broke off: {error}"),
    });
    hide(bench, &mut outcome);
    outcome
}

fn walk_now(roots: &Roots, hidden: &[PathBuf], action: &Action, stop: &AtomicBool) -> Outcome {
    match action {
        Action::Search(search) => files::search(search, roots, hidden, stop),
        Action::Find { glob, root, ignored, cap } => {
            files::find(glob, root.as_ref(), *ignored, *cap, roots, stop)
        }
        Action::List { path, depth, ignored, cap } => files::list(path, *depth, *ignored, *cap, roots, stop),
        Action::Run { .. }
        | Action::Poll { .. }
        | Action::Stop { .. }
        | Action::Read { .. }
        | Action::Write { .. }
        | Action::Edit { .. }
        | Action::Patch { .. }
        | Action::Plan(_)
        | Action::Question(_)
        | Action::Fetch { .. } => Outcome::Failed {
            why: IoWhy::Internal,
            path: None,
            text: format!("not a search: {}", action.title()),
        },
    }
}

/// Takes out what lies in hidden places.
fn hide(bench: &Bench<'_>, outcome: &mut Outcome) {
    let visible = |path: &FilePath| {
        let real = bench.means.roots.resolve(&path.0).map(|place| place.real);
        let real = real.unwrap_or_else(|_| path.as_path().to_path_buf());
        Means::visible(bench.resolved, &real).is_ok()
    };
    match outcome {
        Outcome::Found { files, .. } => files.retain(|file| visible(&file.path)),
        Outcome::Listed { paths, .. } => paths.retain(|entry| visible(&entry.path)),
        Outcome::Ran { .. }
        | Outcome::Tasks(_)
        | Outcome::Read { .. }
        | Outcome::Edited { .. }
        | Outcome::EditFailed { .. }
        | Outcome::Plan(_)
        | Outcome::Answered(_)
        | Outcome::Fetched { .. }
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Declined { .. }
        | Outcome::Interrupted
        | Outcome::Failed { .. } => {}
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
