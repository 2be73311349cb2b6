//! What one client can do for the engine: its buffers, called by number and answered once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use link::Outlet;
use protocol::{Down, HostCall, HostOffer, HostReply, SessionId};
use tokio::sync::oneshot;

use crate::limits;

/// One client's offer and the calls under way to it.
pub(crate) struct Host {
    outlet: Outlet,
    files: AtomicBool,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<HostReply>>>,
}

impl Host {
    pub(crate) fn new(outlet: Outlet) -> Arc<Self> {
        Arc::new(Self {
            outlet,
            files: AtomicBool::new(false),
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
        })
    }

    pub(crate) fn offer(&self, offer: &HostOffer) {
        self.files.store(offer.files, Ordering::Relaxed);
    }

    /// Whether files are read and written through this client.
    pub(crate) fn has_files(&self) -> bool {
        self.files.load(Ordering::Relaxed) && !self.outlet.abandoned()
    }

    pub(crate) fn answer(&self, tag: u64, reply: HostReply) {
        if let Some(waiting) = self.lock().remove(&tag) {
            // The caller may have given up meanwhile.
            let _ = waiting.send(reply);
        }
    }

    /// Asks the client and waits; a client that does not answer in time has failed.
    pub(crate) async fn call(&self, session: &SessionId, call: HostCall) -> HostReply {
        let tag = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(tag, sender);
        let pending = Pending { host: self, tag };
        self.outlet.push(Down::Host { tag, session: session.clone(), call });
        match tokio::time::timeout(limits::HOST, receiver).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => HostReply::Failed("the editor is gone".into()),
            Err(_) => {
                drop(pending);
                HostReply::Failed(format!("the editor did not answer within {} s", limits::HOST.as_secs()))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<HostReply>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the client when nobody waits for its answer any more.
struct Pending<'a> {
    host: &'a Host,
    tag: u64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.host.lock().remove(&self.tag).is_some() {
            self.host.outlet.push(Down::HostCancelled { tag: self.tag });
        }
    }
}
