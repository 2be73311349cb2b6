//! Where files are read and written: the editor's buffer when a client offers it, else the disk.
//!
//! The way is chosen per file and per tool call when it is read, and kept for the write. A buffer that did
//! not change since it was last seen, while the file on disk did, is behind: then the disk is right.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use files::{FileEdit, Place, digest};
use protocol::{Digest, FilePath, HostCall, HostReply, IoWhy, Outcome, SessionId};

use crate::host::Host;

/// Files beyond this are not read.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// An editor that says nothing for longer is not waited for.
const EDITOR: Duration = Duration::from_secs(30);

/// Which way a file goes in this tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Disk,
    Buffer,
}

/// The files of one session.
pub(crate) struct Desk {
    session: SessionId,
    host: Option<Arc<Host>>,
    last: Mutex<HashMap<FilePath, Sight>>,
}

/// How buffer and disk were when they were last looked at.
#[derive(Clone, PartialEq)]
struct Sight {
    buffer: Digest,
    disk: Option<Digest>,
}

impl Desk {
    pub(crate) fn new(session: SessionId, host: Option<Arc<Host>>) -> Self {
        Self { session, host, last: Mutex::default() }
    }

    /// The file's bytes, none when there is no file, and the way they came.
    pub(crate) async fn read(&self, place: &Place) -> Result<(Option<Vec<u8>>, Via), Outcome> {
        let disk = read_disk(&place.real).await?;
        let Some(host) = self.host.as_ref().filter(|host| host.has_files()) else {
            return Ok((disk, Via::Disk));
        };
        // An editor hands out text; what is not plain UTF-8 on disk would not come back the same.
        let plain = disk
            .as_ref()
            .is_none_or(|bytes| std::str::from_utf8(bytes).is_ok() && !bytes.starts_with(b"\xef\xbb\xbf"));
        if !plain {
            return Ok((disk, Via::Disk));
        }
        let path = FilePath::from(place.shown.as_path());
        let text = match self.call(host, HostCall::ReadText { path: path.clone() }).await {
            HostReply::Text(text) => text,
            HostReply::Written | HostReply::Failed(_) => {
                let via = if disk.is_some() { Via::Disk } else { Via::Buffer };
                return Ok((disk, via));
            }
        };
        let now = Sight { buffer: digest(text.as_bytes()), disk: disk.as_deref().map(digest) };
        let behind = self.sight(&path).is_some_and(|old| old.buffer == now.buffer && old.disk != now.disk);
        if behind && now.disk.as_ref() != Some(&now.buffer) {
            return Ok((disk, Via::Disk));
        }
        self.remember(path, now);
        Ok((Some(text.into_bytes()), Via::Buffer))
    }

    /// Writes what a buffer shall hold, and looks whether it does.
    pub(crate) async fn write_buffer(&self, edit: &FileEdit) -> Result<(), Outcome> {
        let path = FilePath::from(edit.place.shown.as_path());
        let (Some(host), Some(after)) = (&self.host, &edit.after) else {
            return Err(failed(&path, "the editor is gone".into()));
        };
        let now = match self.call(host, HostCall::ReadText { path: path.clone() }).await {
            HostReply::Text(text) => Some(text.into_bytes()),
            HostReply::Written | HostReply::Failed(_) => read_disk(&edit.place.real).await?,
        };
        if now != edit.before {
            return Err(Outcome::EditFailed { path, why: protocol::EditFailure::Stale });
        }
        let text = String::from_utf8_lossy(after).into_owned();
        files::check_name(&edit.place)?;
        match self.call(host, HostCall::WriteText { path: path.clone(), text: text.clone() }).await {
            HostReply::Written => {}
            HostReply::Failed(why) => {
                return Err(failed(&path, format!("the editor did not write it: {why}")));
            }
            HostReply::Text(_) => {
                return Err(failed(&path, "the editor gave a text instead of writing".into()));
            }
        }
        match self.call(host, HostCall::ReadText { path: path.clone() }).await {
            HostReply::Text(held) if held == text => {
                let disk = read_disk(&edit.place.real).await?.as_deref().map(digest);
                self.remember(path, Sight { buffer: digest(after), disk });
                Ok(())
            }
            HostReply::Text(_) => Err(failed(
                &path,
                "the editor took the text but holds another one now (a format on save, or the person at work); read the file again".into(),
            )),
            HostReply::Written | HostReply::Failed(_) => Ok(()),
        }
    }

    async fn call(&self, host: &Host, call: HostCall) -> HostReply {
        let answer = tokio::time::timeout(EDITOR, host.call(&self.session, call)).await;
        answer
            .unwrap_or_else(|_| HostReply::Failed(format!("it gave no answer within {} s", EDITOR.as_secs())))
    }

    fn sight(&self, path: &FilePath) -> Option<Sight> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn remember(&self, path: FilePath, sight: Sight) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(path, sight);
    }
}

/// The bytes on disk, none when there is no file.
pub(crate) async fn read_disk(path: &Path) -> Result<Option<Vec<u8>>, Outcome> {
    let shown = FilePath::from(path);
    let path = path.to_path_buf();
    match tokio::task::spawn_blocking(move || files::load(&path, FILE_BYTES)).await {
        Ok(loaded) => loaded,
        Err(error) => Err(failed(&shown, error.to_string())),
    }
}

fn failed(path: &FilePath, text: String) -> Outcome {
    Outcome::Failed { why: IoWhy::Internal, path: Some(path.clone()), text: format!("{path}: {text}") }
}
