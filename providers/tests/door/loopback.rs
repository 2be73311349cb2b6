//! A server on loopback that plays answers byte by byte and remembers what it was asked.
//!
//! It knows neither wire: an answer is a script's raw turn. The crate's tests use it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protocol::model::{ModelEvent, ModelRequest, Thinking};
use providers::script::{Script, Turn};
use providers::{Heard, Model, Provider, Wire};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Behind it the server pauses for 100 ms.
const SLOW: &[u8] = b"@@SLOW@@";

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub at: Instant,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The server; its log, and how many connections the client hung up before the end.
#[derive(Clone)]
pub struct Loopback {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    hung_up: Arc<tokio::sync::Notify>,
}

impl Loopback {
    /// Plays one answer a request; the last one again and again.
    pub async fn play(answers: Vec<Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, asked: Arc::default(), hung_up: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (serving, answers) = (serving.clone(), answers.clone());
                tokio::spawn(async move {
                    let _ = serving.serve(stream, &answers).await;
                });
            }
        });
        server
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Until a client hangs up on an answer that hangs.
    pub async fn hung_up(&self) {
        self.hung_up.notified().await;
    }

    pub fn provider(&self, wire: Wire) -> Provider {
        Provider::new("here", wire, &format!("http://127.0.0.1:{}/v1", self.port))
    }

    async fn serve(&self, stream: TcpStream, answers: &[Turn]) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut line, mut headers, mut length) = (String::new(), Vec::new(), 0);
        stream.read_line(&mut line).await?;
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
            headers.push((name.to_lowercase(), value.trim().to_string()));
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let at = {
            let mut asked = self.asked.lock().unwrap();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            asked.push(Asked { line: line.trim_end().into(), headers, body, at: Instant::now() });
            asked.len() - 1
        };
        let turn = answers.get(at).or(answers.last()).unwrap();
        self.answer(stream.into_inner(), turn).await
    }

    /// The body is neither counted nor chunked: it ends where the connection does.
    async fn answer(&self, mut stream: TcpStream, turn: &Turn) -> std::io::Result<()> {
        tokio::time::sleep(Duration::from_millis(turn.delay_ms.unwrap_or(0))).await;
        let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", turn.status.unwrap_or(200));
        head += &format!("content-type: {}\r\n", turn.mime.as_deref().unwrap_or("text/event-stream"));
        if turn.gzip {
            head += "content-encoding: gzip\r\n";
        }
        if turn.end.as_deref() == Some("reset") {
            head += "content-length: 1000000\r\n";
        }
        for (name, value) in &turn.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all((head + "\r\n").as_bytes()).await?;
        for piece in pieces(turn) {
            // A mark of our own for a part that keeps the client waiting.
            let slow = piece.ends_with(SLOW);
            stream.write_all(piece.strip_suffix(SLOW).unwrap_or(&piece)).await?;
            if slow {
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            stream.flush().await?;
            tokio::task::yield_now().await;
        }
        if turn.end.as_deref() == Some("hang") {
            let _ = stream.read(&mut [0]).await;
            self.hung_up.notify_one();
        }
        Ok(())
    }
}

/// The writes of a body.
fn pieces(turn: &Turn) -> Vec<Vec<u8>> {
    let body = turn.body.clone().unwrap_or_default();
    if turn.gzip {
        return gzip(body.split_inclusive("\n\n"));
    }
    let parts = body.split("@@CUT@@").map(str::as_bytes);
    parts.flat_map(|part| part.chunks(turn.chunk.unwrap_or(usize::MAX).max(1))).map(<[u8]>::to_vec).collect()
}

/// Gzip without compression: one stored block a part, as a server flushes it.
fn gzip<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<Vec<u8>> {
    let mut out = vec![vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]];
    let (mut crc, mut total) = (u32::MAX, 0u32);
    for part in parts {
        let len = u16::try_from(part.len()).unwrap();
        let mut block = vec![0];
        block.extend(len.to_le_bytes());
        block.extend((!len).to_le_bytes());
        block.extend(part.as_bytes());
        out.push(block);
        total += u32::from(len);
        for byte in part.bytes() {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
    }
    let mut tail = vec![1, 0, 0, 0xff, 0xff];
    tail.extend((!crc).to_le_bytes());
    tail.extend(total.to_le_bytes());
    out.push(tail);
    out
}

/// A raw turn out of JSON. `events` stands for the body: an object a chunk, a string as it is.
pub fn turn(answer: &Value) -> Turn {
    let mut answer = answer.as_object().unwrap().clone();
    if let Some(events) = answer.remove("events") {
        let lines = events.as_array().unwrap().iter().map(|event| match event {
            Value::String(text) => format!("data: {text}\n\n"),
            other => format!("data: {other}\n\n"),
        });
        answer.insert("body".into(), lines.collect::<String>().into());
    }
    let script = Script::parse(&json!({ "turns": [answer] }).to_string());
    script.unwrap_or_else(|error| panic!("{error}")).turns.remove(0)
}

/// A request that asks for no more than an answer.
pub fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: Vec::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        max_tokens: None,
        thinking: Thinking::Default,
        output_schema: None,
        cache_key: None,
    }
}

/// Asks once and collects what is heard.
pub async fn ask(model: &Model, request: &ModelRequest) -> (Vec<Heard>, Result<(), protocol::Failure>) {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let hear = async {
        let mut heard = Vec::new();
        while let Some(one) = receiver.recv().await {
            heard.push(one);
        }
        heard
    };
    let (said, heard) = tokio::join!(model.say(request, sender), hear);
    (heard, said)
}

/// The events of the last attempt as one value; what did not come is left out.
pub fn folded(heard: &[Heard]) -> Value {
    let mut out = json!({});
    let mut calls: Vec<(String, String, String, bool)> = Vec::new();
    let last = heard.iter().rposition(|one| matches!(one, Heard::Again { .. })).map_or(0, |at| at + 1);
    let add = |out: &mut Value, name: &str, more: &str| {
        let text = out[name].as_str().unwrap_or_default().to_string() + more;
        out[name] = text.into();
    };
    for one in &heard[last..] {
        let Heard::Event(event) = one else { unreachable!() };
        match event {
            ModelEvent::Text(more) => add(&mut out, "text", more),
            ModelEvent::Thought(more) => add(&mut out, "thought", more),
            ModelEvent::Sealed(thought) => {
                assert_eq!(thought.provider, "here");
                let sealed =
                    thought.sealed.as_ref().map(|sealed| serde_json::from_str::<Value>(&sealed.0).unwrap());
                out["sealed"] = json!([thought.text, sealed]);
            }
            ModelEvent::CallBegun { slot, id, name } => {
                assert_eq!(*slot as usize, calls.len());
                let id = if id.0.starts_with("call_") { "(made up)" } else { &id.0 };
                calls.push((id.into(), name.clone(), String::new(), false));
            }
            ModelEvent::CallInput { slot, text } => calls[*slot as usize].2 += text,
            ModelEvent::CallEnded { slot } => calls[*slot as usize].3 = true,
            ModelEvent::Used(tokens) => {
                out["used"] = json!([tokens.input, tokens.cached, tokens.output, tokens.reasoning])
            }
            ModelEvent::Stopped(stop) => out["stop"] = serde_json::to_value(stop).unwrap(),
        }
    }
    if !calls.is_empty() {
        let ended = out.get("stop").is_some();
        assert!(calls.iter().all(|call| call.3 == ended), "every call ends with the answer: {calls:?}");
        out["calls"] = calls.iter().map(|(id, name, input, _)| json!([id, name, input])).collect();
    }
    out
}
