//! What a face may ask of the engine. Every command is answered exactly once.

use serde::{Deserialize, Serialize};

use crate::*;

/// Everything anyone may ask. Always answered once: `Result<Done, Refusal>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Opens and follows.
    Open(Box<Open>),
    List {
        cwd: Option<FilePath>,
        cursor: Option<String>,
    },
    /// The pickers before a session exists.
    Options {
        cwd: FilePath,
    },
    /// The finished items of a session, told as its past; it need not be open, and may be open elsewhere.
    Read {
        session: SessionId,
    },
    Delete {
        session: SessionId,
    },
    Session {
        session: SessionId,
        order: Order,
    },
}

/// What a session actor can be told, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Prompt {
        input: Vec<Content>,
        when: When,
        schema: Option<Json>,
    },
    Answer {
        ask: AskId,
        answer: Answer,
    },
    Cancel(Target),
    /// By option id and value, checked against the one table of options.
    Configure {
        option: String,
        value: String,
    },
    Compact {
        focus: Option<String>,
    },
    Rename {
        title: String,
    },
    Close,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Past {
    Nothing,
    All,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Starts a turn, or waits its turn behind the running one.
    Queue,
    /// Joins the running turn at its next safe point; refused with `Idle` when there is none.
    Steer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Turn,
    Task(TaskId),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Open {
    pub from: Origin,
    pub past: Past,
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    /// Option id and value; win over stored settings on resume.
    pub options: Vec<(String, String)>,
    pub asks: CanAsk,
    pub keep: Keep,
    /// On resume it takes the place of the stored one.
    pub system: Option<SystemPrompt>,
}

/// The client's part of the system prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct SystemPrompt {
    pub mode: SystemMode,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemMode {
    /// Behind the harness's own words.
    Append,
    /// In their place; facts of the session stay.
    Override,
}

/// There is no "load": loading is resuming, and the face renders the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    New,
    Resume(SessionId),
}

/// Whether the session outlives its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    Journal,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// What the client can put before a person.
pub enum CanAsk {
    Nothing,
    Permission,
    PermissionAndQuestions,
}
