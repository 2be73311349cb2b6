//! Opening a session: new or from its journal, answered before its first event.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use files::{Roots, Watch};
use link::Outlet;
use protocol::{
    Board, ClientId, Digest, Done, Down, Event, EventKind, FilePath, Item, ItemKind, Keep, Level, Notice,
    Open, Origin, Past, Refusal, SessionId, SessionInfo, Settings,
};
use tokio::sync::{mpsc, watch};

use super::actor::Actor;
use super::{Answerer, Orders};
use crate::desk::Desk;
use crate::engine::Shared;
use crate::host::Host;
use crate::ids::Ids;
use crate::journal::{Journal, Loaded, Record, Store, StoreError};
use crate::known::Known;
use crate::limits;
use crate::setup::{Live, Resolved};
use crate::tasks::Tasks;
use crate::tools::Means;
use crate::turn::Command;

/// Everything an opening needs.
pub(crate) struct Opening {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: SessionId,
    pub(crate) client: ClientId,
    pub(crate) outlet: Outlet,
    pub(crate) host: Arc<Host>,
    pub(crate) open: Open,
}

/// An open session, not yet running.
pub(crate) struct Opened {
    pub(crate) orders: Orders,
    pub(crate) actor: Actor,
}

/// A session as it stands before its actor is made.
struct Ground {
    cwd: PathBuf,
    folders: Vec<PathBuf>,
    chosen: Vec<(String, String)>,
    resolved: Resolved,
    journal: Journal,
    loaded: Option<Loaded>,
    notices: Vec<Notice>,
}

impl Opening {
    /// Opens it and answers; none when it was refused.
    pub(crate) async fn open(self, answer: Answerer) -> Option<Opened> {
        // The wall is tested while the person types.
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move { shared.wall().await });
        let ground = match &self.open.from {
            Origin::New => self.fresh().await,
            Origin::Resume(id) => self.again(id).await,
        };
        let ground = match ground {
            Ok(ground) => ground,
            Err(refusal) => {
                answer.answer(Err(refusal));
                return None;
            }
        };
        Some(self.make(ground, answer).await)
    }

    async fn fresh(&self) -> Result<Ground, Refusal> {
        let cwd = PathBuf::from(&self.open.cwd.0);
        let chosen = self.open.options.clone();
        let resolved = self.shared.resolve(&cwd, &chosen).await?;
        let folders = folders(&cwd, &self.open);
        let journal = match self.open.keep {
            Keep::Nothing => Journal::memory(),
            Keep::Journal => self.shared.store.create(self.head(&folders)).await?,
        };
        Ok(Ground { cwd, folders, chosen, resolved, journal, loaded: None, notices: Vec::new() })
    }

    fn head(&self, folders: &[PathBuf]) -> Record {
        Record::Head {
            version: crate::journal::VERSION,
            program: format!("open-interpreter/{}", self.shared.version),
            session: self.id.clone(),
            cwd: self.open.cwd.clone(),
            roots: folders.iter().skip(1).map(|folder| folder.as_path().into()).collect(),
        }
    }

    async fn again(&self, id: &SessionId) -> Result<Ground, Refusal> {
        let (journal, loaded) = self.shared.store.open(id).await?;
        let cwd = match self.open.cwd.0.as_str() {
            "" => PathBuf::from(&loaded.cwd.0),
            cwd => PathBuf::from(cwd),
        };
        let stored = loaded.settings.as_ref().map(stored_options).unwrap_or_default();
        let mut chosen: Vec<(String, String)> = stored;
        for (option, value) in &self.open.options {
            chosen.retain(|(id, _)| id != option);
            chosen.push((option.clone(), value.clone()));
        }
        let mut notices = loaded.notices.clone();
        let resolved = match self.shared.resolve(&cwd, &chosen).await {
            Ok(resolved) => resolved,
            // What was chosen then may be gone now; what is chosen now has to be there.
            Err(refusal) => {
                chosen.clone_from(&self.open.options);
                let resolved = self.shared.resolve(&cwd, &chosen).await?;
                notices.push(Notice {
                    level: Level::Warning,
                    title: "The session's settings could not be restored".into(),
                    text: format!("{refusal}; it goes on with the present configuration"),
                    retry: None,
                });
                resolved
            }
        };
        let mut folders = folders(&cwd, &self.open);
        for root in &loaded.roots {
            let root = PathBuf::from(&root.0);
            if !folders.contains(&root) {
                folders.push(root);
            }
        }
        Ok(Ground { cwd, folders, chosen, resolved, journal, loaded: Some(loaded), notices })
    }

    /// Finished items from the journal, before the answer.
    async fn replay(&self) {
        if let Err(error) = tell_past(&self.shared.store, &self.id, &self.outlet).await {
            let text = format!("the transcript broke off: {error}");
            self.outlet.push(Down::Event(notice_event(&self.id, text)));
        }
    }

    async fn make(self, ground: Ground, answer: Answerer) -> Opened {
        let Ground { cwd, folders, chosen, resolved, journal, loaded, notices } = ground;
        let (orders_in, orders) = mpsc::channel(limits::ORDERS);
        let (ended, tasks_ended) = mpsc::channel(limits::TASKS);
        let known = Arc::new(Known::default());
        let means = Arc::new(Means {
            session: self.id.clone(),
            roots: Roots::new(cwd.clone(), folders.iter().skip(1).cloned().collect()),
            desk: Desk::new(self.id.clone(), Some(Arc::clone(&self.host))),
            known: Arc::clone(&known),
            tasks: Arc::new(Tasks::default()),
            ended,
            guarded: Mutex::default(),
            wall_told: Default::default(),
            store: self.shared.store.clone(),
            watch: Arc::new(Mutex::new(Watch::new(folders.clone()))),
            cwd,
            folders,
        });
        let settings = resolved.settings.clone();
        let info = SessionInfo {
            id: self.id.clone(),
            cwd: means.cwd.as_path().into(),
            roots: means.folders.iter().skip(1).map(|folder| folder.as_path().into()).collect(),
            title: loaded.as_ref().and_then(|loaded| loaded.title.clone()),
            settings: settings.clone(),
            options: resolved.options.clone(),
            commands: Command::offered(),
            running: None,
        };
        let mut granted = resolved.allowed.clone();
        granted.extend(loaded.iter().flat_map(|loaded| loaded.granted.iter().cloned()));
        let open_notices: Vec<Notice> = resolved.notices.iter().cloned().chain(notices).collect();
        let (live, _) = watch::channel(Arc::new(Live::new(resolved)));
        let mut actor = Actor {
            shared: Arc::clone(&self.shared),
            id: self.id.clone(),
            ids: Arc::new(Ids::default()),
            means,
            system: self.open.system.clone(),
            journal,
            board: Board::default(),
            seq: 0,
            entries: Vec::new(),
            live,
            chosen,
            asks: self.open.asks,
            open_asks: HashMap::new(),
            granted,
            frame: None,
            told: None,
            resumed: None,
            undo: Vec::new(),
            followers: vec![(self.client.clone(), self.outlet.clone())],
            orders,
            tasks_ended,
            turn: None,
            queue: VecDeque::new(),
            closing: None,
            unwritten: None,
        };
        actor.seat(info);
        if let Some(loaded) = loaded {
            actor.take_up(loaded, &known).await;
            if self.open.past == Past::All {
                // With what was cut off, which is written only now; where it cannot be, the rest is shown.
                let _ = actor.journal.sync().await;
                self.replay().await;
            }
        }
        actor.write(Record::Settings(settings)).await;
        if let Some(snapshot) = actor.snapshot().cloned() {
            answer.answer(Ok(Done::Opened(Box::new(snapshot))));
        }
        for notice in open_notices {
            actor.emit(EventKind::Noticed(notice));
        }
        Opened { orders: orders_in, actor }
    }
}

impl Actor {
    /// Puts the session itself on the board; the answer tells the client.
    fn seat(&mut self, info: SessionInfo) {
        self.seq = 1;
        let kind = EventKind::SessionOpened(Box::new(info));
        let event = Event { session: self.id.clone(), seq: 1, at_ms: crate::clock::now_ms(), kind };
        self.board.apply(&event);
    }

    /// Goes on where the journal ends: nothing open stays open, every call gets its result.
    async fn take_up(&mut self, loaded: Loaded, known: &Known) {
        let next = loaded.next;
        let mut changed = Vec::new();
        self.ids = Arc::new(Ids::after(next.turn, next.item, next.ask, next.entry, next.task));
        self.entries = loaded.entries;
        self.frame = loaded.frame;
        self.undo = loaded.undo;
        for outcome in &loaded.outcomes {
            known.recall(outcome);
        }
        if let Some(snapshot) = self.board.sessions.get_mut(&self.id) {
            snapshot.plan = loaded.plan;
            snapshot.usage = loaded.usage;
        }
        let was_told = self.entries.iter().any(
            |entry| matches!(&entry.kind, protocol::EntryKind::Note(note) if note.why == protocol::NoteWhy::Mode),
        );
        self.told = loaded.settings.filter(|_| was_told);
        if let Some(turn) = loaded.unfinished {
            for begun in loaded.open_calls {
                changed.extend(since_changed(&begun.before).await);
                self.end_interrupted(&turn, begun).await;
            }
            for path in &changed {
                known.forget(path);
            }
            self.pair().await;
            let usage = self.snapshot().map(|snapshot| snapshot.usage.clone()).unwrap_or_default();
            self.write(Record::TurnEnded { turn, end: protocol::TurnEnd::Cancelled, usage }).await;
            self.resumed = Some(changed);
        } else {
            self.pair().await;
        }
    }

    /// A call that a crash cut off is shown as such.
    async fn end_interrupted(&mut self, turn: &protocol::TurnId, begun: crate::journal::Begun) {
        let said = self.call(&begun.call);
        let (tool, input) = match said {
            Some(call) => (call.name, call.input),
            None => (begun.action.title(), protocol::Json("{}".into())),
        };
        let settings = self.live.borrow().resolved.settings.clone();
        let verb =
            dialect::harness(&settings.harness).map_or(protocol::Verb::Other, |harness| harness.verb(&tool));
        let act = protocol::Act {
            call: begun.call,
            tool,
            verb,
            input,
            action: Some(begun.action),
            files: Vec::new(),
            live: String::new(),
            outcome: Some(protocol::Outcome::Interrupted),
        };
        let item = Item {
            id: begun.item,
            turn: turn.clone(),
            stage: protocol::Stage::Cancelled,
            kind: ItemKind::Act(act),
        };
        self.write(Record::Item(item)).await;
    }
}

impl Actor {
    /// The call as the model made it.
    fn call(&self, id: &protocol::CallId) -> Option<protocol::model::ModelCall> {
        let said = self.entries.iter().rev().filter_map(|entry| match &entry.kind {
            protocol::EntryKind::Said(said) => Some(said),
            protocol::EntryKind::Heard { .. }
            | protocol::EntryKind::Result { .. }
            | protocol::EntryKind::Note(_) => None,
        });
        said.flat_map(|said| &said.parts).find_map(|part| match part {
            protocol::model::Part::Call(call) if call.id == *id => Some(call.clone()),
            _ => None,
        })
    }
}

/// The files of an interrupted call that are not as they were before it.
async fn since_changed(before: &[(FilePath, Option<Digest>)]) -> Vec<FilePath> {
    let mut changed = Vec::new();
    for (path, digest) in before {
        let now = crate::desk::read_disk(path.as_path()).await.ok().flatten();
        if now.as_deref().map(files::digest) != *digest {
            changed.push(path.clone());
        }
    }
    changed
}

/// Tells a client all finished items of a session, as fast as it takes them; the last page is marked.
pub(crate) async fn tell_past(store: &Store, session: &SessionId, outlet: &Outlet) -> Result<(), StoreError> {
    let (to, name) = (outlet.clone(), session.clone());
    let runtime = tokio::runtime::Handle::current();
    let page = move |items: Vec<Item>| {
        // On a thread that may wait.
        runtime.block_on(to.room());
        to.push(Down::Past { session: name.clone(), items, last: false });
    };
    let told = store.items(session, page).await;
    outlet.push(Down::Past { session: session.clone(), items: Vec::new(), last: true });
    told
}

/// The session's folders, cwd first, each once.
fn folders(cwd: &std::path::Path, open: &Open) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_path_buf()];
    for root in &open.roots {
        let root = PathBuf::from(&root.0);
        if !folders.contains(&root) {
            folders.push(root);
        }
    }
    folders
}

/// The mode whose halves were set apart.
const CUSTOM: &str = "custom";

/// Stored settings as choices.
fn stored_options(settings: &Settings) -> Vec<(String, String)> {
    let mut options = vec![
        ("provider".to_string(), settings.provider.clone()),
        ("model".to_string(), settings.model.clone()),
        ("harness".to_string(), settings.harness.clone()),
    ];
    // Halves that were set apart have no common name.
    match settings.mode.as_str() {
        CUSTOM => options.extend([
            ("sandbox_mode".to_string(), settings.sandbox.to_string()),
            ("approval_policy".to_string(), settings.approval.to_string()),
        ]),
        mode => options.push(("mode".to_string(), mode.to_string())),
    }
    options.extend(settings.effort.clone().map(|effort| ("effort".to_string(), effort)));
    options
}

fn notice_event(session: &SessionId, text: String) -> Event {
    let notice =
        Notice { level: Level::Warning, title: "The transcript is not whole".into(), text, retry: None };
    Event {
        session: session.clone(),
        seq: 0,
        at_ms: crate::clock::now_ms(),
        kind: EventKind::Noticed(notice),
    }
}
