//! What a line of a journal can say. A field is only ever added, with a default.

use dialect::Frame;
use protocol::{
    Action, CallId, Cause, Digest, Entry, FilePath, Item, ItemId, SessionId, Settings, Task, TurnEnd, TurnId,
    Usage,
};
use serde::{Deserialize, Serialize};

use crate::undo::UndoEdit;

/// The version of the format. Lines of a later one are not gone on with.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum Record {
    Head {
        version: u32,
        program: String,
        session: SessionId,
        cwd: FilePath,
        roots: Vec<FilePath>,
    },
    Settings(Settings),
    /// The facts of the prompt that stay fixed.
    Frame(Box<Frame>),
    TurnBegan {
        turn: TurnId,
        cause: Cause,
    },
    /// For the model.
    Entry(Entry),
    /// For people; only finished ones.
    Item(Item),
    /// Ahead of an effect: what is about to run, and the files as they were.
    Begun {
        call: CallId,
        item: ItemId,
        action: Action,
        before: Vec<(FilePath, Option<Digest>)>,
    },
    Granted {
        scope: String,
    },
    /// The whole new conversation.
    Compacted {
        item: ItemId,
        entries: Vec<Entry>,
    },
    Task(Task),
    /// Edits that can be taken back.
    Edited {
        turn: TurnId,
        edits: Vec<UndoEdit>,
    },
    /// A turn's edits were taken back.
    Undone {
        turn: TurnId,
    },
    /// What was used so far, told with each request.
    Used(Usage),
    TurnEnded {
        turn: TurnId,
        end: TurnEnd,
        usage: Usage,
    },
    Title(String),
}

impl Record {
    /// Whether a reader that does not know the kind must not go on with the session.
    pub(crate) fn must(&self) -> bool {
        match self {
            Record::Entry(_) | Record::Compacted { .. } => true,
            Record::Head { .. }
            | Record::Settings(_)
            | Record::Frame(_)
            | Record::TurnBegan { .. }
            | Record::Item(_)
            | Record::Begun { .. }
            | Record::Granted { .. }
            | Record::Task(_)
            | Record::Edited { .. }
            | Record::Undone { .. }
            | Record::Used(_)
            | Record::TurnEnded { .. }
            | Record::Title(_) => false,
        }
    }

    /// Whether a session that has only such lines was never used.
    pub(crate) fn is_preface(&self) -> bool {
        matches!(self, Record::Head { .. } | Record::Settings(_))
    }
}
