//! The ordered link between one client and the engine, in process.
//!
//! Up is a bounded channel: a busy engine makes the client wait. Down is an outbox that merges text and
//! output at its tail, so that a slow reader costs memory only up to [`OUTBOX_BYTES`]; past that the
//! engine waits in [`Outlet::room`]. It knows no protocol of the outside and no session.

mod outbox;

use std::sync::Arc;

use outbox::Outbox;
use protocol::{Down, Up};
use tokio::sync::mpsc;

/// Commands in flight from one client before it waits.
pub const UP_QUEUE: usize = 64;
/// What may wait for a client before the engine stops reading its models.
pub const OUTBOX_BYTES: usize = 8 * 1024 * 1024;

/// The client's end. Dropping it tells the engine that the client is gone.
pub struct Client {
    up: mpsc::Sender<Up>,
    outbox: Arc<Outbox>,
}

/// The engine's end: what the client says.
pub struct Port {
    up: mpsc::Receiver<Up>,
    outlet: Outlet,
}

/// The engine's end: what the client is told. Cheap to clone; the link closes with the last clone.
#[derive(Clone)]
pub struct Outlet {
    hold: Arc<Hold>,
}

struct Hold {
    outbox: Arc<Outbox>,
}

/// The engine is gone.
#[derive(Debug, PartialEq, Eq)]
pub struct Gone;

/// Makes the two ends of a link.
pub fn pair() -> (Client, Port) {
    let (sender, receiver) = mpsc::channel(UP_QUEUE);
    let outbox = Arc::new(Outbox::default());
    let outlet = Outlet { hold: Arc::new(Hold { outbox: Arc::clone(&outbox) }) };
    (Client { up: sender, outbox }, Port { up: receiver, outlet })
}

impl Client {
    /// Sends one thing to the engine; waits while the engine is busy.
    pub async fn send(&self, up: Up) -> Result<(), Gone> {
        self.up.send(up).await.map_err(|_| Gone)
    }

    /// A sender for other tasks of the same client. Its order against `send` is the order of the calls.
    pub fn sender(&self) -> mpsc::Sender<Up> {
        self.up.clone()
    }

    /// Everything that waits, in order; waits for the first. `None` when the engine is gone and all is read.
    pub async fn take(&self) -> Option<Vec<Down>> {
        self.outbox.take().await
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.outbox.abandon();
    }
}

impl Port {
    /// The next thing the client says; `None` when it is gone.
    pub async fn next(&mut self) -> Option<Up> {
        self.up.recv().await
    }

    /// The way down, for whoever has something to tell this client.
    pub fn outlet(&self) -> Outlet {
        self.outlet.clone()
    }
}

impl Outlet {
    /// Puts one thing behind the others, merged with the last where it continues it.
    pub fn push(&self, down: Down) {
        self.hold.outbox.push(down);
    }

    /// Waits until less than [`OUTBOX_BYTES`] wait for the client. At once when it is gone.
    pub async fn room(&self) {
        self.hold.outbox.room().await;
    }

    /// Whether less than [`OUTBOX_BYTES`] wait for the client, or it is gone.
    pub fn has_room(&self) -> bool {
        self.hold.outbox.has_room()
    }

    /// Whether the client is gone.
    pub fn abandoned(&self) -> bool {
        self.hold.outbox.abandoned()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.outbox.close();
    }
}
