//! One provider's models: a request, its attempts, and what is heard of them.

use std::sync::Arc;
use std::time::Duration;

use protocol::model::{ModelEvent, ModelRequest};
use protocol::{Failure, FailureKind, Retry};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::failure::Trouble;
use crate::provider::{Provider, Wire};
use crate::rehearsal::Rehearsal;
use crate::retry::{Phase, Tries};
use crate::stream::{self, Decoder};
use crate::transport::Transport;
use crate::{chat, responses};

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
    transport: Transport,
    rehearsal: Option<Rehearsal>,
}

/// A request as its wire sends it.
struct Post {
    path: &'static str,
    body: String,
}

impl Model {
    /// Models of this provider; a rehearsal begins with the first turn of its script.
    pub fn new(provider: Provider) -> Self {
        let script = provider.script.clone().filter(|_| provider.wire == Wire::Rehearsal);
        let rehearsal = script.map(|script| Rehearsal::new(script, &provider.id));
        Self { inner: Arc::new(Inner { transport: Transport::new(provider), rehearsal }) }
    }

    /// The provider that is asked.
    pub fn provider(&self) -> &Provider {
        &self.inner.transport.provider
    }

    /// One answer, event by event; `Ok` only after `ModelEvent::Stopped` was sent. Dropped, it hangs up.
    ///
    /// Errors: what the provider said, after all attempts that could help.
    pub async fn say(&self, request: &ModelRequest, heard: mpsc::Sender<Heard>) -> Result<(), Failure> {
        let Some(post) = self.encode(request) else { return self.rehearse(&heard).await };
        let mut tries = Tries::new(self.provider());
        loop {
            let (phase, trouble) = match self.attempt(&post, &heard).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            let Some(retry) = tries.next(phase, trouble.again) else { return Err(tries.given_up(trouble)) };
            let wait = Duration::from_millis(retry.wait_ms);
            let again = Heard::Again { retry, why: trouble.failure };
            heard.send(again).await.map_err(|_| Trouble::unheard().failure)?;
            tokio::time::sleep(wait).await;
        }
    }

    /// The ids of the models the provider lists.
    ///
    /// Errors: what the provider said; nothing is tried again.
    pub async fn list(&self) -> Result<Vec<String>, Failure> {
        if self.provider().wire == Wire::Rehearsal {
            return Ok(vec![self.provider().id.clone()]);
        }
        let answer = self.inner.transport.get("models").await.map_err(|trouble| trouble.failure)?;
        let rows = answer.get("data").or_else(|| answer.get("models")).unwrap_or(&answer);
        let rows = rows.as_array().into_iter().flatten();
        let ids = rows.filter_map(|row| row.get("id").or_else(|| row.get("name")).and_then(Value::as_str));
        Ok(ids.map(str::to_string).collect())
    }

    /// None on the wire that has no network.
    fn encode(&self, request: &ModelRequest) -> Option<Post> {
        let provider = self.provider();
        let (path, body) = match provider.wire {
            Wire::Chat => ("chat/completions", chat::encode(provider, request)),
            Wire::Responses => ("responses", responses::encode(provider, request)),
            Wire::Rehearsal => return None,
        };
        Some(Post { path, body: body.to_string() })
    }

    async fn rehearse(&self, heard: &mpsc::Sender<Heard>) -> Result<(), Failure> {
        match &self.inner.rehearsal {
            Some(rehearsal) => rehearsal.say(heard).await,
            None => Err(Failure {
                kind: FailureKind::Format,
                text: format!("the rehearsal provider {:?} has no script", self.provider().id),
                remedy: Some("it is for `interpreter demo` and for tests; choose another provider".into()),
                status: None,
            }),
        }
    }

    async fn attempt(&self, post: &Post, heard: &mpsc::Sender<Heard>) -> Result<(), (Phase, Trouble)> {
        let provider = self.provider();
        let response = self.inner.transport.post(post.path, &post.body).await;
        let response = response.map_err(|trouble| (Phase::Request, trouble))?;
        let mut decoder: Box<dyn Decoder> = match provider.wire {
            Wire::Chat => Box::new(chat::Decode::new(provider)),
            Wire::Responses | Wire::Rehearsal => Box::new(responses::Decode::new(provider)),
        };
        let read = stream::read(provider, response, decoder.as_mut(), heard).await;
        read.map_err(|trouble| (Phase::Stream, trouble))
    }
}
