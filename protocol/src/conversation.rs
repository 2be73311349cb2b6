//! What was said to and by the model, append-only.

use serde::{Deserialize, Serialize};

use crate::model::{Part, Stop};
use crate::*;

/// What was said to and by the model, append-only. Entries hold rendered words, because those are
/// what the model saw; typed outcomes live in items. Switching harness or wire changes no entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Conversation {
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Entry {
    pub id: EntryId,
    pub kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Heard { item: ItemId, content: Vec<Content> },
    Said(Said),
    Result { call: CallId, reply: Reply },
    Note(Note),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Said {
    pub by: SaidBy,
    pub parts: Vec<Part>,
    pub stop: Stop,
}

/// House: an acknowledgement or summary that a harness puts into the model's mouth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidBy {
    Model { provider: String, model: String },
    House,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// Something told unasked, as a user message of its own.
pub struct Note {
    pub why: NoteWhy,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteWhy {
    Environment,
    Instructions,
    Mode,
    TaskEnded,
    Nudge,
    Resume,
    Summary,
    Steer,
    Edited,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// An outcome in the words that the harness showed the model.
pub struct Reply {
    pub parts: Vec<Part>,
    pub error: bool,
}
