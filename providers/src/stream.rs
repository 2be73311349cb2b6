//! One HTTP answer read to its end: bytes to events, with the waits that a stream may make.
//!
//! It knows neither wire; `chat` and `responses` are its decoders. `model` calls it.

use std::time::Duration;

use futures_util::StreamExt;
use protocol::model::ModelEvent;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::failure::Trouble;
use crate::model::Heard;
use crate::provider::Provider;
use crate::sse::Sse;
use crate::transport;

/// How long a finished answer is kept open for its usage and last line.
const GRACE: Duration = Duration::from_secs(1);

/// How far the end of an answer was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    /// The answer is whole; usage may follow.
    Finished,
    /// Nothing follows.
    Last,
}

/// A wire's answer, event by event.
pub(crate) trait Decoder: Send {
    /// The data of one server-sent event.
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble>;
    /// The end of the stream: an error unless its end mark was seen.
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble>;
    /// How far the end mark was seen.
    fn mark(&self) -> Mark;
}

/// Reads an answer to its end and tells what it says.
pub(crate) async fn read(
    provider: &Provider,
    response: reqwest::Response,
    decoder: &mut dyn Decoder,
    heard: &mpsc::Sender<Heard>,
) -> Result<(), Trouble> {
    let idle = Duration::from_millis(provider.stream_idle_timeout_ms);
    let mut body = response.bytes_stream();
    let (mut sse, mut data, mut events) = (Sse::default(), Vec::new(), Vec::new());
    let mut grace: Option<Instant> = None;
    while decoder.mark() != Mark::Last {
        let finished = decoder.mark() == Mark::Finished;
        let until = Instant::now() + idle;
        let until =
            if finished { *grace.get_or_insert_with(|| until.min(Instant::now() + GRACE)) } else { until };
        let chunk = match timeout_at(until, body.next()).await {
            Ok(Some(Ok(bytes))) => bytes,
            // A finished answer stays one, however its connection ends.
            Ok(Some(Err(_))) | Err(_) if finished => break,
            Ok(Some(Err(error))) => return Err(transport::network(provider, &error)),
            Err(_) => return Err(transport::silent(provider)),
            Ok(None) => {
                sse.end(&mut data);
                feed(decoder, &mut data, &mut events)?;
                break;
            }
        };
        if sse.feed(&chunk, &mut data).is_err() {
            return Err(Trouble::format(
                provider,
                "an event of the stream is larger than 64 MiB".into(),
                None,
            ));
        }
        let fed = feed(decoder, &mut data, &mut events);
        send(heard, &mut events).await?;
        fed?;
    }
    decoder.end(&mut events)?;
    send(heard, &mut events).await
}

fn feed(
    decoder: &mut dyn Decoder,
    data: &mut Vec<String>,
    events: &mut Vec<ModelEvent>,
) -> Result<(), Trouble> {
    for data in data.drain(..) {
        decoder.feed(&data, events)?;
        if decoder.mark() == Mark::Last {
            break;
        }
    }
    Ok(())
}

async fn send(heard: &mpsc::Sender<Heard>, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
    for event in events.drain(..) {
        heard.send(Heard::Event(event)).await.map_err(|_| Trouble::unheard())?;
    }
    Ok(())
}
