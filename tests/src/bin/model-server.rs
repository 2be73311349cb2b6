//! `model-server SCRIPT [WORK] [PORT]`: the scripted model for clients that are no Rust tests.
//!
//! Prints `{"port":N}`, then a line of JSON for each request, until its input ends.

use std::path::PathBuf;

use providers::script::Script;
use tests::ModelServer;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = PathBuf::from(args.first().expect("usage: model-server SCRIPT [WORK] [PORT]"));
    let text = std::fs::read_to_string(&file).expect("the script");
    let mut script = Script::parse(&text).expect("a script");
    script.work = args.get(1).cloned().unwrap_or_else(|| ".".into());
    let port = args.get(2).and_then(|port| port.parse().ok()).unwrap_or(0);
    let server = ModelServer::start(script, file.parent().expect("a folder"), port);
    println!("{{\"port\":{}}}", server.port);
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).is_ok_and(|read| read > 0) {
        line.clear();
        for request in server.requests() {
            println!(
                "{}",
                serde_json::json!({"path": request.path, "body": request.body, "rejected": request.rejected})
            );
        }
        println!("end");
    }
}
