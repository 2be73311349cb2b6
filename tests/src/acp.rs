//! A scripted ACP client over the built binary.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What a step may hold.
const STEPS: [&str; 15] = [
    "auto",
    "send",
    "raw",
    "wait",
    "within_ms",
    "save_sid",
    "absent",
    "for_ms",
    "sleep_ms",
    "run",
    "check",
    "alive",
    "updates",
    "restart",
    "eof",
];

/// An agent under way, and everything it said.
pub struct Agent {
    /// The program as it was started, to start it again.
    command: Command,
    child: Child,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    said: Arc<Said>,
    work: PathBuf,
    sessions: HashMap<String, String>,
}

#[derive(Default)]
struct Said {
    inner: Mutex<Inner>,
    more: Condvar,
}

#[derive(Default)]
struct Inner {
    messages: Vec<Value>,
    noise: Vec<String>,
    /// Answers to the agent's requests, by method.
    auto: HashMap<String, Value>,
    ended: bool,
}

impl Agent {
    pub fn start(command: &mut Command, work: &Path) -> Self {
        command.arg("acp");
        let (child, stdin, stdout) = spawn(command);
        let said = Arc::new(Said::default());
        said.inner.lock().expect("lock").auto =
            ["session/request_permission", "fs/read_text_file", "fs/write_text_file"]
                .into_iter()
                .zip([json!("allow"), json!("disk"), json!("disk")])
                .map(|(method, how)| (method.to_string(), how))
                .collect();
        let mut agent = Self {
            command: same(command),
            child,
            stdin: Arc::new(Mutex::new(Some(stdin))),
            said,
            work: work.to_path_buf(),
            sessions: HashMap::new(),
        };
        agent.listen(stdout);
        agent
    }

    /// Ends the process and starts a new one, which has said nothing yet. Sessions keep their names.
    pub fn restart(&mut self) {
        self.end();
        self.kill();
        let auto = self.said.inner.lock().expect("lock").auto.clone();
        let (child, stdin, stdout) = spawn(&mut self.command);
        self.child = child;
        self.stdin = Arc::new(Mutex::new(Some(stdin)));
        self.said = Arc::new(Said::default());
        self.said.inner.lock().expect("lock").auto = auto;
        self.listen(stdout);
    }

    fn listen(&mut self, stdout: ChildStdout) {
        let (said, work) = (Arc::clone(&self.said), self.work.display().to_string());
        let answers = Arc::clone(&self.stdin);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let text = String::from_utf8_lossy(&line).into_owned();
                let message: Value = match serde_json::from_str(&text) {
                    Ok(message @ Value::Object(_)) => message,
                    _ => {
                        said.inner.lock().expect("lock").noise.push(text);
                        continue;
                    }
                };
                let how = {
                    let mut inner = said.inner.lock().expect("lock");
                    inner.messages.push(message.clone());
                    inner.auto.clone()
                };
                said.more.notify_all();
                if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id"))
                    && let Some(answer) = answer(method, &message["params"], &how, &work)
                {
                    let mut frame = json!({"jsonrpc": "2.0", "id": id});
                    frame.as_object_mut().expect("a frame").extend(answer);
                    if let Some(answers) = answers.lock().expect("lock").as_mut() {
                        let _ = writeln!(answers, "{frame}");
                    }
                }
            }
            said.inner.lock().expect("lock").ended = true;
            said.more.notify_all();
        });
    }

    /// Sends a frame, or any line.
    pub fn send(&mut self, frame: &Value) {
        let text = self.filled(&frame.to_string());
        self.raw(text.as_bytes());
    }

    pub fn raw(&mut self, line: &[u8]) {
        if let Some(stdin) = self.stdin.lock().expect("lock").as_mut() {
            let _ = stdin.write_all(line);
            let _ = stdin.write_all(b"\n");
            let _ = stdin.flush();
        }
    }

    fn filled(&self, text: &str) -> String {
        let mut text = text.replace("@@WORK@@", &self.work.display().to_string());
        for (name, id) in &self.sessions {
            text = text.replace(&format!("@@{name}@@"), id);
        }
        text
    }

    /// The first message that matches, from now or before; none when it does not come in time.
    pub fn wait(&self, what: &Value, within: Duration) -> Option<Value> {
        let until = Instant::now() + within;
        let mut inner = self.said.inner.lock().expect("lock");
        loop {
            if let Some(found) = inner.messages.iter().find(|message| matches(message, what)) {
                return Some(found.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || inner.ended {
                return None;
            }
            inner = self.said.more.wait_timeout(inner, left).expect("lock").0;
        }
    }

    /// A request and its whole answer.
    pub fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.wait(&json!({ "id": id }), Duration::from_secs(20))
            .unwrap_or_else(|| panic!("no answer to {method}"))
    }

    /// How requests of this kind are answered from now on.
    pub fn auto(&self, method: &str, how: Value) {
        self.said.inner.lock().expect("lock").auto.insert(method.into(), how);
    }

    pub fn messages(&self) -> Vec<Value> {
        self.said.inner.lock().expect("lock").messages.clone()
    }

    pub fn updates(&self) -> Vec<Value> {
        let messages = self.messages();
        messages
            .into_iter()
            .filter(|message| message["method"] == "session/update")
            .map(|message| message["params"]["update"].clone())
            .collect()
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input; how long it takes to leave.
    pub fn end(&mut self) -> Duration {
        let started = Instant::now();
        *self.stdin.lock().expect("lock") = None;
        while self.is_alive() && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(2));
        }
        started.elapsed()
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Plays steps; the first that does not hold is the error.
    pub fn play(&mut self, steps: &Value) -> Result<(), String> {
        for (at, step) in steps.as_array().expect("steps").iter().enumerate() {
            self.step(step).map_err(|why| format!("step {at}: {why}"))?;
        }
        match self.said.inner.lock().expect("lock").noise.first() {
            Some(noise) => Err(format!("not JSON on standard output: {noise:.80}")),
            None => Ok(()),
        }
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let object = step.as_object().ok_or("a step is an object")?;
        if let Some(unknown) = object.keys().find(|key| !STEPS.contains(&key.as_str())) {
            return Err(format!("no such step: {unknown}"));
        }
        if step["restart"] == true {
            self.restart();
        }
        if let Some(auto) = step["auto"].as_object() {
            for (method, how) in auto {
                self.auto(method, how.clone());
            }
        }
        if step.get("send").is_some() {
            self.send(&step["send"]);
        }
        if let Some(raw) = step["raw"].as_str() {
            self.raw(raw.as_bytes());
        }
        if step.get("wait").is_some() {
            let within = Duration::from_millis(step["within_ms"].as_u64().unwrap_or(10_000));
            let found =
                self.wait(&step["wait"], within).ok_or_else(|| format!("no message {}", step["wait"]))?;
            if let Some(name) = step["save_sid"].as_str() {
                let id = found["result"]["sessionId"].as_str().ok_or("no session id")?;
                self.sessions.insert(name.into(), id.into());
            }
        }
        if step.get("absent").is_some() {
            let before = self.messages().len();
            std::thread::sleep(Duration::from_millis(step["for_ms"].as_u64().unwrap_or(500)));
            if self.messages().iter().skip(before).any(|message| matches(message, &step["absent"])) {
                return Err(format!("unwanted {}", step["absent"]));
            }
        }
        std::thread::sleep(Duration::from_millis(step["sleep_ms"].as_u64().unwrap_or(0)));
        for (name, must) in [("run", false), ("check", true)] {
            if let Some(line) = step[name].as_str() {
                let line = self.filled(line);
                let ran =
                    Command::new("sh").args(["-c", &line]).current_dir(&self.work).status().expect("sh");
                if must && !ran.success() {
                    return Err(format!("check failed: {line}"));
                }
            }
        }
        if step["alive"] == true && !self.is_alive() {
            return Err("the agent is gone".into());
        }
        if let Some(wanted) = step["updates"].as_array() {
            let told: Vec<String> = self.updates().iter().filter_map(told).collect();
            let same = |(told, wanted): (&String, &Value)| reads(told, wanted.as_str().unwrap_or_default());
            if told.len() != wanted.len() || !told.iter().zip(wanted).all(same) {
                return Err(format!("the updates are {told:?}"));
            }
        }
        if step["eof"] == true {
            self.end();
        }
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An update of a conversation in a few words; none for what stands beside it.
fn told(update: &Value) -> Option<String> {
    let kind = update["sessionUpdate"].as_str()?;
    let what = match kind {
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => &update["content"]["text"],
        "tool_call" => &update["status"],
        "tool_call_update" => &update["toolCallId"],
        _ => return None,
    };
    Some(format!("{kind}: {}", what.as_str().unwrap_or_default()))
}

/// Is this text, where one `*` in the wanted one stands for wording that a face is free in.
fn reads(told: &str, wanted: &str) -> bool {
    match wanted.split_once('*') {
        None => told == wanted,
        Some((head, tail)) => {
            told.len() >= head.len() + tail.len() && told.starts_with(head) && told.ends_with(tail)
        }
    }
}

fn spawn(command: &mut Command) -> (Child, ChildStdin, ChildStdout) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the agent starts");
    let stdin = child.stdin.take().expect("its input");
    let stdout = child.stdout.take().expect("its output");
    (child, stdin, stdout)
}

/// The same program, arguments, environment and folder.
fn same(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    if let Some(cwd) = command.get_current_dir() {
        copy.current_dir(cwd);
    }
    copy
}

fn matches(message: &Value, what: &Value) -> bool {
    let id = what.get("id").is_none_or(|id| message.get("id") == Some(id) && message.get("method").is_none());
    let method = what.get("method").is_none_or(|method| message.get("method") == Some(method));
    let has = what["has"].as_str().is_none_or(|text| message.to_string().contains(text));
    id && method && has
}

/// What the client answers; nothing where it ignores the request.
fn answer(
    method: &str,
    params: &Value,
    how: &HashMap<String, Value>,
    work: &str,
) -> Option<serde_json::Map<String, Value>> {
    let how = how.get(method).cloned().unwrap_or(Value::Null);
    let path = params["path"].as_str().unwrap_or_default();
    let result = match method {
        "session/request_permission" => {
            let kind = match how.as_str() {
                Some("allow") => "allow_once",
                Some("always") => "allow_always",
                Some("reject") => "reject_once",
                _ => return None,
            };
            let options = params["options"].as_array().expect("options");
            let option = options.iter().find(|option| option["kind"] == kind).expect("such an option");
            json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
        }
        "fs/read_text_file" => match &how {
            Value::Object(texts) => {
                let text = texts.iter().find(|(name, _)| name.replace("@@WORK@@", work) == path);
                json!({"content": text.map(|(_, text)| text.clone()).unwrap_or_else(|| json!(""))})
            }
            _ => match std::fs::read_to_string(path) {
                Ok(text) => json!({ "content": text }),
                Err(error) => {
                    return Some(object(json!({"error": {"code": -32002, "message": error.to_string()}})));
                }
            },
        },
        "fs/write_text_file" => {
            if how == "disk" {
                std::fs::write(path, params["content"].as_str().unwrap_or_default()).expect("a write");
            }
            json!({})
        }
        _ => return Some(object(json!({"error": {"code": -32601, "message": "method not found"}}))),
    };
    Some(object(json!({ "result": result })))
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().expect("an object")
}
