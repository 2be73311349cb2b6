//! Getting one page over http or https, within a time and a size.

use std::time::Duration;

use protocol::{Cap, IoWhy, Outcome};

use super::capture::{text, trim_end};
use crate::limits::FETCH_BYTES;

/// Fetches the address as text. Errors of the server are facts, not failures.
pub(crate) async fn fetch(url: &str, cap: Cap, limit_ms: u64) -> Outcome {
    let scheme = url.split("://").next().unwrap_or_default();
    if !matches!(scheme, "http" | "https") {
        return failed(format!("{url}: only http and https addresses can be fetched"));
    }
    match tokio::time::timeout(Duration::from_millis(limit_ms), get(url, cap)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => failed(format!("{url}: {error}")),
        Err(_) => failed(format!("{url}: no answer within {limit_ms} ms")),
    }
}

async fn get(url: &str, cap: Cap) -> Result<Outcome, reqwest::Error> {
    let client = providers::http().user_agent(providers::user_agent()).build()?;
    let mut response = client.get(url).send().await?;
    let status = response.status().as_u16();
    let mime = response
        .headers()
        .get(reqwest::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("unknown type")
        .to_string();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() >= FETCH_BYTES {
            break;
        }
    }
    let kind = mime.split(';').next().unwrap_or_default().trim();
    let textual = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|part| kind.contains(part))
        || std::str::from_utf8(trim_end(&body)).is_ok();
    if !textual {
        return Ok(failed(format!("{url}: {kind} with {} bytes is not text", body.len())));
    }
    let limit = usize::try_from(cap.bytes.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(body.len());
    let shown = trim_end(body.get(..limit).unwrap_or(&body));
    Ok(Outcome::Fetched { url: url.into(), status, mime, text: text(shown), more: shown.len() < body.len() })
}

fn failed(text: String) -> Outcome {
    Outcome::Failed { why: IoWhy::Network, path: None, text }
}
