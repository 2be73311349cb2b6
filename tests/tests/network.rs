//! Whom the product connects to: local sockets and the configured address, watched by strace.

use std::process::{Command, Stdio};

use serde_json::json;
use tests::ModelServer;
use tests::product::{Product, binary};

/// Addresses that were connected to, none where strace cannot run.
fn connects(product: &Product, args: &[&str], input: &str) -> Option<Vec<String>> {
    let log = product.root().join("strace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-e", "trace=connect,sendto", "-o"])
        .arg(&log)
        .arg(binary())
        .args(args)
        .env("INTERPRETER_HOME", &product.home)
        .env_remove("OPENAI_API_KEY")
        .current_dir(&product.work)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        println!("skipped: strace is not installed");
        return None;
    };
    use std::io::Write;
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(if input.is_empty() { 0 } else { 3_000 }));
    drop(stdin);
    child.wait().unwrap();
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let found = text.lines().filter(|line| line.contains("connect(") && line.contains("sa_family="));
    Some(found.filter(|line| !line.contains("AF_UNIX")).map(str::to_string).collect())
}

#[test]
fn only_the_configured_address() {
    let product = Product::new();
    let server =
        ModelServer::say(&json!({"turns": [], "after_last": {"say": "ok", "calls": []}}), &product.work);
    product.configure(&server, "chat", "");
    let ours = format!("sin_port=htons({})", server.port);
    let session = json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": product.work, "mcpServers": []}});
    let acp = format!(
        "{}\n{session}\n",
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
    );
    for (args, input) in
        [(&["exec", "--skip-git-repo-check", "go"][..], ""), (&["acp"], acp.as_str()), (&["demo"], "")]
    {
        let Some(found) = connects(&product, args, input) else { return };
        let odd: Vec<&String> = found
            .iter()
            .filter(|line| !(line.contains("inet_addr(\"127.0.0.1\")") && line.contains(&ours)))
            .collect();
        assert!(odd.is_empty(), "{args:?}: {odd:?}");
        if args[0] == "exec" {
            assert!(!found.is_empty(), "strace saw nothing");
        }
    }
}
