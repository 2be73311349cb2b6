//! A model server on loopback that plays a script, on the wire it is asked on, and is as strict as real ones.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use providers::script::{Script, ToolMap, Turn};
use serde_json::{Value, json};

/// A server under way. Dropped, it takes no further request.
pub struct ModelServer {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    script: Script,
    folder: PathBuf,
    log: Mutex<Vec<Request>>,
    closed: std::sync::atomic::AtomicBool,
}

/// A request as it came, and why it was refused.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub rejected: Option<String>,
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
            script,
            folder: folder.to_path_buf(),
            log: Mutex::default(),
            closed: std::sync::atomic::AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.closed.load(std::sync::atomic::Ordering::Relaxed) {
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
        self.shared.log.lock().expect("the log").clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.closed.store(true, std::sync::atomic::Ordering::Relaxed);
        // Wakes the listener, so that it sees.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut stream = stream;
    while let Some((method, path, headers, body)) = read_request(&mut reader) {
        if method == "GET" {
            let models = json!({"object": "list", "data": [{"id": "m", "object": "model"}]}).to_string();
            if respond(&mut stream, 200, "application/json", models.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let wire = if path.ends_with("/responses") { Wire::Responses } else { Wire::Chat };
        let rejected = check(&shared.script, wire, &body);
        let at = {
            let mut log = shared.log.lock().expect("the log");
            let at = log.iter().filter(|request| request.rejected.is_none()).count();
            log.push(Request { path: path.clone(), headers, body: body.clone(), rejected: rejected.clone() });
            at
        };
        let sent = match (rejected, shared.script.turn(at)) {
            (Some(why), _) => {
                let error = json!({"error": {"message": why, "type": "invalid_request_error"}}).to_string();
                respond(&mut stream, 400, "application/json", error.as_bytes())
            }
            (None, None) => {
                let error = json!({"error": {"message": format!("the script has no turn {at}")}}).to_string();
                respond(&mut stream, 400, "application/json", error.as_bytes())
            }
            (None, Some(turn)) => play(shared, turn, at, wire, &mut stream),
        };
        if sent.is_err() {
            return;
        }
    }
}

type Head = (String, String, Vec<(String, String)>, Vec<u8>);

fn read_request(reader: &mut impl BufRead) -> Option<Head> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        let (name, value) = (name.trim().to_lowercase(), value.trim().to_string());
        if name == "content-length" {
            length = value.parse().ok()?;
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    std::io::Read::read_exact(reader, &mut body).ok()?;
    Some((method, path, headers, body))
}

fn respond(stream: &mut TcpStream, status: u16, mime: &str, body: &[u8]) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-type: {mime}\r\ncontent-length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    stream.flush()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Chat,
    Responses,
}

/// One answer, delivered as the turn says.
fn play(shared: &Shared, turn: &Turn, at: usize, wire: Wire, stream: &mut TcpStream) -> std::io::Result<()> {
    std::thread::sleep(Duration::from_millis(turn.delay_ms.unwrap_or(0)));
    let body = match (&turn.body, &turn.body_file) {
        (Some(body), _) => body.clone().into_bytes(),
        (None, Some(file)) => std::fs::read(shared.folder.join(file)).unwrap_or_default(),
        (None, None) => match wire {
            Wire::Chat => chat(&shared.script, turn, at).into_bytes(),
            Wire::Responses => responses(&shared.script, turn, at).into_bytes(),
        },
    };
    let status = turn.status.unwrap_or(200);
    let mime = turn.mime.as_deref().unwrap_or("text/event-stream");
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-type: {mime}\r\ntransfer-encoding: chunked\r\n")?;
    for (name, value) in &turn.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "\r\n")?;
    let mut pieces: Vec<&[u8]> = Vec::new();
    for part in split(&body, b"@@CUT@@") {
        match turn.chunk {
            Some(size) => pieces.extend(part.chunks(size.max(1))),
            None => pieces.extend(part.chunks(64 * 1024)),
        }
    }
    for piece in pieces {
        write!(stream, "{:x}\r\n", piece.len())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
        if turn.chunk.is_some() {
            stream.flush()?;
        }
    }
    if let Some(repeat) = &turn.repeat {
        let rounds = (repeat.for_s * 1000.0 / repeat.every_ms.max(1) as f64) as u64;
        for _ in 0..rounds {
            write!(stream, "{:x}\r\n{}\n\r\n", repeat.line.len() + 1, repeat.line)?;
            std::thread::sleep(Duration::from_millis(repeat.every_ms));
        }
    }
    match turn.end.as_deref() {
        Some("reset") => stream.shutdown(std::net::Shutdown::Both),
        Some("hang") => {
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        _ => {
            stream.write_all(b"0\r\n\r\n")?;
            stream.flush()
        }
    }
}

fn split<'a>(body: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

fn words(turn: &Turn) -> Vec<String> {
    if let Some(count) = turn.words {
        return (0..count).map(|number| format!("word{number} ")).collect();
    }
    turn.say.iter().flat_map(|text| text.split_inclusive(' ')).map(str::to_string).collect()
}

fn calls(script: &Script, turn: &Turn, at: usize) -> Vec<(String, String, String)> {
    let map = ToolMap::native();
    let made = turn.calls.iter().enumerate().map(|(slot, call)| {
        let (name, args) = map.call(call, &script.work);
        (call.id.clone().unwrap_or_else(|| format!("call_{at}_{slot}")), name, args)
    });
    made.collect()
}

fn event(out: &mut String, data: &Value) {
    out.push_str(&format!("data: {data}\n\n"));
}

fn chat(script: &Script, turn: &Turn, at: usize) -> String {
    let mut out = String::new();
    let delta = |delta: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    if let Some(text) = &turn.reasoning {
        event(&mut out, &delta(json!({"role": "assistant", "reasoning_content": text})));
    }
    for word in words(turn) {
        event(&mut out, &delta(json!({"content": word})));
    }
    let calls = calls(script, turn, at);
    for (slot, (id, name, args)) in calls.iter().enumerate() {
        let head =
            json!({"index": slot, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        event(&mut out, &delta(json!({"tool_calls": [head]})));
        for piece in pieces(args) {
            let more = json!({"index": slot, "function": {"arguments": piece}});
            event(&mut out, &delta(json!({"tool_calls": [more]})));
        }
    }
    let finish =
        turn.finish.clone().unwrap_or_else(|| if calls.is_empty() { "stop" } else { "tool_calls" }.into());
    event(&mut out, &json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    let (input, output) = turn.usage.map_or((100, 10), |usage| (usage.input, usage.output));
    event(
        &mut out,
        &json!({"id": "c", "choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}}),
    );
    out + "data: [DONE]\n\n"
}

/// Arguments in pieces, as models stream them.
fn pieces(args: &str) -> Vec<String> {
    let letters: Vec<char> = args.chars().collect();
    letters.chunks(24).map(|chunk| chunk.iter().collect()).collect()
}

fn responses(script: &Script, turn: &Turn, at: usize) -> String {
    let mut out = String::new();
    let mut index = 0;
    event(&mut out, &json!({"type": "response.created", "response": {"id": "r"}}));
    if let Some(text) = &turn.reasoning {
        event(
            &mut out,
            &json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "delta": text}),
        );
        let item = json!({"type": "reasoning", "id": format!("rs_{at}"), "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": format!("sealed-{at}")});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    let said = words(turn);
    if !said.is_empty() {
        for word in &said {
            event(
                &mut out,
                &json!({"type": "response.output_text.delta", "output_index": index, "delta": word}),
            );
        }
        let content = json!([{"type": "output_text", "text": said.concat()}]);
        let item = json!({"type": "message", "role": "assistant", "content": content});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    for (id, name, args) in calls(script, turn, at) {
        let head = json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""});
        event(&mut out, &json!({"type": "response.output_item.added", "output_index": index, "item": head}));
        for piece in pieces(&args) {
            let delta = json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece});
            event(&mut out, &delta);
        }
        let item = json!({"type": "function_call", "call_id": id, "name": name, "arguments": args});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    let (input, output) = turn.usage.map_or((100, 10), |usage| (usage.input, usage.output));
    let usage = json!({"input_tokens": input, "output_tokens": output});
    let done = match turn.finish.as_deref() {
        Some("length") => json!({"type": "response.incomplete", "response": {"usage": usage,
            "incomplete_details": {"reason": "max_output_tokens"}}}),
        _ => json!({"type": "response.completed", "response": {"id": "r", "output": [], "usage": usage}}),
    };
    event(&mut out, &done);
    out
}

/// What real servers refuse.
fn check(script: &Script, wire: Wire, body: &Value) -> Option<String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Some("model is missing".into());
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = if wire == Wire::Chat { &tool["function"] } else { tool };
        let name = function["name"].as_str().unwrap_or_default();
        if name.is_empty() || name.len() > 64 || function["parameters"]["type"] != "object" {
            return Some(format!("tools: {name:?} is no function with an object schema"));
        }
    }
    let names: BTreeSet<&str> = script
        .strict
        .iter()
        .filter_map(|rule| rule.as_str().or_else(|| rule.as_object()?.keys().next().map(String::as_str)))
        .collect();
    match wire {
        Wire::Chat => check_chat(body, &names),
        Wire::Responses => check_responses(body),
    }
}

fn check_chat(body: &Value, names: &BTreeSet<&str>) -> Option<String> {
    let mut awaited: Vec<String> = Vec::new();
    for (at, message) in body["messages"].as_array()?.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = awaited.iter().position(|other| other == id) else {
                return Some(format!("messages[{at}]: the result {id:?} has no call"));
            };
            awaited.remove(found);
            if !message["content"].is_string() {
                return Some(format!("messages[{at}]: the content of a tool message must be a string"));
            }
            continue;
        }
        if !awaited.is_empty() {
            return Some(format!("messages[{at}]: the calls {awaited:?} have no results"));
        }
        if role != "assistant" {
            continue;
        }
        let calls = message["tool_calls"].as_array();
        if calls.is_none() && message["content"].as_str().is_none_or(str::is_empty) {
            return Some(format!("messages[{at}]: an assistant message must say something"));
        }
        if names.contains("refuse_empty_string") && message["content"] == "" {
            return Some(format!("messages[{at}]: the content is an empty string"));
        }
        for call in calls.into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str();
            if !arguments
                .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()))
            {
                return Some(format!("messages[{at}]: arguments must be the text of an object"));
            }
            awaited.push(call["id"].as_str().unwrap_or_default().to_string());
        }
    }
    (!awaited.is_empty()).then(|| format!("the calls {awaited:?} have no results"))
}

fn check_responses(body: &Value) -> Option<String> {
    let mut awaited: BTreeSet<String> = BTreeSet::new();
    for (at, item) in body["input"].as_array()?.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default().to_string();
        match item["type"].as_str().unwrap_or("message") {
            "function_call" => {
                let text = item["arguments"].as_str().unwrap_or_default();
                if !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()) {
                    return Some(format!("input[{at}]: arguments must be the text of an object"));
                }
                awaited.insert(id);
            }
            "function_call_output" if !awaited.remove(&id) => {
                return Some(format!("input[{at}]: no tool call found for the output {id:?}"));
            }
            "message" if !awaited.is_empty() => {
                return Some(format!("input[{at}]: no tool output found for {awaited:?}"));
            }
            _ => {}
        }
    }
    (!awaited.is_empty()).then(|| format!("no tool output found for {awaited:?}"))
}
