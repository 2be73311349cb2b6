//! One chat from its beginning to its end: keys and events in, orders and lines out.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use link::Client;
use protocol::{FilePath, SessionId};
use tokio::time::{Interval, MissedTickBehavior};

use crate::signals::Signals;
use crate::state::{Effect, State};
use crate::talk::Talk;
use crate::term::{self, Key, Kind, Screen};
use crate::{keys, plain, view};

/// Frames are drawn this often at most.
const FRAME: Duration = Duration::from_millis(30);
/// The clock of a running turn is drawn this often.
const SECOND: Duration = Duration::from_secs(1);
/// The session is given this long to close.
const CLOSE: Duration = Duration::from_secs(3);

/// What to begin with.
pub struct Chat {
    /// The session's folder, absolute.
    pub cwd: FilePath,
    /// Further folders that belong to the work.
    pub roots: Vec<FilePath>,
    /// Sent as soon as the session is open.
    pub prompt: Option<String>,
    /// Which session.
    pub start: Start,
    /// Option ids and values; they win over a resumed session's own.
    pub options: Vec<(String, String)>,
    /// The program's version, for the greeting.
    pub version: String,
}

/// Which session a chat begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new one.
    New,
    /// The one with this id.
    Resume(SessionId),
    /// The newest of this folder.
    Last,
}

/// Runs until the person leaves.
///
/// Errors: there is no terminal, the session cannot be opened, the terminal cannot be used, or the engine is
/// gone. The terminal is as it was in any case.
pub async fn run(client: Client, chat: Chat) -> Result<(), String> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err("there is no terminal to chat in; for scripts there is `interpreter exec \"...\"`".into());
    }
    let mut talk = Talk::new(client);
    let snapshot = talk.open(&chat).await?;
    let mut state = State::new(snapshot, &chat);
    state.greet(&chat.version);
    let ended = match Kind::here() {
        Kind::Dumb => plain::run(&mut talk, &mut state, chat.prompt).await,
        Kind::Screen(colours) => {
            let mut screen = Screen::start(colours)?;
            follow(&mut talk, &mut state, &mut screen, chat.prompt).await
        }
    };
    // A session that does not close in time is closed with the engine.
    let _ = tokio::time::timeout(CLOSE, talk.close(&state.session)).await;
    ended
}

/// What happens next.
enum Next {
    Key(Option<Key>),
    Downs(Vec<protocol::Down>),
    Frame,
    Second,
    Stop,
}

async fn follow(
    talk: &mut Talk,
    state: &mut State,
    screen: &mut Screen,
    prompt: Option<String>,
) -> Result<(), String> {
    let mut keys = term::keys();
    let mut signals = Signals::new();
    let (mut frame, mut second) = (every(FRAME), every(SECOND));
    let mut effects = prompt.map(|prompt| state.submit(prompt)).unwrap_or_default();
    let mut dirty = true;
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(up) => talk.send(up).await?,
                Effect::Redraw => screen.redraw()?,
                Effect::Leave => return farewell(state, screen),
            }
        }
        let next = tokio::select! {
            biased;
            () = signals.next() => Next::Stop,
            key = keys.recv() => Next::Key(key),
            _ = frame.tick(), if dirty => Next::Frame,
            downs = talk.take() => Next::Downs(downs?),
            _ = second.tick(), if state.is_busy() => Next::Second,
        };
        let now = Instant::now();
        match next {
            Next::Stop | Next::Key(None) => return farewell(state, screen),
            Next::Frame => {
                for message in screen.panics() {
                    state.transcript.fail(&format!("internal error: {message}"));
                }
                let shown = view::frame(state, screen.columns(), screen.room(), now);
                screen.paint(state.transcript.take(), &shown)?;
                dirty = false;
                continue;
            }
            Next::Key(Some(key)) => effects = press(state, key, now),
            Next::Downs(downs) => {
                effects = downs.into_iter().flat_map(|down| state.hear(down, now)).collect();
            }
            Next::Second => {}
        }
        dirty = true;
    }
}

fn press(state: &mut State, key: Key, now: Instant) -> Vec<Effect> {
    match key {
        Key::Resized => vec![Effect::Redraw],
        Key::Pasted(text) => {
            state.paste(&text);
            Vec::new()
        }
        Key::Pressed(key) => {
            let intent = keys::intent(state, key, now);
            state.step(intent, now)
        }
    }
}

/// What still waits for the scrollback, and how to come back.
fn farewell(state: &mut State, screen: &mut Screen) -> Result<(), String> {
    state.farewell();
    let shown = view::frame(state, screen.columns(), screen.room(), Instant::now());
    screen.paint(state.transcript.take(), &shown)
}

fn every(time: Duration) -> Interval {
    let mut interval = tokio::time::interval(time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
