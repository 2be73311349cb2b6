//! Panics while the terminal is ours: it is given back first, so that the message can be read.
//!
//! A panic on another thread is not the end of the chat: the engine turns it into a failed turn. Its message is
//! kept for the chat to show, since printing it would go across the screen.

use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use tokio::sync::mpsc;

type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Messages of other threads that can wait; more than that say nothing new.
const MESSAGES: usize = 8;

/// As long as it lives, panics restore the terminal; then the earlier hook is back.
pub(crate) struct PanicGuard {
    earlier: Hook,
    messages: mpsc::Receiver<String>,
}

impl PanicGuard {
    /// `restore` gives the terminal back; it is called on a panic of this thread.
    pub(crate) fn new(restore: fn()) -> Self {
        let earlier: Hook = panic::take_hook().into();
        let (told, messages) = mpsc::channel(MESSAGES);
        let (own, before): (ThreadId, Hook) = (thread::current().id(), Arc::clone(&earlier));
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == own {
                restore();
                before(info);
            } else {
                // When nobody reads them any more there are enough of them.
                let _ = told.try_send(info.to_string());
            }
        }));
        Self { earlier, messages }
    }

    /// What other threads panicked with since.
    pub(crate) fn messages(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.messages.try_recv().ok()).collect()
    }
}

impl Drop for PanicGuard {
    fn drop(&mut self) {
        // A hook cannot be changed by a thread that panics; the process is at its end then.
        if !thread::panicking() {
            let earlier = Arc::clone(&self.earlier);
            panic::set_hook(Box::new(move |info| earlier(info)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static RESTORED: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn own_panics_restore_and_others_are_kept() {
        let mut guard = PanicGuard::new(|| {
            RESTORED.fetch_add(1, Ordering::SeqCst);
        });
        let other = thread::spawn(|| panic!("elsewhere")).join();
        assert!(other.is_err());
        assert_eq!(RESTORED.load(Ordering::SeqCst), 0);
        assert!(guard.messages().iter().any(|message| message.contains("elsewhere")));
        let own = panic::catch_unwind(|| panic!("here"));
        assert!(own.is_err());
        assert_eq!(RESTORED.load(Ordering::SeqCst), 1);
    }
}
