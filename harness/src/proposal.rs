//! What a turn tells its session actor. The actor records it and tells the faces; the turn only proposes.

use protocol::{Action, Answer, Ask, CallId, Change, Digest, Entry, FilePath, Item, ItemId, Notice, Tokens};
use tokio::sync::{mpsc, oneshot};

use crate::undo::UndoEdit;

pub(crate) enum Proposal {
    Start(Box<Item>),
    Change {
        item: ItemId,
        change: Change,
    },
    Finish(Box<Item>),
    Entry(Entry),
    /// Ahead of an effect; answered when it is on disk, with the reason when it cannot be.
    Begun(Begun, oneshot::Sender<Result<(), String>>),
    Ask(Box<Ask>, oneshot::Sender<Answer>),
    /// The person allowed this scope; `Always` is also stored outside of the session.
    Granted {
        scope: String,
    },
    Used(Tokens),
    Notice(Notice),
    /// What an edit did, for undo.
    Edited(Vec<UndoEdit>),
    /// These turns' edits were taken back.
    Undone(protocol::TurnId),
    /// The conversation was replaced.
    Compacted {
        item: ItemId,
        entries: Vec<Entry>,
    },
}

/// What is about to run, and the files as they were.
pub(crate) struct Begun {
    pub(crate) call: CallId,
    pub(crate) item: ItemId,
    pub(crate) action: Action,
    pub(crate) before: Vec<(FilePath, Option<Digest>)>,
}

/// The actor dropped its end: nothing a turn says is heard any more.
#[derive(Debug)]
pub(crate) struct Deaf;

/// The turn's way to its actor.
#[derive(Clone)]
pub(crate) struct Proposals(pub(crate) mpsc::Sender<Proposal>);

impl Proposals {
    pub(crate) async fn tell(&self, proposal: Proposal) -> Result<(), Deaf> {
        self.0.send(proposal).await.map_err(|_| Deaf)
    }

    pub(crate) async fn change(&self, item: &ItemId, change: Change) -> Result<(), Deaf> {
        self.tell(Proposal::Change { item: item.clone(), change }).await
    }
}
