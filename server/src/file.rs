//! Small files of a person, read whole: never a pipe, a device or a file without end.
//!
//! It knows no format. Configuration, keys, schemas and images are read through it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Configuration, keys and schemas.
pub(crate) const TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// The bytes of a regular file of at most `limit` bytes.
///
/// Errors: as `std::fs::read`, and `InvalidInput` for anything that is no such file.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(invalid("it is no regular file; give one".into()));
    }
    let mut bytes = Vec::new();
    // What a file of /proc or one that grows says of its size may be too little.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit || data.len() > limit {
        let size = data.len().max(bytes.len() as u64);
        return Err(invalid(format!("it has {size} bytes or more; at most {limit} are read")));
    }
    Ok(bytes)
}

/// The same as text.
///
/// Errors: as [`read`], and `InvalidData` where it is no UTF-8.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let bytes = read(path, TEXT_BYTES)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no UTF-8 at byte {at}; save it as UTF-8"))
    })
}

/// Never waits for a pipe's other end, and never becomes a terminal's owner.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_within_the_limit_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, file) = (dir.path().join("pipe"), dir.path().join("file"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&file, "four").unwrap();
        for odd in [&pipe, Path::new("/dev/zero"), dir.path()] {
            assert!(read(odd, 9).unwrap_err().to_string().contains("no regular file"), "{odd:?}");
        }
        assert_eq!(read(&file, 4).unwrap(), b"four");
        assert!(read(&file, 3).unwrap_err().to_string().contains("at most 3"));
        assert_eq!(read(&dir.path().join("none"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&file, b"ab\xff").unwrap();
        assert!(text(&file).unwrap_err().to_string().contains("no UTF-8 at byte 2"));
    }
}
