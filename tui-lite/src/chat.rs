//! One chat from its beginning to its end: keys and events in, orders and lines out.

use std::io::IsTerminal;
use std::time::Duration;

use link::Client;
use protocol::{CanAsk, Command, Done, Down, FilePath, Keep, Open, Order, Origin, Past, SessionId, Up, When};
use tokio::sync::mpsc;

use crate::commands::{self, Local};
use crate::keys::{self, Intent};
use crate::state::{Picker, State, Wants};
use crate::term::{self, Key, Screen};
use crate::{plain, view};

/// Frames are drawn this often at most.
const FRAME: Duration = Duration::from_millis(30);

/// What to begin with.
pub struct Chat {
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    pub prompt: Option<String>,
    pub start: Start,
    /// Option ids and values.
    pub options: Vec<(String, String)>,
    pub version: String,
}

/// Which session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    New,
    Resume(SessionId),
    /// The newest of this folder.
    Last,
}

/// Runs until the person leaves.
///
/// Errors: there is no terminal, the session cannot be opened, or the terminal cannot be used.
pub async fn run(client: Client, chat: Chat) -> Result<(), String> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err("there is no terminal to chat in; for scripts there is `interpreter exec \"...\"`".into());
    }
    let mut talk = Talk { client, tag: 0, pending: Vec::new() };
    let session = talk.open(&chat).await?;
    let mut state = State::new(session, &chat);
    if std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        return plain::run(&mut talk, &mut state, chat.prompt).await;
    }
    let mut screen = Screen::start()?;
    let ended = follow(&mut talk, &mut state, &mut screen, &chat).await;
    screen.end();
    ended
}

/// The chat's way to the engine.
pub(crate) struct Talk {
    pub(crate) client: Client,
    tag: u64,
    pending: Vec<Down>,
}

impl Talk {
    pub(crate) async fn send(&mut self, command: Command) -> Result<u64, String> {
        self.tag += 1;
        let sent = self.client.send(Up::Command { tag: self.tag, command }).await;
        sent.map_err(|_| "the engine is gone".to_string())?;
        Ok(self.tag)
    }

    pub(crate) async fn order(&mut self, session: &SessionId, order: Order) -> Result<(), String> {
        self.send(Command::Session { session: session.clone(), order }).await.map(|_| ())
    }

    /// Sends and waits for the answer; what comes before it waits.
    async fn ask(&mut self, command: Command) -> Result<Done, String> {
        let wanted = self.send(command).await?;
        loop {
            let downs = self.client.take().await.ok_or("the engine is gone")?;
            let mut answer = None;
            for down in downs {
                match down {
                    Down::Reply { tag, reply } if tag == wanted => answer = Some(reply),
                    other => self.pending.push(other),
                }
            }
            if let Some(reply) = answer {
                return reply.map_err(|refusal| refusal.to_string());
            }
        }
    }

    /// What came, first what waited.
    pub(crate) async fn take(&mut self) -> Option<Vec<Down>> {
        if !self.pending.is_empty() {
            return Some(std::mem::take(&mut self.pending));
        }
        self.client.take().await
    }

    async fn open(&mut self, chat: &Chat) -> Result<protocol::Snapshot, String> {
        let from = match &chat.start {
            Start::New => Origin::New,
            Start::Resume(id) => Origin::Resume(id.clone()),
            Start::Last => Origin::Resume(self.last(&chat.cwd).await?),
        };
        self.open_from(from, chat).await
    }

    async fn last(&mut self, cwd: &FilePath) -> Result<SessionId, String> {
        let listed = self.ask(Command::List { cwd: Some(cwd.clone()), cursor: None }).await?;
        let Done::Sessions { page, .. } = listed else { return Err("no list of sessions".into()) };
        let found = page.into_iter().find(|row| row.unreadable.is_none());
        found
            .map(|row| row.id)
            .ok_or_else(|| format!("there is no session of {cwd} yet; start one with `interpreter`"))
    }

    pub(crate) async fn open_from(
        &mut self,
        from: Origin,
        chat: &Chat,
    ) -> Result<protocol::Snapshot, String> {
        let open = Open {
            from,
            past: Past::All,
            cwd: chat.cwd.clone(),
            roots: chat.roots.clone(),
            options: chat.options.clone(),
            asks: CanAsk::PermissionAndQuestions,
            keep: Keep::Journal,
        };
        match self.ask(Command::Open(Box::new(open))).await? {
            Done::Opened(snapshot) => Ok(*snapshot),
            Done::Prompted { .. } | Done::Sessions { .. } | Done::Options(_) | Done::Ok => {
                Err("the session did not open".into())
            }
        }
    }
}

async fn follow(talk: &mut Talk, state: &mut State, screen: &mut Screen, chat: &Chat) -> Result<(), String> {
    let mut keys = term::keys();
    let mut signals = term::signals();
    state.greet(&chat.version);
    if let Some(prompt) = &chat.prompt {
        submit(talk, state, prompt.clone(), chat).await?;
    }
    let mut frame = tokio::time::interval(FRAME);
    frame.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut dirty = true;
    loop {
        tokio::select! {
            biased;
            () = term::stopped(&mut signals) => return Ok(()),
            key = keys.recv() => match key {
                None => return Ok(()),
                Some(key) => {
                    if act(talk, state, screen, chat, key).await? {
                        return Ok(());
                    }
                    dirty = true;
                }
            },
            downs = talk.take() => {
                for down in downs.ok_or("the engine is gone")? {
                    state.hear(down);
                }
                dirty = true;
            }
            _ = frame.tick(), if dirty => {
                screen.print(&state.take_lines())?;
                screen.draw(|area, buffer| view::draw(state, area, buffer))?;
                dirty = false;
            }
        }
    }
}

/// What a key does; true when the person leaves.
async fn act(
    talk: &mut Talk,
    state: &mut State,
    screen: &mut Screen,
    chat: &Chat,
    key: Key,
) -> Result<bool, String> {
    match key {
        Key::Resized => screen.resized()?,
        Key::Pasted(text) => state.composer.insert(&text),
        Key::Pressed(event) => match keys::intent(state, event) {
            Intent::Nothing => {}
            Intent::Edit(edit) => state.composer.edit(edit),
            Intent::Submit => {
                let text = state.composer.submit();
                if !text.trim().is_empty() {
                    return submit(talk, state, text, chat).await;
                }
            }
            Intent::Cancel => {
                state.leaving = false;
                talk.order(&state.session.clone(), Order::Cancel(protocol::Target::Turn)).await?;
            }
            Intent::Answer(ask, answer) => {
                talk.order(&state.session.clone(), Order::Answer { ask, answer }).await?;
            }
            Intent::Pick => return pick(talk, state, chat).await,
            Intent::ClosePicker => state.picker = None,
            Intent::Move(by) => state.move_picker(by),
            Intent::AskToLeave => state.leaving = true,
            Intent::Leave => return Ok(true),
        },
    }
    Ok(false)
}

/// A line the person sent: a command of ours, or for the engine.
async fn submit(talk: &mut Talk, state: &mut State, text: String, chat: &Chat) -> Result<bool, String> {
    state.leaving = false;
    match commands::local(&text) {
        Some(Local::Quit) => return Ok(true),
        Some(Local::Help) => state.say(&commands::help(&state.commands())),
        Some(Local::Diff) => state.show_diffs(),
        Some(Local::Option(id)) => state.open_options(id),
        Some(Local::New) => reopen(talk, state, Origin::New, chat).await?,
        Some(Local::Resume) => {
            let cwd = Some(chat.cwd.clone());
            let tag = talk.send(Command::List { cwd, cursor: None }).await?;
            state.wants = Wants::Sessions(tag);
        }
        None => {
            if state.is_running() {
                state.note("queued: it is sent when the turn has ended");
            }
            let input = vec![protocol::Content::Text(text)];
            let order = Order::Prompt { input, when: When::Queue, schema: None };
            talk.order(&state.session.clone(), order).await?;
        }
    }
    Ok(false)
}

async fn pick(talk: &mut Talk, state: &mut State, chat: &Chat) -> Result<bool, String> {
    match state.picker.take() {
        Some(Picker::Option { id, choices, at }) => {
            if let Some((value, _)) = choices.get(at) {
                let order = Order::Configure { option: id, value: value.clone() };
                talk.order(&state.session.clone(), order).await?;
            }
        }
        Some(Picker::Sessions { rows, at }) => {
            if let Some((id, _)) = rows.get(at) {
                reopen(talk, state, Origin::Resume(id.clone()), chat).await?;
            }
        }
        None => {}
    }
    Ok(false)
}

/// Leaves this session for another.
async fn reopen(talk: &mut Talk, state: &mut State, from: Origin, chat: &Chat) -> Result<(), String> {
    talk.order(&state.session.clone(), Order::Close).await?;
    match talk.open_from(from, chat).await {
        Ok(snapshot) => state.turn_to(snapshot),
        Err(why) => state.note(&why),
    }
    Ok(())
}

pub(crate) type Keys = mpsc::UnboundedReceiver<Key>;
