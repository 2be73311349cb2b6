//! Whether an edit may be written now: the file is the one it was worked out from, where it was, and writable.
//!
//! Looks and changes nothing. Called by the commit for all edits before it writes the first.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use protocol::{EditFailure, FilePath, IoWhy, Outcome};

use crate::plan::FileEdit;
use crate::roots::Place;
use crate::spot::Spot;
use crate::stat::Stat;

/// A file as it was when it was checked.
pub(crate) struct Sighted {
    path: PathBuf,
    stat: Option<Stat>,
}

impl Sighted {
    fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), stat: stat(path) }
    }

    /// Whether it looks untouched since; a look at its stat is quick enough to be repeated before each write.
    pub(crate) fn is_current(&self) -> bool {
        stat(&self.path) == self.stat
    }
}

fn stat(path: &Path) -> Option<Stat> {
    let file = Spot::of(path).and_then(|spot| spot.open()).ok()?;
    file.metadata().ok().map(|data| Stat::new(&data))
}

/// Whether a name still leads where it did when it was allowed, and what is there may be written: for what
/// somebody else writes by that name.
///
/// Errors: the outcome that says what is in the way.
pub fn check_name(place: &Place) -> Result<(), Outcome> {
    let path = FilePath::from(place.shown.as_path());
    if !place.is_still() {
        let text = format!("{path} has become a link to another place; nothing was changed");
        return Err(Outcome::Failed { why: IoWhy::Outside, path: Some(path), text });
    }
    if fs::symlink_metadata(&place.real).is_ok() && !is_writable(&place.real) {
        return Err(read_only(path));
    }
    Ok(())
}

fn read_only(path: FilePath) -> Outcome {
    let text = format!("{path} is read-only (no write permission); nothing was changed");
    Outcome::Failed { why: IoWhy::Permission, path: Some(path), text }
}

/// Errors: the outcome that says what is in the way.
pub(crate) fn check(edit: &FileEdit) -> Result<Sighted, Outcome> {
    let source = edit.from.as_ref().map_or(edit.place.real.as_path(), |from| from.real.as_path());
    let target = edit.place.real.as_path();
    is_straight(source)?;
    is_straight(target)?;
    let sighted = Sighted::new(source);
    let path = FilePath::from(source);
    let now = read(source)?;
    if now != edit.before {
        return Err(Outcome::EditFailed { path, why: EditFailure::Stale });
    }
    if now.is_some() && !is_writable(source) {
        return Err(read_only(path));
    }
    if edit.from.is_some() && fs::symlink_metadata(target).is_ok() {
        return Err(Outcome::EditFailed { path: FilePath::from(target), why: EditFailure::Exists });
    }
    Ok(sighted)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Outcome> {
    let shown = FilePath::from(path);
    match fs::symlink_metadata(path) {
        Ok(data) if !data.is_file() => Err(Outcome::Failed {
            why: IoWhy::NotAFile,
            text: format!("{shown} is not a regular file; nothing was changed"),
            path: Some(shown),
        }),
        Ok(_) => {
            let bytes = Spot::of(path).and_then(|spot| spot.open()).and_then(|mut file| {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map(|_| bytes)
            });
            bytes.map(Some).map_err(|error| unchanged(shown, &error))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(unchanged(shown, &error)),
        },
    }
}

/// No write bit means no, also for root; and a rename must not do what a write may not.
fn is_writable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::symlink_metadata(path).is_ok_and(|data| data.permissions().mode() & 0o222 == 0) {
            return false;
        }
    }
    match Spot::of(path).and_then(|spot| spot.open_to_write()) {
        Ok(_) => true,
        // A program that runs cannot be opened; its file may be replaced all the same.
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        }
    }
}

/// A real path leads through no link. One that does now was changed after it was allowed.
#[cfg(unix)]
fn is_straight(path: &Path) -> Result<(), Outcome> {
    let there = path.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    match there.map(|there| (there, there.canonicalize())) {
        Some((there, Ok(real))) if real != there => Err(Outcome::Failed {
            why: IoWhy::Outside,
            path: Some(FilePath::from(path)),
            text: format!("{} has become a link to {}; nothing was changed", there.display(), real.display()),
        }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn is_straight(_: &Path) -> Result<(), Outcome> {
    Ok(())
}

/// The same for what was to be changed.
pub(crate) fn unchanged(path: FilePath, error: &io::Error) -> Outcome {
    match io_failure(path, error) {
        Outcome::Failed { why, path, text } => {
            Outcome::Failed { why, path, text: format!("{text}; nothing was changed") }
        }
        other => other,
    }
}

/// A failure of the file system as an outcome.
pub(crate) fn io_failure(path: FilePath, error: &io::Error) -> Outcome {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => IoWhy::Permission,
        io::ErrorKind::NotFound => IoWhy::NotFound,
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => IoWhy::NotAFile,
        _ => IoWhy::Internal,
    };
    let text = format!("{path}: {error}");
    Outcome::Failed { why, path: Some(path), text }
}
