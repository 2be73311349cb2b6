//! The chat's way to the engine.

use link::Client;
use protocol::{
    CanAsk, Command, Done, Down, FilePath, Keep, Open, Order, Origin, Past, SessionId, Snapshot, Up,
};

use crate::chat::{Chat, Start};

/// Tags up to this one belong to the opening; the state counts on from it.
pub(crate) const FIRST_TAG: u64 = 16;

pub(crate) struct Talk {
    client: Client,
    tag: u64,
    /// What came before an answer that was waited for.
    pending: Vec<Down>,
}

impl Talk {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, tag: 0, pending: Vec::new() }
    }

    pub(crate) async fn send(&self, up: Up) -> Result<(), String> {
        self.client.send(up).await.map_err(|_| gone())
    }

    /// What came, first what waited. May be dropped while it waits.
    pub(crate) async fn take(&mut self) -> Result<Vec<Down>, String> {
        if !self.pending.is_empty() {
            return Ok(std::mem::take(&mut self.pending));
        }
        self.client.take().await.ok_or_else(gone)
    }

    /// The session to begin with.
    pub(crate) async fn open(&mut self, chat: &Chat) -> Result<Snapshot, String> {
        let from = match &chat.start {
            Start::New => Origin::New,
            Start::Resume(id) => Origin::Resume(id.clone()),
            Start::Last => Origin::Resume(self.last(&chat.cwd).await?),
        };
        let open =
            Open { options: chat.options.clone(), roots: chat.roots.clone(), ..opening(from, &chat.cwd) };
        match self.ask(Command::Open(Box::new(open))).await? {
            Done::Opened(snapshot) => Ok(*snapshot),
            other => Err(format!("the session did not open; the engine answered {other:?}")),
        }
    }

    /// Ends the session, so that it can be opened elsewhere at once.
    pub(crate) async fn close(&mut self, session: &SessionId) {
        let order = Order::Close;
        // An engine that is gone has closed it.
        let _ = self.ask(Command::Session { session: session.clone(), order }).await;
    }

    async fn last(&mut self, cwd: &FilePath) -> Result<SessionId, String> {
        let listed = self.ask(Command::List { cwd: Some(cwd.clone()), cursor: None }).await?;
        let Done::Sessions { page, .. } = listed else {
            return Err(format!("the sessions of {cwd} could not be listed"));
        };
        let found = page.into_iter().find(|row| row.unreadable.is_none());
        found
            .map(|row| row.id)
            .ok_or_else(|| format!("there is no session of {cwd} yet; start one with `interpreter`"))
    }

    /// Sends and waits for the answer; what comes before it waits.
    async fn ask(&mut self, command: Command) -> Result<Done, String> {
        self.tag += 1;
        let wanted = self.tag;
        self.send(Up::Command { tag: wanted, command }).await?;
        loop {
            let mut answer = None;
            for down in self.client.take().await.ok_or_else(gone)? {
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
}

/// How this face opens a session.
pub(crate) fn opening(from: Origin, cwd: &FilePath) -> Open {
    Open {
        from,
        past: Past::All,
        cwd: cwd.clone(),
        roots: Vec::new(),
        options: Vec::new(),
        asks: CanAsk::PermissionAndQuestions,
        keep: Keep::Journal,
        system: None,
    }
}

fn gone() -> String {
    "the engine is gone".into()
}
