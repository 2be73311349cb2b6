//! The one task of a connection: hears the client and the engine, and answers both.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use agent_client_protocol::{Client as ClientRole, ConnectionTo, Responder, UntypedMessage};
use link::Client;
use protocol::{
    Answer, Ask, AskId, AskWhat, Board, Change, ClientId, Command, Done, Down, Event, EventKind, HostCall,
    HostReply, Item, ItemId, ItemKind, Level, Notice, Order, Refusal, SessionChange, SessionId, Stage,
    Target, TurnEnd, TurnId, Up,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::caps::Caps;
use crate::requests::Waiting;
use crate::transport::Outgoing;
use crate::{About, errors, questions, render};

/// Text that follows text within this time is told together.
const MERGE: Duration = Duration::from_millis(10);
/// Live output is replaced this often at most.
const LIVE: Duration = Duration::from_millis(250);
const ANSWERS: usize = 64;

/// What the client says.
pub(crate) enum Heard {
    Request(UntypedMessage, Responder),
    Notification(UntypedMessage),
}

/// What came of something that took its time.
enum Late {
    Permission(SessionId, AskId, Answer),
    Host(u64, HostReply),
    /// The client takes a prompt back.
    Recalled(SessionId, TurnId),
}

pub(crate) struct Face {
    pub(crate) client: Client,
    pub(crate) cx: ConnectionTo<ClientRole>,
    out: Outgoing,
    pub(crate) about: About,
    pub(crate) caps: Caps,
    pub(crate) board: Board,
    tag: u64,
    /// Commands under way, by tag.
    pub(crate) waiting: HashMap<u64, Waiting>,
    /// Prompts under way.
    pub(crate) prompts: HashMap<(SessionId, TurnId), Responder>,
    /// Calls that the client knows of.
    announced: BTreeSet<(SessionId, ItemId)>,
    /// Output that is due to be shown.
    live: HashMap<(SessionId, ItemId), Instant>,
    asks: HashMap<(SessionId, AskId), AbortHandle>,
    hosts: HashMap<u64, AbortHandle>,
    late: mpsc::Sender<Late>,
    lates: mpsc::Receiver<Late>,
    own: ClientId,
}

impl Face {
    pub(crate) fn new(client: Client, cx: ConnectionTo<ClientRole>, out: Outgoing, about: About) -> Self {
        let (late, lates) = mpsc::channel(ANSWERS);
        Self {
            client,
            cx,
            out,
            about,
            caps: Caps::default(),
            board: Board::default(),
            tag: 0,
            waiting: HashMap::new(),
            prompts: HashMap::new(),
            announced: BTreeSet::new(),
            live: HashMap::new(),
            asks: HashMap::new(),
            hosts: HashMap::new(),
            late,
            lates,
            own: ClientId(u32::MAX),
        }
    }

    /// Runs until the client's input ends or the engine is gone.
    pub(crate) async fn run(mut self, mut heard: mpsc::Receiver<Heard>, mut ended: oneshot::Receiver<()>) {
        let mut quiet_until = Instant::now();
        loop {
            let due = self.live.values().min().copied();
            tokio::select! {
                biased;
                said = heard.recv() => match said {
                    Some(Heard::Request(request, responder)) => self.request(request, responder).await,
                    Some(Heard::Notification(notification)) => self.notification(notification).await,
                    None => return,
                },
                _ = &mut ended => return,
                Some(late) = self.lates.recv() => self.late(late).await,
                downs = take(&self.client, &self.out, quiet_until) => {
                    let Some(downs) = downs else { return };
                    let mut text = false;
                    for down in downs {
                        text |= is_text(&down);
                        self.down(down);
                    }
                    if text {
                        quiet_until = Instant::now() + MERGE;
                    }
                }
                () = until(due) => self.show_live(),
            }
        }
    }

    /// Tells the engine something; its answer comes under the tag.
    pub(crate) async fn command(&mut self, command: Command, waiting: Waiting) {
        self.tag += 1;
        self.waiting.insert(self.tag, waiting);
        // An engine that is gone ends the loop by itself.
        let _ = self.client.send(Up::Command { tag: self.tag, command }).await;
    }

    async fn late(&mut self, late: Late) {
        match late {
            Late::Permission(session, ask, answer) => {
                self.asks.remove(&(session.clone(), ask.clone()));
                let order = Order::Answer { ask, answer };
                self.command(Command::Session { session, order }, Waiting::Nothing).await;
            }
            Late::Host(tag, reply) => {
                self.hosts.remove(&tag);
                let _ = self.client.send(Up::Host { tag, reply }).await;
            }
            Late::Recalled(session, turn) => {
                if self.prompts.contains_key(&(session.clone(), turn)) {
                    let order = Order::Cancel(Target::Turn);
                    self.command(Command::Session { session, order }, Waiting::Nothing).await;
                }
            }
        }
    }

    fn down(&mut self, down: Down) {
        match down {
            Down::Reply { tag, reply } => self.reply(tag, reply),
            Down::Event(event) => self.event(event),
            Down::Past { session, items, .. } => {
                for item in &items {
                    for update in render::finished(item, self.caps) {
                        self.update(&session, update);
                    }
                }
            }
            Down::Host { tag, session, call } => self.host(tag, &session, call),
            Down::HostCancelled { tag } => {
                if let Some(call) = self.hosts.remove(&tag) {
                    call.abort();
                }
            }
        }
    }

    pub(crate) fn update(&self, session: &SessionId, update: Value) {
        let params = json!({"sessionId": session.0, "update": update});
        self.notify("session/update", params);
    }

    fn notify(&self, method: &str, params: Value) {
        if let Ok(message) = UntypedMessage::new(method, params) {
            // A connection that is ending hears nothing more.
            let _ = self.cx.send_notification(message);
        }
    }

    fn event(&mut self, event: Event) {
        let Event { session, at_ms, .. } = &event;
        let (session, at_ms) = (session.clone(), *at_ms);
        let before = match &event.kind {
            EventKind::ItemFinished(item) => self.board.item(&session, &item.id).cloned(),
            _ => None,
        };
        self.board.apply(&event);
        match event.kind {
            EventKind::ItemStarted(item) => self.item_started(&session, &item),
            EventKind::ItemChanged { item, change } => self.item_changed(&session, &item, &change),
            EventKind::ItemFinished(item) => self.item_finished(&session, &item, before.as_ref()),
            EventKind::Asked(ask) => self.asked(&session, *ask),
            EventKind::AskClosed { ask, .. } => {
                // Dropped, the request is taken back from the client.
                if let Some(open) = self.asks.remove(&(session, ask)) {
                    open.abort();
                }
            }
            EventKind::SessionChanged(change) => self.session_changed(&session, change, at_ms),
            EventKind::UsageChanged(usage) => {
                if let Some(update) = render::usage(&usage) {
                    self.update(&session, update);
                }
            }
            EventKind::Noticed(notice) => self.noticed(&session, &notice),
            EventKind::TurnEnded { turn, end } => self.turn_ended(session, turn, end),
            EventKind::SessionOpened(_)
            | EventKind::SessionClosed
            | EventKind::TurnStarted { .. }
            | EventKind::TaskChanged(_)
            | EventKind::TaskOutput { .. } => {}
        }
    }

    fn item_started(&mut self, session: &SessionId, item: &Item) {
        if matches!(item.kind, ItemKind::Act(_)) {
            self.announced.insert((session.clone(), item.id.clone()));
        }
        let own = self.board.sessions.get(session).map_or(self.own.clone(), |_| own(item, &self.own));
        for update in render::started(item, &own, self.caps) {
            self.update(session, update);
        }
    }

    fn item_changed(&mut self, session: &SessionId, id: &ItemId, change: &Change) {
        let Some(item) = self.board.item(session, id) else { return };
        let shown = match (&item.kind, change) {
            (ItemKind::Message(_), Change::Text(more)) => Some(render::text("agent_message_chunk", id, more)),
            (ItemKind::Thought(_), Change::Text(more)) => Some(render::text("agent_thought_chunk", id, more)),
            (ItemKind::Plan(plan), Change::Plan(_)) => Some(render::plan(plan)),
            (ItemKind::Act(_), Change::Output(_)) if !self.caps.terminal_output => {
                let due = Instant::now() + LIVE;
                self.live.entry((session.clone(), id.clone())).or_insert(due);
                None
            }
            (ItemKind::Act(act), change) => render::update(item, act, change, self.caps),
            _ => None,
        };
        if let Some(update) = shown {
            self.update(session, update);
        }
    }

    /// Commands whose output waits to be shown.
    fn show_live(&mut self) {
        let now = Instant::now();
        let due: Vec<_> =
            self.live.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for (session, id) in due {
            self.live.remove(&(session.clone(), id.clone()));
            let Some(item) = self.board.item(&session, &id) else { continue };
            let ItemKind::Act(act) = &item.kind else { continue };
            let none = protocol::Chunk { from: protocol::Pipe::Both, text: String::new() };
            if let Some(update) = render::update(item, act, &Change::Output(none), self.caps) {
                self.update(&session, update);
            }
        }
    }

    fn item_finished(&mut self, session: &SessionId, item: &Item, before: Option<&Item>) {
        match &item.kind {
            ItemKind::Act(act) => {
                self.live.remove(&(session.clone(), item.id.clone()));
                let known = self.announced.remove(&(session.clone(), item.id.clone()));
                let mut update = render::last(item, act, self.caps);
                if let (false, Some(fields)) = (known, update.as_object_mut()) {
                    fields.insert("sessionUpdate".into(), "tool_call".into());
                }
                self.update(session, update);
            }
            ItemKind::Plan(plan) => self.update(session, render::plan(plan)),
            // Its text was told as it came.
            ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::User { .. } if before.is_some() => {}
            ItemKind::Message(_) | ItemKind::Thought(_) => {}
            ItemKind::User { .. } => {}
            ItemKind::Compaction { .. } if item.stage == Stage::Done => {
                for update in render::finished(item, self.caps) {
                    self.update(session, update);
                }
            }
            ItemKind::Compaction { .. } => {}
        }
    }

    fn session_changed(&self, session: &SessionId, change: SessionChange, at_ms: u64) {
        match change {
            SessionChange::Title(title) => self.update(session, render::title(&title, at_ms)),
            SessionChange::Settings { settings, options } => {
                let mode = json!({"sessionUpdate": "current_mode_update", "currentModeId": settings.mode});
                self.update(session, mode);
                let options = render::options(&options);
                self.update(
                    session,
                    json!({"sessionUpdate": "config_option_update", "configOptions": options}),
                );
            }
            SessionChange::Commands(commands) => self.update(session, render::commands(&commands)),
        }
    }

    /// What a person should know, in the words their client has for it.
    fn noticed(&self, session: &SessionId, notice: &Notice) {
        if self.caps.notices {
            return self.update(session, render::notice(notice));
        }
        match notice.level {
            Level::Info => {}
            Level::Warning | Level::Error => {
                let said = format!("{}: {}\n", notice.title, notice.text);
                let content = json!({"type": "text", "text": said});
                self.update(session, json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
            }
        }
    }

    fn turn_ended(&mut self, session: SessionId, turn: TurnId, end: TurnEnd) {
        let Some(responder) = self.prompts.remove(&(session, turn)) else { return };
        let reason = match &end {
            TurnEnd::Done => "end_turn",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Refused(_) => "refusal",
            TurnEnd::Limit(protocol::Limit::Tokens) => "max_tokens",
            TurnEnd::Limit(
                protocol::Limit::Requests
                | protocol::Limit::Cost
                | protocol::Limit::Time
                | protocol::Limit::Repeats,
            ) => "max_turn_requests",
            TurnEnd::Failed(failure) => {
                // A connection that is ending hears nothing more.
                let _ = responder.respond_with_error(errors::failed(failure));
                return;
            }
        };
        let _ = responder.respond(json!({ "stopReason": reason }));
    }

    /// A prompt has its turn; taken back by its client, the turn is cancelled.
    pub(crate) fn prompted(&mut self, session: SessionId, turn: TurnId, responder: Responder) {
        let cancelled = responder.cancellation();
        let (late, recalled) = (self.late.clone(), (session.clone(), turn.clone()));
        tokio::spawn(async move {
            cancelled.cancelled().await;
            // A face that is gone has cancelled everything.
            let _ = late.send(Late::Recalled(recalled.0, recalled.1)).await;
        });
        self.prompts.insert((session, turn), responder);
    }

    fn asked(&mut self, session: &SessionId, ask: Ask) {
        let late = self.late.clone();
        let (id, key) = (ask.id.clone(), (session.clone(), ask.id.clone()));
        let name = session.clone();
        let cx = self.cx.clone();
        let asking = match &ask.what {
            AskWhat::Act => {
                let item = ask.item.as_ref().and_then(|item| self.board.item(session, item));
                let act = item.and_then(|item| match &item.kind {
                    ItemKind::Act(act) => Some(act),
                    _ => None,
                });
                let mut params = render::permission(&ask, item, act);
                put(&mut params, "sessionId", session.0.as_str().into());
                tokio::spawn(async move {
                    let answer = questions::permission(&cx, params).await;
                    let _ = late.send(Late::Permission(name, id, answer)).await;
                })
            }
            AskWhat::Questions(list) => {
                let list = list.clone();
                tokio::spawn(async move {
                    let answer = questions::form(&cx, &name, &list).await;
                    let _ = late.send(Late::Permission(name, id, answer)).await;
                })
            }
        };
        self.asks.insert(key, asking.abort_handle());
    }

    fn host(&mut self, tag: u64, session: &SessionId, call: HostCall) {
        let (method, params, reads) = match call {
            HostCall::ReadText { path } => {
                ("fs/read_text_file", json!({"sessionId": session.0, "path": path.0}), true)
            }
            HostCall::WriteText { path, text } => {
                let params = json!({"sessionId": session.0, "path": path.0, "content": text});
                ("fs/write_text_file", params, false)
            }
        };
        let (cx, late) = (self.cx.clone(), self.late.clone());
        let call = tokio::spawn(async move {
            let reply = match ask(&cx, method, params).await {
                Err(why) => HostReply::Failed(why),
                Ok(_) if !reads => HostReply::Written,
                Ok(result) => match result.get("content").and_then(Value::as_str) {
                    Some(text) => HostReply::Text(text.to_string()),
                    None => HostReply::Failed("the client sent no content".into()),
                },
            };
            let _ = late.send(Late::Host(tag, reply)).await;
        });
        self.hosts.insert(tag, call.abort_handle());
    }

    fn reply(&mut self, tag: u64, reply: Result<Done, Refusal>) {
        if let Some(waiting) = self.waiting.remove(&tag) {
            self.settle(waiting, reply);
        }
    }
}

/// Only this connection's own prompts are not told back to it.
fn own(item: &Item, fallback: &ClientId) -> ClientId {
    match &item.kind {
        ItemKind::User { by: Some(by), .. } => by.clone(),
        _ => fallback.clone(),
    }
}

pub(crate) fn put(value: &mut Value, name: &str, field: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(name.into(), field);
    }
}

/// A request to the client, by its untyped words.
pub(crate) async fn ask(cx: &ConnectionTo<ClientRole>, method: &str, params: Value) -> Result<Value, String> {
    let message = UntypedMessage::new(method, params).map_err(|error| error.to_string())?;
    cx.send_request(message).block_task().await.map_err(|error| error.message)
}

/// What waits for us, when there is room for it and a moment has passed for more to join.
async fn take(client: &Client, out: &Outgoing, quiet_until: Instant) -> Option<Vec<Down>> {
    tokio::time::sleep_until(quiet_until).await;
    out.room().await;
    client.take().await
}

fn is_text(down: &Down) -> bool {
    matches!(down, Down::Event(Event { kind: EventKind::ItemChanged { change: Change::Text(_), .. }, .. }))
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
