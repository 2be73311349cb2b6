//! A command under way: its output in order of arrival, its end, and its whole tree ended with it.

use std::pin::Pin;
use std::process::ExitStatus;
use std::time::Duration;

use protocol::RunEnd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::Instant;

use crate::policy::Spec;
use crate::prepared::{Kept, Temp};
use crate::start::once;
use crate::wall::Wall;

/// How long the output may be open after the end, for what a keeper did not end.
const GRACE: Duration = Duration::from_millis(300);
/// Between asking and forcing.
const TERM: Duration = Duration::from_millis(200);
/// Waiting longer for a killed tree would be waiting for a stuck disk.
const KILL: Duration = Duration::from_secs(2);
const PIECE_BYTES: usize = 32 * 1024;

/// What a command does next.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// Bytes of its standard output.
    Out(Vec<u8>),
    /// Bytes of its standard error.
    Err(Vec<u8>),
    /// `Exited` or `Signalled`; the last piece. At level `full` a signal is told as shells do, by 128 and
    /// its number.
    Ended(RunEnd),
}

type Pipe = Pin<Box<dyn AsyncRead + Send + Sync>>;

/// Both ways between us and a keeper: a byte from it says that the walls are ready, a byte to it asks the tree
/// to end, and the end of the line kills it.
#[cfg(unix)]
pub(crate) type Line = tokio::net::UnixStream;
/// There are no keepers here.
#[cfg(not(unix))]
pub(crate) type Line = tokio::io::DuplexStream;

/// What bubblewrap is told of may be gone before it looks: then nothing was run yet, and it is told anew.
pub(crate) struct Again {
    pub(crate) wall: Wall,
    pub(crate) spec: Spec,
}

/// A command under way. Dropped, its whole tree is killed.
///
/// Output is read only while [`next`](Self::next) is waited for: a slow reader holds the command up.
pub struct Running {
    child: Child,
    pid: u32,
    /// The process group to end, where no keeper does it.
    group: Option<u32>,
    line: Option<Line>,
    /// None once the keeper is there, and where there is none.
    again: Option<Box<Again>>,
    out: Option<Pipe>,
    err: Option<Pipe>,
    out_bytes: Vec<u8>,
    err_bytes: Vec<u8>,
    ended: Option<(ExitStatus, Instant)>,
    told: bool,
    /// Removed after the tree is gone.
    _temp: Option<Temp>,
}

enum Next {
    Out(std::io::Result<usize>),
    Err(std::io::Result<usize>),
    Exit(std::io::Result<ExitStatus>),
    Late,
}

impl Running {
    pub(crate) fn new(mut child: Child, kept: Kept, temp: Option<Temp>, line: Option<Line>) -> Self {
        let out = child.stdout.take().map(|out| -> Pipe { Box::pin(out) });
        let err = child.stderr.take().map(|err| -> Pipe { Box::pin(err) });
        let pid = child.id().unwrap_or(0);
        let group = (kept == Kept::ByGroup).then_some(pid);
        let (out_bytes, err_bytes) = (Vec::new(), Vec::new());
        Self {
            child,
            pid,
            group,
            line,
            again: None,
            out,
            err,
            out_bytes,
            err_bytes,
            ended: None,
            told: false,
            _temp: temp,
        }
    }

    /// If it ends before its keeper is there, this is started in its place.
    pub(crate) fn or(mut self, again: Again) -> Self {
        self.again = Some(Box::new(again));
        self
    }

    /// The process that stands for the command: its own, its keeper's or bubblewrap's.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The next thing it does; none after its end was told. Nothing is lost when the wait is given up.
    pub async fn next(&mut self) -> Option<Piece> {
        if self.again.is_some() && !self.told {
            self.begin().await;
        }
        loop {
            if self.told {
                return None;
            }
            if let (Some((status, _)), None, None) = (&self.ended, &self.out, &self.err) {
                let end = run_end(*status);
                self.told = true;
                self.kill();
                return Some(Piece::Ended(end));
            }
            let late = self.ended.as_ref().map(|(_, at)| *at + GRACE);
            let next = tokio::select! {
                read = fill(&mut self.out, &mut self.out_bytes) => Next::Out(read),
                read = fill(&mut self.err, &mut self.err_bytes) => Next::Err(read),
                status = self.child.wait(), if self.ended.is_none() => Next::Exit(status),
                () = at(late) => Next::Late,
            };
            match next {
                Next::Out(Ok(0) | Err(_)) => self.out = None,
                Next::Out(Ok(_)) => return Some(Piece::Out(taken(&mut self.out_bytes))),
                Next::Err(Ok(0) | Err(_)) => self.err = None,
                Next::Err(Ok(_)) => return Some(Piece::Err(taken(&mut self.err_bytes))),
                Next::Exit(Ok(status)) => self.ended = Some((status, Instant::now())),
                Next::Exit(Err(_)) => {
                    self.told = true;
                    self.kill();
                    return Some(Piece::Ended(RunEnd::Stopped));
                }
                Next::Late => (self.out, self.err) = (None, None),
            }
        }
    }

    /// Waits until the keeper is there, or starts once more.
    async fn begin(&mut self) {
        let Some(line) = &mut self.line else { return };
        let told = line.read(&mut [0]).await;
        if let (Some(again), Ok(0) | Err(_)) = (self.again.take(), told)
            && let Ok(running) = once(&again.wall, &again.spec)
        {
            *self = running;
        }
    }

    /// Asks the tree to end, 200 ms later forces it; returns when it is gone.
    pub async fn stop(&mut self) {
        self.told = true;
        if self.ended.is_none() {
            self.ask().await;
            if let Ok(Ok(status)) = tokio::time::timeout(TERM, self.child.wait()).await {
                self.ended = Some((status, Instant::now()));
            }
        }
        self.kill();
        if self.ended.is_none()
            && let Ok(Ok(status)) = tokio::time::timeout(KILL, self.child.wait()).await
        {
            self.ended = Some((status, Instant::now()));
        }
        if self.ended.is_none() {
            // The keeper itself hangs.
            let _ = self.child.start_kill();
        }
        (self.out, self.err) = (None, None);
    }

    async fn ask(&mut self) {
        if let Some(line) = &mut self.line {
            // One that has ended needs no asking.
            let _ = line.write_all(b"t").await;
        }
        if let Some(group) = self.group {
            signal_group(group, Signal::Ask);
        }
    }

    /// Once: later the number may be another group's.
    fn kill(&mut self) {
        self.line = None;
        if let Some(group) = self.group.take() {
            signal_group(group, Signal::Force);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads what has come; waits for ever on a pipe that is closed.
async fn fill(pipe: &mut Option<Pipe>, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    match pipe {
        Some(pipe) => {
            bytes.reserve(PIECE_BYTES);
            pipe.read_buf(bytes).await
        }
        None => std::future::pending().await,
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// The bytes, in no more room than they need; the room itself is used again.
fn taken(bytes: &mut Vec<u8>) -> Vec<u8> {
    let piece = bytes.as_slice().to_vec();
    bytes.clear();
    piece
}

#[derive(Clone, Copy)]
enum Signal {
    Ask,
    Force,
}

#[cfg(unix)]
fn signal_group(leader: u32, signal: Signal) {
    let number = match signal {
        Signal::Ask => libc::SIGTERM,
        Signal::Force => libc::SIGKILL,
    };
    let Ok(leader) = i32::try_from(leader) else { return };
    if leader > 1 {
        // SAFETY: plain numbers; a group that is gone is an error to ignore.
        unsafe { libc::kill(-leader, number) };
    }
}

/// The process itself is killed when its handle is dropped.
#[cfg(not(unix))]
fn signal_group(_: u32, _: Signal) {}

#[cfg(unix)]
fn run_end(status: ExitStatus) -> RunEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, Some(signal)) => RunEnd::Signalled(signal),
        (None, None) => RunEnd::Stopped,
    }
}

#[cfg(not(unix))]
fn run_end(status: ExitStatus) -> RunEnd {
    status.code().map_or(RunEnd::Stopped, RunEnd::Exited)
}
