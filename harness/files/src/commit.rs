//! Planned edits written to the disk: all of them or, as far as a file system can, none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use protocol::{EditFailure, FilePath, IoWhy, Outcome};

use crate::plan::FileEdit;

/// Writes the edits. Each file is looked at again right before: one that changed meanwhile stops all.
///
/// Errors: the outcome for the model; what was written before the failure is put back.
pub fn commit(edits: &[FileEdit]) -> Result<(), Outcome> {
    for edit in edits {
        check(edit)?;
    }
    let mut done: Vec<&FileEdit> = Vec::new();
    for edit in edits {
        if let Err(error) = write(edit) {
            let stuck: Vec<String> = done.iter().rev().filter_map(|edit| put_back(edit).err()).collect();
            return Err(failure(edit, &error, &stuck));
        }
        done.push(edit);
    }
    Ok(())
}

/// The file that the edit was worked out from is still the one on disk, and may be written.
fn check(edit: &FileEdit) -> Result<(), Outcome> {
    let (source, target) = match &edit.from {
        Some(from) => (from.real.as_path(), Some(edit.place.real.as_path())),
        None => (edit.place.real.as_path(), None),
    };
    let shown = FilePath::from(source);
    let now = read(source).map_err(|error| failure(edit, &error, &[]))?;
    if now != edit.before {
        return Err(Outcome::EditFailed { path: shown, why: EditFailure::Stale });
    }
    for path in [Some(source), target].into_iter().flatten() {
        if is_read_only(path) {
            let path = FilePath::from(path);
            return Err(Outcome::Failed {
                why: IoWhy::Permission,
                text: format!("{path} is read-only (no write permission); nothing was changed"),
                path: Some(path),
            });
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// No write bit means no, also for root.
#[cfg(unix)]
fn is_read_only(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o222 == 0)
}

#[cfg(not(unix))]
fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.permissions().readonly())
}

fn write(edit: &FileEdit) -> io::Result<()> {
    match (&edit.after, &edit.from) {
        (None, _) => fs::remove_file(&edit.place.shown),
        (Some(after), None) => put(&edit.place.real, after),
        (Some(after), Some(from)) => {
            make_parents(&edit.place.real)?;
            put(&edit.place.real, after)?;
            copy_mode(&from.real, &edit.place.real)?;
            fs::remove_file(&from.shown)
        }
    }
}

/// Undoes one written edit; says what could not be undone.
fn put_back(edit: &FileEdit) -> Result<(), String> {
    let undone = match (&edit.from, &edit.before) {
        (Some(from), Some(before)) => put(&from.real, before)
            .and_then(|()| copy_mode(&edit.place.real, &from.real))
            .and_then(|()| fs::remove_file(&edit.place.real)),
        (None, Some(before)) => put(&edit.place.real, before),
        (_, None) => fs::remove_file(&edit.place.real),
    };
    undone.map_err(|error| format!("{}: {error}", edit.place.real.display()))
}

/// Puts bytes where a path leads: beside it and over it where that keeps everything, else in place.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_parents(path)?;
    match fs::metadata(path) {
        Ok(data) if must_stay(path, &data) => in_place(path, bytes),
        Ok(data) => beside(path, bytes, Some(&data)).or_else(|_| in_place(path, bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            beside(path, bytes, None).or_else(|_| in_place(path, bytes))
        }
        Err(error) => Err(error),
    }
}

fn make_parents(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent),
        _ => Ok(()),
    }
}

/// A new file in its place would lose links, the owner or extended attributes.
#[cfg(unix)]
fn must_stay(path: &Path, data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let folder = path.parent().and_then(|parent| fs::metadata(parent).ok());
    let owner = folder.is_some_and(|folder| folder.uid() != data.uid() || folder.gid() != data.gid());
    data.nlink() > 1 || owner || !data.is_file()
}

#[cfg(not(unix))]
fn must_stay(_: &Path, data: &fs::Metadata) -> bool {
    !data.is_file()
}

fn beside(path: &Path, bytes: &[u8], old: Option<&fs::Metadata>) -> io::Result<()> {
    let draft = draft_name(path);
    let made = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        file.write_all(bytes)?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&draft, path)
    })();
    if made.is_err() {
        // The draft may not be there at all.
        let _ = fs::remove_file(&draft);
    }
    made
}

fn draft_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().take(100).collect();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

fn copy_mode(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(data) => fs::set_permissions(to, data.permissions()),
        Err(_) => Ok(()),
    }
}

fn failure(edit: &FileEdit, error: &io::Error, stuck: &[String]) -> Outcome {
    let path = FilePath::from(edit.place.real.as_path());
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => IoWhy::Permission,
        io::ErrorKind::NotFound => IoWhy::NotFound,
        io::ErrorKind::IsADirectory => IoWhy::NotAFile,
        _ => IoWhy::Internal,
    };
    let mut text = format!("{path}: {error}; ");
    if stuck.is_empty() {
        text += "nothing was changed";
    } else {
        text += &format!("these could not be put back as they were: {}", stuck.join(", "));
    }
    Outcome::Failed { why, path: Some(path), text }
}
