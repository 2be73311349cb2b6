//! The store's files as the operating system has them: only ours to read, and held by one process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A new file, held for life, and the folders that have to be on the disk for it to be found again.
pub(super) fn create(path: &Path) -> io::Result<(File, Vec<PathBuf>)> {
    let folder = path.parent().unwrap_or(path);
    let mut naming = vec![folder.to_path_buf()];
    // A folder that is made now is named by the one above it.
    for missing in folder.ancestors().take_while(|above| !above.exists()) {
        naming.extend(missing.parent().map(Path::to_path_buf));
    }
    make_folder(folder)?;
    let file = private().read(true).write(true).create_new(true).open(path)?;
    let held = hold(&file);
    if !matches!(held, Ok(true)) {
        // It would be in the way of the next try.
        fs::remove_file(path)?;
        return Err(held.err().unwrap_or_else(|| io::Error::other("another process has it")));
    }
    claim(path);
    Ok((file, naming))
}

/// Options for a file that only we may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// With the folders above it, all only ours.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Puts the names in a folder on the disk itself.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened as a file, and names are on the disk with the file.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Takes the file until it is closed, which a crash does too; whether nobody had it.
pub(super) fn hold(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Says in a file beside it who holds it, for the people who find it held. Only a hint: the lock decides.
pub(super) fn claim(path: &Path) {
    let _ = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(owner_file(path))
        .and_then(|mut file| file.write_all(std::process::id().to_string().as_bytes()));
}

/// Who holds it, 0 if that is not known.
pub(super) fn owner(path: &Path) -> u32 {
    fs::read_to_string(owner_file(path)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Takes the hint back; to be called while the file is still held.
pub(super) fn disclaim(path: &Path) {
    // It may be gone, or never have been written.
    let _ = fs::remove_file(owner_file(path));
}

fn owner_file(path: &Path) -> PathBuf {
    path.with_extension("pid")
}
