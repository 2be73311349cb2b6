//! One file's bytes put in their place, and everything else about the file kept: mode, owner, extended
//! attributes, links.
//!
//! Knows spots and bytes, no edits. Called by the commit.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::spot::Spot;

/// Other names that are tried for a draft when one is taken.
const NAMES: u32 = 100;
/// Of a file's own name in that of its draft.
const NAME_BYTES: usize = 100;

/// Replaces the bytes of a file that is there: by a draft beside it that takes its name, so that nobody sees
/// half of it; in place where that would lose something.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let spot = Spot::of(path)?;
    let old = spot.open()?;
    if has_further_links(&old.metadata()?) {
        return in_place(&spot, bytes);
    }
    match beside(&spot, &old, path, bytes) {
        // Where there is no room for a draft there is none for the file: it is better left whole.
        Err(error) if !is_full(&error) => in_place(&spot, bytes),
        done => done,
    }
}

/// Makes a file where none is, with mode, owner and attributes of another where one is given.
///
/// Errors: `AlreadyExists` when there is one after all; it is left alone.
pub(crate) fn make(path: &Path, bytes: &[u8], like: Option<&Path>) -> io::Result<()> {
    let spot = Spot::of(path)?;
    let draft = Draft::write(&spot, name(path), bytes)?;
    if let Some(like) = like {
        dress(&draft.file, &Spot::of(like)?.open()?)?;
    }
    match draft.spot.link(&spot) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) if !spot.is_taken() => draft.rename(&spot),
        done => done,
    }
}

/// A spot beside a file whose name is not taken.
pub(crate) fn spare(spot: &Spot, path: &Path) -> io::Result<Spot> {
    let mut spots = (0..NAMES).map(|count| spot.beside(&name_beside(name(path), count)));
    spots.find(|spot| !spot.is_taken()).ok_or_else(no_name)
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn name_beside(name: &OsStr, count: u32) -> OsString {
    let name = name.to_string_lossy();
    let name = name.get(..name.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
    format!(".{name}.{}-{count}.tmp", std::process::id()).into()
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

fn beside(spot: &Spot, old: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = Draft::write(spot, name(path), bytes)?;
    dress(&draft.file, old)?;
    draft.rename(spot)
}

/// Bytes under another name beside the file; gone when dropped.
struct Draft {
    spot: Spot,
    file: File,
}

impl Draft {
    fn write(beside: &Spot, name: &OsStr, bytes: &[u8]) -> io::Result<Self> {
        for count in 0..NAMES {
            let spot = beside.beside(&name_beside(name, count));
            match spot.create() {
                Ok(file) => {
                    let mut draft = Self { spot, file };
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

    fn rename(self, to: &Spot) -> io::Result<()> {
        self.spot.rename(to)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename it is not there any more.
        let _ = self.spot.remove();
    }
}

/// Writes over the old bytes; they come back when that fails midway.
fn in_place(spot: &Spot, bytes: &[u8]) -> io::Result<()> {
    let mut old = Vec::new();
    spot.open()?.read_to_end(&mut old)?;
    let mut file = spot.open_to_write()?;
    let written =
        file.write_all(bytes).and_then(|()| file.set_len(bytes.len() as u64)).and_then(|()| file.sync_all());
    written.or_else(|error| {
        let mut file = spot.open_to_write()?;
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
fn dress(draft: &File, like: &File) -> io::Result<()> {
    let data = like.metadata()?;
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
fn copy_attributes(draft: &File, like: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let names = match grown(|buffer| flistxattr(like, buffer)) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        names => names?,
    };
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let value = grown(|buffer| fgetxattr(like, name, buffer))?;
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
fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}
