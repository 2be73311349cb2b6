//! The scripted model server itself: a check that cannot fail would prove nothing about the product.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::ModelServer;

/// An answer as it came over the network.
struct Got {
    head: String,
    /// The chunks of the body, each with the time of its arrival.
    chunks: Vec<(Vec<u8>, Instant)>,
    /// How reading ended, where it was no orderly end.
    error: Option<ErrorKind>,
}

impl Got {
    fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
    }

    fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }

    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

fn post(server: &ModelServer, path: &str, body: &str) -> Got {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let head = line_by_line(&mut stream);
    let mut got = Got { head, chunks: Vec::new(), error: None };
    let length = got.head.lines().find_map(|line| line.strip_prefix("content-length: ").map(str::to_string));
    if let Some(length) = length {
        let mut bytes = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut bytes).unwrap();
        got.chunks.push((bytes, Instant::now()));
        return got;
    }
    got.error = loop {
        match chunk(&mut stream) {
            Ok(bytes) if bytes.is_empty() => break None,
            Ok(bytes) => got.chunks.push((bytes, Instant::now())),
            Err(error) => break Some(error.kind()),
        }
    };
    got
}

fn line_by_line(stream: &mut TcpStream) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push_str(&line(stream).unwrap());
    }
    head
}

fn line(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        text.push(byte[0]);
    }
    Ok(String::from_utf8(text).unwrap())
}

fn chunk(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let size = usize::from_str_radix(line(stream)?.trim(), 16).unwrap();
    let mut bytes = vec![0; size + 2];
    stream.read_exact(&mut bytes)?;
    bytes.truncate(size);
    Ok(bytes)
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn plain() -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": "go"}]}).to_string()
}

fn serve(turn: &Value) -> ModelServer {
    ModelServer::say(&json!({"turns": [], "after_last": turn}), Path::new("/the/work"))
}

#[test]
fn cuts_arrive_apart_and_chunks_have_their_size() {
    let server = serve(&json!({"body": "one@@CUT@@two@@CUT@@three"}));
    let got = post(&server, CHAT, &plain());
    let texts: Vec<&[u8]> = got.chunks.iter().map(|(bytes, _)| bytes.as_slice()).collect();
    assert_eq!(texts, [&b"one"[..], b"two", b"three"]);
    assert!(got.chunks[2].1 - got.chunks[0].1 >= Duration::from_millis(8));
    let server = serve(&json!({"body": "abcdefgh", "chunk": 3, "delay_ms": 30}));
    let got = post(&server, CHAT, &plain());
    let sizes: Vec<usize> = got.chunks.iter().map(|(bytes, _)| bytes.len()).collect();
    assert_eq!(sizes, [3, 3, 2]);
    assert!(got.chunks[2].1 - got.chunks[0].1 >= Duration::from_millis(55));
}

#[test]
fn gzip_is_flushed_behind_each_event() {
    let server = serve(&json!({"body": "data: one\n\ndata: two\n\n", "gzip": true, "delay_ms": 1}));
    let got = post(&server, CHAT, &plain());
    assert!(got.head.contains("content-encoding: gzip"));
    let first = got.chunks[0].0.clone();
    let mut seen = vec![0; 11];
    // What came first is an event already, though the stream has no end yet.
    flate2::read::GzDecoder::new(&first[..]).read_exact(&mut seen).unwrap();
    assert_eq!(seen, b"data: one\n\n");
    let mut all = String::new();
    flate2::read::GzDecoder::new(&got.body()[..]).read_to_string(&mut all).unwrap();
    assert_eq!(all, "data: one\n\ndata: two\n\n");
}

#[test]
fn connections_end_as_the_turn_says() {
    let ends =
        [("close", None), ("reset", Some(ErrorKind::ConnectionReset)), ("hang", Some(ErrorKind::WouldBlock))];
    for (end, error) in ends {
        let server = serve(&json!({"body": "x", "end": end}));
        let got = post(&server, CHAT, &plain());
        assert_eq!((got.text().as_str(), got.error), ("x", error), "{end}");
    }
}

#[test]
fn a_line_is_repeated_for_its_time() {
    let server = serve(&json!({"body": "x", "repeat": {"line": ": ping", "every_ms": 20, "for_s": 0.2}}));
    let got = post(&server, CHAT, &plain());
    let count = got.text().matches(": ping\n").count();
    assert!((3..=10).contains(&count), "{count}");
}

#[test]
fn placeholders_become_the_harness_own_names() {
    let server =
        serve(&json!({"body": "@@SHELL@@ @@CMD@@ @@WRITE@@ @@PATH@@ @@CONTENT@@ @@WORK@@/a @@ELSE@@ @@"}));
    assert_eq!(
        post(&server, CHAT, &plain()).text(),
        "bash command write_file path content /the/work/a @@ELSE@@ @@"
    );
}

#[test]
fn what_is_not_there_or_no_json_is_refused_and_takes_no_turn() {
    let server = ModelServer::say(&json!({"turns": [{"say": "first"}]}), Path::new("."));
    assert_eq!(post(&server, "/v1/messages", &plain()).status(), "404");
    assert_eq!(post(&server, CHAT, "{nope").status(), "400");
    assert!(post(&server, CHAT, &plain()).text().contains("first"));
    assert_eq!(post(&server, CHAT, &plain()).status(), "400", "the script is over");
    assert_eq!(server.turns_played(), 1);
}

/// A call, its result, and what stands around them, on the chat wire.
fn talk(message: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "go"}, message,
        {"role": "tool", "tool_call_id": "c1", "content": "r"}]})
}

fn call(more: Value) -> Value {
    let mut message = json!({"role": "assistant", "content": "x",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn tool(name: &str, mut schema: Value) -> Value {
    schema["type"] = json!("object");
    json!({"model": "m", "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": name, "parameters": schema}}]})
}

fn user(content: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

fn input(items: Value) -> Value {
    json!({"model": "m", "input": items})
}

/// A rule, a request that keeps it, one that breaks it.
fn chat_rules() -> Vec<(Value, Value, Value)> {
    let image = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAAAAAA"}}]);
    let bad_args = json!([{"id": "c1", "function": {"name": "t", "arguments": {}}}]);
    let named = json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}});
    let plain = || user(json!("go"));
    vec![
        (json!("pairing"), talk(call(json!({}))), json!({"model": "m", "messages": [call(json!({}))]})),
        (json!("pairing"), talk(call(json!({}))), talk(json!({"role": "assistant", "content": "x"}))),
        (
            json!("no_empty_assistant"),
            plain(),
            json!({"model": "m", "messages": [{"role": "assistant", "content": ""}]}),
        ),
        (
            json!("args_are_object_strings"),
            talk(call(json!({}))),
            talk(call(json!({"tool_calls": bad_args}))),
        ),
        (
            json!("content_empty_rejected"),
            talk(call(json!({"content": null}))),
            talk(call(json!({"content": ""}))),
        ),
        (
            json!("content_string_required"),
            talk(call(json!({"content": ""}))),
            talk(call(json!({"content": null}))),
        ),
        (json!("tool_names"), tool("a_b-1", json!({})), tool("a.b", json!({}))),
        (json!({"tool_names": 4}), tool("abcd", json!({})), tool("abcde", json!({}))),
        (
            json!("schema_refs_resolve"),
            tool("t", named.clone()),
            tool("t", json!({"properties": {"a": {"$ref": "#/$defs/x"}}})),
        ),
        (
            json!("schema_no_refs"),
            tool("t", json!({"properties": {"a": {"type": "string"}}})),
            tool("t", named),
        ),
        (
            json!("schema_no_top_combinators"),
            tool("t", json!({"properties": {"a": {"anyOf": []}}})),
            tool("t", json!({"anyOf": []})),
        ),
        (
            json!("schema_no_type_arrays"),
            tool("t", json!({})),
            tool("t", json!({"properties": {"a": {"type": ["string", "null"]}}})),
        ),
        (json!("no_images"), plain(), user(image.clone())),
        (
            json!({"max_image_b64": 40}),
            user(image.clone()),
            user(json!(format!("data:image/{}", "A".repeat(40)))),
        ),
        (json!({"max_body": 400}), plain(), user(json!("x".repeat(400)))),
        (
            json!({"max_chars": {"chars": 400, "style": "overflow_detail"}}),
            plain(),
            user(json!("x".repeat(400))),
        ),
        (json!("ids_verbatim"), plain(), talk(call(json!({})))),
    ]
}

#[test]
fn each_rule_passes_what_keeps_it_and_refuses_what_breaks_it() {
    let reasoning = |content: Value| input(json!([{"type": "reasoning", "summary": [], "content": content}]));
    let calls = |items: Value| input(items);
    let made = json!({"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "r"});
    let more = vec![
        (json!("pairing"), calls(json!([made, output])), calls(json!([made]))),
        (json!("pairing"), calls(json!([made, output])), calls(json!([output]))),
        (
            json!("no_reasoning_content_items"),
            reasoning(json!([])),
            reasoning(json!([{"type": "reasoning_text"}])),
        ),
        (json!("ids_verbatim"), calls(json!([])), calls(json!([made, output]))),
    ];
    let all =
        chat_rules().into_iter().map(|row| (CHAT, row)).chain(more.into_iter().map(|row| (RESPONSES, row)));
    for (path, (rule, keeps, breaks)) in all {
        let script = json!({"turns": [], "after_last": {"say": "ok"}, "strict": [rule]});
        let server = ModelServer::say(&script, Path::new("."));
        let got = post(&server, path, &keeps.to_string());
        assert_eq!(got.status(), "200", "{rule}: {}", got.text());
        let got = post(&server, path, &breaks.to_string());
        let status = if rule.get("max_body").is_some() { "413" } else { "400" };
        assert_eq!(got.status(), status, "{rule}: {breaks}");
        assert!(server.requests()[1].rejected.is_some());
    }
    let script = json!({"turns": [], "strict": ["no_such_rule"]});
    assert!(std::panic::catch_unwind(|| ModelServer::say(&script, Path::new("."))).is_err());
}

#[test]
fn thoughts_and_ids_must_come_back_as_they_were_issued() {
    let script = json!({"turns": [{"reasoning": "hm", "calls": [{"tool": "raw:t", "args": {}, "id": "c1"}]}],
        "after_last": {"say": "ok"}, "strict": ["reasoning_replay", "ids_verbatim"]});
    let server = ModelServer::say(&script, Path::new("."));
    assert_eq!(post(&server, CHAT, &plain()).status(), "200");
    for (thought, status) in [(json!("hm"), "200"), (json!("hum"), "400"), (json!(null), "400")] {
        let body = talk(call(json!({"reasoning_content": thought}))).to_string();
        assert_eq!(post(&server, CHAT, &body).status(), status, "{thought}");
    }
    let server = ModelServer::say(&script, Path::new("."));
    assert_eq!(post(&server, RESPONSES, &input(json!([])).to_string()).status(), "200");
    let made = json!({"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "r"});
    for (sealed, status) in [("sealed-0", "200"), ("other", "400")] {
        let thought = json!({"type": "reasoning", "summary": [], "encrypted_content": sealed});
        let body = input(json!([thought, made, output])).to_string();
        assert_eq!(post(&server, RESPONSES, &body).status(), status, "{sealed}");
    }
}
