//! The beginning of a turn: the prompt written down and shown, then the turn on a task of its own.

use std::sync::Arc;

use dialect::Moment;
use protocol::{Cause, Content, Conversation, Entry, EntryKind, EventKind, Item, ItemKind, Stage, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, Queued, Running};
use crate::journal::Record;
use crate::limits;
use crate::proposal::Proposals;
use crate::steering::Steering;
use crate::turn::{Turn, plain};

impl Actor {
    pub(super) async fn start(&mut self, next: Queued) {
        let Queued { turn: id, item, by, content, command, schema } = next;
        self.take_frame().await;
        let cause = match &command {
            Some(_) => Cause::Command(plain(&content)),
            None => Cause::Prompt,
        };
        self.write(Record::TurnBegan { turn: id.clone(), cause: cause.clone() }).await;
        let mut usage = self.snapshot().map(|snapshot| snapshot.usage.clone()).unwrap_or_default();
        usage = Usage { turn: Default::default(), ..usage };
        self.emit(EventKind::TurnStarted { turn: id.clone(), cause });
        self.emit(EventKind::UsageChanged(usage));
        self.title_from(&content, command.is_some()).await;
        let kind = ItemKind::User { content: content.clone(), by: Some(by) };
        self.announce(Item { id: item.clone(), turn: id.clone(), stage: Stage::Done, kind }).await;
        if command.is_none() {
            let entry = Entry { id: self.ids.entry(), kind: EntryKind::Heard { item, content } };
            self.entries.push(entry.clone());
            self.write(Record::Entry(entry)).await;
        }
        // On the disk itself while the request is under way; effects wait for it in any case.
        let journal = self.journal.clone();
        tokio::spawn(async move { journal.sync().await });
        self.launch(id, command, schema);
    }

    fn launch(
        &mut self,
        id: protocol::TurnId,
        command: Option<(crate::turn::Command, String)>,
        schema: Option<protocol::Json>,
    ) {
        let (sender, proposals) = mpsc::channel(limits::PROPOSALS);
        let token = CancellationToken::new();
        let steering = Arc::new(Steering::default());
        let moments = self.resumed.take().map(|changed| Moment::Resumed { changed }).into_iter().collect();
        let shared = Arc::clone(&self.shared);
        let make = Turn {
            id: id.clone(),
            ids: Arc::clone(&self.ids),
            means: Arc::clone(&self.means),
            tell: Proposals(sender),
            settings: self.live.subscribe(),
            wall: sandbox::Wall::none("it was not tested yet"),
            frame: self.frame.clone().unwrap_or_default(),
            asks: self.asks,
            granted: self.granted.clone(),
            talk: Conversation { entries: self.entries.clone() },
            plan: self.snapshot().map(|snapshot| snapshot.plan.clone()).unwrap_or_default(),
            plan_item: None,
            usage: self.snapshot().map(|snapshot| snapshot.usage.clone()).unwrap_or_default(),
            steering: Arc::clone(&steering),
            told: self.told.clone(),
            moments,
            schema,
            edits: self.undo.clone(),
        };
        let cancelled = token.clone();
        let handle = tokio::spawn(async move {
            let turn = async move {
                let turn = Turn { wall: shared.wall().await, ..make };
                match command {
                    Some((command, rest)) => turn.command(command, rest).await,
                    None => turn.prompt().await,
                }
            };
            tokio::select! {
                biased;
                () = cancelled.cancelled() => protocol::TurnEnd::Cancelled,
                end = turn => end,
            }
        });
        self.turn = Some(Running { id, token, proposals, handle, steering, deadline: None });
    }

    /// The facts of the prompt that stay fixed, looked at once.
    async fn take_frame(&mut self) {
        if let Some(frame) = &mut self.frame {
            if let Some(system) = self.system.take() {
                frame.system = Some(system);
                let frame = Box::new(frame.clone());
                self.write(Record::Frame(frame)).await;
            }
            return;
        }
        let live = Arc::clone(&self.live.borrow());
        let (folders, cwd) = (self.means.folders.clone(), self.means.cwd.clone());
        let taken = tokio::task::spawn_blocking(move || {
            let resolved = &live.resolved;
            crate::context::frame(&crate::context::Where {
                cwd: &cwd,
                roots: &folders,
                home: &resolved.home,
                doc_bytes: resolved.doc_bytes,
                doc_names: &resolved.doc_names,
                now: std::time::SystemTime::now(),
            })
        })
        .await;
        let Ok((mut frame, notices)) = taken else { return };
        frame.system = self.system.take();
        for notice in notices {
            self.emit(EventKind::Noticed(notice));
        }
        self.write(Record::Frame(Box::new(frame.clone()))).await;
        self.frame = Some(frame);
    }

    /// The first prompt names the session.
    async fn title_from(&mut self, content: &[Content], command: bool) {
        let untitled = self.snapshot().is_some_and(|snapshot| snapshot.info.title.is_none());
        if command || !untitled {
            return;
        }
        let text = plain(content);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.is_empty() {
            return;
        }
        let mut title: String = line.chars().take(limits::TITLE_CHARS).collect();
        if line.chars().count() > limits::TITLE_CHARS {
            title.push('…');
        }
        self.rename(title).await;
    }
}
