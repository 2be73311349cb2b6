//! One provider's models: a request, its attempts, and what is heard of them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use protocol::model::{ModelEvent, ModelRequest};
use protocol::{Failure, FailureKind, Retry};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::failure::{Again, Trouble};
use crate::provider::{Provider, Wire};
use crate::rehearsal::Rehearsal;
use crate::sse::Sse;
use crate::{chat, http, responses, retry};

/// What comes of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Event(ModelEvent),
    /// What came so far of this attempt is void; another follows after the wait.
    Again {
        retry: Retry,
        why: Failure,
    },
}

/// A connection to one provider. Cheap to clone; nothing is opened before the first request.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    provider: Provider,
    client: OnceLock<reqwest::Client>,
    rehearsal: Option<Rehearsal>,
}

/// A wire's answer, event by event.
pub(crate) trait Decoder: Send {
    /// The data of one server-sent event.
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble>;
    /// The end of the stream: an error unless its end mark was seen.
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble>;
    /// Whether the end mark was seen, so that nothing more is waited for.
    fn is_done(&self) -> bool;
}

impl Model {
    pub fn new(provider: Provider) -> Self {
        let rehearsal = match (provider.wire, &provider.script) {
            (Wire::Rehearsal, Some(script)) => Some(Rehearsal::new(Arc::clone(script))),
            (Wire::Rehearsal | Wire::Chat | Wire::Responses, _) => None,
        };
        Self { inner: Arc::new(Inner { provider, client: OnceLock::new(), rehearsal }) }
    }

    pub fn provider(&self) -> &Provider {
        &self.inner.provider
    }

    /// One answer, event by event; `Ok` only after `ModelEvent::Stopped` was sent. Dropped, it hangs up.
    ///
    /// Errors: what the provider said, after all attempts that could help.
    pub async fn say(&self, request: &ModelRequest, heard: mpsc::Sender<Heard>) -> Result<(), Failure> {
        if self.provider().wire == Wire::Rehearsal {
            return match &self.inner.rehearsal {
                Some(rehearsal) => rehearsal.say(&heard).await,
                None => Err(no_script()),
            };
        }
        let mut tries = Tries::new(self.provider());
        loop {
            let mut streaming = false;
            let trouble = match self.attempt(request, &heard, &mut streaming).await {
                Ok(()) => return Ok(()),
                Err(trouble) => trouble,
            };
            let (attempt, of) = tries.next(streaming);
            let wait = if attempt > of { None } else { retry::wait(trouble.again, attempt - 1) };
            let Some(wait) = wait else { return Err(given_up(trouble, attempt - 1)) };
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let again = Heard::Again { retry: Retry { attempt, of, wait_ms }, why: trouble.failure };
            if heard.send(again).await.is_err() {
                return Err(unheard());
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// The ids of the models the provider lists.
    ///
    /// Errors: what the provider said; nothing is tried again.
    pub async fn list(&self) -> Result<Vec<String>, Failure> {
        let answer = self.list_once().await.map_err(|trouble| trouble.failure)?;
        let rows = answer.get("data").or_else(|| answer.get("models")).and_then(Value::as_array);
        let ids = rows.into_iter().flatten().filter_map(|row| row.get("id").or_else(|| row.get("name")));
        Ok(ids.filter_map(Value::as_str).map(str::to_string).collect())
    }

    async fn list_once(&self) -> Result<Value, Trouble> {
        let request = self.client()?.get(self.url("models"));
        let response = self.signed(request).timeout(Duration::from_secs(10)).send().await;
        let response = response.map_err(|error| self.network(&error))?;
        let response = self.checked(response).await?;
        let body = response.text().await.map_err(|error| self.network(&error))?;
        serde_json::from_str(&body).map_err(|error| Trouble::format(format!("the list of models: {error}")))
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        heard: &mpsc::Sender<Heard>,
        streaming: &mut bool,
    ) -> Result<(), Trouble> {
        let provider = self.provider();
        let (path, body, mut decoder): (_, Value, Box<dyn Decoder>) = match provider.wire {
            Wire::Chat => {
                ("chat/completions", chat::encode(provider, request), Box::new(chat::Decode::new(provider)))
            }
            Wire::Responses | Wire::Rehearsal => (
                "responses",
                responses::encode(provider, request),
                Box::new(responses::Decode::new(provider)),
            ),
        };
        let post = self
            .client()?
            .post(self.url(path))
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .header(reqwest::header::ACCEPT, "text/event-stream")
            .body(body.to_string());
        let idle = Duration::from_millis(provider.stream_idle_timeout_ms);
        let response = match tokio::time::timeout(idle, self.signed(post).send()).await {
            Ok(response) => response.map_err(|error| self.network(&error))?,
            Err(_) => return Err(self.silent()),
        };
        let response = self.checked(response).await?;
        *streaming = true;
        self.read(response, decoder.as_mut(), heard, idle).await
    }

    async fn read(
        &self,
        response: reqwest::Response,
        decoder: &mut dyn Decoder,
        heard: &mpsc::Sender<Heard>,
        idle: Duration,
    ) -> Result<(), Trouble> {
        let mut body = response.bytes_stream();
        let (mut sse, mut data, mut events) = (Sse::default(), Vec::new(), Vec::new());
        while !decoder.is_done() {
            let chunk = tokio::time::timeout(idle, body.next()).await.map_err(|_| self.silent())?;
            match chunk {
                Some(Ok(bytes)) => {
                    let fits = sse.feed(&bytes, &mut data);
                    fits.map_err(|_| Trouble::format("an event of the stream is larger than 64 MiB".into()))?;
                }
                Some(Err(error)) => return Err(self.network(&error)),
                None => {
                    sse.end(&mut data);
                    for data in data.drain(..) {
                        decoder.feed(&data, &mut events)?;
                    }
                    break;
                }
            }
            for data in data.drain(..) {
                decoder.feed(&data, &mut events)?;
                if decoder.is_done() {
                    break;
                }
            }
            send(heard, &mut events).await?;
        }
        decoder.end(&mut events)?;
        send(heard, &mut events).await
    }

    async fn checked(&self, response: reqwest::Response) -> Result<reqwest::Response, Trouble> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let after =
            response.headers().get(reqwest::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let after = after.map(str::to_string);
        let body = tokio::time::timeout(Duration::from_secs(10), response.text()).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Err(Trouble::status(self.provider(), status.as_u16(), after.as_deref(), &body))
    }

    fn client(&self) -> Result<&reqwest::Client, Trouble> {
        if let Some(client) = self.inner.client.get() {
            return Ok(client);
        }
        let made = http::client_for(&self.provider().base_url).map_err(|error| self.network(&error))?;
        Ok(self.inner.client.get_or_init(|| made))
    }

    fn url(&self, path: &str) -> String {
        let provider = self.provider();
        let mut url = format!("{}/{path}", provider.base_url.trim_end_matches('/'));
        for (at, (name, value)) in provider.query.iter().enumerate() {
            url += if at == 0 && !url.contains('?') { "?" } else { "&" };
            url += &format!("{}={}", escaped(name), escaped(value));
        }
        url
    }

    fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        let provider = self.provider();
        let mut request = request;
        let own = provider.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(key) = provider.key.as_ref().filter(|_| !own) {
            request = request.bearer_auth(key.expose());
        }
        for (name, value) in &provider.headers {
            request = request.header(name, value);
        }
        request
    }

    fn network(&self, error: &reqwest::Error) -> Trouble {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            text = inner.to_string();
            source = inner.source();
        }
        if error.is_builder() {
            let mut trouble = Trouble::format(format!("{}: {text}", self.provider().base_url));
            trouble.failure.remedy = Some("check base_url and http_headers in config.toml".into());
            return trouble;
        }
        Trouble::network(self.provider(), text)
    }

    fn silent(&self) -> Trouble {
        let text = format!("nothing came for {} ms", self.provider().stream_idle_timeout_ms);
        Trouble::network(self.provider(), text)
    }
}

async fn send(heard: &mpsc::Sender<Heard>, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
    for event in events.drain(..) {
        if heard.send(Heard::Event(event)).await.is_err() {
            return Err(Trouble { failure: unheard(), again: Again::Never });
        }
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Attempts so far, of requests that were refused and of streams that broke.
struct Tries {
    requests: (u32, u32),
    streams: (u32, u32),
}

impl Tries {
    fn new(provider: &Provider) -> Self {
        Self { requests: (0, provider.request_max_retries), streams: (0, provider.stream_max_retries) }
    }

    /// The number of the next attempt of its kind, from 1, and how many there may be.
    fn next(&mut self, streaming: bool) -> (u32, u32) {
        let tries = if streaming { &mut self.streams } else { &mut self.requests };
        tries.0 += 1;
        *tries
    }
}

fn given_up(trouble: Trouble, retries: u32) -> Failure {
    let mut failure = trouble.failure;
    if retries > 0 {
        failure.text = format!("{} (after {retries} retries)", failure.text);
    }
    failure
}

fn unheard() -> Failure {
    Failure {
        kind: FailureKind::Internal,
        text: "nobody listens any more".into(),
        remedy: None,
        status: None,
    }
}

fn no_script() -> Failure {
    Failure {
        kind: FailureKind::Format,
        text: "the rehearsal provider has no script".into(),
        remedy: Some("it is for `interpreter demo` and for tests".into()),
        status: None,
    }
}
