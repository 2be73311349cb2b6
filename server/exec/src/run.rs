//! One run: open, prompt, follow the turn to its end, or to the signal that stops it.

use std::path::PathBuf;
use std::time::Duration;

use link::Client;
use protocol::{
    Board, CanAsk, Command, Content, Done, Down, EventKind, FilePath, Json, Keep, Open, Order, Origin, Past,
    Refusal, SessionId, Target, TurnEnd, TurnId, Up, When,
};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::json::JsonLines;
use crate::text::Plain;

/// How long a stopped turn may take to say its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is to be run.
pub struct Exec {
    pub start: Start,
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    pub input: Vec<Content>,
    /// Option ids and values.
    pub options: Vec<(String, String)>,
    pub keep: Keep,
    pub format: Format,
    pub seen: Seen,
    /// JSON Schema of the final answer.
    pub schema: Option<Json>,
    /// A file for the last message.
    pub last_message: Option<PathBuf>,
}

/// Which session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    New,
    Resume(SessionId),
    /// The newest: of this folder, or of all.
    Last {
        everywhere: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text(Color),
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    On,
    Off,
}

/// Who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A pipe or a file: it gets the model's exact text.
    Exactly,
    /// A terminal, which would obey control characters.
    ByTerminal,
}

/// How a face shows what happens.
pub(crate) trait Show {
    /// Standard output and standard error, in this order.
    fn opened(&mut self, session: &SessionId) -> Shown;
    fn event(&mut self, board: &Board, kind: &EventKind) -> Shown;
    /// The turn came to no good end; `text` says why.
    fn failed(&mut self, text: &str) -> Shown;
    fn last_message(&self) -> Option<&str>;
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs it; the number is the exit code. `stop` gives the number of a signal.
pub async fn run(
    client: Client,
    exec: Exec,
    out: impl AsyncWrite + Unpin,
    err: impl AsyncWrite + Unpin,
    stop: impl Future<Output = i32>,
) -> i32 {
    let show: Box<dyn Show> = match exec.format {
        Format::Text(color) => Box::new(Plain::new(color, exec.seen)),
        Format::Json => Box::new(JsonLines::default()),
    };
    let mut running =
        Running { client, show, out, err, board: Board::default(), pending: Vec::new(), tag: 0 };
    match running.go(exec, stop).await {
        Ok(code) => code,
        Err(Stopped::Refused(refusal)) => {
            let shown = running.show.failed(&refusal.to_string());
            // Nobody reads any more: the exit code still says it.
            let _ = running.print(shown).await;
            1
        }
        Err(Stopped::Usage(why)) => {
            let shown = running.show.failed(&why);
            let _ = running.print(shown).await;
            2
        }
        Err(Stopped::Unread(error)) => {
            let err = format!("error: standard output: {error}; not all of the answer is written\n");
            let _ = running.print(Shown { out: String::new(), err }).await;
            1
        }
        Err(Stopped::Gone) => {
            let _ = running.print(running_gone()).await;
            1
        }
    }
}

/// The name after the slash, when the prompt is nothing else.
fn lone_command(input: &[Content]) -> Option<&str> {
    let [Content::Text(text)] = input else { return None };
    let name = text.trim_end().strip_prefix('/')?;
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

fn running_gone() -> Shown {
    Shown { out: String::new(), err: "error: the engine is gone\n".into() }
}

enum Stopped {
    Refused(Refusal),
    /// The prompt cannot be meant so.
    Usage(String),
    /// Our output cannot be written.
    Unread(std::io::Error),
    Gone,
}

struct Running<O, E> {
    client: Client,
    show: Box<dyn Show>,
    out: O,
    err: E,
    board: Board,
    pending: Vec<Down>,
    tag: u64,
}

impl<O: AsyncWrite + Unpin, E: AsyncWrite + Unpin> Running<O, E> {
    async fn go(&mut self, exec: Exec, stop: impl Future<Output = i32>) -> Result<i32, Stopped> {
        if let Some(name) = lone_command(&exec.input) {
            self.check_command(name, &exec).await?;
        }
        let from = self.origin(&exec).await?;
        let open = Open {
            from,
            past: Past::Nothing,
            cwd: exec.cwd,
            roots: exec.roots,
            options: exec.options,
            asks: CanAsk::Nothing,
            keep: exec.keep,
            system: None,
        };
        let Done::Opened(snapshot) = self.ask(Command::Open(Box::new(open))).await? else {
            return Err(Stopped::Gone);
        };
        let session = snapshot.info.id.clone();
        self.board.sessions.insert(session.clone(), *snapshot);
        let shown = self.show.opened(&session);
        self.print(shown).await?;
        let prompt = Order::Prompt { input: exec.input, when: When::Queue, schema: exec.schema };
        let prompted = self.ask(Command::Session { session: session.clone(), order: prompt }).await?;
        let Done::Prompted { turn, .. } = prompted else { return Err(Stopped::Gone) };
        let code = self.follow(&session, &turn, stop).await?;
        if code == 0 {
            self.keep_last(exec.last_message.as_deref()).await?;
        }
        // The session is written when this is answered.
        let _ = self.ask(Command::Session { session, order: Order::Close }).await;
        Ok(code)
    }

    /// Refuses a word with a slash that is no command, before there is a session.
    async fn check_command(&mut self, name: &str, exec: &Exec) -> Result<(), Stopped> {
        let open = Open {
            from: Origin::New,
            past: Past::Nothing,
            cwd: exec.cwd.clone(),
            roots: Vec::new(),
            options: exec.options.clone(),
            asks: CanAsk::Nothing,
            keep: Keep::Nothing,
            system: None,
        };
        // Why it cannot be opened is told when the real one is.
        let Ok(Done::Opened(snapshot)) = self.ask(Command::Open(Box::new(open))).await else { return Ok(()) };
        let known: Vec<String> =
            snapshot.info.commands.iter().map(|command| format!("/{}", command.name)).collect();
        let order = Order::Close;
        let _ = self.ask(Command::Session { session: snapshot.info.id.clone(), order }).await;
        self.pending.clear();
        if known.iter().any(|command| command.strip_prefix('/') == Some(name)) {
            return Ok(());
        }
        Err(Stopped::Usage(format!(
            "there is no command /{name}; there are {}; a space before it makes it a prompt",
            known.join(", ")
        )))
    }

    async fn origin(&mut self, exec: &Exec) -> Result<Origin, Stopped> {
        let everywhere = match &exec.start {
            Start::New => return Ok(Origin::New),
            Start::Resume(id) => return Ok(Origin::Resume(id.clone())),
            Start::Last { everywhere } => *everywhere,
        };
        let cwd = (!everywhere).then(|| exec.cwd.clone());
        let listed = self.ask(Command::List { cwd, cursor: None }).await?;
        let Done::Sessions { page, .. } = listed else { return Err(Stopped::Gone) };
        match page.into_iter().find(|row| row.unreadable.is_none()) {
            Some(row) => Ok(Origin::Resume(row.id)),
            None => Err(Stopped::Refused(Refusal::Invalid {
                what: "resume --last".into(),
                why: "there is no session of this folder yet".into(),
                remedy: "start one with `interpreter exec`, or use --all".into(),
            })),
        }
    }

    /// Follows the turn to its end.
    async fn follow(
        &mut self,
        session: &SessionId,
        turn: &TurnId,
        stop: impl Future<Output = i32>,
    ) -> Result<i32, Stopped> {
        tokio::pin!(stop);
        let mut signal = None;
        let late = tokio::time::sleep(Duration::MAX / 4);
        tokio::pin!(late);
        loop {
            let downs = std::mem::take(&mut self.pending);
            let ended = self.show_all(downs, turn).await?;
            if let Some(end) = ended {
                return self.end(&end, signal).await;
            }
            tokio::select! {
                downs = self.client.take() => self.pending = downs.ok_or(Stopped::Gone)?,
                number = &mut stop, if signal.is_none() => {
                    signal = Some(number);
                    let order = Order::Cancel(Target::Turn);
                    self.send(Command::Session { session: session.clone(), order }).await?;
                    late.as_mut().reset(tokio::time::Instant::now() + LAST_WORDS);
                }
                () = &mut late, if signal.is_some() => return self.end(&TurnEnd::Cancelled, signal).await,
            }
        }
    }

    async fn show_all(&mut self, downs: Vec<Down>, turn: &TurnId) -> Result<Option<TurnEnd>, Stopped> {
        let mut all = Shown::default();
        let mut ended = None;
        for down in downs {
            let Down::Event(event) = down else { continue };
            self.board.apply(&event);
            match &event.kind {
                EventKind::TurnEnded { turn: over, end } if over == turn => ended = Some(end.clone()),
                kind => {
                    let shown = self.show.event(&self.board, kind);
                    all.out += &shown.out;
                    all.err += &shown.err;
                }
            }
        }
        self.print(all).await?;
        Ok(ended)
    }

    async fn end(&mut self, end: &TurnEnd, signal: Option<i32>) -> Result<i32, Stopped> {
        let why = match (end, signal) {
            (_, Some(number)) => format!("stopped by signal {number}"),
            (TurnEnd::Done, None) => {
                let end = EventKind::TurnEnded { turn: TurnId(0), end: TurnEnd::Done };
                let shown = self.show.event(&self.board, &end);
                self.print(shown).await?;
                return Ok(0);
            }
            (TurnEnd::Cancelled, None) => "the turn was cancelled".to_string(),
            (TurnEnd::Refused(why), None) => format!("the model refused: {why}"),
            (TurnEnd::Limit(limit), None) => format!("the turn reached its limit of {}", limit_words(*limit)),
            (TurnEnd::Failed(failure), None) => failure.to_string(),
        };
        let shown = self.show.failed(&why);
        self.print(shown).await?;
        Ok(signal.map_or(1, |number| 128 + number))
    }

    async fn keep_last(&mut self, path: Option<&std::path::Path>) -> Result<(), Stopped> {
        let Some(path) = path else { return Ok(()) };
        let text = self.show.last_message().unwrap_or_default().to_string();
        if let Err(error) = tokio::fs::write(path, text).await {
            let err = format!("warning: {}: {error}\n", path.display());
            self.print(Shown { out: String::new(), err }).await?;
        }
        Ok(())
    }

    async fn send(&mut self, command: Command) -> Result<u64, Stopped> {
        self.tag += 1;
        self.client.send(Up::Command { tag: self.tag, command }).await.map_err(|_| Stopped::Gone)?;
        Ok(self.tag)
    }

    /// Sends and waits for the answer; what comes before it waits.
    async fn ask(&mut self, command: Command) -> Result<Done, Stopped> {
        let wanted = self.send(command).await?;
        loop {
            let downs = self.client.take().await.ok_or(Stopped::Gone)?;
            let mut answer = None;
            for down in downs {
                match down {
                    Down::Reply { tag, reply } if tag == wanted => answer = Some(reply),
                    other => self.pending.push(other),
                }
            }
            if let Some(reply) = answer {
                return reply.map_err(Stopped::Refused);
            }
        }
    }

    async fn print(&mut self, shown: Shown) -> Result<(), Stopped> {
        let Shown { out, err } = shown;
        if !err.is_empty() {
            // A closed standard error stops nothing.
            let _ = self.err.write_all(err.as_bytes()).await;
            let _ = self.err.flush().await;
        }
        if !out.is_empty() {
            self.out.write_all(out.as_bytes()).await.map_err(Stopped::Unread)?;
            self.out.flush().await.map_err(Stopped::Unread)?;
        }
        Ok(())
    }
}

fn limit_words(limit: protocol::Limit) -> &'static str {
    match limit {
        protocol::Limit::Tokens => "tokens",
        protocol::Limit::Requests => "model requests",
        protocol::Limit::Cost => "cost",
        protocol::Limit::Time => "time",
        protocol::Limit::Repeats => "repeated calls",
    }
}
