//! What the running turn proposes: written down first, then told.

use std::sync::Arc;

use protocol::{EntryKind, EventKind, Item, ItemKind, Level, NoteWhy, Notice, Usage};

use super::actor::Actor;
use crate::approve::TRUST;
use crate::journal::Record;
use crate::proposal::{Begun, Proposal};

impl Actor {
    pub(super) async fn record(&mut self, proposal: Proposal) {
        match proposal {
            Proposal::Start(item) => self.emit(EventKind::ItemStarted(item)),
            Proposal::Change { item, change } => self.emit(EventKind::ItemChanged { item, change }),
            Proposal::Finish(item) => self.finish_item(*item).await,
            Proposal::Entry(entry) => {
                if matches!(&entry.kind, EntryKind::Note(note) if note.why == NoteWhy::Mode) {
                    self.told = Some(self.live.borrow().resolved.settings.clone());
                }
                self.entries.push(entry.clone());
                self.write(Record::Entry(entry)).await;
            }
            Proposal::Begun(begun, answer) => {
                let reply = self.begin(begun).await;
                // A turn that was cancelled meanwhile does not wait any more.
                let _ = answer.send(reply);
            }
            Proposal::Ask(ask, answer) => {
                self.open_asks.insert(ask.id.clone(), answer);
                self.emit(EventKind::Asked(ask));
            }
            Proposal::Granted { scope } => self.grant(scope).await,
            Proposal::Used(tokens) => self.used(tokens).await,
            Proposal::Notice(notice) => self.emit(EventKind::Noticed(notice)),
            Proposal::Edited(edits) => {
                let Some(turn) = self.turn.as_ref().map(|turn| turn.id.clone()) else { return };
                self.write(Record::Edited { turn: turn.clone(), edits: edits.clone() }).await;
                match self.undo.last_mut().filter(|(last, _)| *last == turn) {
                    Some((_, earlier)) => earlier.extend(edits),
                    None => self.undo.push((turn, edits)),
                }
            }
            Proposal::Undone(turn) => {
                self.undo.retain(|(undone, _)| *undone != turn);
                self.write(Record::Undone { turn }).await;
            }
            Proposal::Compacted { item, entries } => {
                self.entries.clone_from(&entries);
                self.write(Record::Compacted { item, entries }).await;
            }
        }
    }

    /// On disk before it is announced as final.
    pub(super) async fn finish_item(&mut self, item: Item) {
        self.write(Record::Item(item.clone())).await;
        self.emit(EventKind::ItemFinished(Box::new(item)));
    }

    /// On disk before the effect.
    async fn begin(&mut self, begun: Begun) -> Result<(), String> {
        let Begun { call, item, action, before } = begun;
        self.write(Record::Begun { call, item, action, before }).await;
        if let Err(full) = self.journal.sync().await {
            self.lament(full.to_string());
        }
        match &self.unwritten {
            None => Ok(()),
            Some(why) => Err(format!("nothing was done, because the session cannot be written: {why}")),
        }
    }

    async fn grant(&mut self, scope: String) {
        self.granted.push(scope.clone());
        self.write(Record::Granted { scope: scope.clone() }).await;
        let setup = Arc::clone(&self.shared.setup);
        let cwd = self.means.cwd.clone();
        let trust = scope == TRUST;
        let kept =
            tokio::task::spawn_blocking(
                move || {
                    if trust { setup.trust(&cwd) } else { setup.allow(&cwd, &scope) }
                },
            )
            .await;
        if let Ok(Err(why)) = kept {
            self.warn("The permission holds for this session only", why);
        }
        if trust {
            let chosen: Vec<_> = self.chosen.iter().filter(|(id, _)| id != "mode").cloned().collect();
            if let Err(refusal) = self.resolve(chosen).await {
                self.warn("The permissions could not be renewed", refusal.to_string());
            }
        }
    }

    async fn used(&mut self, tokens: protocol::Tokens) {
        let window = self.live.borrow().resolved.window;
        let mut usage: Usage = self.snapshot().map(|snapshot| snapshot.usage.clone()).unwrap_or_default();
        usage.last = tokens;
        usage.turn = usage.turn + tokens;
        usage.session = usage.session + tokens;
        usage.window = window.map(|size| (tokens.input + tokens.output, size));
        self.write(Record::Used(usage.clone())).await;
        self.emit(EventKind::UsageChanged(usage));
    }

    /// Writes a line; what cannot be written is told once.
    pub(super) async fn write(&mut self, record: Record) {
        match self.journal.append(record).await {
            Ok(()) => self.unwritten = None,
            Err(full) => self.lament(full.to_string()),
        }
    }

    /// Whether the journal takes lines again, tried anew.
    pub(super) async fn still_unwritten(&mut self) -> Option<String> {
        self.unwritten.as_ref()?;
        match self.journal.sync().await {
            Ok(()) => self.unwritten = None,
            Err(full) => self.unwritten = Some(full.to_string()),
        }
        self.unwritten.clone()
    }

    fn lament(&mut self, why: String) {
        if self.unwritten.replace(why.clone()).is_none() {
            self.warn(
                "The session cannot be written",
                format!("{why}; make room there and let it be written, else what follows is lost at the end"),
            );
        }
    }

    pub(super) fn warn(&mut self, title: &str, text: String) {
        self.emit(EventKind::Noticed(Notice {
            level: Level::Warning,
            title: title.into(),
            text,
            retry: None,
        }));
    }

    /// Open items of any turn, as they stand.
    pub(super) fn open_items(&self) -> Vec<Item> {
        self.snapshot().map(|snapshot| snapshot.open_items.clone()).unwrap_or_default()
    }

    /// The text of the message that is being said.
    pub(super) fn half_said(&self) -> Option<String> {
        let items = self.snapshot()?.open_items.iter().rev();
        items
            .filter_map(|item| match &item.kind {
                ItemKind::Message(text) if !text.trim().is_empty() => Some(text.clone()),
                ItemKind::Message(_)
                | ItemKind::User { .. }
                | ItemKind::Thought(_)
                | ItemKind::Act(_)
                | ItemKind::Plan(_)
                | ItemKind::Compaction { .. } => None,
            })
            .next()
    }
}
