//! One thread writes all journals of the process: lines are in the file before anybody is told of them,
//! and on the disk when asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use super::book::{Book, Full};
use super::record::Record;

/// What may wait for the thread before a session waits.
const QUEUE: usize = 1_024;

/// One session's file, or none for a session that is not kept.
#[derive(Clone)]
pub struct Journal {
    to: Option<(Writer, u64)>,
}

/// The way to the writing thread.
#[derive(Clone)]
pub(super) struct Writer {
    jobs: Arc<OnceLock<mpsc::Sender<Job>>>,
}

enum Job {
    Open { id: u64, book: Box<Book> },
    Append { id: u64, record: Box<Record>, done: Done },
    Sync { id: u64, done: Done },
    Close { id: u64, done: oneshot::Sender<()> },
}

/// Whoever asked may be gone; what was asked is done all the same.
type Done = oneshot::Sender<Result<(), Full>>;

impl Writer {
    pub(super) fn new() -> Self {
        Self { jobs: Arc::new(OnceLock::new()) }
    }

    /// The thread starts with its first job.
    async fn send(&self, job: Job) {
        let jobs = self.jobs.get_or_init(|| {
            a_size_limit_is_an_error();
            let (sender, receiver) = mpsc::channel(QUEUE);
            // Without a thread every send fails, and so says every append.
            let _ = std::thread::Builder::new().name("journal".into()).spawn(move || run(receiver));
            sender
        });
        // A job that is not taken drops its answer, which says so.
        let _ = jobs.send(job).await;
    }

    pub(super) async fn open(&self, book: Book) -> Journal {
        static BOOKS: AtomicU64 = AtomicU64::new(1);
        let id = BOOKS.fetch_add(1, Ordering::Relaxed);
        self.send(Job::Open { id, book: Box::new(book) }).await;
        Journal { to: Some((self.clone(), id)) }
    }
}

/// A write past the process's file size limit ends the process, unless somebody listens for the signal.
fn a_size_limit_is_an_error() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Without it such a limit is what it is anywhere.
        let _ = signal(SignalKind::from_raw(libc::SIGXFSZ));
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
        let record = Box::new(record.kept());
        self.ask(|id, done| Job::Append { id, record, done }).await
    }

    /// Puts all lines on the disk itself.
    ///
    /// Errors: as `append`.
    pub async fn sync(&self) -> Result<(), Full> {
        self.ask(|id, done| Job::Sync { id, done }).await
    }

    async fn ask(&self, job: impl FnOnce(u64, Done) -> Job) -> Result<(), Full> {
        let Some((writer, id)) = &self.to else { return Ok(()) };
        let (done, answer) = oneshot::channel();
        writer.send(job(*id, done)).await;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Gives the file free for others.
    pub async fn close(self) {
        let Some((writer, id)) = &self.to else { return };
        let (done, answer) = oneshot::channel();
        writer.send(Job::Close { id: *id, done }).await;
        // A thread that is gone holds no file.
        let _ = answer.await;
    }
}

fn gone() -> Full {
    Full("the session's file is closed".into())
}

fn run(mut jobs: mpsc::Receiver<Job>) {
    let mut books = HashMap::new();
    let mut batch = Vec::new();
    while jobs.blocking_recv_many(&mut batch, QUEUE) > 0 {
        work(&mut books, &mut batch);
    }
    for (_, book) in books {
        book.close();
    }
}

/// First all lines, which is quick, then the disk once for each file, however many wait for it.
fn work(books: &mut HashMap<u64, Box<Book>>, batch: &mut Vec<Job>) {
    let mut syncs: HashMap<u64, Vec<Done>> = HashMap::new();
    let mut closes = Vec::new();
    for job in batch.drain(..) {
        match job {
            Job::Open { id, book } => drop(books.insert(id, book)),
            Job::Append { id, record, done } => {
                let written = books.get_mut(&id).map_or_else(|| Err(gone()), |book| book.append(&record));
                let _ = done.send(written);
            }
            Job::Sync { id, done } => syncs.entry(id).or_default().push(done),
            Job::Close { id, done } => closes.push((id, done)),
        }
    }
    for (id, waiting) in syncs {
        let synced = books.get_mut(&id).map_or_else(|| Err(gone()), |book| book.sync());
        for done in waiting {
            let _ = done.send(synced.clone());
        }
    }
    for (id, done) in closes {
        if let Some(book) = books.remove(&id) {
            book.close();
        }
        let _ = done.send(());
    }
}
