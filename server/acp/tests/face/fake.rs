//! Both ends of a face: the client's lines, and the engine's side of the link. Every frame that the face
//! emits is read with the ACP crate's types and must come out of them unchanged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema as acp;
use face_acp::About;
use link::{Outlet, Port};
use protocol::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(5);

pub struct Fake {
    pub port: Port,
    pub outlet: Outlet,
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    pub face: JoinHandle<Result<(), String>>,
    /// Methods of requests that were sent, by id.
    asked: HashMap<String, String>,
    next: u64,
    seq: u64,
}

impl Fake {
    pub fn start() -> Self {
        Self::usable(Ok(()))
    }

    pub fn usable(usable: Result<(), String>) -> Self {
        let (client, port) = link::pair();
        let (input, stdin) = tokio::io::duplex(1024 * 1024);
        let (stdout, output) = tokio::io::duplex(64 * 1024);
        let about = About {
            name: "interpreter".into(),
            title: "Open Interpreter".into(),
            version: "1.2.3".into(),
            usable: Arc::new(move || usable.clone()),
        };
        let face = tokio::spawn(face_acp::run(client, stdin, stdout, about));
        let outlet = port.outlet();
        let output = BufReader::new(output).lines();
        Self { port, outlet, input: Some(input), output, face, asked: HashMap::new(), next: 100, seq: 0 }
    }

    /// A face that is initialized with these capabilities.
    pub async fn with(caps: Value) -> Self {
        let mut fake = Self::start();
        let params = json!({"protocolVersion": 1, "clientCapabilities": caps});
        let answer = fake.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        let Some(Up::Offer(_)) = fake.port.next().await else { panic!("no offer") };
        fake
    }

    /// The same with an open session.
    pub async fn open(caps: Value, session: &str) -> Self {
        let mut fake = Self::with(caps).await;
        fake.new_session(session).await;
        fake
    }

    pub async fn new_session(&mut self, session: &str) {
        let id = self.request("session/new", json!({"cwd": cwd(), "mcpServers": []})).await;
        let (tag, command) = self.command().await;
        assert!(matches!(command, Command::Open(_)), "{command:?}");
        self.reply(tag, Ok(Done::Opened(Box::new(snapshot(session)))));
        let answer = self.recv().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["sessionId"]),
            (&json!(id), &json!(session)),
            "{answer}"
        );
        let commands = self.recv().await;
        assert_eq!(commands["params"]["update"]["sessionUpdate"], "available_commands_update", "{commands}");
    }

    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub async fn send(&mut self, frame: &Value) {
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_string());
        }
        self.send_raw(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends a request and says its id.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})).await;
        self.next
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// A request that is answered next.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.recv().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The code of the error with which a request is answered.
    pub async fn ask_code(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).await["error"]["code"].clone()
    }

    /// A prompt that has its turn.
    pub async fn prompt(&mut self, session: &str, turn: u32) -> u64 {
        let prompt = json!([{"type": "text", "text": "go"}]);
        let id = self.request("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
        let (tag, order) = self.order().await;
        assert!(matches!(order, Order::Prompt { .. }), "{order:?}");
        let item = ItemId(turn * 100);
        self.reply(tag, Ok(Done::Prompted { turn: TurnId(turn), item: item.clone(), steered: false }));
        id
    }

    /// The next line as the client gets it.
    pub async fn recv(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line());
        let line = line.await.expect("the face says nothing").unwrap().expect("the face is gone");
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.check(&frame);
        keep(&line);
        frame
    }

    /// The next update of a session.
    pub async fn update(&mut self) -> Value {
        let frame = self.recv().await;
        assert_eq!(frame["method"], "session/update", "{frame}");
        frame["params"]["update"].clone()
    }

    /// As [`update`](Self::update), none when none comes within that time.
    pub async fn update_within(&mut self, limit: Duration) -> Option<Value> {
        let line = tokio::time::timeout(limit, self.output.next_line()).await.ok()?;
        let frame: Value = serde_json::from_str(&line.unwrap().expect("the face is gone")).unwrap();
        self.check(&frame);
        Some(frame["params"]["update"].clone())
    }

    /// Everything that is still said until the output ends.
    pub async fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            all.push(line);
        }
        all
    }

    /// Nothing is said for a while.
    pub async fn silence(&mut self) {
        let line = tokio::time::timeout(Duration::from_millis(60), self.output.next_line()).await;
        assert!(line.is_err(), "{line:?}");
    }

    pub fn end_input(&mut self) {
        self.input = None;
    }

    pub async fn up(&mut self) -> Up {
        tokio::time::timeout(PATIENCE, self.port.next())
            .await
            .expect("nothing is asked")
            .expect("the face is gone")
    }

    pub async fn command(&mut self) -> (u64, Command) {
        match self.up().await {
            Up::Command { tag, command } => (tag, command),
            other => panic!("{other:?}"),
        }
    }

    pub async fn order(&mut self) -> (u64, Order) {
        match self.command().await {
            (tag, Command::Session { order, .. }) => (tag, order),
            other => panic!("{other:?}"),
        }
    }

    /// Nothing is asked for a while.
    pub async fn idle(&mut self) {
        let up = tokio::time::timeout(Duration::from_millis(60), self.port.next()).await;
        assert!(up.is_err(), "{up:?}");
    }

    pub fn reply(&self, tag: u64, reply: Result<Done, Refusal>) {
        self.outlet.push(Down::Reply { tag, reply });
    }

    pub fn event(&mut self, session: &str, kind: EventKind) {
        self.seq += 1;
        let session = SessionId(session.into());
        self.outlet.push(Down::Event(Event { session, seq: self.seq, at_ms: 1_796_083_199_000, kind }));
    }

    pub fn start_item(&mut self, session: &str, item: u32, kind: ItemKind) {
        let item = Item { id: ItemId(item), turn: TurnId(1), stage: Stage::Forming, kind };
        self.event(session, EventKind::ItemStarted(Box::new(item)));
    }

    pub fn change(&mut self, session: &str, item: u32, change: Change) {
        self.event(session, EventKind::ItemChanged { item: ItemId(item), change });
    }

    pub fn finish(&mut self, session: &str, item: u32, stage: Stage, kind: ItemKind) {
        let item = Item { id: ItemId(item), turn: TurnId(1), stage, kind };
        self.event(session, EventKind::ItemFinished(Box::new(item)));
    }

    pub fn start_turn(&mut self, session: &str, turn: u32) {
        self.event(session, EventKind::TurnStarted { turn: TurnId(turn), cause: Cause::Prompt });
    }

    pub fn end_turn(&mut self, session: &str, turn: u32, end: TurnEnd) {
        self.event(session, EventKind::TurnEnded { turn: TurnId(turn), end });
    }

    fn check(&self, frame: &Value) {
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        match frame["method"].as_str() {
            Some("session/update") => same::<acp::SessionNotification>(&frame["params"]),
            Some("session/request_permission") => same::<acp::RequestPermissionRequest>(&frame["params"]),
            Some("elicitation/create") => same::<acp::CreateElicitationRequest>(&frame["params"]),
            Some("fs/read_text_file") => same::<acp::ReadTextFileRequest>(&frame["params"]),
            Some("fs/write_text_file") => same::<acp::WriteTextFileRequest>(&frame["params"]),
            Some("$/cancel_request") => {}
            Some(other) => panic!("{other} is not a method of clients"),
            None => self.check_answer(frame),
        }
    }

    fn check_answer(&self, frame: &Value) {
        let Some(result) = frame.get("result") else {
            assert!(frame["error"]["code"].is_i64() && frame["error"]["message"].is_string(), "{frame}");
            return;
        };
        match self.asked.get(&frame["id"].to_string()).map(String::as_str) {
            Some("initialize") => same::<acp::InitializeResponse>(result),
            Some("session/new") => same::<acp::NewSessionResponse>(result),
            Some("session/load") => same::<acp::LoadSessionResponse>(result),
            Some("session/resume") => same::<acp::ResumeSessionResponse>(result),
            Some("session/list") => same::<acp::ListSessionsResponse>(result),
            Some("session/prompt") => same::<acp::PromptResponse>(result),
            Some("session/set_config_option") => same::<acp::SetSessionConfigOptionResponse>(result),
            // The crate has no types of these.
            Some("session/set_title") => assert!(only(result, "title"), "{result}"),
            Some("_session/steering") => assert!(result["outcome"].is_string(), "{result}"),
            Some("session/options") => {
                let mut session = result.clone();
                session["sessionId"] = "s".into();
                same::<acp::NewSessionResponse>(&session);
            }
            Some(_) => assert_eq!(result, &json!({})),
            None => {}
        }
    }
}

fn only(value: &Value, field: &str) -> bool {
    value.as_object().is_some_and(|fields| fields.len() == 1) && value[field].is_string()
}

/// What the crate's type makes of it is what it was: nothing is missing, unknown or of a wrong kind.
fn same<T: DeserializeOwned + Serialize>(value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let again = serde_json::to_value(typed).unwrap();
    assert_eq!(without_nulls(&again), without_nulls(value));
}

/// Without what means the same as nothing.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, field)| (name.clone(), without_nulls(field)));
            let mut kept: Vec<_> = kept.filter(|(_, field)| !is_default(field)).collect();
            kept.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(kept.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn is_default(field: &Value) -> bool {
    match field {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text == "pending",
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// For checks by the published schemas: frames are appended to the file of this name.
fn keep(line: &str) {
    use std::io::Write;
    let Some(path) = std::env::var_os("ACP_FRAMES") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub fn cwd() -> String {
    env!("CARGO_MANIFEST_DIR").into()
}

fn option(id: &str, kind: OptionKind, value: &str, choices: &[&str]) -> ConfigOption {
    let choice = |value: &&str| OptionChoice {
        value: (*value).into(),
        name: (*value).to_uppercase(),
        about: Some(format!("about {value}")),
        group: None,
    };
    ConfigOption {
        id: id.into(),
        name: id.into(),
        kind,
        value: value.into(),
        choices: choices.iter().map(choice).collect(),
    }
}

pub fn options(mode: &str) -> Vec<ConfigOption> {
    vec![
        option("mode", OptionKind::Mode, mode, &["plan", "read-only", "auto"]),
        option("model", OptionKind::Model, "m1", &["m1", "m2"]),
        option("provider", OptionKind::Provider, "p", &["p"]),
        option("effort", OptionKind::Effort, "low", &["low", "high"]),
        option("harness", OptionKind::Harness, "native", &["native"]),
    ]
}

pub fn settings(mode: &str) -> Settings {
    Settings {
        provider: "p".into(),
        model: "m1".into(),
        effort: None,
        harness: "native".into(),
        harness_why: None,
        mode: mode.into(),
        approval: Approval::OnRequest,
        sandbox: Sandbox::ReadOnly,
        network: Network::Off,
    }
}

pub fn snapshot(session: &str) -> Snapshot {
    Snapshot::new(SessionInfo {
        id: SessionId(session.into()),
        cwd: FilePath(cwd()),
        roots: vec![],
        title: None,
        settings: settings("read-only"),
        options: options("read-only"),
        commands: vec![SlashCommand { name: "undo".into(), about: "Undo".into(), hint: Some("what".into()) }],
        running: None,
    })
}

/// A call whose arguments are not there yet.
pub fn act(tool: &str, verb: Verb) -> Act {
    Act {
        call: CallId("wire_1".into()),
        tool: tool.into(),
        verb,
        input: Json(String::new()),
        action: None,
        files: vec![],
        live: String::new(),
        outcome: None,
    }
}

pub fn run(command: &str) -> Action {
    let time = RunTime { limit_ms: 1000, at_limit: AtLimit::Kill };
    Action::Run { command: command.into(), cwd: None, time, why: None, unsandboxed: None }
}

pub fn formed(action: Action) -> Change {
    Change::Formed { input: Json("{\"a\":1}".into()), action: Box::new(action) }
}

pub fn ran(output: &str, end: RunEnd) -> Outcome {
    let output = Captured { head: output.into(), bytes: output.len() as u64, ..Captured::default() };
    Outcome::Ran { end, output, wall_ms: 3, cwd: FilePath(cwd()) }
}

pub fn output(text: &str) -> Change {
    Change::Output(Chunk { from: Pipe::Both, text: text.into() })
}
