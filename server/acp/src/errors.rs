//! Refusals as JSON-RPC errors.

use agent_client_protocol::Error;
use protocol::{Failure, FailureKind, Refusal};
use serde_json::json;

const AUTH_REQUIRED: i32 = -32000;
const NOT_FOUND: i32 = -32002;
const BAD_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const NO_METHOD: i32 = -32601;

pub(crate) fn refused(refusal: &Refusal) -> Error {
    let code = match refusal {
        Refusal::NoSession(id) => {
            return Error::new(NOT_FOUND, refusal.to_string()).data(json!({ "sessionId": id.0 }));
        }
        Refusal::NoModel { .. } => AUTH_REQUIRED,
        Refusal::Unknown { .. } | Refusal::Invalid { .. } => BAD_PARAMS,
        Refusal::InUse { .. }
        | Refusal::Busy(_)
        | Refusal::Idle
        | Refusal::TooLate(_)
        | Refusal::Overloaded => INTERNAL,
        Refusal::Failed(failure) => return failed(failure),
    };
    Error::new(code, refusal.to_string())
}

/// A failed turn, in the provider's words.
pub(crate) fn failed(failure: &Failure) -> Error {
    let code = match failure.kind {
        FailureKind::Auth => AUTH_REQUIRED,
        FailureKind::Quota
        | FailureKind::Overflow
        | FailureKind::BadRequest
        | FailureKind::Network
        | FailureKind::Provider
        | FailureKind::Format
        | FailureKind::Hook
        | FailureKind::Disk
        | FailureKind::Internal => INTERNAL,
    };
    Error::new(code, failure.to_string())
}

pub(crate) fn bad_params(why: impl Into<String>) -> Error {
    Error::new(BAD_PARAMS, why.into())
}

pub(crate) fn no_method(method: &str) -> Error {
    let shown: String = method.chars().filter(|letter| !letter.is_control()).take(100).collect();
    Error::new(NO_METHOD, format!("there is no method {shown:?}"))
}

pub(crate) fn no_login(why: String) -> Error {
    Error::new(AUTH_REQUIRED, why)
}
