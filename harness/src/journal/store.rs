//! The folder of all sessions: creates, opens, lists and deletes them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use protocol::{Digest, Failure, FailureKind, FilePath, Item, Refusal, SessionId, SessionRow};

use super::line::{self, Found};
use super::load::{self, Loaded};
use super::record::Record;
use super::writer::{Book, Journal, Writer};

const PAGE: usize = 50;
/// Items of one page of a replay, and their bytes.
const REPLAY_ITEMS: usize = 200;
const REPLAY_BYTES: usize = 1024 * 1024;
/// What is read of a file for a list.
const PEEK_BYTES: u64 = 256 * 1024;

/// All sessions below one home.
#[derive(Clone)]
pub struct Store {
    folder: PathBuf,
    writer: Writer,
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no session {0}")]
    NoSession(SessionId),
    #[error("session {session} is open in process {pid}")]
    InUse { session: SessionId, pid: u32 },
    #[error("session {session} was written by a later version ({kind}); update to go on with it")]
    Sealed { session: SessionId, kind: String },
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession(id) => Refusal::NoSession(id),
            StoreError::InUse { session, pid } => Refusal::InUse { session, pid },
            StoreError::Sealed { .. } | StoreError::Io { .. } => Refusal::Failed(Failure {
                kind: FailureKind::Disk,
                text: error.to_string(),
                remedy: None,
                status: None,
            }),
        }
    }
}

impl Store {
    /// Touches nothing.
    pub fn new(home: &Path) -> Self {
        Self { folder: home.join("sessions"), writer: Writer::new() }
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
        let book = Book { path, file: None, held: Vec::new(), end: 0, n: 0, prefaced: true, dirty: false };
        let journal = self.writer.open(book);
        // A line that only waits cannot fail.
        let _ = journal.append(head).await;
        Ok(journal)
    }

    /// Opens a session to go on with it.
    ///
    /// Errors: there is none, another process has it, or a later version sealed it.
    pub async fn open(&self, id: &SessionId) -> Result<(Journal, Loaded), StoreError> {
        let (store, session) = (self.clone(), id.clone());
        let opened = tokio::task::spawn_blocking(move || store.open_now(&session)).await;
        let (book, loaded) = opened.unwrap_or_else(|_| Err(StoreError::NoSession(id.clone())))?;
        Ok((self.writer.open(book), loaded))
    }

    fn open_now(&self, id: &SessionId) -> Result<(Book, Loaded), StoreError> {
        let path = self.find(id)?;
        let io = |error| StoreError::Io { path: path.display().to_string(), error };
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
        lock(&file).map_err(|()| StoreError::InUse { session: id.clone(), pid: owner(&path) })?;
        claim(&path);
        let loaded = load::load(id, &file).map_err(|error| match error {
            load::Broken::Io(error) => io(error),
            load::Broken::Sealed(kind) => StoreError::Sealed { session: id.clone(), kind },
        })?;
        if loaded.torn {
            file.set_len(loaded.end).map_err(io)?;
        }
        let book = Book {
            path: path.clone(),
            file: Some(file),
            held: Vec::new(),
            end: loaded.end,
            n: loaded.lines,
            prefaced: false,
            dirty: loaded.torn,
        };
        Ok((book, loaded))
    }

    /// Finished items in order, in pages.
    ///
    /// Errors: the file cannot be read.
    pub async fn items(
        &self,
        id: &SessionId,
        page: impl FnMut(Vec<Item>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let (store, session) = (self.clone(), id.clone());
        let read = tokio::task::spawn_blocking(move || store.items_now(&session, page)).await;
        read.unwrap_or_else(|_| Err(StoreError::NoSession(id.clone())))
    }

    fn items_now(&self, id: &SessionId, mut page: impl FnMut(Vec<Item>)) -> Result<(), StoreError> {
        let path = self.find(id)?;
        let io = |error| StoreError::Io { path: path.display().to_string(), error };
        let mut lines = BufReader::with_capacity(256 * 1024, File::open(&path).map_err(io)?);
        let (mut items, mut bytes, mut line) = (Vec::new(), 0, Vec::new());
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).map_err(io)? == 0 {
                break;
            }
            let Some(Found::Record(record)) = line::read(&line, |kind| kind == "item") else { continue };
            if let Record::Item(item) = *record {
                bytes += item.bytes();
                items.push(item);
            }
            if items.len() >= REPLAY_ITEMS || bytes >= REPLAY_BYTES {
                page(std::mem::take(&mut items));
                bytes = 0;
            }
        }
        if !items.is_empty() {
            page(items);
        }
        Ok(())
    }

    /// Sessions, the newest first; `cursor` goes on where a page ended.
    pub async fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> (Vec<SessionRow>, Option<String>) {
        let (store, cwd) = (self.clone(), cwd.map(Path::to_path_buf));
        let cursor = cursor.map(str::to_string);
        tokio::task::spawn_blocking(move || store.list_now(cwd.as_deref(), cursor.as_deref()))
            .await
            .unwrap_or_default()
    }

    fn list_now(&self, cwd: Option<&Path>, cursor: Option<&str>) -> (Vec<SessionRow>, Option<String>) {
        let mut files: Vec<(u64, PathBuf)> =
            self.files().into_iter().map(|path| (changed_ms(&path), path)).collect();
        files.sort_by(|a, b| b.cmp(a));
        let place = |path: &Path| {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let from = match cursor {
            None => 0,
            Some(cursor) => {
                files.iter().position(|(_, path)| place(path) == cursor).map_or(files.len(), |at| at + 1)
            }
        };
        let mut rows = Vec::new();
        let mut rest = files.into_iter().skip(from).peekable();
        while let Some((updated_ms, path)) = rest.next() {
            let row = peek(&path, updated_ms);
            let here = cwd.is_none_or(|cwd| row.cwd.as_path() == cwd);
            if here {
                rows.push(row);
            }
            if rows.len() == PAGE && rest.peek().is_some() {
                return (rows, Some(place(&path)));
            }
        }
        (rows, None)
    }

    /// Removes a session's file.
    ///
    /// Errors: there is none, or another process has it.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let path = self.find(id)?;
        let io = |error| StoreError::Io { path: path.display().to_string(), error };
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io)?;
        lock(&file).map_err(|()| StoreError::InUse { session: id.clone(), pid: owner(&path) })?;
        fs::remove_file(&path).map_err(io)?;
        // It may never have been made.
        let _ = fs::remove_file(owner_file(&path));
        Ok(())
    }

    /// Keeps bytes under their digest.
    ///
    /// Errors: the disk takes nothing.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = files::digest(bytes);
        let path = self.blob_path(&digest);
        if path.exists() {
            return Ok(digest);
        }
        let bytes = bytes.to_vec();
        let target = path.clone();
        let written = tokio::task::spawn_blocking(move || {
            make_folder(target.parent().unwrap_or(&target))?;
            let draft = target.with_extension(format!("{}.tmp", std::process::id()));
            let mut file = private().write(true).create(true).truncate(true).open(&draft)?;
            file.write_all(&bytes)?;
            file.sync_data()?;
            fs::rename(&draft, &target)
        })
        .await;
        match written {
            Ok(Ok(())) => Ok(digest),
            Ok(Err(error)) => Err(StoreError::Io { path: path.display().to_string(), error }),
            Err(error) => {
                Err(StoreError::Io { path: path.display().to_string(), error: io::Error::other(error) })
            }
        }
    }

    /// The bytes of a digest, if they are still there and still the same.
    pub async fn blob(&self, digest: &Digest) -> Option<Vec<u8>> {
        let bytes = tokio::fs::read(self.blob_path(digest)).await.ok()?;
        (files::digest(&bytes) == *digest).then_some(bytes)
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        let name = digest.0.get(..2).unwrap_or("00");
        self.folder.join("blobs").join(name).join(&digest.0)
    }

    fn find(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        let plain =
            !id.0.is_empty() && id.0.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let ending = format!("-{id}.jsonl");
        let found = self.files().into_iter().find(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(&ending))
        });
        found.filter(|_| plain).ok_or_else(|| StoreError::NoSession(id.clone()))
    }

    /// Every session's file: years, months, days.
    fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        for _ in 0..3 {
            folders =
                folders.iter().flat_map(|folder| entries(folder)).filter(|path| is_number(path)).collect();
        }
        let files = folders.iter().flat_map(|folder| entries(folder));
        files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
    }
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

fn changed_ms(path: &Path) -> u64 {
    let changed = fs::metadata(path).and_then(|data| data.modified()).ok();
    let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A row of the list, from the beginning of a file and its end.
fn peek(path: &Path, updated_ms: u64) -> SessionRow {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let id = name
        .char_indices()
        .nth(STAMP_CHARS + 1)
        .map_or(name.as_str(), |(at, _)| name.get(at..).unwrap_or_default());
    let mut row = SessionRow {
        id: SessionId(id.to_string()),
        cwd: FilePath(String::new()),
        title: None,
        updated_ms,
        unreadable: None,
    };
    match peek_records(path) {
        Err(error) => row.unreadable = Some(error.to_string()),
        Ok(records) => {
            let mut headed = false;
            for record in records {
                match record {
                    Record::Head { session, cwd, .. } => {
                        headed = true;
                        row.id = session;
                        row.cwd = cwd;
                    }
                    Record::Title(title) => row.title = Some(title),
                    _ => {}
                }
            }
            if !headed {
                row.unreadable = Some("its first line cannot be read".into());
            }
        }
    }
    row
}

fn peek_records(path: &Path) -> io::Result<Vec<Record>> {
    use std::io::{Seek, SeekFrom};
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(PEEK_BYTES).read_to_end(&mut bytes)?;
    if len > PEEK_BYTES {
        file.seek(SeekFrom::Start(PEEK_BYTES.max(len - PEEK_BYTES)))?;
        file.take(PEEK_BYTES).read_to_end(&mut bytes)?;
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let wanted = |kind: &str| kind == "head" || kind == "title";
    let records = lines.filter_map(|line| match line::read(line, wanted) {
        Some(Found::Record(record)) => Some(*record),
        _ => None,
    });
    Ok(records.collect())
}

/// A new file that only we may read, locked for life.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    make_folder(path.parent().unwrap_or(path))?;
    let file = private().read(true).write(true).create_new(true).open(path)?;
    lock(&file).map_err(|()| io::Error::other("another process has it"))?;
    claim(path);
    Ok(file)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Held until the file is closed, also by a crash.
fn lock(file: &File) -> Result<(), ()> {
    file.try_lock().map_err(|_| ())
}

/// Beside the file, for people who find it locked.
fn owner_file(path: &Path) -> PathBuf {
    path.with_extension("pid")
}

fn claim(path: &Path) {
    // It is only a hint.
    let _ = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(owner_file(path))
        .and_then(|mut file| file.write_all(std::process::id().to_string().as_bytes()));
}

fn owner(path: &Path) -> u32 {
    fs::read_to_string(owner_file(path)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
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
