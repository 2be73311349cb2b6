//! What waits for one client, merged at its tail.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::{Change, Down, Event, EventKind};
use tokio::sync::Notify;

/// Rough cost of an event beside its text.
const FLAT_BYTES: usize = 256;
/// A merged text is not grown beyond this, so that one message stays a reasonable frame.
const MERGED_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    filled: Notify,
    drained: Notify,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Down>,
    bytes: usize,
    /// The engine's side is gone.
    closed: bool,
    /// The client's side is gone.
    abandoned: bool,
}

impl Outbox {
    pub(crate) fn push(&self, down: Down) {
        let mut inner = self.lock();
        if inner.abandoned {
            return;
        }
        inner.bytes += cost(&down);
        let rest = match inner.queue.back_mut() {
            Some(last) => merge(last, down),
            None => Some(down),
        };
        match rest {
            Some(down) => inner.queue.push_back(down),
            None => inner.bytes = inner.bytes.saturating_sub(FLAT_BYTES),
        }
        drop(inner);
        self.filled.notify_one();
    }

    pub(crate) async fn take(&self) -> Option<Vec<Down>> {
        loop {
            let filled = self.filled.notified();
            {
                let mut inner = self.lock();
                if !inner.queue.is_empty() {
                    inner.bytes = 0;
                    let all = std::mem::take(&mut inner.queue).into();
                    drop(inner);
                    self.drained.notify_waiters();
                    return Some(all);
                }
                if inner.closed {
                    return None;
                }
            }
            filled.await;
        }
    }

    pub(crate) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.has_room() {
                return;
            }
            drained.await;
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        let inner = self.lock();
        inner.abandoned || inner.bytes < crate::OUTBOX_BYTES
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    pub(crate) fn abandon(&self) {
        let mut inner = self.lock();
        inner.abandoned = true;
        inner.queue.clear();
        inner.bytes = 0;
        drop(inner);
        self.drained.notify_waiters();
    }

    pub(crate) fn abandoned(&self) -> bool {
        self.lock().abandoned
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Joins `new` to `last` when it only continues it; else gives it back.
fn merge(last: &mut Down, new: Down) -> Option<Down> {
    let (Down::Event(old), Down::Event(next)) = (&mut *last, &new) else { return Some(new) };
    if old.session != next.session {
        return Some(new);
    }
    let (EventKind::ItemChanged { item, change }, EventKind::ItemChanged { item: same, change: more }) =
        (&mut old.kind, &next.kind)
    else {
        return Some(new);
    };
    if item != same {
        return Some(new);
    }
    let merged = match (change, more) {
        (Change::Text(text), Change::Text(more)) if text.len() + more.len() <= MERGED_BYTES => {
            text.push_str(more);
            true
        }
        (Change::Output(chunk), Change::Output(more))
            if chunk.from == more.from && chunk.text.len() + more.text.len() <= MERGED_BYTES =>
        {
            chunk.text.push_str(&more.text);
            true
        }
        (Change::Files(files), Change::Files(newer)) => {
            files.clone_from(newer);
            true
        }
        _ => false,
    };
    if !merged {
        return Some(new);
    }
    (old.seq, old.at_ms) = (next.seq, next.at_ms);
    None
}

fn cost(down: &Down) -> usize {
    FLAT_BYTES
        + match down {
            Down::Event(Event { kind: EventKind::ItemChanged { change, .. }, .. }) => match change {
                Change::Text(text) => text.len(),
                Change::Output(chunk) => chunk.text.len(),
                Change::Formed { input, .. } => input.0.len(),
                Change::Files(files) => files.iter().map(protocol::FileDiff::bytes).sum(),
                Change::Stage(_) | Change::Plan(_) => 0,
            },
            Down::Event(Event {
                kind: EventKind::ItemFinished(item) | EventKind::ItemStarted(item), ..
            }) => item.bytes(),
            Down::Past { items, .. } => items.iter().map(protocol::Item::bytes).sum(),
            Down::Event(_) | Down::Reply { .. } | Down::Host { .. } | Down::HostCancelled { .. } => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{ItemId, SessionId};

    fn text(item: u32, seq: u64, text: &str) -> Down {
        Down::Event(Event {
            session: SessionId("s".into()),
            seq,
            at_ms: seq,
            kind: EventKind::ItemChanged { item: ItemId(item), change: Change::Text(text.into()) },
        })
    }

    #[tokio::test]
    async fn text_of_one_item_merges_and_keeps_the_last_seq() {
        let outbox = Outbox::default();
        outbox.push(text(1, 1, "a"));
        outbox.push(text(1, 2, "b"));
        outbox.push(text(2, 3, "c"));
        assert_eq!(outbox.take().await, Some(vec![text(1, 2, "ab"), text(2, 3, "c")]));
    }

    #[tokio::test]
    async fn a_full_outbox_has_no_room_until_it_is_read() {
        let (client, port) = crate::pair();
        let outlet = port.outlet();
        let big = "x".repeat(MERGED_BYTES);
        for n in 0..=(crate::OUTBOX_BYTES / MERGED_BYTES) as u64 {
            outlet.push(text(1, n, &big));
        }
        assert!(tokio::time::timeout(std::time::Duration::from_millis(20), outlet.room()).await.is_err());
        client.take().await.unwrap();
        outlet.room().await;
        drop(client);
        assert!(outlet.abandoned());
    }

    #[tokio::test]
    async fn the_last_words_are_read_after_the_engine_is_gone() {
        let (client, port) = crate::pair();
        port.outlet().push(text(1, 1, "bye"));
        drop(port);
        assert_eq!(client.take().await.map(|all| all.len()), Some(1));
        assert_eq!(client.take().await, None);
    }
}
