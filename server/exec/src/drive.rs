//! One run from its opening to its exit code.

use link::Client;
use protocol::{
    Answer, CanAsk, Command, Done, Down, Event, EventKind, ItemKind, Level, Open, Order, Origin, Past, Refusal,
    SessionId, Stage, TurnEnd, TurnId, When,
};
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use crate::exec::{Exec, Show, Signal, Start};
use crate::inbox::{Inbox, Over, Why};
use crate::json::{Json, notice_words};
use crate::output::Outputs;
use crate::paint::{Reader, clean};
use crate::text::{Said, Text, end_words};

/// The exit code of a program whose reader went away.
const UNREAD: i32 = 141;

/// Runs one prompt to its end and says how it went: 0 only when the turn completed, 1 when it failed,
/// 128 and the signal's number when one ended it.
pub async fn run<O, E>(client: Client, exec: Exec, signals: mpsc::Receiver<Signal>, out: O, err: E) -> i32
where
    O: AsyncWrite + Unpin + Send,
    E: AsyncWrite + Unpin + Send,
{
    let inbox = Inbox::new(client, signals);
    let mut run = Run { face: Face::new(exec.show), inbox, outputs: Outputs::new(out, err), last: None };
    let code = match run.whole(exec).await {
        Ok(code) => code,
        Err(Broken::Refused(text)) => run.refused(&text),
        Err(Broken::Over(over)) => run.over(over),
    };
    // A reader that is gone or stuck is not waited for.
    let _ = run.inbox.while_doing(run.outputs.flush()).await;
    match (run.outputs.gone, code) {
        (true, 0) => UNREAD,
        (_, code) => code,
    }
}

struct Run<O, E> {
    face: Face,
    inbox: Inbox,
    outputs: Outputs<O, E>,
    /// The last message of the turn.
    last: Option<String>,
}

/// One of the two renderers.
enum Face {
    Json(Box<Json>),
    Text { text: Box<Text>, reader: Reader },
}

/// Why the run does not come to its own end.
enum Broken {
    Refused(String),
    Over(Over),
}

impl From<Over> for Broken {
    fn from(over: Over) -> Self {
        Broken::Over(over)
    }
}

impl<O: AsyncWrite + Unpin + Send, E: AsyncWrite + Unpin + Send> Run<O, E> {
    async fn whole(&mut self, exec: Exec) -> Result<i32, Broken> {
        let origin = self.origin(&exec).await?;
        let open = Open {
            from: origin,
            past: Past::Nothing,
            cwd: exec.cwd,
            roots: exec.roots,
            options: exec.options,
            asks: CanAsk::Nothing,
            keep: exec.keep,
        };
        let session = match self.ask(Command::Open(Box::new(open))).await? {
            Done::Opened(snapshot) => {
                let said = self.face.opened(&snapshot);
                self.put(said);
                snapshot.info.id.clone()
            }
            other => return Err(surprised(&other)),
        };
        self.inbox.session = Some(session.clone());
        let order = Order::Prompt { input: exec.input, when: When::Queue, schema: exec.schema };
        let turn = match self.ask(Command::Session { session: session.clone(), order }).await? {
            Done::Prompted { turn, .. } => turn,
            other => return Err(surprised(&other)),
        };
        let end = self.follow(&session, &turn).await?;
        Ok(self.close(&end, exec.last_message.as_deref()))
    }

    async fn origin(&mut self, exec: &Exec) -> Result<Origin, Broken> {
        let cwd = match &exec.start {
            Start::New => return Ok(Origin::New),
            Start::Resume(session) => return Ok(Origin::Resume(session.clone())),
            Start::Last { cwd } => cwd.clone(),
        };
        match self.ask(Command::List { cwd: cwd.clone(), cursor: None }).await? {
            Done::Sessions { page, .. } => match page.into_iter().find(|row| row.unreadable.is_none()) {
                Some(row) => Ok(Origin::Resume(row.id)),
                None => Err(Broken::Refused(match cwd {
                    Some(cwd) => format!("there is no session in {cwd} to resume; --all looks in every folder"),
                    None => "there is no session to resume; start one with `interpreter exec PROMPT`".into(),
                })),
            },
            other => Err(surprised(&other)),
        }
    }

    /// Sends a command and waits for its answer; what happens meanwhile is shown.
    async fn ask(&mut self, command: Command) -> Result<Done, Broken> {
        let mine = self.inbox.send(command).await?;
        loop {
            match self.inbox.next().await? {
                Down::Reply { tag, reply } if tag == mine => {
                    return reply.map_err(|refusal| Broken::Refused(refusal_words(&refusal)));
                }
                down => self.show(down).await?,
            }
        }
    }

    async fn follow(&mut self, session: &SessionId, turn: &TurnId) -> Result<TurnEnd, Broken> {
        loop {
            if !self.inbox.has_more() {
                self.flush().await?;
            }
            let down = self.inbox.next().await?;
            let end = match &down {
                Down::Event(Event { session: of, kind: EventKind::TurnEnded { turn: ended, end }, .. })
                    if of == session && ended == turn =>
                {
                    Some(end.clone())
                }
                Down::Event(Event { session: of, kind: EventKind::SessionClosed, .. }) if of == session => {
                    return Err(Broken::Over(Over::Engine));
                }
                Down::Event(_)
                | Down::Reply { .. }
                | Down::Past { .. }
                | Down::Host { .. }
                | Down::HostCancelled { .. } => None,
            };
            match end {
                // Said by `close`, with the signal where there was one.
                Some(TurnEnd::Cancelled) => return Ok(TurnEnd::Cancelled),
                Some(end) => {
                    self.show(down).await?;
                    return Ok(end);
                }
                None => self.show(down).await?,
            }
        }
    }

    async fn show(&mut self, down: Down) -> Result<(), Broken> {
        let Down::Event(event) = down else { return Ok(()) };
        if let EventKind::ItemFinished(item) = &event.kind {
            if let (ItemKind::Message(text), Stage::Done) = (&item.kind, item.stage) {
                self.last = Some(text.clone());
            }
        }
        // Nobody is there to ask; a question that comes all the same must not wait.
        if let EventKind::Asked(ask) = &event.kind {
            let order = Order::Answer { ask: ask.id.clone(), answer: Answer::Dismissed };
            self.inbox.tell(order).await?;
        }
        if let (Face::Json(_), EventKind::Noticed(notice)) = (&self.face, &event.kind) {
            let word = match notice.level {
                Level::Info => "note",
                Level::Warning => "warning",
                Level::Error => "error",
            };
            self.outputs.put_err(&format!("{word}: {}\n", clean(&notice_words(notice))));
        }
        let said = self.face.event(&event);
        self.put(said);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        let written = self.inbox.while_doing(self.outputs.flush()).await?;
        if written.is_err() {
            self.inbox.stop(Why::Unread).await?;
        }
        Ok(())
    }

    fn put(&mut self, said: Said) {
        self.outputs.put_out(&said.out);
        self.outputs.put_err(&said.err);
    }

    /// The exit code of a turn that ended, and what is due with it.
    fn close(&mut self, end: &TurnEnd, last_message: Option<&std::path::Path>) -> i32 {
        if let TurnEnd::Cancelled = end {
            let text = self.stopped_words();
            let said = self.face.fail(&text);
            self.put(said);
        }
        let failed = end_words(end).is_some();
        let code = self.code(i32::from(failed));
        match last_message {
            Some(path) if !failed => self.keep(path, code),
            Some(_) | None => code,
        }
    }

    /// Writes the last message; a failed turn leaves the file as it is.
    fn keep(&mut self, path: &std::path::Path, code: i32) -> i32 {
        let text = self.last.clone().unwrap_or_default();
        if text.is_empty() {
            let warning = format!("warning: the turn had no message; {} is empty\n", path.display());
            self.outputs.put_err(&warning);
        }
        match std::fs::write(path, text) {
            Ok(()) => code,
            Err(error) => {
                self.outputs.put_err(&format!("error: the last message could not be written: {}: {error}\n", path.display()));
                code.max(1)
            }
        }
    }

    fn refused(&mut self, text: &str) -> i32 {
        let said = self.face.refuse(text);
        self.put(said);
        self.code(1)
    }

    fn over(&mut self, over: Over) -> i32 {
        let text = match (self.inbox.stopping, over) {
            (Some(_), _) => self.stopped_words(),
            (None, Over::Engine | Over::Impatient) => "the engine went away".into(),
        };
        let said = self.face.fail(&text);
        self.put(said);
        self.code(1)
    }

    fn stopped_words(&self) -> String {
        match self.inbox.stopping.map(|stopping| stopping.why) {
            Some(Why::Signal(signal)) => format!("interrupted by {}", signal.name()),
            Some(Why::Unread) => "the reader of the output went away".into(),
            None => "the turn was cancelled".into(),
        }
    }

    fn code(&self, otherwise: i32) -> i32 {
        match self.inbox.stopping.map(|stopping| stopping.why) {
            Some(Why::Signal(signal)) => signal.code(),
            Some(Why::Unread) => UNREAD,
            None => otherwise,
        }
    }
}

impl Face {
    fn new(show: Show) -> Self {
        match show {
            Show::Json => Face::Json(Box::default()),
            Show::Text { paint, reader } => Face::Text { text: Box::new(Text::new(paint)), reader },
        }
    }

    fn opened(&mut self, snapshot: &protocol::Snapshot) -> Said {
        match self {
            Face::Json(json) => lines(&json.opened(snapshot)),
            Face::Text { text, .. } => text.opened(snapshot),
        }
    }

    fn event(&mut self, event: &Event) -> Said {
        match self {
            Face::Json(json) => lines(&json.event(event)),
            Face::Text { text, reader } => {
                let said = text.event(event);
                Said { out: final_message(&said.out, *reader), err: said.err }
            }
        }
    }

    fn fail(&mut self, why: &str) -> Said {
        match self {
            Face::Json(json) => lines(&json.fail(why)),
            Face::Text { text, .. } => text.fail(why),
        }
    }

    /// A failure before there was a turn: also told to people who read along a JSON stream.
    fn refuse(&mut self, why: &str) -> Said {
        match self {
            Face::Json(json) => Said { err: format!("error: {}\n", clean(why)), ..lines(&json.refuse(why)) },
            Face::Text { text, .. } => text.fail(why),
        }
    }
}

fn lines(values: &[serde_json::Value]) -> Said {
    Said { out: values.iter().map(|value| format!("{value}\n")).collect(), err: String::new() }
}

fn final_message(text: &str, reader: Reader) -> String {
    let text = match reader {
        Reader::Terminal => clean(text),
        Reader::Program => text.to_string(),
    };
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}

/// Of a session that is not there, how to find those that are.
fn refusal_words(refusal: &Refusal) -> String {
    if let Refusal::NoSession(id) = refusal {
        return format!("there is no session {id}; `interpreter exec resume --last` takes the newest");
    }
    refusal.to_string()
}

fn surprised(done: &Done) -> Broken {
    Broken::Refused(format!("the engine answered another question: {done:?}"))
}
