//! A thing in the transcript, from its first sign to its final state.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Item {
    pub id: ItemId,
    pub turn: TurnId,
    pub stage: Stage,
    pub kind: ItemKind,
}

/// Only forward. The last four are final, and every item reaches one before `TurnEnded`: a command
/// left in the background is done, its task goes on. A failed message is one whose stream broke.
#[derive(Clone, Debug, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Forming,
    Waiting,
    Running,
    Done,
    Failed,
    Declined,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// `by` is none after a replay; the client that sent it need not be told its own words.
    User {
        content: Vec<Content>,
        by: Option<ClientId>,
    },
    Message(String),
    Thought(String),
    Act(Act),
    /// One per turn, upserted. The call that changed it is an act with `Verb::Plan`, which faces may hide.
    Plan(Plan),
    Compaction {
        why: String,
        summary: String,
        before: u64,
        after: Option<u64>,
    },
}

/// One call of the model. `action` is none while it forms and for ever if the call was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Act {
    pub call: CallId,
    pub tool: String,
    /// Known as soon as the tool is named, so that a forming call has a face.
    pub verb: Verb,
    pub input: Json,
    pub action: Option<Action>,
    /// What it does to files: a proposal while forming or waiting, the truth when done; also after a
    /// command that changed files. The only place for diffs.
    pub files: Vec<FileDiff>,
    /// The last `LIVE_BYTES` of a command that runs; empty when final.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub live: String,
    pub outcome: Option<Outcome>,
}

#[derive(Clone, Debug, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Run,
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Fetch,
    Think,
    Plan,
    Ask,
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Appended to a message, a thought or a summary.
    Text(String),
    /// The call is complete and understood.
    Formed {
        input: Json,
        action: Box<Action>,
    },
    Stage(Stage),
    /// Live output of the command; at the end the capped `Captured` stands in the outcome.
    Output(Chunk),
    /// Replaces `files`. A path without hunks says "this file, place unknown yet".
    Files(Vec<FileDiff>),
    Plan(Plan),
}

impl Stage {
    /// Whether nothing more follows.
    pub fn is_final(self) -> bool {
        match self {
            Stage::Forming | Stage::Waiting | Stage::Running => false,
            Stage::Done | Stage::Failed | Stage::Declined | Stage::Cancelled => true,
        }
    }
}

impl Item {
    /// Roughly what it costs to keep.
    pub fn bytes(&self) -> usize {
        match &self.kind {
            ItemKind::User { content, .. } => content.iter().map(Content::bytes).sum(),
            ItemKind::Message(text) | ItemKind::Thought(text) => text.len(),
            ItemKind::Act(act) => {
                act.input.0.len() + act.live.len() + act.files.iter().map(FileDiff::bytes).sum::<usize>()
            }
            ItemKind::Plan(plan) => plan.steps.iter().map(|step| step.text.len()).sum(),
            ItemKind::Compaction { summary, .. } => summary.len(),
        }
    }
}
