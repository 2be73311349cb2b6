//! One file's bytes put in their place, and everything else about the file kept: mode, owner, extended
//! attributes, links.
//!
//! Knows paths and bytes, no edits. Paths are real ones, links followed. Called by the commit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Other names that are tried for a draft when one is taken.
const NAMES: u32 = 100;
/// Of a file's own name in that of its draft.
const NAME_BYTES: usize = 100;

/// Replaces the bytes of a file that is there: by a draft beside it that takes its name, so that nobody sees
/// half of it; in place where that would lose something.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if has_further_links(&fs::metadata(path)?) {
        return in_place(path, bytes);
    }
    match beside(path, bytes) {
        // Where there is no room for a draft there is none for the file: it is better left whole.
        Err(error) if !is_full(&error) => in_place(path, bytes),
        done => done,
    }
}

/// Makes a file where none is, with mode, owner and attributes of another where one is given.
///
/// Errors: `AlreadyExists` when there is one after all; it is left alone.
pub(crate) fn make(path: &Path, bytes: &[u8], like: Option<&Path>) -> io::Result<()> {
    let draft = Draft::write(path, bytes)?;
    if let Some(like) = like {
        dress(&draft.file, like)?;
    }
    match fs::hard_link(&draft.path, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) if fs::symlink_metadata(path).is_err() => draft.rename(path),
        done => done,
    }
}

/// A name beside a file that is not taken.
pub(crate) fn spare_name(path: &Path) -> io::Result<PathBuf> {
    let mut names = (0..NAMES).map(|count| name_beside(path, count));
    names.find(|name| fs::symlink_metadata(name).is_err()).ok_or_else(no_name)
}

fn name_beside(path: &Path, count: u32) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.get(..name.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()))
}

fn no_name() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a draft beside the file")
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = Draft::write(path, bytes)?;
    dress(&draft.file, path)?;
    draft.rename(path)
}

/// Bytes under another name beside the file; gone when dropped.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        for count in 0..NAMES {
            let path = name_beside(path, count);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let mut draft = Self { path, file };
                    draft.file.write_all(bytes)?;
                    draft.file.sync_all()?;
                    return Ok(draft);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(no_name())
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename it is not there any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes over the old bytes; they come back when that fails midway.
fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = fs::read(path)?;
    let mut file = File::options().write(true).open(path)?;
    let written =
        file.write_all(bytes).and_then(|()| file.set_len(bytes.len() as u64)).and_then(|()| file.sync_all());
    written.or_else(|error| {
        let mut file = File::options().write(true).open(path)?;
        file.write_all(&old)?;
        file.set_len(old.len() as u64)?;
        Err(error)
    })
}

#[cfg(unix)]
fn has_further_links(data: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(data) > 1
}

#[cfg(not(unix))]
fn has_further_links(_: &fs::Metadata) -> bool {
    false
}

/// Gives a draft the owner, mode and extended attributes of a file. Owner first: a change of it drops mode bits.
fn dress(draft: &File, like: &Path) -> io::Result<()> {
    let data = fs::metadata(like)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let mine = draft.metadata()?;
        if (mine.uid(), mine.gid()) != (data.uid(), data.gid()) {
            fchown(draft, Some(data.uid()), Some(data.gid()))?;
        }
    }
    copy_attributes(draft, like)?;
    draft.set_permissions(data.permissions())
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_attributes(draft: &File, like: &Path) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let like = File::open(like)?;
    let names = match grown(|buffer| flistxattr(&like, buffer)) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        names => names?,
    };
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let value = grown(|buffer| fgetxattr(&like, name, buffer))?;
        let held = grown(|buffer| fgetxattr(draft, name, buffer));
        if held.is_ok_and(|held| held == value) {
            continue;
        }
        fsetxattr(draft, name, &value, XattrFlags::empty())?;
    }
    Ok(())
}

/// Asks with a larger and larger buffer, up to the 64 KiB that Linux allows.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn grown(ask: impl Fn(&mut [u8]) -> Result<usize, rustix::io::Errno>) -> io::Result<Vec<u8>> {
    for size in [1 << 10, 1 << 16] {
        let mut buffer = vec![0; size];
        match ask(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(rustix::io::Errno::RANGE) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(rustix::io::Errno::RANGE.into())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn copy_attributes(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}
