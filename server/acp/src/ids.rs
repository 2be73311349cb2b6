//! Ids of the client's requests: JSON as written outside, a number of ours inside, so that odd ones and
//! twins do no harm.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Ids {
    next: AtomicU64,
    open: Mutex<HashMap<u64, String>>,
}

impl Ids {
    /// A number for a request of the client.
    pub(crate) fn take(&self, theirs: String) -> u64 {
        let ours = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(ours, theirs);
        ours
    }

    /// The client's own id, once.
    pub(crate) fn give_back(&self, ours: u64) -> Option<String> {
        self.lock().remove(&ours)
    }

    /// The newest open request with that id.
    pub(crate) fn find(&self, theirs: &str) -> Option<u64> {
        self.lock().iter().filter(|(_, id)| *id == theirs).map(|(ours, _)| *ours).max()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
