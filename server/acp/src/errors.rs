//! Refusals as JSON-RPC errors: the value and the remedy, in few words whatever was sent.

use agent_client_protocol::Error;
use protocol::{Failure, FailureKind, Refusal, SessionId};
use serde_json::json;

pub(crate) const AUTH_REQUIRED: i32 = -32000;
pub(crate) const NOT_FOUND: i32 = -32002;
pub(crate) const NOT_A_REQUEST: i32 = -32600;
pub(crate) const NO_METHOD: i32 = -32601;
pub(crate) const BAD_PARAMS: i32 = -32602;
pub(crate) const INTERNAL: i32 = -32603;

/// What is said of an error; a provider's page of HTML or a client's megabyte of id is cut.
const TEXT_BYTES: usize = 4 * 1024;
/// What is repeated of a name.
const NAME_CHARS: usize = 100;

pub(crate) fn refused(refusal: &Refusal) -> Error {
    let code = match refusal {
        Refusal::NoSession(id) => return no_session(id),
        Refusal::NoModel { .. } => AUTH_REQUIRED,
        Refusal::Unknown { .. } | Refusal::Invalid { .. } => BAD_PARAMS,
        Refusal::InUse { .. }
        | Refusal::Busy(_)
        | Refusal::Idle
        | Refusal::TooLate(_)
        | Refusal::Overloaded => INTERNAL,
        Refusal::Failed(failure) => return failed(failure),
    };
    Error::new(code, short(&refusal.to_string()))
}

fn no_session(id: &SessionId) -> Error {
    let id = SessionId(name(&id.0));
    Error::new(NOT_FOUND, Refusal::NoSession(id.clone()).to_string()).data(json!({ "sessionId": id.0 }))
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
    Error::new(code, short(&failure.to_string()))
}

pub(crate) fn bad_params(why: impl Into<String>) -> Error {
    Error::new(BAD_PARAMS, why.into())
}

pub(crate) fn no_method(method: &str) -> Error {
    Error::new(NO_METHOD, format!("there is no method {:?}", name(method)))
}

pub(crate) fn too_early(method: &str) -> Error {
    Error::new(NOT_A_REQUEST, format!("{:?} came before initialize; send initialize first", name(method)))
}

pub(crate) fn no_login(why: &str) -> Error {
    Error::new(AUTH_REQUIRED, short(why))
}

pub(crate) fn internal(why: &str) -> Error {
    Error::new(INTERNAL, short(why))
}

/// A client's word, short enough to repeat.
pub(crate) fn name(said: &str) -> String {
    said.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS).collect()
}

fn short(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let cut = text.floor_char_boundary(TEXT_BYTES);
    format!("{} ... ({} bytes)", text.get(..cut).unwrap_or_default(), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::TurnId;

    #[test]
    fn codes_say_what_the_caller_can_do() {
        let failure = |kind| Failure { kind, text: "HTTP 401: no".into(), remedy: None, status: Some(401) };
        let rows = [
            (Refusal::NoSession(SessionId("s".into())), NOT_FOUND),
            (
                Refusal::NoModel { looked_for: vec!["A_KEY".into()], remedy: "set A_KEY".into() },
                AUTH_REQUIRED,
            ),
            (Refusal::Unknown { what: "mode".into(), name: "x".into(), known: vec![] }, BAD_PARAMS),
            (Refusal::Busy(TurnId(1)), INTERNAL),
            (Refusal::Failed(failure(FailureKind::Auth)), AUTH_REQUIRED),
            (Refusal::Failed(failure(FailureKind::Provider)), INTERNAL),
        ];
        for (refusal, code) in rows {
            assert_eq!(i32::from(refused(&refusal).code), code, "{refusal}");
        }
    }

    #[test]
    fn nothing_long_is_repeated() {
        let error = refused(&Refusal::NoSession(SessionId("x".repeat(1_000_000))));
        assert!(error.message.len() < 300, "{}", error.message.len());
        assert!(no_method(&"m\n".repeat(10_000)).message.len() < 200);
        assert!(internal(&"é".repeat(10_000)).message.len() < 5_000);
    }
}
