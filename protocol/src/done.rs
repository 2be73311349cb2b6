//! The one answer to a command.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Opened(Box<Snapshot>),
    /// The turn that will answer this prompt, and the prompt's own item.
    Prompted {
        turn: TurnId,
        item: ItemId,
        steered: bool,
    },
    Sessions {
        page: Vec<SessionRow>,
        next: Option<String>,
    },
    Options(Vec<ConfigOption>),
    Ok,
}

/// Why a command was not taken, by what the caller can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    NoSession(SessionId),
    InUse { session: SessionId, pid: u32 },
    Unknown { what: String, name: String, known: Vec<String> },
    Invalid { what: String, why: String, remedy: String },
    Busy(TurnId),
    Idle,
    TooLate(Answer),
    NoModel { looked_for: Vec<String>, remedy: String },
    Overloaded,
    Failed(Failure),
}
