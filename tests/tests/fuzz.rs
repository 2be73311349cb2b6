//! Hostile input: mutated frames, configurations, patches and streams. No exit, no hang beyond 2 s, no file
//! touched, a planted secret in no output.
//!
//! A fifth of the rounds runs always; `tests/heavy fuzz` runs them all (`FUZZ_ROUNDS=10000`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::product::{Product, run};
use tests::{Agent, ModelServer};

/// In frames, where errors could echo it.
const SECRET: &str = "sk-planted-9f8e7d6c";
/// The provider's key, which nobody has a reason to say.
const KEY: &str = "sk-planted-key-5b4a3c2d";

fn rounds(part: u32) -> u32 {
    let all: u32 = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    (all / part).max(1)
}

/// A small generator: the same numbers each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    /// Some bytes changed, cut, doubled or made strange.
    fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len().max(1)).min(bytes.len());
            match self.roll(8) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.roll(256) as u8),
                2 if at < bytes.len() => bytes[at] = self.roll(256) as u8,
                3 if at < bytes.len() => drop(bytes.remove(at)),
                4 => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend(tail);
                }
                5 => {
                    let odd: [&[u8]; 6] =
                        [b"null", b"-1e999", b"\xff\xfe", b"{\"a\":", b"[[[[[[[[", b"\"\\ud800\""];
                    let odd = odd[self.roll(6)];
                    bytes.splice(at..at, odd.iter().copied());
                }
                6 => bytes.reverse(),
                _ => bytes.extend_from_slice(b"}"),
            }
        }
        bytes.retain(|byte| *byte != b'\n');
        bytes
    }
}

fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn with_secret(product: &Product) -> std::process::Command {
    let text = std::fs::read_to_string(product.home.join("config.toml")).unwrap();
    std::fs::write(product.home.join("config.toml"), text + "env_key = \"PLANTED_KEY\"\n").unwrap();
    let mut command = product.command();
    command.env("PLANTED_KEY", KEY);
    command
}

#[test]
fn frames() {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "one\n").unwrap();
    let server = ModelServer::say(&json!({"turns": [], "after_last": {"say": "ok"}}), &product.work);
    product.configure(&server, "chat", "");
    let before = tree(&product.work);
    let mut agent = Agent::start(&mut with_secret(&product), &product.work);
    agent.ask(
        0,
        "initialize",
        &json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"key": SECRET}}}),
    );
    let made = agent.ask(1, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    let session = made["result"]["sessionId"].as_str().unwrap().to_string();
    let text = json!([{"type": "text", "text": SECRET}]);
    let seeds: Vec<Value> = vec![
        json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": {"sessionId": session, "prompt": text}}),
        json!({"jsonrpc": "2.0", "id": "x", "method": "session/new", "params": {"cwd": product.work, "mcpServers": [{"name": "s", "command": "c", "args": [], "env": [{"name": "K", "value": SECRET}]}]}}),
        json!({"jsonrpc": "2.0", "id": 9, "method": "session/set_mode", "params": {"sessionId": session, "modeId": "nope"}}),
        json!({"jsonrpc": "2.0", "id": 10, "method": "session/set_config_option", "params": {"sessionId": session, "configId": "model", "value": "m2"}}),
        json!({"jsonrpc": "2.0", "id": 11, "method": "session/load", "params": {"sessionId": "../../x", "cwd": "/", "mcpServers": []}}),
        json!({"jsonrpc": "2.0", "id": 12, "method": "initialize", "params": {"protocolVersion": "1"}}),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
        json!({"jsonrpc": "2.0", "id": 13, "method": "authenticate", "params": {"methodId": SECRET}}),
        json!({"jsonrpc": "2.0", "id": 14, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}}),
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let all = rounds(1);
    for round in 0..all {
        let seed = seeds[dice.roll(seeds.len())].to_string();
        let line = dice.mutate(seed.as_bytes());
        agent.raw(&line);
        if round % 100 == 99 || round + 1 == all {
            // A question among the noise is answered soon.
            let id = 1_000_000 + u64::from(round);
            let asked = Instant::now();
            agent.send(&json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}}));
            let answer = agent.wait(&json!({ "id": id }), Duration::from_secs(10));
            assert!(answer.is_some(), "no answer after round {round}; alive: {}", agent.is_alive());
            assert!(asked.elapsed() < Duration::from_secs(2), "round {round}: {:?}", asked.elapsed());
        }
    }
    assert!(agent.is_alive());
    let mut done = agent.ask(9_999_999, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    let fresh = done["result"]["sessionId"].take();
    let last = agent.ask(
        9_999_998,
        "session/prompt",
        &json!({"sessionId": fresh, "prompt": [{"type": "text", "text": "hi"}]}),
    );
    assert_eq!(last["result"]["stopReason"], "end_turn", "{last}");
    assert_eq!(tree(&product.work), before);
    // The person's own words may come back to them as titles; errors tell nothing.
    let errors = agent.messages().into_iter().filter(|message| message.get("error").is_some());
    for error in errors {
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
    assert!(!agent.messages().iter().any(|message| message.to_string().contains(KEY)));
}

#[test]
fn configurations() {
    let product = Product::new();
    let server = ModelServer::say(&json!({"turns": [], "after_last": {"say": "ok"}}), &product.work);
    product.configure(
        &server,
        "chat",
        "mode = \"auto\"\n[sandbox_workspace_write]\nnetwork_access = false\n",
    );
    let good = std::fs::read_to_string(product.home.join("config.toml")).unwrap();
    let good = format!("{good}experimental_bearer_token = \"{SECRET}\"\n");
    let before = tree(&product.work);
    let mut dice = Dice(7);
    for round in 0..rounds(10) {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(bytes.len());
            match dice.roll(3) {
                0 => bytes[at] = dice.roll(256) as u8,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, b"[]{}=\"'#\n"[dice.roll(9)]),
            }
            if bytes.is_empty() {
                break;
            }
        }
        std::fs::write(product.home.join("config.toml"), &bytes).unwrap();
        let mut command = product.command();
        // A mutated address must lead nowhere.
        command.args([
            "exec",
            "--skip-git-repo-check",
            "-c",
            &format!("model_providers.mock.base_url={}", server.url()),
        ]);
        command
            .args(["-c", "model_provider=mock", "-c", "model_providers.mock.request_max_retries=0", "go"])
            .stdin(Stdio::null());
        let ran = run(&mut command, Duration::from_secs(10));
        assert!(matches!(ran.code, Some(0 | 1)), "round {round}: {:?} {}", ran.code, ran.err);
        assert!(ran.took < Duration::from_secs(2), "round {round}: {:?}", ran.took);
        assert!(!ran.err.contains(SECRET) && !ran.out.contains(SECRET), "round {round}: {}", ran.err);
    }
    assert_eq!(tree(&product.work), before);
}

#[test]
fn patches() {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let good = "*** Begin Patch\u{1}*** Update File: a.txt\u{1}@@ one\u{1}-nowhere\u{1}+2\u{1} three\u{1}*** Delete File: none\u{1}*** End Patch";
    let mut dice = Dice(11);
    let count = rounds(10);
    let calls: Vec<Value> = (0..count)
        .map(|_| {
            let bytes = dice.mutate(good.as_bytes());
            let text = String::from_utf8_lossy(&bytes).replace('\u{1}', "\n");
            // Only patches that cannot apply: what applies by chance would be right to change the file.
            json!({"tool": "patch", "args": {"input": text.replace("-two", "-nowhere")}})
        })
        .collect();
    let turns: Vec<Value> =
        calls.chunks(50).map(|calls| json!({ "calls": calls })).chain([json!({"say": "done"})]).collect();
    let server = ModelServer::say(&json!({"turns": turns, "strict": ["pairing"]}), &product.work);
    product.configure(&server, "chat", "");
    let started = Instant::now();
    let ran = product.exec(&["--json", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(started.elapsed() < Duration::from_secs(50));
    assert_eq!(std::fs::read_to_string(product.work.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert!(server.requests().iter().all(|request| request.rejected.is_none()));
}

#[test]
fn streams() {
    let product = Product::new();
    let good = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\u{1}\u{1}data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}}]}}]}\u{1}\u{1}data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\u{1}\u{1}data: [DONE]\u{1}\u{1}";
    let mut dice = Dice(13);
    let count = rounds(10);
    let bodies: Vec<Value> = (0..count)
        .map(|_| {
            let bytes = dice.mutate(good.as_bytes());
            json!({"body": String::from_utf8_lossy(&bytes).replace('\u{1}', "\n")})
        })
        .collect();
    let server = ModelServer::say(&json!({"turns": bodies, "after_last": {"say": "ok"}}), &product.work);
    product.configure(&server, "chat", "");
    let text = std::fs::read_to_string(product.home.join("config.toml")).unwrap();
    let text = text.replace("stream_max_retries = 2", "stream_max_retries = 0");
    std::fs::write(product.home.join("config.toml"), text).unwrap();
    let mut agent = Agent::start(&mut with_secret(&product), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    let made = agent.ask(1, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    let session = made["result"]["sessionId"].as_str().unwrap().to_string();
    let mut id = 10;
    while (server.turns_played() as u32) < count {
        id += 1;
        let asked = Instant::now();
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
        let answer = agent.ask(id, "session/prompt", &params);
        assert!(
            answer["result"]["stopReason"].is_string() || answer["error"]["message"].is_string(),
            "{answer}"
        );
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    }
    assert!(agent.is_alive());
    assert!(!agent.messages().iter().any(|message| message.to_string().contains(KEY)));
    let told = |name: &str| server.requests()[0].headers.iter().any(|(_, value)| value.contains(name));
    assert!(told(KEY), "the key was in use");
}
