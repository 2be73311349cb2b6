//! Bytes of files before and after edits, named by their digest. Sessions share them; a blob lives as long
//! as a line of some session names it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::Digest;

use super::disk;
use super::line::{self, Found};
use super::record::Record;

/// The folder of all blobs.
#[derive(Clone)]
pub(super) struct Blobs {
    pub(super) folder: PathBuf,
}

impl Blobs {
    /// Keeps bytes, on the disk itself when this returns.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = files::digest(bytes);
        let path = self.path(&digest);
        if fs::metadata(&path).is_ok_and(|found| found.len() == bytes.len() as u64) {
            return Ok(digest);
        }
        let folder = path.parent().unwrap_or(&path);
        disk::make_folder(folder)?;
        // Two sessions may keep the same bytes at once.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}.draft", std::process::id()));
        if let Err(error) = write(&draft, bytes).and_then(|()| fs::rename(&draft, &path)) {
            // What could not be written takes no room.
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
        disk::sync_folder(folder)?;
        Ok(digest)
    }

    /// The bytes of a digest, if they are still there and still the same.
    pub(super) fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(digest)).ok()?;
        (files::digest(&bytes) == *digest).then_some(bytes)
    }

    /// Removes those of `digests` that no line of `sessions` names.
    pub(super) fn sweep(&self, mut digests: HashSet<Digest>, sessions: &[PathBuf]) {
        for session in sessions {
            if digests.is_empty() {
                return;
            }
            match named(session) {
                Ok(named) => digests.retain(|digest| !named.contains(digest)),
                // What cannot be read may name any of them.
                Err(_) => return,
            }
        }
        for digest in digests {
            // It may never have been written.
            let _ = fs::remove_file(self.path(&digest));
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.0.get(..2).unwrap_or("00");
        self.folder.join(name).join(&digest.0)
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = disk::private().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// The blobs that a session's lines name.
pub(super) fn named(session: &Path) -> io::Result<HashSet<Digest>> {
    let mut lines = BufReader::with_capacity(256 * 1024, File::open(session)?);
    let (mut named, mut line) = (HashSet::new(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let (_, found) = line::read(&line, |kind| kind == "edited" || kind == "begun");
        if let Found::Record(record) = found {
            match *record {
                Record::Edited { edits, .. } => {
                    named.extend(edits.into_iter().flat_map(|edit| [edit.before, edit.after]).flatten());
                }
                Record::Begun { before, .. } => {
                    named.extend(before.into_iter().filter_map(|(_, digest)| digest));
                }
                _ => {}
            }
        }
        line.clear();
    }
    Ok(named)
}
