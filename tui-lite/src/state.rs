//! What the chat knows: the board, the input, what waits, and what was asked of the engine.
//!
//! Events change it in `hear`, the person in `step`; both are pure and say what is to be done as [`Effect`]s.
//! It knows no terminal and no clock: the time is passed in.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use protocol::{
    Ask, AskId, AskWhat, Board, Command, ConfigOption, Content, FileDiff, FilePath, Item, Open, Order,
    Origin, SessionId, SlashCommand, Snapshot, Up, When,
};

use crate::answering::Answering;
use crate::chat::Chat;
use crate::composer::Composer;
use crate::picker::Picker;
use crate::talk;
use crate::transcript::Transcript;

/// A question that came up this long ago or less was not read yet.
const READING: Duration = Duration::from_millis(500);
/// Letters typed this long ago or less still belong to a prompt, not to a question that came up meanwhile.
const TYPING: Duration = Duration::from_millis(700);

/// What is to be done outside.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Send(Up),
    Redraw,
    Leave,
}

/// What an answer of the engine is waited for.
#[derive(Debug, PartialEq)]
pub(crate) enum Awaited {
    Prompt(String),
    Steer(String),
    Sessions,
    Opened,
    /// Nothing but a refusal would be news.
    Done,
}

/// How far leaving is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    No,
    /// Ctrl-C was pressed once with nothing to stop.
    Asked,
}

/// How far stopping the turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    No,
    Asked,
}

pub(crate) struct State {
    pub(crate) session: SessionId,
    pub(crate) board: Board,
    pub(crate) composer: Composer,
    pub(crate) answering: Option<Answering>,
    pub(crate) picker: Option<Picker>,
    /// Prompts that wait for the end of the turn.
    pub(crate) queue: VecDeque<String>,
    pub(crate) transcript: Transcript,
    pub(crate) leaving: Leaving,
    pub(crate) stopping: Stopping,
    /// When the running turn began.
    pub(crate) since: Option<Instant>,
    /// When the last letter of a prompt was typed.
    pub(crate) typed: Option<Instant>,
    /// The tag of a prompt that was sent and has not begun.
    pub(crate) sent: Option<u64>,
    pub(crate) awaited: HashMap<u64, Awaited>,
    /// Finished items of a session that is being opened.
    pub(crate) arriving: Vec<Item>,
    pub(crate) diffs: Vec<FileDiff>,
    /// The ask that was put before the person last.
    pub(crate) front: Option<AskId>,
    /// When that was.
    pub(crate) fronted: Option<Instant>,
    pub(crate) answered: HashSet<AskId>,
    pub(crate) cwd: FilePath,
    tag: u64,
    roots: Vec<FilePath>,
    options: Vec<(String, String)>,
}

impl State {
    pub(crate) fn new(snapshot: Snapshot, chat: &Chat) -> Self {
        let session = snapshot.info.id.clone();
        let board = Board { sessions: [(session.clone(), snapshot)].into() };
        Self {
            session,
            board,
            composer: Composer::default(),
            answering: None,
            picker: None,
            queue: VecDeque::new(),
            transcript: Transcript::default(),
            leaving: Leaving::No,
            stopping: Stopping::No,
            since: None,
            typed: None,
            sent: None,
            awaited: HashMap::new(),
            arriving: Vec::new(),
            diffs: Vec::new(),
            front: None,
            fronted: None,
            answered: HashSet::new(),
            cwd: chat.cwd.clone(),
            tag: talk::FIRST_TAG,
            roots: chat.roots.clone(),
            options: chat.options.clone(),
        }
    }

    pub(crate) fn greet(&mut self, version: &str) {
        let model = self.snapshot().map(|at| at.info.settings.model.clone()).unwrap_or_default();
        self.transcript.greet(version, &self.cwd.0, &model);
        self.present();
    }

    /// How to come back, when there is something to come back to.
    pub(crate) fn farewell(&mut self) {
        if self.transcript.has_said() {
            self.transcript.note(&format!("`interpreter resume {}` goes on with it", self.session));
        }
    }

    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.board.sessions.get(&self.session)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.snapshot().is_some_and(|at| at.info.running.is_some())
    }

    /// Whether a further prompt has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_running() || self.sent.is_some()
    }

    /// The first question that the person has not answered.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        self.snapshot()?.asks.iter().find(|ask| !self.answered.contains(&ask.id))
    }

    /// The item that an ask is about.
    pub(crate) fn about(&self, ask: &Ask) -> Option<&Item> {
        let id = ask.item.as_ref()?;
        self.snapshot()?.open_items.iter().find(|item| item.id == *id)
    }

    /// Whether keys answer the question in front, not the prompt that is being typed.
    pub(crate) fn is_armed(&self, now: Instant) -> bool {
        let within =
            |at: Option<Instant>, span| at.is_some_and(|at| now.saturating_duration_since(at) < span);
        !within(self.typed, TYPING) && !within(self.fronted, READING) && !self.is_writing()
    }

    /// Whether a prompt was begun with the question in front: then every letter belongs to it.
    pub(crate) fn is_writing(&self) -> bool {
        !self.composer.is_empty() && self.typed.is_some() && self.typed > self.fronted
    }

    pub(crate) fn commands(&self) -> &[SlashCommand] {
        self.snapshot().map(|at| at.info.commands.as_slice()).unwrap_or_default()
    }

    pub(crate) fn option(&self, id: &str) -> Option<&ConfigOption> {
        self.snapshot()?.info.options.iter().find(|option| option.id == id)
    }

    /// The input that takes letters: the answer's when a question waits, else the prompt's.
    pub(crate) fn input(&self) -> &Composer {
        self.answering.as_ref().map_or(&self.composer, |answering| &answering.composer)
    }

    pub(crate) fn input_mut(&mut self) -> &mut Composer {
        match &mut self.answering {
            Some(answering) => &mut answering.composer,
            None => &mut self.composer,
        }
    }

    pub(crate) fn send(&mut self, command: Command, awaited: Awaited) -> Effect {
        self.tag += 1;
        self.awaited.insert(self.tag, awaited);
        Effect::Send(Up::Command { tag: self.tag, command })
    }

    pub(crate) fn order(&mut self, order: Order, awaited: Awaited) -> Effect {
        let session = self.session.clone();
        self.send(Command::Session { session, order }, awaited)
    }

    pub(crate) fn prompt(&mut self, text: String) -> Effect {
        let input = vec![Content::Text(text.clone())];
        let order = Order::Prompt { input, when: When::Queue, schema: None };
        let effect = self.order(order, Awaited::Prompt(text));
        self.sent = Some(self.tag);
        effect
    }

    /// Another session; the options of the start belong to the first one and to new ones.
    pub(crate) fn open(&mut self, from: Origin) -> Effect {
        let options = match &from {
            Origin::New => self.options.clone(),
            Origin::Resume(_) => Vec::new(),
        };
        let open = Open { options, roots: self.roots.clone(), ..talk::opening(from, &self.cwd) };
        self.arriving.clear();
        self.send(Command::Open(Box::new(open)), Awaited::Opened)
    }

    /// Puts the first open question before the person, once.
    pub(crate) fn present(&mut self) {
        let Some(ask) = self.ask().cloned() else {
            (self.front, self.answering) = (None, None);
            return;
        };
        if self.front.as_ref() == Some(&ask.id) {
            return;
        }
        self.front = Some(ask.id.clone());
        self.fronted = Some(Instant::now());
        self.answering = None;
        match &ask.what {
            AskWhat::Questions(questions) => self.answering = Some(Answering::new(&ask, questions)),
            AskWhat::Act => {
                let about = self.about(&ask).cloned();
                self.transcript.ask(about.as_ref(), &self.cwd.0);
            }
        }
    }
}
