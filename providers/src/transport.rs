//! One provider's HTTP: addresses, credentials, the client, and what its errors mean.
//!
//! It knows neither wire and makes one attempt at a time. `model` calls it.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;

use crate::failure::{Refused, Trouble};
use crate::http;
use crate::provider::Provider;

/// Of an error's body no more is read.
const ERROR_BYTES: usize = 64 * 1024;

/// A list of models may not be larger.
const LIST_BYTES: usize = 16 * 1024 * 1024;

/// How long an error's body or a list of models may take.
const SHORT: Duration = Duration::from_secs(10);

/// The way to one provider. Nothing is opened before the first request.
pub(crate) struct Transport {
    pub(crate) provider: Provider,
    client: OnceLock<reqwest::Client>,
}

impl Transport {
    pub(crate) fn new(provider: Provider) -> Self {
        Self { provider, client: OnceLock::new() }
    }

    /// Posts a body and gives the answer once its head is there.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Result<reqwest::Response, Trouble> {
        let post = self
            .client()?
            .post(self.url(path))
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .header(reqwest::header::ACCEPT, "text/event-stream")
            .body(body.to_string());
        let idle = Duration::from_millis(self.provider.stream_idle_timeout_ms);
        match tokio::time::timeout(idle, self.signed(post)?.send()).await {
            Ok(Ok(response)) => self.checked(response).await,
            Ok(Err(error)) => Err(network(&self.provider, &error)),
            Err(_) => Err(silent(&self.provider)),
        }
    }

    /// Gets a JSON text.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Trouble> {
        let get = self.signed(self.client()?.get(self.url(path)).timeout(SHORT))?;
        let response = get.send().await.map_err(|error| network(&self.provider, &error))?;
        let response = self.checked(response).await?;
        let body = start_of(response, LIST_BYTES).await.map_err(|error| network(&self.provider, &error))?;
        serde_json::from_slice(&body).map_err(|error| {
            let text = format!("{}: the answer is no JSON: {error}", self.url(path));
            Trouble::format(&self.provider, text, Some("check base_url in config.toml"))
        })
    }

    async fn checked(&self, response: reqwest::Response) -> Result<reqwest::Response, Trouble> {
        let status = response.status();
        if status.is_success() {
            return match page(&response) {
                None => Ok(response),
                Some(kind) => {
                    let base = &self.provider.base_url;
                    let text =
                        format!("{base} answered with a web page ({kind}), which no model server does");
                    Err(Trouble::format(&self.provider, text, Some("check base_url in config.toml")))
                }
            };
        }
        let header =
            |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_string);
        let (retry_after, location) = (header(RETRY_AFTER), header(LOCATION));
        let body = tokio::time::timeout(SHORT, start_of(response, ERROR_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let body = String::from_utf8_lossy(&body).into_owned();
        let refused = Refused { status: status.as_u16(), retry_after, location, body };
        Err(Trouble::status(&self.provider, &refused))
    }

    fn client(&self) -> Result<&reqwest::Client, Trouble> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made =
            http::client_for(&self.provider.base_url).map_err(|error| network(&self.provider, &error))?;
        Ok(self.client.get_or_init(|| made))
    }

    /// The address of an endpoint: a query that base_url has stays behind the path.
    fn url(&self, path: &str) -> String {
        let (base, own) = match self.provider.base_url.split_once('?') {
            Some((base, query)) => (base, Some(query.to_string())),
            None => (self.provider.base_url.as_str(), None),
        };
        let pairs =
            self.provider.query.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let query: Vec<String> = own.into_iter().chain(pairs).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/{path}{mark}{}", base.trim_end_matches('/'), query.join("&"))
    }

    /// The configured headers, and the key unless one of them says who we are.
    fn signed(&self, request: reqwest::RequestBuilder) -> Result<reqwest::RequestBuilder, Trouble> {
        let mut request = request;
        let own = self.provider.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(key) = self.provider.key.as_ref().filter(|_| !own) {
            // Other bytes may travel in a header, but no key has them: they came along with a paste.
            if !key.expose().is_ascii() {
                return Err(self.uncarried("the key"));
            }
            let value = self.value(&format!("Bearer {}", key.expose()), "the key")?;
            request = request.header(AUTHORIZATION, value);
        }
        for (name, value) in &self.provider.headers {
            let value = self.value(value, &format!("the header {name}"))?;
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                let text = format!("{name:?} is no name of a header");
                Trouble::format(&self.provider, text, Some("check http_headers in config.toml"))
            })?;
            request = request.header(name, value);
        }
        Ok(request)
    }

    fn value(&self, text: &str, what: &str) -> Result<HeaderValue, Trouble> {
        let mut value = HeaderValue::from_str(text).map_err(|_| self.uncarried(what))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn uncarried(&self, what: &str) -> Trouble {
        let text = format!("{what} of {} holds a character that no header can carry", self.provider.name);
        let remedy = "set it again, without line breaks and invisible characters";
        Trouble::format(&self.provider, text, Some(remedy))
    }
}

/// The beginning of a body.
/// The type of an answer that is meant for a browser: another address, or a portal that wants a login.
fn page(response: &reqwest::Response) -> Option<String> {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    kind.trim_start().to_ascii_lowercase().starts_with("text/html").then(|| kind.to_string())
}

async fn start_of(response: reqwest::Response, limit_bytes: usize) -> Result<Vec<u8>, reqwest::Error> {
    let (mut stream, mut body) = (response.bytes_stream(), Vec::new());
    while body.len() < limit_bytes {
        let Some(bytes) = stream.next().await.transpose()? else { break };
        body.extend_from_slice(&bytes);
    }
    body.truncate(limit_bytes);
    Ok(body)
}

/// An error of the HTTP client, by its cause.
pub(crate) fn network(provider: &Provider, error: &reqwest::Error) -> Trouble {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_builder() {
        let text = format!("{}: {cause}", provider.base_url);
        return Trouble::format(provider, text, Some("check base_url in config.toml"));
    }
    Trouble::network(provider, &cause.to_string())
}

/// The server said nothing for too long.
pub(crate) fn silent(provider: &Provider) -> Trouble {
    let text = format!("nothing came for {} ms", provider.stream_idle_timeout_ms);
    let mut trouble = Trouble::network(provider, &text);
    trouble.failure.remedy = Some("raise stream_idle_timeout_ms if the model is that slow".into());
    trouble
}

fn escaped(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Wire;

    #[test]
    fn queries_stay_behind_the_path() {
        let table = [
            ("http://x/v1", "http://x/v1/models?a%20b=c%26d"),
            ("http://x/v1/", "http://x/v1/models?a%20b=c%26d"),
            ("http://x/v1?k=v", "http://x/v1/models?k=v&a%20b=c%26d"),
        ];
        for (base, url) in table {
            let mut provider = Provider::new("p", Wire::Chat, base);
            provider.query = vec![("a b".into(), "c&d".into())];
            assert_eq!(Transport::new(provider).url("models"), url);
        }
    }
}
