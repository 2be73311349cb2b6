//! The ACP face: Agent Client Protocol v1 over newline-delimited JSON-RPC.
//!
//! It knows `protocol`, `link` and the ACP crate, whose connection it runs over a transport of ours. ACP's
//! words do not leave this crate. Shapes are those of the protocol's schema 1.20, as JSON, section by section.
//!
//! ```text
//! bytes -> incoming -> lenient -> the crate -> requests -> parse -> Up
//! bytes <- outgoing <- lenient <- the crate <- events, replies <- render <- Down
//! ```

mod asks;
mod caps;
mod errors;
mod events;
mod face;
mod ids;
mod incoming;
mod initialize;
mod lenient;
mod outgoing;
mod parse;
mod place;
mod questions;
mod render;
mod replies;
mod requests;
mod session;

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::{Agent, Builder, Dispatch, Lines, UntypedMessage};
use futures_util::StreamExt;
use link::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use face::{Face, Heard};
use ids::Ids;
use outgoing::Outgoing;

/// Requests and notifications that wait for the face.
const HEARD: usize = 64;
/// What is said goes out within this time after the input's end; a client that does not read is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// Who we are, and whether a provider is usable.
pub struct About {
    pub name: String,
    pub title: String,
    pub version: String,
    /// What to do first, when no provider is usable.
    pub usable: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Serves one client until its input ends; every prompt is answered before it returns.
///
/// Errors: our output cannot be written, the engine is gone, or the connection broke off.
pub async fn run(
    client: Client,
    stdin: impl AsyncRead + Unpin + Send + 'static,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
    about: About,
) -> Result<(), String> {
    let (outgoing, mut writer) = Outgoing::start(stdout);
    let ids = Arc::new(Ids::default());
    let lines = incoming::lines(stdin, outgoing.clone(), Arc::clone(&ids));
    let lines = Lines::new(Box::pin(sink(outgoing.clone(), ids)), lines.map(Ok).boxed());
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
    let out = outgoing.clone();
    let served = connection
        .connect_with(lines, async move |cx| Ok(Face::new(client, cx, out, about).run(hear).await))
        .await;
    drop(outgoing);
    if tokio::time::timeout(LAST_WORDS, &mut writer).await.is_err() {
        writer.abort();
    }
    served.map_err(|error| error.message)?
}

/// The crate's way out: under the client's own ids, into our writer.
fn sink(out: Outgoing, ids: Arc<Ids>) -> impl futures_util::Sink<String, Error = std::io::Error> {
    futures_util::sink::unfold((out, ids), async |(out, ids), line: String| {
        out.send(lenient::tidy(line, &ids));
        Ok::<_, std::io::Error>((out, ids))
    })
}
