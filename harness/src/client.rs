//! One client's side of the engine: reads what it says and hands it on, in order.

use link::Port;
use protocol::{ClientId, Up};
use tokio::sync::mpsc;

use crate::host::Host;
use crate::lobby::ToLobby;
use crate::session::Answerer;

/// Runs until the client is gone.
pub(crate) async fn serve(id: ClientId, mut port: Port, lobby: mpsc::Sender<ToLobby>) {
    let host = Host::new(port.outlet());
    while let Some(up) = port.next().await {
        match up {
            Up::Offer(offer) => host.offer(&offer),
            Up::Host { tag, reply } => host.answer(tag, reply),
            Up::Command { tag, command } => {
                let asked = ToLobby::Asked {
                    client: id.clone(),
                    outlet: port.outlet(),
                    host: host.clone(),
                    answer: Answerer::new(port.outlet(), tag),
                    command,
                };
                if lobby.send(asked).await.is_err() {
                    return;
                }
            }
        }
    }
    // Without a lobby there is nobody to tell.
    let _ = lobby.send(ToLobby::Gone(id)).await;
}
