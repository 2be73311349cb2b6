//! What a client and the engine say to each other, one ordered link each way.

use serde::{Deserialize, Serialize};

use crate::*;

/// What a client sends. One ordered link each way per client, in process or as JSON lines on the
/// peer socket; replies and events share it, so that no event overtakes the reply that explains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Up {
    Command {
        tag: u64,
        command: Command,
    },
    /// What this client can do for the engine; may change.
    Offer(HostOffer),
    Host {
        tag: u64,
        reply: HostReply,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Down {
    /// Exactly one for every `Up::Command`.
    Reply {
        tag: u64,
        reply: Result<Done, Refusal>,
    },
    Event(Event),
    /// Finished items from the journal, in order of `ItemId`, before the live events; `last` ends them.
    Past {
        session: SessionId,
        items: Vec<Item>,
        last: bool,
    },
    Host {
        tag: u64,
        session: SessionId,
        call: HostCall,
    },
    HostCancelled {
        tag: u64,
    },
}
