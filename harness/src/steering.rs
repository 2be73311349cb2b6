//! Texts for the running turn: it pulls them at safe points, and may end only when none waits.

use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::{Content, ItemId};

use crate::limits;

/// What the person said meanwhile.
#[derive(Default)]
pub(crate) struct Steering {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    waiting: Vec<(ItemId, Vec<Content>)>,
    closed: bool,
}

/// Why a text was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// The turn has ended.
    Closed,
    Full,
}

impl Steering {
    pub(crate) fn put(&self, item: ItemId, content: Vec<Content>) -> Result<(), NotTaken> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(NotTaken::Closed);
        }
        if inner.waiting.len() >= limits::STEERING {
            return Err(NotTaken::Full);
        }
        inner.waiting.push((item, content));
        Ok(())
    }

    pub(crate) fn pull(&self) -> Vec<(ItemId, Vec<Content>)> {
        std::mem::take(&mut self.lock().waiting)
    }

    /// The turn would like to end: it may when nothing waits, and then nothing can be put any more.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut inner = self.lock();
        inner.closed = inner.waiting.is_empty();
        inner.closed
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
