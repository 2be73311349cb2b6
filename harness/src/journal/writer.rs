//! One thread writes all journals of the process: lines are in the file before anybody is told of them,
//! and on the disk when asked.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, mpsc};

use tokio::sync::oneshot;

use super::line;
use super::record::Record;
use crate::clock::now_ms;

/// Lines in memory while the disk takes none.
const HELD_BYTES: usize = 16 * 1024 * 1024;
const QUEUE: usize = 1_024;

/// The journal takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Full(pub String);

/// One session's file, or none for a session that is not kept.
#[derive(Clone)]
pub struct Journal {
    to: Option<(Writer, u64)>,
}

/// The way to the writing thread.
#[derive(Clone)]
pub(crate) struct Writer {
    jobs: Arc<OnceLock<mpsc::SyncSender<Job>>>,
}

enum Job {
    Open { id: u64, book: Book },
    Append { id: u64, record: Box<Record>, done: oneshot::Sender<Result<(), Full>> },
    Sync { id: u64, done: oneshot::Sender<Result<(), Full>> },
    Close { id: u64, done: oneshot::Sender<()> },
}

/// A file under way.
pub(crate) struct Book {
    pub(crate) path: PathBuf,
    /// None as long as nothing worth keeping was said.
    pub(crate) file: Option<File>,
    /// Lines that wait: a preface, or what the disk did not take.
    pub(crate) held: Vec<u8>,
    /// Where the next line begins.
    pub(crate) end: u64,
    pub(crate) n: u64,
    pub(crate) prefaced: bool,
    pub(crate) dirty: bool,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { jobs: Arc::new(OnceLock::new()) }
    }

    /// The thread starts with its first job.
    fn send(&self, job: Job) {
        let jobs = self.jobs.get_or_init(|| {
            let (sender, receiver) = mpsc::sync_channel(QUEUE);
            // Without a thread every send fails, and so says every append.
            let _ = std::thread::Builder::new().name("journal".into()).spawn(move || run(&receiver));
            sender
        });
        // A job that is not taken drops its answer, which says so.
        let _ = jobs.send(job);
    }

    pub(crate) fn open(&self, book: Book) -> Journal {
        use std::sync::atomic::{AtomicU64, Ordering};
        static BOOKS: AtomicU64 = AtomicU64::new(1);
        let id = BOOKS.fetch_add(1, Ordering::Relaxed);
        self.send(Job::Open { id, book });
        Journal { to: Some((self.clone(), id)) }
    }
}

impl Journal {
    /// Keeps nothing.
    pub fn memory() -> Self {
        Self { to: None }
    }

    /// Writes a line; it is in the file when this returns.
    ///
    /// Errors: the disk takes nothing; the line is kept in memory as far as there is room.
    pub async fn append(&self, record: Record) -> Result<(), Full> {
        let Some((writer, id)) = &self.to else { return Ok(()) };
        let (done, answer) = oneshot::channel();
        writer.send(Job::Append { id: *id, record: Box::new(record.capped()), done });
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Puts all lines on the disk itself.
    ///
    /// Errors: as `append`.
    pub async fn sync(&self) -> Result<(), Full> {
        let Some((writer, id)) = &self.to else { return Ok(()) };
        let (done, answer) = oneshot::channel();
        writer.send(Job::Sync { id: *id, done });
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Gives the file free for others.
    pub async fn close(self) {
        let Some((writer, id)) = &self.to else { return };
        let (done, answer) = oneshot::channel();
        writer.send(Job::Close { id: *id, done });
        // A thread that is gone holds no file.
        let _ = answer.await;
    }
}

fn gone() -> Full {
    Full("the journal's thread is gone".into())
}

fn run(jobs: &mpsc::Receiver<Job>) {
    let mut books: HashMap<u64, Book> = HashMap::new();
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Open { id, book } => {
                books.insert(id, book);
            }
            Job::Append { id, record, done } => {
                let written = books.get_mut(&id).map_or_else(|| Err(gone()), |book| book.append(&record));
                // Whoever asked may be gone; the line is written all the same.
                let _ = done.send(written);
            }
            Job::Sync { id, done } => {
                let synced = books.get_mut(&id).map_or_else(|| Err(gone()), Book::sync);
                let _ = done.send(synced);
            }
            Job::Close { id, done } => {
                if let Some(mut book) = books.remove(&id) {
                    // A session that could not be written has said so.
                    let _ = book.sync();
                }
                let _ = done.send(());
            }
        }
    }
}

impl Book {
    fn append(&mut self, record: &Record) -> Result<(), Full> {
        let line = line::write(self.n, now_ms(), record).map_err(|error| Full(error.to_string()))?;
        if self.held.len() + line.len() > HELD_BYTES {
            return Err(Full("the disk takes nothing, and 16 MiB wait already".into()));
        }
        self.n += 1;
        self.held.extend_from_slice(&line);
        self.prefaced &= record.is_preface();
        if self.prefaced { Ok(()) } else { self.flush() }
    }

    /// All that waits goes into the file; a part of a line does not stay there.
    fn flush(&mut self) -> Result<(), Full> {
        if self.held.is_empty() || self.prefaced {
            return Ok(());
        }
        let path = self.path.clone();
        let full = |error: std::io::Error| Full(format!("{}: {error}", path.display()));
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(super::store::create_file(&self.path).map_err(full)?),
        };
        let written = file.seek(SeekFrom::Start(self.end)).and_then(|_| file.write_all(&self.held));
        if let Err(error) = written {
            // Else the next line would follow half of this one.
            let _ = file.set_len(self.end);
            return Err(full(error));
        }
        self.end += self.held.len() as u64;
        self.held.clear();
        self.dirty = true;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Full> {
        self.flush()?;
        if !std::mem::take(&mut self.dirty) {
            return Ok(());
        }
        match &self.file {
            Some(file) => file.sync_data().map_err(|error| Full(format!("{}: {error}", self.path.display()))),
            None => Ok(()),
        }
    }
}
