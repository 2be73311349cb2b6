//! What is sent: one rich request on each wire, byte for byte, and the headers around it.

use protocol::model::{Message, ModelCall, ModelRequest, Part, Role, Spoken, Thinking, Thought, ToolSpec};
use protocol::{Base64, CallId, Json};
use providers::{Model, Provider, Secret, Wire};
use serde_json::{Value, json};

use crate::loopback::{Asked, Loopback, ask, request, turn};

/// Sends it and gives what arrived; whatever is answered does not matter.
async fn sent(wire: Wire, request: &ModelRequest, change: impl FnOnce(&mut Provider)) -> Asked {
    let server = Loopback::play(vec![turn(&json!({"status": 400, "body": "enough"}))]).await;
    let mut provider = server.provider(wire);
    change(&mut provider);
    let (_, said) = ask(&Model::new(provider), request).await;
    assert!(said.is_err());
    server.asked().remove(0)
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts }
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn image() -> Part {
    Part::Image { mime: "image/png".into(), data: Base64("AAAA".into()) }
}

fn call(id: &str, input: &str, spoken: Spoken) -> Part {
    Part::Call(ModelCall { id: CallId(id.into()), name: "f".into(), input: Json(input.into()), spoken })
}

fn result(id: &str, parts: Vec<Part>) -> Part {
    Part::Result { call: CallId(id.into()), parts, error: false }
}

fn thought(provider: &str, sealed: Option<Value>) -> Part {
    let sealed = sealed.map(|sealed| Json(sealed.to_string()));
    Part::Thought(Thought { provider: provider.into(), text: "hm".into(), sealed })
}

fn rich(sealed: Value) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: vec!["one".into(), "two".into()],
        messages: vec![
            message(Role::User, vec![text("look"), image()]),
            message(
                Role::Assistant,
                vec![
                    thought("here", Some(sealed)),
                    thought("elsewhere", Some(json!({"reasoning_content": "not ours"}))),
                    text("so"),
                    call("functions.f:0", "{\"n\": 1}", Spoken::Native),
                    call("b", "", Spoken::Native),
                    call("c", "null", Spoken::Native),
                    call("d", "[1]", Spoken::Native),
                    call("e", "{}", Spoken::InText),
                ],
            ),
            message(
                Role::Tool,
                vec![result("functions.f:0", vec![text("r1"), text("r2")]), result("b", vec![image()])],
            ),
            message(Role::Tool, vec![result("c", vec![text("")]), result("d", vec![text("r4")])]),
            message(Role::Assistant, vec![thought("here", None)]),
            message(Role::System, vec![text("mind")]),
            message(Role::User, vec![text("on")]),
        ],
        tools: vec![ToolSpec {
            name: "f".into(),
            about: "does".into(),
            schema: Json("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}".into()),
        }],
        max_tokens: Some(7),
        thinking: Thinking::Effort("high".into()),
        output_schema: Some(Json("{\"type\":\"object\"}".into())),
        cache_key: Some("session".into()),
    }
}

#[tokio::test]
async fn chat() {
    let asked = sent(Wire::Chat, &rich(json!({"reasoning_content": "hm"})), |_| {}).await;
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let url = "data:image/png;base64,AAAA";
    let should = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "one\n\ntwo"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]},
            {"role": "assistant", "content": "so", "reasoning_content": "hm", "tool_calls": [
                call("functions.f:0", "{\"n\": 1}"), call("b", "{}"), call("c", "{}"), call("d", "{\"input\":[1]}"),
            ]},
            {"role": "tool", "tool_call_id": "functions.f:0", "content": "r1\nr2"},
            {"role": "tool", "tool_call_id": "b", "content": "The image follows."},
            {"role": "tool", "tool_call_id": "c", "content": ""},
            {"role": "tool", "tool_call_id": "d", "content": "r4"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]},
            {"role": "system", "content": "mind"},
            {"role": "user", "content": "on"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {"name": "f", "description": "does", "parameters": schema}}],
        "max_tokens": 7,
        "reasoning_effort": "high",
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": {"type": "object"}}},
    });
    assert_eq!(asked.body, should);
}

#[tokio::test]
async fn responses() {
    let reasoning = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"});
    let asked = sent(Wire::Responses, &rich(reasoning.clone()), |_| {}).await;
    assert_eq!(asked.line, "POST /v1/responses HTTP/1.1");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": arguments});
    let output =
        |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"});
    let should = json!({
        "model": "m",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, image]},
            reasoning,
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
            call("functions.f:0", "{\"n\": 1}"), call("b", "{}"), call("c", "{}"), call("d", "{\"input\":[1]}"),
            output("functions.f:0", json!("r1\nr2")), output("b", json!([image])), output("c", json!("")), output("d", json!("r4")),
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "mind"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "on"}]},
        ],
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": "one\n\ntwo",
        "tools": [{"type": "function", "name": "f", "description": "does", "parameters": schema, "strict": false}],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "max_output_tokens": 7,
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": true, "schema": {"type": "object"}}},
        "prompt_cache_key": "session",
    });
    assert_eq!(asked.body, should);
}

#[tokio::test]
async fn what_is_not_asked_for_is_not_sent() {
    let chat = sent(Wire::Chat, &request(), |_| {}).await.body;
    assert_eq!(
        chat,
        json!({"model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true}})
    );
    let responses = sent(Wire::Responses, &request(), |_| {}).await.body;
    let include = ["reasoning.encrypted_content"];
    assert_eq!(
        responses,
        json!({"model": "m", "input": [], "stream": true, "store": false, "include": include})
    );
}

#[tokio::test]
async fn a_budget_of_thought_is_the_nearest_word() {
    let table = [
        (Thinking::Default, Value::Null, Value::Null),
        (Thinking::Off, json!("none"), json!({"effort": "none"})),
        (Thinking::Budget(1024), json!("low"), json!({"effort": "low", "summary": "auto"})),
        (Thinking::Budget(9000), json!("medium"), json!({"effort": "medium", "summary": "auto"})),
        (Thinking::Budget(64_000), json!("high"), json!({"effort": "high", "summary": "auto"})),
    ];
    for (thinking, chat, responses) in table {
        let request = ModelRequest { thinking, ..request() };
        assert_eq!(sent(Wire::Chat, &request, |_| {}).await.body["reasoning_effort"], chat);
        assert_eq!(sent(Wire::Responses, &request, |_| {}).await.body["reasoning"], responses);
    }
}

#[tokio::test]
async fn headers_query_and_key() {
    let bare = request();
    let asked = sent(Wire::Chat, &bare, |provider| {
        provider.key = Some(Secret::new("sk-1\r\n".into()));
        provider.headers = vec![("X-Team".into(), "blue".into())];
        provider.query = vec![("api version".into(), "1&2".into())];
    });
    let asked = asked.await;
    assert_eq!(asked.line, "POST /v1/chat/completions?api%20version=1%262 HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some("Bearer sk-1"));
    assert_eq!(asked.header("x-team"), Some("blue"));
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let agent = format!(
        "open-interpreter/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    assert_eq!(asked.header("user-agent"), Some(agent.as_str()));
    let own = sent(Wire::Chat, &bare, |provider| {
        provider.key = Some(Secret::new("sk-1".into()));
        provider.headers = vec![("Authorization".into(), "Basic abc".into())];
    });
    let own = own.await;
    let values: Vec<&String> =
        own.headers.iter().filter(|(name, _)| name == "authorization").map(|(_, value)| value).collect();
    assert_eq!(values, ["Basic abc"]);
    assert_eq!(sent(Wire::Chat, &request(), |_| {}).await.header("authorization"), None);
}
