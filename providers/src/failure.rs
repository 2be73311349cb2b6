//! What went wrong with a request, in the provider's own words, without our key.

use protocol::{Failure, FailureKind};
use serde_json::Value;

use crate::provider::Provider;

/// A provider's text is cut here.
const TEXT_BYTES: usize = 2 * 1024;

/// A failed attempt, and whether another may help.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    pub(crate) again: Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// As the server asked.
    After {
        ms: u64,
    },
    Backoff,
}

impl Trouble {
    pub(crate) fn network(provider: &Provider, text: String) -> Self {
        let text = format!("{}: {text}", provider.base_url);
        Self { failure: failure(FailureKind::Network, text, None, None), again: Again::Backoff }
    }

    /// The stream broke off, or said nothing.
    pub(crate) fn broken(text: &str) -> Self {
        Self { failure: failure(FailureKind::Provider, text.into(), None, None), again: Again::Backoff }
    }

    pub(crate) fn format(text: String) -> Self {
        Self { failure: failure(FailureKind::Format, text, None, None), again: Again::Never }
    }

    /// An answer with an error status.
    pub(crate) fn status(provider: &Provider, status: u16, retry_after: Option<&str>, body: &str) -> Self {
        let said = message(body);
        let text = redact(
            provider,
            cut(&if said.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {said}") }),
        );
        let kind = kind(status, body);
        let again = match (status, kind) {
            (_, FailureKind::Quota) if is_spent(body) => Again::Never,
            (408 | 409 | 425 | 429, _) | (500..=599, _) => match retry_after.and_then(delay_ms) {
                Some(ms) => Again::After { ms },
                None => Again::Backoff,
            },
            _ => Again::Never,
        };
        let remedy = remedy(provider, kind, status);
        Self { failure: failure(kind, text, remedy, Some(status)), again }
    }

    /// An error told inside of a stream that began well.
    pub(crate) fn inside(provider: &Provider, error: &Value) -> Self {
        let said = match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_string(),
            None => message(&error.to_string()),
        };
        let code = error.get("code").or_else(|| error.get("type"));
        let status = code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let name = code.and_then(Value::as_str).unwrap_or_default();
        let whole = error.to_string();
        let text = redact(provider, cut(if said.is_empty() { &whole } else { &said }));
        let kind = match name {
            "rate_limit_exceeded" | "insufficient_quota" => FailureKind::Quota,
            "invalid_api_key" | "authentication_error" => FailureKind::Auth,
            _ => kind(status.unwrap_or(500), &whole),
        };
        let again = match kind {
            FailureKind::Auth | FailureKind::Overflow | FailureKind::BadRequest => Again::Never,
            FailureKind::Quota if is_spent(&whole) => Again::Never,
            _ => match wait_in_text(&said) {
                Some(ms) => Again::After { ms },
                None => Again::Backoff,
            },
        };
        let remedy = remedy(provider, kind, status.unwrap_or(0));
        Self { failure: failure(kind, text, remedy, status), again }
    }
}

fn failure(kind: FailureKind, text: String, remedy: Option<String>, status: Option<u16>) -> Failure {
    Failure { kind, text, remedy, status }
}

fn kind(status: u16, body: &str) -> FailureKind {
    let lower = body.to_lowercase();
    const OVERFLOW: &[&str] = &[
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "prompt is too long",
        "too many tokens",
        "exceeds the model's context",
        "input is too long",
        "request too large",
    ];
    match status {
        400 | 413 | 422 | 500..=599 if OVERFLOW.iter().any(|words| lower.contains(words)) => {
            FailureKind::Overflow
        }
        401 | 403 => FailureKind::Auth,
        402 | 429 => FailureKind::Quota,
        400..=499 => FailureKind::BadRequest,
        _ => FailureKind::Provider,
    }
}

/// More requests do not help when the money is gone.
fn is_spent(body: &str) -> bool {
    let lower = body.to_lowercase();
    ["insufficient_quota", "insufficient balance", "billing", "payment required", "credit balance"]
        .iter()
        .any(|words| lower.contains(words))
}

fn remedy(provider: &Provider, kind: FailureKind, status: u16) -> Option<String> {
    let name = if provider.name.is_empty() { &provider.id } else { &provider.name };
    match kind {
        FailureKind::Auth => Some(format!("check the key of {name}")),
        FailureKind::Quota if status == 402 => Some(format!("check the balance at {name}")),
        FailureKind::Quota => Some("wait a while, or use another provider".into()),
        FailureKind::BadRequest if status == 404 => {
            Some("check base_url, wire_api and the model's name".into())
        }
        FailureKind::Overflow
        | FailureKind::BadRequest
        | FailureKind::Network
        | FailureKind::Provider
        | FailureKind::Format
        | FailureKind::Hook
        | FailureKind::Disk
        | FailureKind::Internal => None,
    }
}

/// The message inside of an error body, whatever its shape.
fn message(body: &str) -> String {
    let trimmed = body.trim();
    let Ok(json) = serde_json::from_str::<Value>(trimmed) else { return plain(trimmed) };
    let places = ["/error/message", "/message", "/detail", "/error", "/errors/0/message", "/0/error/message"];
    let found = places.iter().filter_map(|place| json.pointer(place)).find_map(Value::as_str);
    found.map_or_else(|| trimmed.to_string(), str::to_string)
}

/// The text of a page, without its tags.
fn plain(body: &str) -> String {
    if !body.contains('<') {
        return body.to_string();
    }
    let mut text = String::new();
    let mut inside = false;
    for letter in body.chars() {
        match letter {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            letter if !inside => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let end = text.floor_char_boundary(TEXT_BYTES);
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
}

/// Servers like to quote keys back.
fn redact(provider: &Provider, text: String) -> String {
    let mut text = text;
    let keys = provider.key.iter().map(|key| key.expose().to_string());
    let headers = provider.headers.iter().map(|(_, value)| value.clone());
    for secret in keys.chain(headers).filter(|secret| secret.len() >= 8) {
        text = text.replace(&secret, "***");
    }
    text
}

/// `Retry-After` in seconds or as a date; a minute at most.
fn delay_ms(value: &str) -> Option<u64> {
    const LIMIT_MS: u64 = 60_000;
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return (seconds >= 0.0).then(|| ((seconds * 1000.0) as u64).min(LIMIT_MS));
    }
    let at = http_date_secs(value)?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some((at.saturating_sub(now) * 1000).min(LIMIT_MS))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970.
fn http_date_secs(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else { return None };
    let day: u64 = day.parse().ok()?;
    let month = MONTHS.iter().position(|name| name == month)? as u64 + 1;
    let year: u64 = year.parse().ok()?;
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days since 1970 by the civil calendar.
    let shifted = if month <= 2 { year.checked_sub(1)? } else { year };
    let era_year = shifted % 400;
    let month_of_year = (month + 9) % 12;
    let day_of_year = (153 * month_of_year + 2) / 5 + day - 1;
    let day_of_era = era_year * 365 + era_year / 4 - era_year / 100 + day_of_year;
    let days = (shifted / 400 * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// "try again in 0.3s", "in 20ms".
fn wait_in_text(text: &str) -> Option<u64> {
    let rest = text.split("try again in ").nth(1)?;
    let number: String =
        rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    let value: f64 = number.parse().ok()?;
    let unit = rest.get(number.len()..)?.trim_start();
    let ms = if unit.starts_with("ms") { value } else { value * 1000.0 };
    Some((ms as u64).min(60_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Secret, Wire};

    fn provider() -> Provider {
        Provider {
            name: "P".into(),
            key: Some(Secret::new("sk-very-secret".into())),
            ..Provider::new("p", Wire::Chat, "http://x")
        }
    }

    #[test]
    fn statuses_kinds_and_retries() {
        let table: &[(u16, Option<&str>, &str, FailureKind, Again)] = &[
            (
                400,
                None,
                r#"{"error":{"message":"messages[3]: invalid"}}"#,
                FailureKind::BadRequest,
                Again::Never,
            ),
            (
                400,
                None,
                r#"{"error":{"code":"context_length_exceeded"}}"#,
                FailureKind::Overflow,
                Again::Never,
            ),
            (401, None, "{}", FailureKind::Auth, Again::Never),
            (403, None, "no", FailureKind::Auth, Again::Never),
            (404, None, "no", FailureKind::BadRequest, Again::Never),
            (429, Some("3"), "slow", FailureKind::Quota, Again::After { ms: 3000 }),
            (429, None, r#"{"error":{"code":"insufficient_quota"}}"#, FailureKind::Quota, Again::Never),
            (429, Some("100000"), "", FailureKind::Quota, Again::After { ms: 60_000 }),
            (500, None, "", FailureKind::Provider, Again::Backoff),
            (503, Some("0"), "", FailureKind::Provider, Again::After { ms: 0 }),
        ];
        for (status, after, body, kind, again) in table {
            let trouble = Trouble::status(&provider(), *status, *after, body);
            assert_eq!((trouble.failure.kind, trouble.again), (*kind, *again), "{status} {body}");
        }
    }

    #[test]
    fn the_providers_words_without_tags_and_keys() {
        let text = |body: &str| Trouble::status(&provider(), 400, None, body).failure.text;
        assert_eq!(text(r#"{"error":{"message":"bad key sk-very-secret"}}"#), "HTTP 400: bad key ***");
        assert_eq!(text("<html><h1>Bad</h1><p>gateway</p></html>"), "HTTP 400: Bad gateway");
        assert!(text(&"é".repeat(9_000)).len() < 2_200);
    }

    #[test]
    fn dates_and_texts_that_name_a_wait() {
        assert_eq!(http_date_secs("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(wait_in_text("Please try again in 0.3s."), Some(300));
        assert_eq!(wait_in_text("try again in 20ms"), Some(20));
        assert_eq!(wait_in_text("later"), None);
    }
}
