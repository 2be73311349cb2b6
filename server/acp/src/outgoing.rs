//! The way out: one writer of lines, which says how much of them waits for a client that reads slowly.
//!
//! It knows lines and bytes, nothing of JSON. The crate's sink hands its lines to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// What may wait for a client that does not read, before nothing more is rendered for it.
pub(crate) const WAITING_BYTES: usize = 256 * 1024;
/// What may wait before the client is not heard any more: it asks and does not read.
const FLOOD_BYTES: usize = 8 * 1024 * 1024;
/// Lines that go out in one write.
const LINES: usize = 64;

#[derive(Clone)]
pub(crate) struct Outgoing {
    lines: mpsc::UnboundedSender<String>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    waiting: AtomicUsize,
    /// The output cannot be written any more.
    lost: AtomicBool,
    changed: Notify,
}

impl Outgoing {
    pub(crate) fn start(out: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (lines, queue) = mpsc::unbounded_channel();
        let state = Arc::new(State::default());
        let writer = tokio::spawn(write(out, queue, Arc::clone(&state)));
        (Self { lines, state }, writer)
    }

    /// Puts a line behind the others; after the output is lost it goes nowhere.
    pub(crate) fn send(&self, line: String) {
        self.state.waiting.fetch_add(line.len(), Ordering::AcqRel);
        if self.lines.send(line).is_err() {
            self.state.waiting.store(0, Ordering::Release);
        }
    }

    /// Whether the client has read enough for more to be rendered.
    pub(crate) fn has_room(&self) -> bool {
        self.state.waiting.load(Ordering::Acquire) < WAITING_BYTES
    }

    /// Waits until the client has read enough.
    pub(crate) async fn room(&self) {
        self.state.until(|| self.has_room()).await;
    }

    /// Waits until the client reads what it asked for.
    pub(crate) async fn heeded(&self) {
        self.state.until(|| self.state.waiting.load(Ordering::Acquire) < FLOOD_BYTES).await;
    }

    /// Waits until the output cannot be written any more.
    pub(crate) async fn lost(&self) {
        self.state.until(|| self.state.lost.load(Ordering::Acquire)).await;
    }
}

impl State {
    async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}

async fn write(
    mut out: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<String>,
    state: Arc<State>,
) {
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, LINES).await > 0 {
        let mut bytes = Vec::with_capacity(batch.iter().map(|line| line.len() + 1).sum());
        let mut done = 0;
        for line in batch.drain(..) {
            done += line.len();
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let sent = out.write_all(&bytes).await.is_ok() && out.flush().await.is_ok();
        state.waiting.fetch_sub(done, Ordering::AcqRel);
        if !sent {
            break;
        }
        state.changed.notify_waiters();
    }
    // The queue is closed for good, so what still waits is nobody's; a normal end has nothing left.
    state.lost.store(true, Ordering::Release);
    lines.close();
    state.changed.notify_waiters();
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn there_is_no_room_while_nobody_reads() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (out, _writer) = Outgoing::start(ours);
        assert!(out.has_room());
        out.send("x".repeat(2 * WAITING_BYTES));
        assert!(!out.has_room());
        let mut read = vec![0; 2 * WAITING_BYTES + 1];
        theirs.read_exact(&mut read).await.unwrap();
        out.room().await;
        assert_eq!(read.last(), Some(&b'\n'));
    }

    #[tokio::test]
    async fn a_closed_output_is_noticed() {
        let (ours, theirs) = tokio::io::duplex(64);
        let (out, _writer) = Outgoing::start(ours);
        drop(theirs);
        out.send("x".into());
        out.lost().await;
        out.send("y".repeat(WAITING_BYTES));
        out.room().await;
    }
}
