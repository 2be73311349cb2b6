//! The engine as whoever starts it sees it: handed what it needs, connected to by faces, closed at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use protocol::{ClientId, Refusal};
use sandbox::Wall;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;

use crate::client;
use crate::journal::Store;
use crate::limits;
use crate::lobby::{Lobby, ToLobby};
use crate::setup::{Resolved, Setup};

/// What the engine is handed.
pub struct House {
    pub setup: Arc<dyn Setup>,
    /// Where sessions are kept.
    pub home: PathBuf,
    /// The product's version, for the journal's head.
    pub version: String,
    /// Our own binary, which the sandbox starts again inside of itself.
    pub helper: PathBuf,
}

/// A running engine. It needs a tokio runtime with time and I/O.
pub struct Engine {
    lobby: mpsc::Sender<ToLobby>,
    task: JoinHandle<()>,
    clients: AtomicU32,
}

/// What all sessions of one engine share.
pub(crate) struct Shared {
    pub(crate) setup: Arc<dyn Setup>,
    pub(crate) version: String,
    pub(crate) store: Store,
    helper: PathBuf,
    wall: OnceCell<Wall>,
}

impl Engine {
    /// Starts the engine; touches no file and no network.
    pub fn start(house: House) -> Self {
        let House { setup, home, version, helper } = house;
        let store = Store::new(&home);
        let shared = Arc::new(Shared { setup, version, store, helper, wall: OnceCell::new() });
        let (lobby, orders) = mpsc::channel(limits::ORDERS);
        let task = tokio::spawn(Lobby::new(shared, orders, lobby.downgrade()).run());
        Self { lobby, task, clients: AtomicU32::new(1) }
    }

    /// A link for one face.
    pub fn connect(&self) -> link::Client {
        let (client, port) = link::pair();
        let id = ClientId(self.clients.fetch_add(1, Ordering::Relaxed));
        tokio::spawn(client::serve(id, port, self.lobby.clone()));
        client
    }

    /// Ends every session, its turn and its commands first; returns when all is written.
    pub async fn close(self) {
        // The lobby may be gone already.
        let _ = self.lobby.send(ToLobby::CloseAll).await;
        let _ = self.task.await;
    }
}

impl Shared {
    /// The wall of this machine, tested once per process.
    pub(crate) async fn wall(&self) -> Wall {
        self.wall.get_or_init(|| Wall::probe(self.helper.clone())).await.clone()
    }

    /// Settings of a session, read on a thread that may wait for the disk.
    pub(crate) async fn resolve(&self, cwd: &Path, chosen: &[(String, String)]) -> Result<Resolved, Refusal> {
        let (setup, cwd, chosen) = (Arc::clone(&self.setup), cwd.to_path_buf(), chosen.to_vec());
        tokio::task::spawn_blocking(move || setup.resolve(&cwd, &chosen)).await.unwrap_or_else(|error| {
            Err(Refusal::Invalid {
                what: "settings".into(),
                why: format!("reading them broke off: {error}"),
                remedy: "look at config.toml".into(),
            })
        })
    }
}
