//! What went wrong with a request, in the provider's own words, and whether another attempt may help.
//!
//! It does not wait or count attempts (`retry` does). Both wires and the HTTP side make these.

mod delay;
mod kind;
mod text;

use protocol::{Failure, FailureKind};
use serde_json::Value;

use crate::provider::Provider;
use delay::{delay_ms, wait_in_text};

/// A failed attempt, and whether another may help.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    pub(crate) again: Again,
}

/// Whether and when another attempt may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// As the server asked.
    After {
        ms: u64,
    },
    /// The server asked for more than is waited for.
    TooLate {
        ms: u64,
    },
    Backoff,
}

/// An answer with an error status, as far as it matters.
#[derive(Default)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    /// Where a redirect points.
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

impl Trouble {
    /// Nothing reached the server, or nothing came back.
    pub(crate) fn network(provider: &Provider, text: &str) -> Self {
        let text = format!("{}: {text}", provider.base_url);
        Self::new(provider, FailureKind::Network, text, None, Again::Backoff)
    }

    /// The stream broke off, or said nothing, or nothing that can be understood.
    pub(crate) fn broken(provider: &Provider, text: &str) -> Self {
        let text = format!("{}: {text}", provider.base_url);
        Self::new(provider, FailureKind::Provider, text, None, Again::Backoff)
    }

    /// What is configured cannot be sent, or what came cannot be read, this time and every time.
    pub(crate) fn format(provider: &Provider, text: String, remedy: Option<&str>) -> Self {
        let mut trouble = Self::new(provider, FailureKind::Format, text, None, Again::Never);
        trouble.failure.remedy = remedy.map(str::to_string);
        trouble
    }

    /// An answer with an error status.
    pub(crate) fn status(provider: &Provider, refused: &Refused) -> Self {
        let (status, body) = (refused.status, refused.body.as_str());
        let redirect = refused.location.as_ref().filter(|_| (300..400).contains(&status));
        let said = match redirect {
            Some(location) => format!("redirected to {location}"),
            None => text::message(body),
        };
        let text = if said.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {said}") };
        let kind = kind::kind(status, body);
        let again = match (status, kind) {
            (_, FailureKind::Overflow) => Again::Never,
            (_, FailureKind::Quota) if kind::is_spent(body) => Again::Never,
            (408 | 409 | 425 | 429 | 500..=599, _) => {
                let asked = refused.retry_after.as_deref().and_then(delay_ms);
                asked.map_or(Again::Backoff, delay::after)
            }
            _ => Again::Never,
        };
        let mut trouble = Self::new(provider, kind, text, Some(status), again);
        if redirect.is_some() {
            trouble.failure.remedy = Some("set base_url to that address; a key follows no redirect".into());
        }
        trouble
    }

    /// An error told inside of a stream that began well.
    pub(crate) fn inside(provider: &Provider, error: &Value) -> Self {
        let said = text::message_in(error);
        let fields = ["code", "type", "status"].iter().filter_map(|name| error.get(*name));
        let codes: Vec<&Value> = fields.filter(|code| !code.is_null()).collect();
        let status = codes.iter().find_map(|code| match code {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|code| u16::try_from(code).ok()),
        });
        let whole = error.to_string();
        let named = codes.iter().filter_map(|code| code.as_str()).find_map(kind::named);
        let kind = match named {
            // A refused request may be one that is too long.
            Some(FailureKind::BadRequest) if kind::is_overflow(&whole) => FailureKind::Overflow,
            Some(kind) => kind,
            None => kind::kind(status.unwrap_or(500), &whole),
        };
        let final_kind = matches!(kind, FailureKind::Auth | FailureKind::Overflow | FailureKind::BadRequest);
        let spent = kind == FailureKind::Quota && kind::is_spent(&whole);
        let again = match wait_in_text(&said) {
            _ if final_kind || spent => Again::Never,
            Some(ms) => delay::after(ms),
            None => Again::Backoff,
        };
        Self::new(provider, kind, said, status, again)
    }

    /// The one that asked is gone.
    pub(crate) fn unheard() -> Self {
        let failure = Failure {
            kind: FailureKind::Internal,
            text: "nobody listens any more".into(),
            remedy: None,
            status: None,
        };
        Self { failure, again: Again::Never }
    }

    fn new(provider: &Provider, kind: FailureKind, text: String, status: Option<u16>, again: Again) -> Self {
        let remedy = kind::remedy(provider, kind, status.unwrap_or(0));
        Self { failure: Failure { kind, text: text::told(provider, text), remedy, status }, again }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Secret, Wire};
    use serde_json::json;

    fn provider() -> Provider {
        let key = Some(Secret::new("sk-very-secret".into()));
        Provider { key, ..Provider::new("p", Wire::Chat, "http://x/v1") }
    }

    #[test]
    fn statuses_kinds_and_retries() {
        use FailureKind::{Auth, BadRequest, Overflow, Provider, Quota};
        let table: &[(u16, Option<&str>, &str, FailureKind, Again)] = &[
            (400, None, r#"{"error":{"message":"messages[3]: invalid"}}"#, BadRequest, Again::Never),
            (400, None, r#"{"error":{"code":"context_length_exceeded"}}"#, Overflow, Again::Never),
            (400, None, "the request exceeds the available context size", Overflow, Again::Never),
            (400, None, "Prompt too long: exceeds max context window of 1000 tokens", Overflow, Again::Never),
            (413, None, "request body too large", Overflow, Again::Never),
            (500, None, "This model's maximum context length is 10", Overflow, Again::Never),
            (401, Some("1"), "{}", Auth, Again::Never),
            (402, None, "", Quota, Again::Never),
            (403, None, "no", Auth, Again::Never),
            (404, None, "no", BadRequest, Again::Never),
            (422, None, "no", BadRequest, Again::Never),
            (429, Some("3"), "slow", Quota, Again::After { ms: 3000 }),
            (429, Some("86400"), "slow", Quota, Again::TooLate { ms: 86_400_000 }),
            (429, Some("1"), r#"{"error":{"code":"insufficient_quota"}}"#, Quota, Again::Never),
            (500, None, "", Provider, Again::Backoff),
            (503, Some("0"), "", Provider, Again::After { ms: 0 }),
            (308, None, "", Provider, Again::Never),
        ];
        for (status, after, body, kind, again) in table {
            let refused = Refused {
                status: *status,
                retry_after: after.map(str::to_string),
                body: body.to_string(),
                location: None,
            };
            let trouble = Trouble::status(&provider(), &refused);
            assert_eq!((trouble.failure.kind, trouble.again), (*kind, *again), "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_of_a_stream() {
        use FailureKind::{Auth, BadRequest, Overflow, Provider, Quota};
        let table = [
            (json!({"code": 502, "message": "upstream"}), Provider, Again::Backoff),
            (json!({"code": null, "type": "server_error", "message": "boom"}), Provider, Again::Backoff),
            (json!({"code": "400", "message": "bad"}), BadRequest, Again::Never),
            (
                json!({"code": "rate_limit_exceeded", "message": "try again in 0.3s"}),
                Quota,
                Again::After { ms: 300 },
            ),
            (json!({"code": "insufficient_quota", "message": "m"}), Quota, Again::Never),
            (json!({"code": "context_length_exceeded", "message": "m"}), Overflow, Again::Never),
            (
                json!({"type": "invalid_request_error", "message": "prompt is too long"}),
                Overflow,
                Again::Never,
            ),
            (json!({"type": "invalid_request_error", "message": "odd"}), BadRequest, Again::Never),
            (json!({"type": "authentication_error", "message": "m"}), Auth, Again::Never),
            (json!("overloaded"), Provider, Again::Backoff),
        ];
        for (error, kind, again) in table {
            let trouble = Trouble::inside(&provider(), &error);
            assert_eq!((trouble.failure.kind, trouble.again), (kind, again), "{error}");
        }
        assert_eq!(Trouble::inside(&provider(), &json!("overloaded")).failure.text, "overloaded");
    }

    #[test]
    fn no_secret_and_no_half_of_one_is_told() {
        let mut provider = provider();
        provider.headers = vec![("Authorization".into(), "Bearer header-secret".into())];
        provider.query = vec![("api-key".into(), "query-secret".into())];
        let body = "x ".repeat(1020) + "sk-very-secret header-secret query-secret";
        for at in 0..40 {
            let refused = Refused { status: 400, body: body[at..].to_string(), ..Refused::default() };
            let text = Trouble::status(&provider, &refused).failure.text;
            assert!(!text.contains("sk-") && !text.contains("header-") && !text.contains("query-"), "{text}");
            assert!(text.len() < 2_200);
        }
    }

    #[test]
    fn a_redirect_says_where_to() {
        let refused = Refused { status: 308, location: Some("https://y/v1".into()), ..Refused::default() };
        let failure = Trouble::status(&provider(), &refused).failure;
        assert_eq!(failure.text, "HTTP 308: redirected to https://y/v1");
        assert!(failure.remedy.is_some_and(|remedy| remedy.contains("base_url")));
    }
}
