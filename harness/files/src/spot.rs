//! A name in a folder that is held open, so that nobody can put a link in its way between a look and a write.
//!
//! Paths that were found real lead through no link. One that does now was changed after it was allowed: it is
//! not followed. Called wherever contents are read or written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

#[cfg(unix)]
pub(crate) use by_descriptor::Spot;
#[cfg(not(unix))]
pub(crate) use by_path::Spot;

impl Spot {
    /// A regular file to be read; what is no file is not waited for.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.regular(Access::Read)
    }

    /// A regular file to be written over.
    pub(crate) fn open_to_write(&self) -> io::Result<File> {
        self.regular(Access::Write)
    }

    fn regular(&self, access: Access) -> io::Result<File> {
        let file = self.open_as(access)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
    }
}

/// At most that many bytes of a file, and whether there are more: some files say that they are empty and never
/// end.
pub(crate) fn read_at_most(file: File, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    let more = bytes.len() as u64 > most;
    Ok((bytes, more))
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    New,
}

fn bad_path() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a whole path of a file")
}

#[cfg(unix)]
mod by_descriptor {
    use std::os::fd::OwnedFd;
    use std::path::Component;
    use std::sync::Arc;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};

    use super::{Access, File, OsStr, OsString, Path, bad_path, io};

    #[derive(Clone)]
    pub(crate) struct Spot {
        folder: Arc<OwnedFd>,
        name: OsString,
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    const PASSING: OFlags = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const PASSING: OFlags = OFlags::RDONLY;

    impl Spot {
        /// Errors: a folder on the way is missing, or is a link.
        pub(crate) fn of(path: &Path) -> io::Result<Self> {
            let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
                return Err(bad_path());
            };
            let through = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | PASSING;
            let mut at: Option<OwnedFd> = None;
            for part in folder.components() {
                let next = match (&at, part) {
                    (None, Component::RootDir) => rustix::fs::openat(CWD, "/", through, Mode::empty())?,
                    (Some(at), Component::Normal(name)) => {
                        rustix::fs::openat(at, name, through, Mode::empty())?
                    }
                    _ => return Err(bad_path()),
                };
                at = Some(next);
            }
            let folder = Arc::new(at.ok_or_else(bad_path)?);
            Ok(Self { folder, name: name.to_os_string() })
        }

        /// Another name in the same folder.
        pub(crate) fn beside(&self, name: &OsStr) -> Self {
            Self { folder: Arc::clone(&self.folder), name: name.to_os_string() }
        }

        pub(super) fn open_as(&self, access: Access) -> io::Result<File> {
            let how = match access {
                Access::Read => OFlags::RDONLY,
                Access::Write => OFlags::WRONLY,
                Access::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            };
            let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o666);
            Ok(File::from(rustix::fs::openat(&*self.folder, &self.name, flags, mode)?))
        }

        pub(crate) fn create(&self) -> io::Result<File> {
            self.open_as(Access::New)
        }

        /// Whether the name is taken, by whatever.
        pub(crate) fn is_taken(&self) -> bool {
            rustix::fs::statat(&*self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        }

        /// Takes the place of what is there.
        pub(crate) fn rename(&self, to: &Self) -> io::Result<()> {
            Ok(rustix::fs::renameat(&*self.folder, &self.name, &*to.folder, &to.name)?)
        }

        /// A second name, where none is.
        pub(crate) fn link(&self, to: &Self) -> io::Result<()> {
            let (from, into) = (&*self.folder, &*to.folder);
            Ok(rustix::fs::linkat(from, &self.name, into, &to.name, AtFlags::empty())?)
        }

        pub(crate) fn remove(&self) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&*self.folder, &self.name, AtFlags::empty())?)
        }

        pub(crate) fn make_folder(&self) -> io::Result<()> {
            Ok(rustix::fs::mkdirat(&*self.folder, &self.name, Mode::from_raw_mode(0o777))?)
        }

        pub(crate) fn remove_folder(&self) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&*self.folder, &self.name, AtFlags::REMOVEDIR)?)
        }
    }
}

/// By paths alone: links that come meanwhile are followed.
#[cfg(not(unix))]
mod by_path {
    use std::fs;
    use std::path::PathBuf;

    use super::{Access, File, OsStr, Path, bad_path, io};

    #[derive(Clone)]
    pub(crate) struct Spot(PathBuf);

    impl Spot {
        pub(crate) fn of(path: &Path) -> io::Result<Self> {
            match path.parent() {
                Some(folder) if folder.is_dir() => Ok(Self(path.to_path_buf())),
                Some(_) => Err(io::ErrorKind::NotFound.into()),
                None => Err(bad_path()),
            }
        }

        pub(crate) fn beside(&self, name: &OsStr) -> Self {
            Self(self.0.with_file_name(name))
        }

        pub(super) fn open_as(&self, access: Access) -> io::Result<File> {
            match access {
                Access::Read => File::open(&self.0),
                Access::Write => File::options().write(true).open(&self.0),
                Access::New => File::options().write(true).create_new(true).open(&self.0),
            }
        }

        pub(crate) fn create(&self) -> io::Result<File> {
            self.open_as(Access::New)
        }

        pub(crate) fn is_taken(&self) -> bool {
            fs::symlink_metadata(&self.0).is_ok()
        }

        pub(crate) fn rename(&self, to: &Self) -> io::Result<()> {
            fs::rename(&self.0, &to.0)
        }

        pub(crate) fn link(&self, to: &Self) -> io::Result<()> {
            fs::hard_link(&self.0, &to.0)
        }

        pub(crate) fn remove(&self) -> io::Result<()> {
            fs::remove_file(&self.0)
        }

        pub(crate) fn make_folder(&self) -> io::Result<()> {
            fs::create_dir(&self.0)
        }

        pub(crate) fn remove_folder(&self) -> io::Result<()> {
            fs::remove_dir(&self.0)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_pipes_are_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("d")).unwrap();
        std::fs::write(base.join("d/f"), "f").unwrap();
        symlink("d", base.join("l")).unwrap();
        symlink("f", base.join("d/lf")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, base.join("d/p"), rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        let open = |name: &str| Spot::of(&base.join(name)).and_then(|spot| spot.open());
        let (bytes, more) = read_at_most(open("d/f").unwrap(), 1).unwrap();
        assert_eq!((bytes.as_slice(), more), (&b"f"[..], false));
        for name in ["l/f", "d/lf", "d/p", "d", "missing", "d/../d/f"] {
            assert!(open(name).is_err(), "{name}");
        }
        assert!(Spot::of(Path::new("d/f")).is_err());
        // A folder that is held stays the same, whatever takes its name.
        let held = Spot::of(&base.join("d/new")).unwrap();
        std::fs::rename(base.join("d"), base.join("moved")).unwrap();
        symlink("/", base.join("d")).unwrap();
        held.create().unwrap();
        assert!(base.join("moved/new").exists());
    }
}
