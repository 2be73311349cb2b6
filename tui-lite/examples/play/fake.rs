//! An engine with one session at a time, whose turns are scenes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock};
use std::time::Duration;

use link::{Outlet, Port};
use protocol::*;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::scenes;

/// What a scene speaks with.
#[derive(Clone)]
pub struct Stage {
    outlet: Outlet,
    session: SessionId,
    ids: Arc<AtomicU32>,
    seq: Arc<AtomicU64>,
    board: Arc<Lock<Board>>,
    answers: Arc<Mutex<mpsc::Receiver<Answer>>>,
}

impl Stage {
    pub fn tell(&self, kind: EventKind) {
        let seq = self.seq.fetch_add(1, Ordering::SeqCst);
        let event = Event { session: self.session.clone(), seq, at_ms: 0, kind };
        if let Ok(mut board) = self.board.lock() {
            board.apply(&event);
        }
        self.outlet.push(Down::Event(event));
    }

    pub fn id(&self) -> u32 {
        self.ids.fetch_add(1, Ordering::SeqCst)
    }

    pub fn item(&self, stage: protocol::Stage, kind: ItemKind) -> Item {
        Item { id: ItemId(self.id()), turn: TurnId(0), stage, kind }
    }

    pub async fn pause(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// Streams a message.
    pub async fn say(&self, text: &str) {
        let mut item = self.item(protocol::Stage::Running, ItemKind::Message(String::new()));
        self.tell(EventKind::ItemStarted(Box::new(item.clone())));
        let letters: Vec<char> = text.chars().collect();
        for part in letters.chunks(7) {
            let change = Change::Text(part.iter().collect());
            self.tell(EventKind::ItemChanged { item: item.id.clone(), change });
            self.pause(10).await;
        }
        (item.stage, item.kind) = (protocol::Stage::Done, ItemKind::Message(text.into()));
        self.tell(EventKind::ItemFinished(Box::new(item)));
    }

    /// Asks and waits for the answer.
    pub async fn ask(&self, item: &ItemId, what: AskWhat, choices: Vec<Choice>) -> Answer {
        let why = "the project is not trusted yet".into();
        let id = AskId(self.id());
        let ask = Ask { id: id.clone(), turn: None, item: Some(item.clone()), what, why, choices };
        self.tell(EventKind::Asked(Box::new(ask)));
        let answer = self.answers.lock().await.recv().await.unwrap_or(Answer::Cancelled);
        self.tell(EventKind::AskClosed { ask: id, answer: answer.clone(), by: None });
        answer
    }

    /// The end of a turn that was cancelled: nothing stays open.
    fn stop(&self) {
        let at = self.board.lock().ok().and_then(|board| board.sessions.get(&self.session).cloned());
        let (asks, items) = at.map(|at| (at.asks, at.open_items)).unwrap_or_default();
        for ask in asks {
            self.tell(EventKind::AskClosed { ask: ask.id, answer: Answer::Cancelled, by: None });
        }
        for mut item in items {
            item.stage = protocol::Stage::Cancelled;
            self.tell(EventKind::ItemFinished(Box::new(item)));
        }
        self.tell(EventKind::TurnEnded { turn: TurnId(0), end: TurnEnd::Cancelled });
    }
}

pub async fn serve(mut port: Port) {
    let outlet = port.outlet();
    let (ids, seq) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU64::new(1)));
    let board = Arc::new(Lock::new(Board::default()));
    let (answered, answers) = mpsc::channel(8);
    let answers = Arc::new(Mutex::new(answers));
    let mut info = info("s1", "workspace-write", "large-1");
    let mut turn: Option<JoinHandle<()>> = None;
    while let Some(up) = port.next().await {
        let Up::Command { tag, command } = up else { continue };
        let stage = Stage {
            outlet: outlet.clone(),
            session: info.id.clone(),
            ids: Arc::clone(&ids),
            seq: Arc::clone(&seq),
            board: Arc::clone(&board),
            answers: Arc::clone(&answers),
        };
        let reply = |done| outlet.push(Down::Reply { tag, reply: Ok(done) });
        match command {
            Command::Open(open) => {
                if let Origin::Resume(id) = &open.from {
                    info.id = id.clone();
                    let items = scenes::past();
                    outlet.push(Down::Past { session: id.clone(), items, last: true });
                }
                let snapshot = Snapshot::new(info.clone());
                if let Ok(mut board) = board.lock() {
                    board.sessions = [(info.id.clone(), snapshot.clone())].into();
                }
                reply(Done::Opened(Box::new(snapshot)));
            }
            Command::List { .. } => reply(Done::Sessions { page: scenes::sessions(), next: None }),
            Command::Options { .. } => reply(Done::Options(info.options.clone())),
            Command::Read { .. } | Command::Delete { .. } => reply(Done::Ok),
            Command::Session { order, .. } => match order {
                Order::Prompt { input, when, .. } => {
                    let steered = when == When::Steer;
                    reply(Done::Prompted { turn: TurnId(0), item: ItemId(0), steered });
                    let user = ItemKind::User { content: input.clone(), by: None };
                    let user = EventKind::ItemFinished(Box::new(stage.item(protocol::Stage::Done, user)));
                    if steered {
                        stage.tell(user);
                        continue;
                    }
                    stage.tell(EventKind::TurnStarted { turn: TurnId(0), cause: Cause::Prompt });
                    stage.tell(user);
                    turn = Some(tokio::spawn(async move {
                        let end = scenes::play(&stage, &input).await;
                        stage.tell(EventKind::TurnEnded { turn: TurnId(0), end });
                    }));
                }
                Order::Answer { answer, .. } => {
                    reply(Done::Ok);
                    let _ = answered.send(answer).await;
                }
                Order::Cancel(_) => {
                    reply(Done::Ok);
                    if let Some(turn) = turn.take().filter(|turn| !turn.is_finished()) {
                        turn.abort();
                        let _ = turn.await;
                        stage.stop();
                    }
                }
                Order::Configure { option, value } => {
                    let (mut mode, mut model) = (info.settings.mode.clone(), info.settings.model.clone());
                    match option.as_str() {
                        "mode" => mode = value,
                        "model" => model = value,
                        _ => {
                            let known = vec!["mode".into(), "model".into()];
                            let refusal = Refusal::Unknown { what: "option".into(), name: option, known };
                            outlet.push(Down::Reply { tag, reply: Err(refusal) });
                            continue;
                        }
                    }
                    info = self::info(&info.id.0, &mode, &model);
                    let (settings, options) = (info.settings.clone(), info.options.clone());
                    stage.tell(EventKind::SessionChanged(SessionChange::Settings { settings, options }));
                    reply(Done::Ok);
                }
                Order::Compact { .. } | Order::Rename { .. } | Order::Close => reply(Done::Ok),
            },
        }
    }
}

fn info(id: &str, mode: &str, model: &str) -> SessionInfo {
    let option = |id: &str, name: &str, kind, value: &str, choices: &[(&str, &str)]| ConfigOption {
        id: id.into(),
        name: name.into(),
        kind,
        value: value.into(),
        choices: choices
            .iter()
            .map(|(value, about)| OptionChoice {
                value: (*value).into(),
                name: (*value).into(),
                about: Some((*about).into()),
                group: None,
            })
            .collect(),
    };
    let modes = [
        ("plan", "only looks"),
        ("workspace-write", "edits and runs inside the wall"),
        ("full-access", "no wall, no questions"),
    ];
    let models = [("large-1", "slow and good"), ("small-1", "quick"), ("tiny-1", "on this machine")];
    SessionInfo {
        id: SessionId(id.into()),
        cwd: FilePath("/work".into()),
        roots: vec![],
        title: Some("Fix the greeting".into()),
        settings: Settings {
            provider: "fake".into(),
            model: model.into(),
            effort: None,
            harness: "native".into(),
            harness_why: None,
            mode: mode.into(),
            approval: Approval::OnRequest,
            sandbox: Sandbox::WorkspaceWrite,
            network: Network::Off,
        },
        options: vec![
            option("mode", "Permissions", OptionKind::Mode, mode, &modes),
            option("model", "Model", OptionKind::Model, model, &models),
        ],
        commands: vec![
            SlashCommand { name: "compact".into(), about: "Go on with a summary".into(), hint: None },
            SlashCommand { name: "undo".into(), about: "Take back the last edits".into(), hint: None },
            SlashCommand { name: "status".into(), about: "Show the settings".into(), hint: None },
        ],
        running: None,
    }
}
