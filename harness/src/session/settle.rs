//! The end of a turn, however it came: nothing stays open, every call has its result, and it is on disk
//! before it is told.

use dialect::{Context, Harness};
use protocol::model::{Part, Stop};
use protocol::{
    Answer, Entry, EntryKind, EventKind, Failure, FailureKind, Item, ItemKind, Note, NoteWhy, Outcome, Said,
    SaidBy, Stage, TurnEnd, TurnId,
};

use super::actor::{Actor, Running};
use crate::journal::{self, Record};
use crate::turn;

impl Actor {
    /// The turn has said its last word.
    pub(super) async fn turn_over(&mut self) {
        let Some(Running { id, handle, .. }) = self.turn.take() else { return };
        let end = match handle.await {
            Ok(end) => end,
            Err(error) if error.is_cancelled() => TurnEnd::Cancelled,
            Err(error) => TurnEnd::Failed(Failure {
                kind: FailureKind::Internal,
                text: format!("the turn broke off: {error}"),
                remedy: Some("send the prompt again".into()),
                status: None,
            }),
        };
        self.settle(id, end).await;
    }

    /// The time for a cancel is over: what the turn still says is not heard.
    pub(super) async fn force_end(&mut self) {
        let Some(Running { id, handle, proposals, .. }) = self.turn.take() else { return };
        handle.abort();
        drop(proposals);
        self.settle(id, TurnEnd::Cancelled).await;
    }

    async fn settle(&mut self, turn: TurnId, end: TurnEnd) {
        let asks: Vec<_> = self.open_asks.drain().collect();
        for (ask, answer) in asks {
            drop(answer);
            self.emit(EventKind::AskClosed { ask, answer: Answer::Cancelled, by: None });
        }
        if matches!(end, TurnEnd::Cancelled) {
            self.keep_half_said().await;
        }
        for item in self.open_items() {
            let item = close(item, &end);
            self.finish_item(item).await;
        }
        self.pair().await;
        let usage = self.snapshot().map(|snapshot| snapshot.usage.clone()).unwrap_or_default();
        self.write(Record::TurnEnded { turn: turn.clone(), end: end.clone(), usage }).await;
        if let Err(full) = self.journal.sync().await {
            self.unwritten = Some(full.to_string());
        }
        self.emit(EventKind::TurnEnded { turn, end });
    }

    /// What the person read before stopping the turn is part of the conversation.
    async fn keep_half_said(&mut self) {
        if let Some(text) = self.half_said() {
            let settings = self.live.borrow().resolved.settings.clone();
            let by = SaidBy::Model { provider: settings.provider, model: settings.model };
            let stop = Stop::Other("cancelled".into());
            let said = Said { by, parts: vec![Part::Text(text)], stop };
            self.append(EntryKind::Said(said)).await;
        }
        self.pair().await;
        let note = Note {
            why: NoteWhy::Nudge,
            parts: vec![Part::Text("[The user stopped this turn here.]".into())],
        };
        self.append(EntryKind::Note(note)).await;
    }

    /// Every call gets its result.
    pub(super) async fn pair(&mut self) {
        let Some((harness, context)) = self.words() else { return };
        let before: std::collections::HashSet<_> =
            self.entries.iter().map(|entry| entry.id.clone()).collect();
        let mut entries = std::mem::take(&mut self.entries);
        self.ids.with_entries(|next| {
            journal::pair_up(&mut entries, |call| turn::interrupted(harness, call, &context), next);
        });
        let new: Vec<Entry> = entries.iter().filter(|entry| !before.contains(&entry.id)).cloned().collect();
        self.entries = entries;
        for entry in new {
            self.write(Record::Entry(entry)).await;
        }
    }

    async fn append(&mut self, kind: EntryKind) {
        let entry = Entry { id: self.ids.entry(), kind };
        self.entries.push(entry.clone());
        self.write(Record::Entry(entry)).await;
    }

    /// The harness of the moment with what it may look at.
    fn words(&self) -> Option<(&'static dyn Harness, Context)> {
        let settings = self.live.borrow().resolved.settings.clone();
        let harness = dialect::harness(&settings.harness)?;
        let context = Context {
            frame: self.frame.clone().unwrap_or_default(),
            settings,
            wall_lacks: Vec::new(),
            wall_is_full: true,
            can_ask: false,
            plan: self.snapshot().map(|snapshot| snapshot.plan.clone()).unwrap_or_default(),
            tasks: self.means.tasks.list(),
        };
        Some((harness, context))
    }
}

/// An item that is still open when its turn ends.
fn close(mut item: Item, end: &TurnEnd) -> Item {
    let broken = match end {
        TurnEnd::Cancelled => Stage::Cancelled,
        TurnEnd::Done | TurnEnd::Refused(_) | TurnEnd::Limit(_) | TurnEnd::Failed(_) => Stage::Failed,
    };
    item.stage = match &mut item.kind {
        ItemKind::Plan(_) | ItemKind::User { .. } => Stage::Done,
        ItemKind::Act(act) => {
            if act.outcome.is_none() {
                act.outcome = Some(Outcome::Interrupted);
            }
            broken
        }
        ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::Compaction { .. } => broken,
    };
    item
}
