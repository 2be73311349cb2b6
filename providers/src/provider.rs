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
    /// White space around it is no part of a key: files and pastes bring line ends along.
    pub fn new(text: String) -> Self {
        let trimmed = text.trim();
        Self(if trimmed.len() == text.len() { text } else { trimmed.to_string() })
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
#[derive(Clone)]
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

    /// What may be in no message: the key, and what headers, query and address may hold of one. Longest first.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self.key.iter().map(|key| key.expose().to_string()).collect();
        for (name, value) in &self.headers {
            let least = if sounds_secret(name) { 4 } else { 8 };
            // A server quotes the key, not the scheme before it.
            let words = [value.as_str(), value.split_whitespace().last().unwrap_or_default()];
            secrets.extend(words.into_iter().filter(|word| word.len() >= least).map(str::to_string));
        }
        let query = self.query.iter().filter(|(name, _)| sounds_secret(name));
        secrets.extend(query.map(|(_, value)| value.clone()));
        let url = reqwest::Url::parse(&self.base_url).ok();
        secrets.extend(url.and_then(|url| url.password().map(str::to_string)));
        secrets.retain(|secret| secret.len() >= 4);
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        secrets.dedup();
        secrets
    }
}

/// Names of headers and parameters that carry credentials.
fn sounds_secret(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password"].iter().any(|word| lower.contains(word))
}

/// Values of headers and parameters are left out, and the address with them, since they may be keys.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        f.debug_struct("Provider")
            .field("id", &self.id)
            .field("wire", &self.wire)
            .field("key", &self.key)
            .field("headers", &names(&self.headers))
            .field("query", &names(&self.query))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_printed() {
        let mut provider = Provider::new("p", Wire::Chat, "https://me:password-1@x/v1");
        provider.key = Some(Secret::new(" sk-key-1\r\n".into()));
        provider.headers =
            vec![("X-Key".into(), "header-1".into()), ("Authorization".into(), "Bearer bearer-1".into())];
        provider.query =
            vec![("api_key".into(), "query-1".into()), ("api-version".into(), "2026-01-01".into())];
        assert_eq!(provider.key.as_ref().map(Secret::expose), Some("sk-key-1"));
        let shown = format!("{provider:?} {:?} {}", provider.key, Secret::new("sk-key-1".into()));
        let secrets = provider.secrets();
        assert_eq!(secrets.len(), 6, "{secrets:?}");
        for secret in ["sk-key-1", "header-1", "query-1", "password-1", "bearer-1"] {
            assert!(secrets.contains(&secret.to_string()), "{secrets:?}");
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn wires_by_name() {
        for wire in [Wire::Chat, Wire::Responses, Wire::Rehearsal] {
            assert_eq!(wire.to_string().parse(), Ok(wire));
        }
        assert!("grpc".parse::<Wire>().is_err_and(|error| error.to_string().contains("chat, responses")));
    }
}
