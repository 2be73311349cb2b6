//! The task that owns a session: settings, conversation, open items, questions, grants, and the one turn
//! that may run. Orders come first, so that a cancel never waits behind deltas; when a client reads slowly
//! the actor stops reading its turn, and so the model's stream waits too.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dialect::Frame;
use link::Outlet;
use protocol::{
    Answer, AskId, Board, CanAsk, ClientId, Content, Entry, Event, EventKind, FilePath, ItemId, Json,
    SessionId, Settings, Snapshot, Task, TurnEnd, TurnId,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Answerer, ToActor};
use crate::engine::Shared;
use crate::ids::Ids;
use crate::journal::Journal;
use crate::proposal::Proposal;
use crate::setup::Live;
use crate::steering::Steering;
use crate::tools::Means;
use crate::turn::Command;
use crate::undo::UndoStack;

pub(crate) struct Actor {
    pub(super) shared: Arc<Shared>,
    pub(super) id: SessionId,
    pub(super) ids: Arc<Ids>,
    pub(super) means: Arc<Means>,
    /// The client's part of the system prompt, until the next prompt takes it.
    pub(super) system: Option<protocol::SystemPrompt>,
    pub(super) journal: Journal,
    /// The events so far, folded.
    pub(super) board: Board,
    pub(super) seq: u64,
    pub(super) entries: Vec<Entry>,
    pub(super) live: watch::Sender<Arc<Live>>,
    /// Option ids and values chosen for this session.
    pub(super) chosen: Vec<(String, String)>,
    pub(super) asks: CanAsk,
    pub(super) open_asks: HashMap<AskId, oneshot::Sender<Answer>>,
    pub(super) granted: Vec<String>,
    pub(super) frame: Option<Frame>,
    /// What the model was last told of its permissions.
    pub(super) told: Option<Settings>,
    /// After a crash in a turn: files of interrupted calls that are not as they were.
    pub(super) resumed: Option<Vec<FilePath>>,
    pub(super) undo: UndoStack,
    pub(super) followers: Vec<(ClientId, Outlet)>,
    pub(super) orders: mpsc::Receiver<ToActor>,
    pub(super) tasks_ended: mpsc::Receiver<Task>,
    pub(super) turn: Option<Running>,
    pub(super) queue: VecDeque<Queued>,
    pub(super) closing: Option<Closing>,
    /// Why the journal takes nothing, as long as it does not.
    pub(super) unwritten: Option<String>,
}

/// The turn under way.
pub(super) struct Running {
    pub(super) id: TurnId,
    pub(super) token: CancellationToken,
    pub(super) proposals: mpsc::Receiver<Proposal>,
    pub(super) handle: JoinHandle<TurnEnd>,
    pub(super) steering: Arc<Steering>,
    /// Since a cancel: when it is ended by force.
    pub(super) deadline: Option<Instant>,
}

/// A prompt that waits its turn.
pub(super) struct Queued {
    pub(super) turn: TurnId,
    pub(super) item: ItemId,
    pub(super) by: ClientId,
    pub(super) content: Vec<Content>,
    pub(super) command: Option<(Command, String)>,
    pub(super) schema: Option<Json>,
}

/// The session ends when its turn has.
pub(super) struct Closing {
    pub(super) answers: Vec<Answerer>,
}

enum Heard {
    Order(Option<ToActor>),
    Proposal(Option<Proposal>),
    TaskEnded(Task),
    Deadline,
    Room,
}

impl Actor {
    /// Runs until the session is closed or its last client is gone.
    pub(crate) async fn run(mut self) {
        loop {
            match self.hear().await {
                Heard::Order(Some(ToActor::Order { client, answer, order })) => {
                    self.obey(client, answer, order).await;
                }
                Heard::Order(Some(ToActor::ClientGone(client))) => self.lose(&client),
                Heard::Order(Some(ToActor::Close) | None) => self.close(None),
                Heard::Proposal(Some(proposal)) => self.record(proposal).await,
                Heard::Proposal(None) => self.turn_over().await,
                Heard::Deadline => self.force_end().await,
                Heard::TaskEnded(task) => self.task_ended(task).await,
                Heard::Room => {}
            }
            if self.turn.is_none() && self.closing.is_some() {
                break;
            }
            if self.turn.is_none()
                && let Some(next) = self.queue.pop_front()
            {
                self.start(next).await;
            }
        }
        self.end().await;
    }

    async fn hear(&mut self) -> Heard {
        let full = self.followers.iter().map(|(_, outlet)| outlet).find(|outlet| !outlet.has_room()).cloned();
        let closing = self.closing.is_some();
        let Some(turn) = &mut self.turn else {
            return tokio::select! {
                biased;
                order = self.orders.recv(), if !closing => Heard::Order(order),
                Some(task) = self.tasks_ended.recv() => Heard::TaskEnded(task),
            };
        };
        let deadline = turn.deadline;
        let overdue = async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let room = async {
            match &full {
                Some(outlet) => outlet.room().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            order = self.orders.recv(), if !closing => Heard::Order(order),
            () = overdue => Heard::Deadline,
            proposal = turn.proposals.recv(), if full.is_none() => Heard::Proposal(proposal),
            Some(task) = self.tasks_ended.recv() => Heard::TaskEnded(task),
            () = room => Heard::Room,
        }
    }

    /// Says something to everybody who follows, and folds it in here.
    pub(super) fn emit(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event { session: self.id.clone(), seq: self.seq, at_ms: crate::clock::now_ms(), kind };
        self.board.apply(&event);
        let Some(((_, last), others)) = self.followers.split_last() else { return };
        for (_, outlet) in others {
            outlet.push(protocol::Down::Event(event.clone()));
        }
        last.push(protocol::Down::Event(event));
    }

    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.board.sessions.get(&self.id)
    }

    /// A client is gone; with the last one the session ends.
    fn lose(&mut self, client: &ClientId) {
        self.followers.retain(|(follower, _)| follower != client);
        if self.followers.is_empty() {
            self.close(None);
        }
    }

    /// Ends the session as soon as its turn has ended.
    pub(super) fn close(&mut self, answer: Option<Answerer>) {
        self.cancel();
        self.queue.clear();
        let closing = self.closing.get_or_insert_with(|| Closing { answers: Vec::new() });
        closing.answers.extend(answer);
    }

    async fn end(mut self) {
        self.means.tasks.stop_all();
        if let Some(notice) = self.means.left_behind().await {
            self.emit(EventKind::Noticed(notice));
        }
        self.emit(EventKind::SessionClosed);
        let answers = self.closing.take().map(|closing| closing.answers).unwrap_or_default();
        self.journal.close().await;
        for answer in answers {
            answer.answer(Ok(protocol::Done::Ok));
        }
    }
}
