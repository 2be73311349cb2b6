//! Whom the product connects to: local sockets and the configured address, watched by strace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tests::product::{self, Product};
use tests::{Agent, ModelServer};

/// The product under strace, and where the trace goes.
fn traced(product: &Product, name: &str) -> (Command, PathBuf) {
    let log = product.root().join(name);
    let plain = product.command();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=connect,sendto", "-o"]).arg(&log).arg(plain.get_program());
    command.current_dir(&product.work);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    (command, log)
}

/// Addresses that were connected to, local sockets left out; the model's own too.
fn elsewhere(log: &Path, server: &ModelServer) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(log).unwrap();
    let found: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("connect(") && line.contains("sa_family="))
        .filter(|line| !line.contains("AF_UNIX"))
        .collect();
    let ours = format!("sin_port=htons({})", server.port);
    let odd =
        found.iter().filter(|line| !(line.contains("inet_addr(\"127.0.0.1\")") && line.contains(&ours)));
    let odd: Vec<String> = odd.map(|line| line.to_string()).collect();
    (found.len() - odd.len(), odd)
}

fn stage() -> (Product, ModelServer) {
    let product = Product::new();
    let script = json!({"turns": [
        {"say": "I look.", "calls": [{"tool": "shell", "args": {"command": "echo out"}}]},
        {"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "1\n"}}]},
        {"say": "done"}
    ]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    (product, server)
}

#[test]
fn exec_connects_to_the_model_alone() {
    if product::lacks("strace") {
        return;
    }
    let (product, server) = stage();
    let (mut command, log) = traced(&product, "exec");
    command.args(["exec", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
    let ran = product::run(&mut command, Duration::from_secs(60));
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
    let (own, odd) = elsewhere(&log, &server);
    assert!(own > 0 && odd.is_empty(), "{own} {odd:?}");
}

#[test]
fn acp_connects_to_the_model_alone() {
    if product::lacks("strace") {
        return;
    }
    let (product, server) = stage();
    let (mut command, log) = traced(&product, "acp");
    let mut agent = Agent::start(&mut command, &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let made = agent.ask(1, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    let prompt = json!({
        "sessionId": made["result"]["sessionId"],
        "prompt": [{"type": "text", "text": "go"}],
    });
    let told = agent.ask(2, "session/prompt", &prompt);
    assert_eq!(told["result"]["stopReason"], "end_turn", "{told}");
    agent.end();
    let (own, odd) = elsewhere(&log, &server);
    assert!(own > 0 && odd.is_empty(), "{own} {odd:?}");
}

#[test]
fn the_demo_connects_to_nobody() {
    if product::lacks("strace") {
        return;
    }
    let (product, server) = stage();
    let (mut command, log) = traced(&product, "demo");
    let ran = product::run(command.arg("demo"), Duration::from_secs(60));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The demo's own tests and commands were there to be seen.
    assert!(std::fs::metadata(&log).is_ok());
    assert_eq!(elsewhere(&log, &server), (0, Vec::new()));
}
