//! The folder of all sessions: creates, opens, replays, lists and deletes them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use protocol::{Digest, Failure, FailureKind, Item, Refusal, SessionId};

use super::blobs::{self, Blobs};
use super::book::Book;
use super::line::{self, Found};
use super::load::{self, Loaded};
use super::record::Record;
use super::writer::{Journal, Writer};
use super::{disk, list};

/// Items of one page of a replay, and the bytes of their lines.
const REPLAY_ITEMS: usize = 200;
const REPLAY_BYTES: usize = 1024 * 1024;

/// All sessions below one home.
#[derive(Clone)]
pub struct Store {
    folder: PathBuf,
    blobs: Blobs,
    writer: Writer,
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no session {0}")]
    NoSession(SessionId),
    #[error("session {session} is open in process {pid}")]
    InUse { session: SessionId, pid: u32 },
    #[error("session {session} was written by a later version ({why}); update to go on with it")]
    Sealed { session: SessionId, why: String },
    #[error("{0} has no line that can be read; delete it")]
    Empty(String),
    #[error("no list of sessions ended at {0:?}")]
    Cursor(String),
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession(id) => Refusal::NoSession(id),
            StoreError::InUse { session, pid } => Refusal::InUse { session, pid },
            StoreError::Cursor(cursor) => Refusal::Invalid {
                what: format!("cursor {cursor:?}"),
                why: "no list of sessions ended there".into(),
                remedy: "leave it out to begin with the newest session".into(),
            },
            StoreError::Sealed { .. } | StoreError::Empty(_) | StoreError::Io { .. } => {
                Refusal::Failed(Failure {
                    kind: FailureKind::Disk,
                    text: error.to_string(),
                    remedy: None,
                    status: None,
                })
            }
        }
    }
}

impl Store {
    /// Touches nothing.
    pub fn new(home: &Path) -> Self {
        let folder = home.join("sessions");
        let blobs = Blobs { folder: folder.join("blobs") };
        Self { folder, blobs, writer: Writer::new() }
    }

    /// A new session. Its file is made with the first line behind the preface.
    ///
    /// Errors: none yet; a disk that takes nothing says so at the first line.
    pub async fn create(&self, head: Record) -> Result<Journal, StoreError> {
        let id = match &head {
            Record::Head { session, .. } => session.0.clone(),
            _ => String::new(),
        };
        let path = self.folder.join(day()).join(format!("{}-{id}.jsonl", stamp()));
        let journal = self.writer.open(Book::new(path)).await;
        // A line that only waits cannot fail.
        let _ = journal.append(head).await;
        Ok(journal)
    }

    /// Opens a session to go on with it.
    ///
    /// Errors: there is none, another process has it, a later version sealed it, nothing of it can be read.
    pub async fn open(&self, id: &SessionId) -> Result<(Journal, Loaded), StoreError> {
        let session = id.clone();
        let (book, loaded) = self.blocking(id, move |store| store.open_now(&session)).await?;
        Ok((self.writer.open(book).await, loaded))
    }

    fn open_now(&self, id: &SessionId) -> Result<(Book, Loaded), StoreError> {
        let (path, file) = self.held(id)?;
        let loaded = load::load(id, &file).map_err(|error| match error {
            load::Broken::Io(error) => io_error(&path, error),
            load::Broken::Sealed(why) => StoreError::Sealed { session: id.clone(), why },
        })?;
        if !loaded.any {
            return Err(StoreError::Empty(path.display().to_string()));
        }
        if loaded.torn > 0 {
            file.set_len(loaded.end).map_err(|error| io_error(&path, error))?;
        }
        disk::claim(&path);
        let book = Book::again(path, file, &loaded);
        Ok((book, loaded))
    }

    /// The session's file, held by us.
    fn held(&self, id: &SessionId) -> Result<(PathBuf, File), StoreError> {
        let path = self.find(id)?;
        let io = |error| io_error(&path, error);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
        if !disk::hold(&file).map_err(io)? {
            return Err(StoreError::InUse { session: id.clone(), pid: disk::owner(&path) });
        }
        // It may have been deleted between the two.
        if !path.exists() {
            return Err(StoreError::NoSession(id.clone()));
        }
        Ok((path, file))
    }

    /// Finished items in order, in pages.
    ///
    /// Errors: the file cannot be read.
    pub async fn items(
        &self,
        id: &SessionId,
        page: impl FnMut(Vec<Item>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let session = id.clone();
        self.blocking(id, move |store| {
            let path = store.find(&session)?;
            items_of(&path, page).map_err(|error| io_error(&path, error))
        })
        .await
    }

    /// Sessions, the newest first, those of one folder or all; `cursor` goes on where a page ended.
    ///
    /// Errors: the cursor is none of ours.
    pub async fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Result<list::Page, StoreError> {
        let (store, cwd) = (self.clone(), cwd.map(Path::to_path_buf));
        let cursor = cursor.map(str::to_string);
        tokio::task::spawn_blocking(move || list::page(store.files(), cwd.as_deref(), cursor.as_deref()))
            .await
            .unwrap_or_else(|_| Ok(list::Page::default()))
    }

    /// Removes a session's file, and the bytes of edited files that no other session names.
    ///
    /// Errors: there is none, or another process has it.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let session = id.clone();
        self.blocking(id, move |store| {
            let (path, file) = store.held(&session)?;
            // Of what cannot be read, the bytes stay.
            let named = blobs::named(&path).unwrap_or_default();
            fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
            disk::disclaim(&path);
            drop(file);
            store.blobs.sweep(named, &store.files());
            Ok(())
        })
        .await
    }

    /// Keeps bytes under their digest.
    ///
    /// Errors: the disk takes nothing.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let (blobs, bytes) = (self.blobs.clone(), bytes.to_vec());
        let put = tokio::task::spawn_blocking(move || blobs.put(&bytes)).await;
        put.unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| io_error(&self.blobs.folder, error))
    }

    /// The bytes of a digest, if they are still there and still the same.
    pub async fn blob(&self, digest: &Digest) -> Option<Vec<u8>> {
        let (blobs, digest) = (self.blobs.clone(), digest.clone());
        tokio::task::spawn_blocking(move || blobs.get(&digest)).await.ok()?
    }

    /// Works on a thread that may wait for the disk.
    async fn blocking<T: Send + 'static>(
        &self,
        id: &SessionId,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        let worked = tokio::task::spawn_blocking(move || work(&store)).await;
        worked.unwrap_or_else(|error| {
            Err(StoreError::Io { path: format!("session {id}"), error: io::Error::other(error) })
        })
    }

    fn find(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        let plain =
            !id.0.is_empty() && id.0.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let ending = format!("-{id}.jsonl");
        let found = self.files().into_iter().find(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.len() == STAMP_CHARS + ending.len() && name.ends_with(&ending))
        });
        found.filter(|_| plain).ok_or_else(|| StoreError::NoSession(id.clone()))
    }

    /// Every session's file: years, months, days.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        for _ in 0..3 {
            folders =
                folders.iter().flat_map(|folder| entries(folder)).filter(|path| is_number(path)).collect();
        }
        let files = folders.iter().flat_map(|folder| entries(folder));
        files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
    }
}

fn items_of(path: &Path, mut page: impl FnMut(Vec<Item>)) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let (mut items, mut bytes, mut line) = (Vec::new(), 0, Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let (_, Found::Record(record)) = line::read(&line, |kind| kind == "item")
            && let Record::Item(item) = *record
        {
            bytes += line.len();
            items.push(item);
        }
        if items.len() >= REPLAY_ITEMS || bytes >= REPLAY_BYTES {
            page(std::mem::take(&mut items));
            bytes = 0;
        }
        line.clear();
    }
    if !items.is_empty() {
        page(items);
    }
    Ok(())
}

fn io_error(path: &Path, error: io::Error) -> StoreError {
    StoreError::Io { path: path.display().to_string(), error }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

fn is_number(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `YYYY/MM/DD`, in UTC.
fn day() -> PathBuf {
    let (year, month, day, ..) = protocol::time::civil(crate::clock::now_ms());
    PathBuf::from(format!("{year:04}")).join(format!("{month:02}")).join(format!("{day:02}"))
}

const STAMP_CHARS: usize = 15;

/// `YYYYMMDDTHHMMSS`, in UTC.
fn stamp() -> String {
    let (year, month, day, hour, minute, second) = protocol::time::civil(crate::clock::now_ms());
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}")
}
