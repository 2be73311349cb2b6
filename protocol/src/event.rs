//! Something that happened in a session.

use serde::{Deserialize, Serialize};

use crate::*;

/// Something that happened. `seq` counts one session's events in this process, to order and to test;
/// there is no replay by number, a follower gets a `Snapshot` instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Event {
    pub session: SessionId,
    pub seq: u64,
    pub at_ms: u64,
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    SessionOpened(Box<SessionInfo>),
    SessionChanged(SessionChange),
    SessionClosed,
    TurnStarted {
        turn: TurnId,
        cause: Cause,
    },
    ItemStarted(Box<Item>),
    ItemChanged {
        item: ItemId,
        change: Change,
    },
    /// Final and whole: a face that saw nothing before can render from this alone.
    ItemFinished(Box<Item>),
    Asked(Box<Ask>),
    AskClosed {
        ask: AskId,
        answer: Answer,
        by: Option<ClientId>,
    },
    TaskChanged(Task),
    TaskOutput {
        task: TaskId,
        chunk: Chunk,
    },
    UsageChanged(Usage),
    Noticed(Notice),
    TurnEnded {
        turn: TurnId,
        end: TurnEnd,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    Title(String),
    Settings { settings: Settings, options: Vec<ConfigOption> },
    Commands(Vec<SlashCommand>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Prompt,
    Command(String),
}
