//! A model server on loopback that plays a script, on the wire it is asked on, and is as strict as real ones.

mod deliver;
mod http;
mod render;
mod strict;

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use providers::script::{Script, Turn};
use serde_json::{Value, json};

use strict::{Asked, Refusal, Rule};

/// A server under way. Dropped, it takes no further request and lets go of connections it holds open.
pub struct ModelServer {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    script: Script,
    rules: Vec<Rule>,
    folder: PathBuf,
    played: Mutex<Played>,
    closed: AtomicBool,
}

/// What was asked, and which calls were made.
#[derive(Default)]
struct Played {
    log: Vec<Request>,
    issued: BTreeMap<String, Thought>,
}

/// A request as it came, and why it was refused.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub rejected: Option<String>,
}

/// What a model thought before it made a call: in words for one wire, sealed for the other.
#[derive(Clone, Debug, Default)]
struct Thought {
    words: Option<String>,
    sealed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Chat,
    Responses,
}

impl Wire {
    fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if path.ends_with("/chat/completions") => Some(Self::Chat),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ => None,
        }
    }
}

impl ModelServer {
    /// Plays a script file; raw bodies lie beside it.
    pub fn play(file: &Path, work: &Path) -> Self {
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut script = Script::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        script.work = work.display().to_string();
        Self::start(script, file.parent().unwrap_or(Path::new(".")), 0)
    }

    /// Plays a script given as text.
    pub fn say(script: &Value, work: &Path) -> Self {
        let mut script = Script::parse(&script.to_string()).expect("a script");
        script.work = work.display().to_string();
        Self::start(script, Path::new("."), 0)
    }

    pub fn start(script: Script, folder: &Path, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            rules: script.strict.iter().filter_map(Rule::parse).collect(),
            script,
            folder: folder.to_path_buf(),
            played: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.closed.load(Ordering::Relaxed) {
                    break;
                }
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || serve(&serving, stream));
            }
        });
        Self { port, shared }
    }

    /// The base address of the OpenAI wires.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Everything asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.played.lock().expect("the log").log.clone()
    }

    /// How many requests were answered with a turn.
    pub fn turns_played(&self) -> usize {
        let played = self.shared.played.lock().expect("the log");
        played.log.iter().filter(|request| request.rejected.is_none()).count()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut reader = std::io::BufReader::new(stream.try_clone().expect("a second handle"));
    let mut stream = stream;
    while let Some(heard) = http::read(&mut reader) {
        if answer(shared, heard, &mut stream).is_err() {
            return;
        }
    }
}

fn answer(shared: &Shared, heard: http::Heard, stream: &mut TcpStream) -> std::io::Result<()> {
    if heard.method == "GET" && heard.path.ends_with("/models") {
        return http::respond(
            stream,
            200,
            &json!({"object": "list", "data": [{"id": "m", "object": "model"}]}),
        );
    }
    let Some(wire) = Wire::of(&heard.path).filter(|_| heard.method == "POST") else {
        let why = format!("{} {}: there is nothing here", heard.method, heard.path);
        return http::respond(stream, 404, &json!({"error": {"message": why}}));
    };
    let Ok(body) = serde_json::from_slice::<Value>(&heard.body) else {
        return http::respond(stream, 400, &json!({"error": {"message": "the body is not JSON"}}));
    };
    match admit(shared, wire, heard, body) {
        Err(refusal) => http::respond(stream, refusal.status, &refusal.body),
        Ok((turn, answer)) => deliver::send(&turn, &answer, stream, &shared.closed),
    }
}

/// Checks and logs a request; its turn and the bytes to answer with.
fn admit(shared: &Shared, wire: Wire, heard: http::Heard, body: Value) -> Result<(Turn, Vec<u8>), Refusal> {
    let mut played = shared.played.lock().expect("the log");
    let at = played.log.iter().filter(|request| request.rejected.is_none()).count();
    let asked = Asked { wire, body: &body, bytes: heard.body.len(), issued: &played.issued };
    let turn = strict::check(&shared.rules, &asked).and_then(|()| {
        shared.script.turn(at).cloned().ok_or_else(|| Refusal::new(format!("the script has no turn {at}")))
    });
    let rejected = turn.as_ref().err().map(|refusal| refusal.why.clone());
    played.log.push(Request { path: heard.path, headers: heard.headers, body, rejected });
    let turn = turn?;
    let answer = render::body(&shared.script, &turn, &shared.folder, (wire, at));
    played.issued.extend(answer.issued);
    Ok((turn, answer.bytes))
}
