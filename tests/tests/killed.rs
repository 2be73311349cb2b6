//! Killed with -9 at any moment of a turn: nothing that was told is lost, no file is half written, the session
//! is loaded and its next request is valid.
//!
//! A few rounds run always; `tests/heavy kill` runs 500 (`KILL_ROUNDS`).

use std::time::Duration;

use serde_json::{Value, json};
use tests::product::Product;
use tests::{Agent, ModelServer};

/// How long the turn below takes, some of it after the last thing that is told.
const TURN: Duration = Duration::from_millis(450);

fn script(big: &str) -> Value {
    json!({"turns": [
        {"reasoning": "thinking", "say": "I work.", "chunk": 64, "calls": [
            {"tool": "edit", "args": {"path": "a.txt", "old": "one", "new": "1"}},
            {"tool": "write", "args": {"path": "big.txt", "content": big}},
            {"tool": "patch", "args": {"input":
                "*** Begin Patch\n*** Update File: b.txt\n@@\n-two\n+2\n*** Add File: c.txt\n+three\n*** End Patch"}}
        ]},
        {"calls": [{"tool": "shell", "args": {"command": "echo out; sleep 0.1; echo late > d.txt"}}]},
        {"say": "I am done.", "delay_ms": 30}
    ], "after_last": {"say": "on"}, "strict": ["pairing"]})
}

fn texts(agent: &Agent) -> String {
    let chunks =
        agent.updates().into_iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.map(|chunk| chunk["content"]["text"].as_str().unwrap_or_default().to_string()).collect()
}

fn calls(agent: &Agent) -> usize {
    agent.updates().iter().filter(|update| update["sessionUpdate"] == "tool_call").count()
}

/// Calls that were told to be done.
fn done(agent: &Agent) -> usize {
    agent.updates().iter().filter(|update| update["status"] == "completed").count()
}

/// One round; `after` says when it is killed.
fn round(after: Duration, asks: &str) {
    let product = Product::new();
    let big = "0123456789abcdef\n".repeat(20_000);
    for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n")] {
        std::fs::write(product.work.join(name), text).unwrap();
    }
    let server = ModelServer::say(&script(&big), &product.work);
    product.configure(&server, "chat", asks);
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let made = agent.ask(1, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    let session = made["result"]["sessionId"].clone();
    let go = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    agent.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": go}));
    std::thread::sleep(after);
    agent.kill();
    let (said, done_before) = (texts(&agent), done(&agent));

    let text = |name: &str| std::fs::read_to_string(product.work.join(name)).ok();
    let whole = |name: &str, may: [Option<&str>; 2]| {
        let is = text(name);
        assert!(may.contains(&is.as_deref()), "{after:?}: {name} is {:?}", is.map(|text| text.len()));
    };
    whole("a.txt", [Some("one\n"), Some("1\n")]);
    whole("b.txt", [Some("two\n"), Some("2\n")]);
    whole("c.txt", [None, Some("three\n")]);
    whole("big.txt", [None, Some(&big)]);

    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let load = json!({"sessionId": session, "cwd": product.work, "mcpServers": []});
    let loaded = agent.ask(1, "session/load", &load);
    if loaded["error"].is_object() {
        // Nothing was kept of it yet, so nothing may have been done.
        assert_eq!(done_before, 0, "{after:?}: {loaded}");
        return;
    }
    // A message is kept when it is whole: before its first call is run.
    assert!(done_before == 0 || texts(&agent).contains("I work."), "{after:?}: {}", texts(&agent));
    assert!(done(&agent) >= done_before, "{after:?}: {} of {done_before}", done(&agent));
    assert!(!said.contains("I am done.") || calls(&agent) == 4, "{after:?}: {}", calls(&agent));
    let more = json!({"sessionId": session, "prompt": [{"type": "text", "text": "again"}]});
    let end = agent.ask(2, "session/prompt", &more);
    assert_eq!(end["result"]["stopReason"], "end_turn", "{after:?}: {end}");
    let rejected: Vec<_> = server.requests().into_iter().filter_map(|request| request.rejected).collect();
    assert!(rejected.is_empty(), "{after:?}: {rejected:?}");
}

#[test]
fn at_any_moment() {
    let rounds: u32 = std::env::var("KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    for at in 0..rounds {
        // Spread over the turn, and a little different each time.
        let jitter = Duration::from_micros(u64::from(at.wrapping_mul(7_919) % 1_000));
        let asks = if at % 2 == 0 {
            "mode = \"workspace-write\""
        } else {
            "approval_policy = \"untrusted\"\nsandbox_mode = \"workspace-write\""
        };
        round(TURN * at / rounds + jitter, asks);
    }
}
