//! What kind of failure a status and a body mean, and what a person can do about it.

use protocol::FailureKind;

use crate::http::is_loopback;
use crate::provider::Provider;

/// Words by which servers say that the conversation does not fit the model's window.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "maximum prompt length",
    "context window",
    "context size",
    "model's context",
    "context length of only",
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "too many tokens",
    "exceeded model token limit",
    "exceeds the maximum number of tokens",
    "when context the overflows",
    "request too large",
    "request body too large",
];

/// Words by which servers say that there is no money left.
const SPENT: &[&str] =
    &["insufficient_quota", "insufficient balance", "billing", "payment required", "credit balance"];

pub(crate) fn kind(status: u16, body: &str) -> FailureKind {
    match status {
        400 | 413 | 422 | 500..=599 if is_overflow(body) => FailureKind::Overflow,
        401 | 403 => FailureKind::Auth,
        402 | 429 => FailureKind::Quota,
        400..=499 => FailureKind::BadRequest,
        _ => FailureKind::Provider,
    }
}

/// By the name that an error inside of a stream carries instead of a status.
pub(crate) fn named(name: &str) -> Option<FailureKind> {
    match name {
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" => Some(FailureKind::Quota),
        "invalid_api_key" | "authentication_error" | "permission_error" => Some(FailureKind::Auth),
        "context_length_exceeded" | "exceed_context_size_error" => Some(FailureKind::Overflow),
        "invalid_request_error" | "invalid_prompt" | "model_not_found" | "not_found_error" => {
            Some(FailureKind::BadRequest)
        }
        _ => None,
    }
}

pub(crate) fn is_overflow(body: &str) -> bool {
    let lower = body.to_lowercase();
    OVERFLOW.iter().any(|words| lower.contains(words))
}

/// More requests do not help when the money is gone.
pub(crate) fn is_spent(body: &str) -> bool {
    let lower = body.to_lowercase();
    SPENT.iter().any(|words| lower.contains(words))
}

pub(crate) fn remedy(provider: &Provider, kind: FailureKind, status: u16) -> Option<String> {
    let name = if provider.name.is_empty() { &provider.id } else { &provider.name };
    match kind {
        FailureKind::Auth if provider.key.is_none() => Some(format!("set a key for {name}")),
        FailureKind::Auth => Some(format!("check the key of {name}")),
        FailureKind::Quota if status == 402 => Some(format!("check the balance at {name}")),
        FailureKind::Quota => Some("wait a while, or use another provider".into()),
        FailureKind::BadRequest if matches!(status, 404 | 405) => {
            Some("check base_url, wire_api and the model's name".into())
        }
        FailureKind::Network if is_loopback(&provider.base_url) => {
            Some(format!("see whether the server of {name} runs, and check base_url"))
        }
        FailureKind::Network => Some("check the network, the proxy and base_url".into()),
        FailureKind::Overflow
        | FailureKind::BadRequest
        | FailureKind::Provider
        | FailureKind::Format
        | FailureKind::Hook
        | FailureKind::Disk
        | FailureKind::Internal => None,
    }
}
