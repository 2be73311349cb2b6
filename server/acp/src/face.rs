//! The one task of a connection: hears the client and the engine in order, and answers both.
//!
//! Nothing is rendered while the client does not read; its requests are heard all the while.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use agent_client_protocol::{Client as ClientRole, ConnectionTo, Responder, UntypedMessage};
use link::Client;
use protocol::{Answer, AskId, Board, Command, Down, HostReply, Order, SessionId, Target, TurnId, Up};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::caps::Caps;
use crate::outgoing::{Outgoing, WAITING_BYTES};
use crate::place::Place;
use crate::render::View;
use crate::requests::Waiting;
use crate::session::Session;
use crate::{About, errors, events, lenient};

/// Text that follows text within this time is told together.
const MERGE: Duration = Duration::from_millis(10);
/// How long the engine has for its last words when the input has ended.
const FAREWELL: Duration = Duration::from_millis(20);
/// Answers of the client that wait for the face.
const ANSWERS: usize = 64;

/// What the client says.
pub(crate) enum Heard {
    Request(UntypedMessage, Responder),
    Notification(UntypedMessage),
}

/// What came of something that took its time.
pub(crate) enum Late {
    Answered(SessionId, AskId, Answer),
    Host(u64, HostReply),
    /// The client takes a prompt back.
    Recalled(SessionId, TurnId),
}

enum Ready {
    Heard(Option<Heard>),
    Late(Late),
    /// The client has read enough for more of what waits.
    Room,
    Downs(Option<Vec<Down>>),
    LiveOutput,
    Lost,
}

pub(crate) struct Face {
    client: Client,
    pub(crate) cx: ConnectionTo<ClientRole>,
    out: Outgoing,
    pub(crate) about: About,
    pub(crate) caps: Caps,
    pub(crate) initialized: bool,
    pub(crate) board: Board,
    pub(crate) sessions: HashMap<SessionId, Session>,
    /// Where the sessions work that are being loaded.
    pub(crate) loading: HashMap<SessionId, Place>,
    tag: u64,
    /// Commands under way, by tag.
    pub(crate) waiting: HashMap<u64, Waiting>,
    /// Calls of the engine under way, by tag.
    pub(crate) hosts: HashMap<u64, AbortOnDropHandle<()>>,
    pub(crate) late: mpsc::Sender<Late>,
    lates: mpsc::Receiver<Late>,
    /// What the engine has said and the client was not told yet.
    pending: VecDeque<Down>,
    /// Until then more text may join what is told next.
    quiet_until: Instant,
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
            initialized: false,
            board: Board::default(),
            sessions: HashMap::new(),
            loading: HashMap::new(),
            tag: 0,
            waiting: HashMap::new(),
            hosts: HashMap::new(),
            late,
            lates,
            pending: VecDeque::new(),
            quiet_until: Instant::now(),
        }
    }

    /// Runs until the client's input ends; an error when the engine or the output is gone first.
    pub(crate) async fn run(mut self, mut heard: mpsc::Receiver<Heard>) -> Result<(), String> {
        loop {
            match self.ready(&mut heard).await {
                Ready::Heard(Some(Heard::Request(request, responder))) => {
                    self.request(request, responder).await
                }
                Ready::Heard(Some(Heard::Notification(said))) if said.method == lenient::ENDED => {
                    self.farewell().await;
                    return Ok(());
                }
                Ready::Heard(Some(Heard::Notification(said))) => self.notification(&said).await,
                Ready::Heard(None) => return Err("the connection broke off".into()),
                Ready::Late(late) => self.late(late).await,
                Ready::Room => self.tell().await,
                Ready::Downs(Some(downs)) => {
                    self.pending = events::apart(downs);
                    self.tell().await;
                }
                Ready::Downs(None) => {
                    self.refuse_all("the engine is gone; start the agent again");
                    return Err("the engine is gone".into());
                }
                Ready::LiveOutput => self.show_live(),
                Ready::Lost => return Err("the client does not take our output any more".into()),
            }
        }
    }

    async fn ready(&mut self, heard: &mut mpsc::Receiver<Heard>) -> Ready {
        let due = self.sessions.values().filter_map(Session::due).min();
        let idle = self.pending.is_empty();
        tokio::select! {
            biased;
            said = hear(heard, &self.out) => Ready::Heard(said),
            Some(late) = self.lates.recv() => Ready::Late(late),
            () = self.out.lost() => Ready::Lost,
            () = self.out.room(), if !idle => Ready::Room,
            downs = take(&self.client, self.quiet_until), if idle => Ready::Downs(downs),
            () = until(due) => Ready::LiveOutput,
        }
    }

    /// Tells as much of what waits as the client has room for at once.
    async fn tell(&mut self) {
        let mut bytes = 0;
        while bytes < WAITING_BYTES && self.out.has_room() {
            let Some(down) = self.pending.pop_front() else { break };
            bytes += events::weight(&down);
            // Text waits for text only: what else was told has ended it.
            let pause = if events::is_text(&down) { MERGE } else { Duration::ZERO };
            self.quiet_until = Instant::now() + pause;
            self.down(down).await;
        }
        // The crate's queues have no bound: they have to reach our writer before we look at it again.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }

    async fn down(&mut self, down: Down) {
        match down {
            Down::Reply { tag, reply } => {
                if let Some(waiting) = self.waiting.remove(&tag) {
                    self.settle(waiting, reply);
                }
            }
            Down::Event(event) => self.event(event).await,
            Down::Past { session, items, last: _ } => self.past(&session, &items),
            Down::Host { tag, session, call } => self.host(tag, &session, call),
            Down::HostCancelled { tag } => {
                self.hosts.remove(&tag);
            }
        }
    }

    /// Tells the engine something; its answer comes under the tag.
    pub(crate) async fn command(&mut self, command: Command, waiting: Waiting) {
        self.tag += 1;
        self.waiting.insert(self.tag, waiting);
        self.up(Up::Command { tag: self.tag, command }).await;
    }

    pub(crate) async fn order(&mut self, session: SessionId, order: Order) {
        self.command(Command::Session { session, order }, Waiting::Nothing).await;
    }

    /// An engine that is gone ends the loop by itself.
    pub(crate) async fn up(&mut self, up: Up) {
        let _ = self.client.send(up).await;
    }

    async fn late(&mut self, late: Late) {
        match late {
            Late::Answered(session, ask, answer) => {
                // A question that was closed meanwhile takes no answer.
                let open = self.sessions.get_mut(&session).and_then(|at| at.asks.remove(&ask));
                if open.is_some() {
                    self.order(session, Order::Answer { ask, answer }).await;
                }
            }
            Late::Host(tag, reply) => {
                if self.hosts.remove(&tag).is_some() {
                    self.up(Up::Host { tag, reply }).await;
                }
            }
            Late::Recalled(session, turn) => self.recall(session, turn).await,
        }
    }

    /// Ends the turn of a prompt that the client takes back, when it comes to it.
    async fn recall(&mut self, session: SessionId, turn: TurnId) {
        let running = self.board.sessions.get(&session).and_then(|at| at.info.running.clone());
        let prompt = self.sessions.get_mut(&session).and_then(|at| at.prompts.get_mut(&turn));
        let Some(prompt) = prompt else { return };
        prompt.recalled = true;
        if running == Some(turn) {
            self.order(session, Order::Cancel(Target::Turn)).await;
        }
    }

    /// The input has ended: running turns are stopped, and what is asked already is answered.
    async fn farewell(&mut self) {
        let until = Instant::now() + FAREWELL;
        self.hosts.clear();
        let prompting = self.sessions.iter().filter(|(_, at)| !at.prompts.is_empty());
        for session in prompting.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.order(session, Order::Cancel(Target::Turn)).await;
        }
        while self.owes() && self.out.has_room() {
            if let Some(down) = self.pending.pop_front() {
                self.down(down).await;
                continue;
            }
            match tokio::time::timeout_at(until, self.client.take()).await {
                Ok(Some(downs)) => self.pending = events::apart(downs),
                Ok(None) | Err(_) => break,
            }
        }
        for (_, at) in std::mem::take(&mut self.sessions) {
            end_prompts(at);
        }
        self.refuse_all("the input ended before this was answered");
    }

    /// Whether the client waits for an answer.
    fn owes(&self) -> bool {
        self.waiting.values().any(|waiting| !matches!(waiting, Waiting::Nothing))
            || self.sessions.values().any(|at| !at.prompts.is_empty())
    }

    fn refuse_all(&mut self, why: &str) {
        let prompts =
            self.sessions.drain().flat_map(|(_, at)| at.prompts).map(|(_, prompt)| prompt.responder);
        let waiting = self.waiting.drain().filter_map(|(_, waiting)| waiting.into_responder());
        for responder in prompts.chain(waiting).collect::<Vec<_>>() {
            let _ = responder.respond_with_error(errors::internal(why));
        }
    }

    pub(crate) fn view<'a>(&self, session: &'a Session) -> View<'a> {
        View { caps: self.caps, place: &session.place }
    }

    pub(crate) fn update(&self, session: &SessionId, update: Value) {
        let params = json!({"sessionId": session.0, "update": update});
        if let Ok(message) = UntypedMessage::new("session/update", params) {
            // A connection that is ending hears nothing more.
            let _ = self.cx.send_notification(message);
        }
    }

    pub(crate) fn updates(&self, session: &SessionId, updates: Vec<Value>) {
        for update in updates {
            self.update(session, update);
        }
    }
}

/// Whoever still waits for a turn of this session hears that it is over.
pub(crate) fn end_prompts(session: Session) {
    for (_, prompt) in session.prompts {
        let _ = prompt.responder.respond(json!({"stopReason": "cancelled"}));
    }
}

/// What the client says, unless it does not listen.
async fn hear(heard: &mut mpsc::Receiver<Heard>, out: &Outgoing) -> Option<Heard> {
    out.heeded().await;
    heard.recv().await
}

/// What waits for us, when a moment has passed for more to join.
async fn take(client: &Client, quiet_until: Instant) -> Option<Vec<Down>> {
    tokio::time::sleep_until(quiet_until).await;
    client.take().await
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
