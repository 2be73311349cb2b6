//! A provider as a value: where it is, how it is spoken to, with which key.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::script::Script;

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Plays a script; no network.
    Rehearsal,
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wire::Chat => "chat",
            Wire::Responses => "responses",
            Wire::Rehearsal => "rehearsal",
        })
    }
}

/// The name is no wire's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown wire {0:?}; known: chat, responses, rehearsal")]
pub struct UnknownWire(String);

impl FromStr for Wire {
    type Err = UnknownWire;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "chat" => Ok(Wire::Chat),
            "responses" => Ok(Wire::Responses),
            "rehearsal" => Ok(Wire::Rehearsal),
            other => Err(UnknownWire(other.into())),
        }
    }
}

/// A key. It is never shown by `Debug` or `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The key itself, for the header it belongs in.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// One server of models.
#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub wire: Wire,
    /// Up to and including `/v1`, say; no slash at its end is needed.
    pub base_url: String,
    pub key: Option<Secret>,
    pub headers: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    pub request_max_retries: u32,
    pub stream_max_retries: u32,
    pub stream_idle_timeout_ms: u64,
    /// What the rehearsal plays; nothing for other wires.
    pub script: Option<Arc<Script>>,
}

impl Provider {
    /// A provider without a key, with the usual limits, named after its id.
    pub fn new(id: &str, wire: Wire, base_url: &str) -> Self {
        Self {
            id: id.into(),
            name: id.into(),
            wire,
            base_url: base_url.into(),
            key: None,
            headers: Vec::new(),
            query: Vec::new(),
            request_max_retries: 4,
            stream_max_retries: 5,
            stream_idle_timeout_ms: 300_000,
            script: None,
        }
    }
}
