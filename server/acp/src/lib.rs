//! The ACP face: Agent Client Protocol v1 over newline-delimited JSON-RPC.
//!
//! It knows `protocol`, `link` and the ACP crate, whose connection it runs over a transport of ours. ACP's
//! words do not leave this crate. Shapes are those of the protocol's schema 1.20, section by section.

mod caps;
mod errors;
mod face;
mod ids;
mod initialize;
mod parse;
mod questions;
mod render;
mod requests;
mod transport;

use std::sync::Arc;

use agent_client_protocol::{Agent, Builder, Dispatch, Lines, UntypedMessage};
use futures_util::StreamExt;
use link::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use face::{Face, Heard};
use transport::{Incoming, Outgoing};

/// Requests and notifications that wait for the face.
const HEARD: usize = 64;

/// Who we are, and whether a provider is usable.
pub struct About {
    pub name: String,
    pub title: String,
    pub version: String,
    /// What to do first, when no provider is usable.
    pub usable: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Serves one client until its input ends.
///
/// Errors: our output cannot be written, or the connection broke off.
pub async fn run(
    client: Client,
    stdin: impl AsyncRead + Unpin + Send + 'static,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
    about: About,
) -> Result<(), String> {
    let (outgoing, writer) = Outgoing::start(stdout);
    let ids = Arc::new(ids::Ids::default());
    let (incoming, ended) = Incoming::start(stdin, outgoing.clone(), Arc::clone(&ids));
    let sink = {
        let (out, ids) = (outgoing.clone(), Arc::clone(&ids));
        futures_util::sink::unfold((), move |(), line: String| {
            let (out, ids) = (out.clone(), Arc::clone(&ids));
            async move {
                out.send(transport::tidy(line, &ids));
                Ok::<(), std::io::Error>(())
            }
        })
    };
    let (heard, hear) = mpsc::channel(HEARD);
    let connection = Builder::new(Agent).name("open-interpreter").on_receive_dispatch(
        async move |dispatch: Dispatch<UntypedMessage, UntypedMessage>, _| {
            let said = match dispatch {
                Dispatch::Request(request, responder) => Heard::Request(request, responder),
                Dispatch::Notification(notification) => Heard::Notification(notification),
                Dispatch::Response(result, router) => return router.route_with_result(result),
            };
            // A face that has ended answers nothing; the connection is ending too.
            let _ = heard.send(said).await;
            Ok(())
        },
        agent_client_protocol::on_receive_dispatch!(),
    );
    let lines = Lines::new(Box::pin(sink), incoming.map(Ok).boxed());
    let out = outgoing.clone();
    let served = connection
        .connect_with(lines, async move |cx| {
            Face::new(client, cx, out, about).run(hear, ended).await;
            Ok(())
        })
        .await;
    drop(outgoing);
    // What was said goes out; a client that does not read is not waited for.
    let _ = tokio::time::timeout(std::time::Duration::from_millis(40), writer).await;
    served.map_err(|error| error.to_string())
}
