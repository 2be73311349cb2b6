//! The counters of one session. Shared by its actor and its turn, never reused, also after resume.

use std::sync::atomic::{AtomicU32, Ordering};

use protocol::{AskId, EntryId, ItemId, TaskId, TurnId};

#[derive(Debug, Default)]
pub(crate) struct Ids {
    turn: AtomicU32,
    item: AtomicU32,
    ask: AtomicU32,
    entry: AtomicU32,
    task: AtomicU32,
}

impl Ids {
    /// Counters that go on behind what a journal holds.
    pub(crate) fn after(turn: u32, item: u32, ask: u32, entry: u32, task: u32) -> Self {
        Self { turn: turn.into(), item: item.into(), ask: ask.into(), entry: entry.into(), task: task.into() }
    }

    pub(crate) fn turn(&self) -> TurnId {
        TurnId(next(&self.turn))
    }

    pub(crate) fn item(&self) -> ItemId {
        ItemId(next(&self.item))
    }

    pub(crate) fn ask(&self) -> AskId {
        AskId(next(&self.ask))
    }

    pub(crate) fn entry(&self) -> EntryId {
        EntryId(next(&self.entry))
    }

    pub(crate) fn task(&self) -> TaskId {
        TaskId(next(&self.task))
    }

    /// For functions that count entries themselves.
    pub(crate) fn with_entries<T>(&self, count: impl FnOnce(&mut u32) -> T) -> T {
        let mut next = self.entry.load(Ordering::Relaxed);
        let made = count(&mut next);
        self.entry.store(next, Ordering::Relaxed);
        made
    }
}

fn next(counter: &AtomicU32) -> u32 {
    counter.fetch_add(1, Ordering::Relaxed)
}
