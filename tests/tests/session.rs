//! Sessions through the built binary: resumed, replayed, killed, shared, undone.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::product::{self, Product};
use tests::{Agent, ModelServer};

fn open(agent: &mut Agent, product: &Product) -> String {
    agent.ask(0, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let made = agent.ask(1, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
    made["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_string()
}

fn prompt(agent: &mut Agent, id: u64, session: &str, text: &str) -> Value {
    agent.ask(
        id,
        "session/prompt",
        &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
    )
}

fn journal(product: &Product) -> PathBuf {
    fn find(folder: &std::path::Path) -> Option<PathBuf> {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                if let Some(found) = find(&path) {
                    return Some(found);
                }
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                return Some(path);
            }
        }
        None
    }
    find(&product.home.join("sessions")).expect("a journal")
}

fn two_turns() -> Value {
    json!({"turns": [
        {"reasoning": "thinking", "say": "I look.", "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "1\n"}}]},
        {"say": "first done"},
        {"calls": [{"tool": "shell", "args": {"command": "echo out"}}]},
        {"say": "second done"},
        {"say": "third done"}
    ], "strict": ["pairing"]})
}

#[test]
fn the_clients_system_prompt_stays_through_a_restart() {
    let product = Product::new();
    let script = json!({"turns": [], "after_last": {"say": "ok"}});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    let system = |mode: &str, text: &str| json!({"mode": mode, "content": [{"type": "text", "text": text}]});
    let last = |server: &ModelServer| server.requests().last().unwrap().body["messages"][0].to_string();
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let new = json!({"cwd": product.work, "mcpServers": [], "systemPrompt": system("append", "SPEAK LATIN")});
    let session = agent.ask(1, "session/new", &new)["result"]["sessionId"].as_str().unwrap().to_string();
    prompt(&mut agent, 2, &session, "one");
    assert!(last(&server).contains("SPEAK LATIN") && last(&server).contains("How to work"));
    agent.end();
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    let load = json!({"sessionId": session, "cwd": product.work, "mcpServers": []});
    agent.ask(1, "session/load", &load);
    prompt(&mut agent, 2, &session, "two");
    assert!(last(&server).contains("SPEAK LATIN"), "{}", last(&server));
    agent.end();
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    let mut load = load;
    load["systemPrompt"] = system("override", "ONLY THIS");
    agent.ask(1, "session/load", &load);
    prompt(&mut agent, 2, &session, "three");
    let told = last(&server);
    assert!(told.contains("ONLY THIS") && !told.contains("How to work") && !told.contains("LATIN"), "{told}");
}

fn sessions(product: &Product, args: &[&str]) -> product::Ran {
    let mut command = product.command();
    command.arg("sessions").args(args).stdin(Stdio::null());
    product::run(&mut command, Duration::from_secs(20))
}

#[test]
fn sessions_are_listed_written_out_and_deleted() {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "one\n").unwrap();
    let script = json!({"turns": [
        {"reasoning": "hm", "say": "I look.", "calls": [
            {"tool": "edit", "args": {"path": "a.txt", "old": "one", "new": "````"}},
            {"tool": "shell", "args": {"command": "cat a.txt"}}
        ]},
        {"say": "done"},
        {"say": "other"}
    ]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "mode = \"workspace-write\"");
    assert_eq!(sessions(&product, &["list", "--json"]).out.trim(), "[]");
    for prompt in ["first prompt", "second prompt"] {
        let ran = product.exec(&["--skip-git-repo-check", "-s", "workspace-write", prompt]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let listed = sessions(&product, &["list", "--json"]);
    let rows: Value = serde_json::from_str(&listed.out).unwrap_or_else(|_| panic!("{}", listed.err));
    let titles: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["second prompt", "first prompt"]);
    let (second, first) = (rows[0]["id"].as_str().unwrap(), rows[1]["id"].as_str().unwrap());
    let plain = sessions(&product, &["list", "--limit", "1"]);
    assert!(plain.out.contains(second) && plain.out.lines().count() == 1, "{}", plain.out);

    let markdown = sessions(&product, &["export", first]).out;
    for text in [
        "## You\n\nfirst prompt",
        "> hm",
        "I look.",
        "`````diff\n---",
        "-one\n+````",
        "```sh\ncat a.txt",
        "done",
    ] {
        assert!(markdown.contains(text), "{text}: {markdown}");
    }
    let file = product.work.join("out.json");
    let to = file.to_str().unwrap();
    let ran = sessions(&product, &["export", first, "--format", "json", "-o", to]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let items: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(items.as_array().unwrap().len() >= 5, "{items}");
    let again = sessions(&product, &["export", first, "-o", to]);
    assert!(again.code == Some(1) && again.err.contains("not there yet"), "{}", again.err);

    // What is open elsewhere can be read and not deleted.
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    agent.ask(1, "session/load", &json!({"sessionId": first, "cwd": product.work, "mcpServers": []}));
    assert_eq!(sessions(&product, &["export", first]).out, markdown);
    let kept = sessions(&product, &["delete", first]);
    assert!(kept.code == Some(1) && kept.err.contains("is open in process"), "{}", kept.err);
    agent.end();
    let ran = sessions(&product, &["delete", first]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("deleted: {first}\n")), "{}", ran.err);
    let none = sessions(&product, &["export", first]);
    assert!(none.code == Some(1) && none.err.contains("no session"), "{}", none.err);
    let many = sessions(&product, &["export", ""]);
    assert_eq!(many.code, Some(0), "the only one left is meant: {}", many.err);
}

#[test]
fn a_running_turn_takes_a_word_more_and_a_session_its_title() {
    let product = Product::new();
    let script = json!({"turns": [
        {"calls": [{"tool": "shell", "args": {"command": "touch began; while ! test -e go; do sleep 0.02; done"}}]},
        {"say": "done"}
    ], "strict": ["pairing"]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "mode = \"workspace-write\"");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    let steer = json!({"sessionId": session, "prompt": [{"type": "text", "text": "also this"}]});
    let told = agent.ask(2, "_session/steering", &steer);
    assert_eq!(told["result"]["outcome"], "promptRequired", "{told}");
    let go = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    agent.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": go}));
    let until = Instant::now() + Duration::from_secs(20);
    while !product.work.join("began").exists() {
        assert!(Instant::now() < until, "the command did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(agent.ask(4, "_session/steering", &steer)["result"]["outcome"], "injected");
    let titled = agent.ask(5, "session/set_title", &json!({"sessionId": session, "title": "My own"}));
    assert_eq!(titled["result"], json!({"title": "My own"}));
    std::fs::write(product.work.join("go"), "").unwrap();
    let end = agent.wait(&json!({"id": 3}), Duration::from_secs(20)).unwrap();
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(server.requests().last().unwrap().body.to_string().contains("also this"));
    let listed = agent.ask(6, "session/list", &json!({}));
    assert_eq!(listed["result"]["sessions"][0]["title"], "My own", "{listed}");
    let options = agent.ask(7, "session/options", &json!({"cwd": product.work}));
    assert!(options["result"]["configOptions"].as_array().is_some_and(|all| !all.is_empty()), "{options}");
}

#[test]
fn load_replays_all_in_order_before_its_answer() {
    let product = Product::new();
    let server = ModelServer::say(&two_turns(), &product.work);
    product.configure(&server, "chat", "mode = \"workspace-write\"");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    prompt(&mut agent, 2, &session, "prompt-one");
    prompt(&mut agent, 3, &session, "prompt-two");
    assert!(agent.end() < Duration::from_secs(2));
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    agent.ask(1, "session/load", &json!({"sessionId": session, "cwd": product.work, "mcpServers": []}));
    let messages = agent.messages();
    let answer = messages.iter().position(|message| message["id"] == 1).expect("the answer");
    let told: Vec<String> = messages[..answer]
        .iter()
        .filter(|message| message["method"] == "session/update")
        .map(|message| {
            let update = &message["params"]["update"];
            assert_eq!(message["params"]["sessionId"], session.as_str());
            let kind = update["sessionUpdate"].as_str().unwrap();
            let what = update["content"]["text"].as_str().or(update["status"].as_str()).unwrap_or_default();
            format!("{kind}: {what}")
        })
        .collect();
    assert_eq!(
        told,
        [
            "user_message_chunk: prompt-one",
            "agent_thought_chunk: thinking",
            "agent_message_chunk: I look.",
            "tool_call: completed",
            "agent_message_chunk: first done",
            "user_message_chunk: prompt-two",
            "tool_call: completed",
            "agent_message_chunk: second done",
        ]
    );
    let last = prompt(&mut agent, 2, &session, "prompt-three");
    assert_eq!(last["result"]["stopReason"], "end_turn");
    let asked = server.requests().last().unwrap().body.to_string();
    for text in ["prompt-one", "first done", "prompt-two", "second done", "prompt-three"] {
        assert_eq!(asked.matches(text).count(), 1, "{text}");
    }
}

#[test]
fn a_cut_at_any_byte_leaves_a_session_that_goes_on() {
    let product = Product::new();
    let server = ModelServer::say(&two_turns(), &product.work);
    product.configure(&server, "chat", "");
    let ran = product.exec(&["--json", "--skip-git-repo-check", "-s", "workspace-write", "one"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = product.exec(&["--json", "--skip-git-repo-check", "resume", "--last", "two"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let file = journal(&product);
    let whole = std::fs::read(&file).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let step = (whole.len() / 60).max(1);
    for cut in (first_line..=whole.len()).step_by(step) {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let server =
            ModelServer::say(&json!({"turns": [{"say": "on"}], "strict": ["pairing"]}), &product.work);
        product.configure(&server, "chat", "");
        let ran = product.exec(&["--json", "--skip-git-repo-check", "resume", "--last", "again"]);
        assert_eq!(ran.code, Some(0), "cut at {cut}: {}{}", ran.out, ran.err);
        assert!(server.requests().iter().all(|request| request.rejected.is_none()), "cut at {cut}");
    }
}

#[test]
fn the_first_load_after_a_kill_shows_the_command_that_was_cut_off() {
    let product = Product::new();
    let script = json!({"turns": [
        {"calls": [{"tool": "shell", "args": {"command": "touch began; sleep 30"}}]},
        {"say": "after the kill"}
    ]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "mode = \"workspace-write\"");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    let go = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    agent.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": go}));
    let until = Instant::now() + Duration::from_secs(20);
    while !product.work.join("began").exists() {
        assert!(Instant::now() < until, "the command did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    agent.kill();
    for _ in 0..2 {
        let mut agent = Agent::start(&mut product.command(), &product.work);
        agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
        agent.ask(1, "session/load", &json!({"sessionId": session, "cwd": product.work, "mcpServers": []}));
        let calls = agent.updates().into_iter().filter(|update| update["sessionUpdate"] == "tool_call");
        let told: Vec<String> = calls.map(|call| call["status"].to_string()).collect();
        assert_eq!(told, ["\"failed\""]);
        agent.end();
    }
}

#[test]
fn what_was_read_in_part_is_a_part_after_a_restart() {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "1\n2\n3\n").unwrap();
    std::fs::write(product.work.join("b.txt"), "1\n2\n3\n").unwrap();
    let read = |path: &str, limit: u32| json!({"tool": "read", "args": {"path": path, "limit": limit}});
    let write = |path: &str| json!({"tool": "write", "args": {"path": path, "content": "mine\n"}});
    let script = json!({"turns": [
        {"calls": [read("a.txt", 2), read("b.txt", 3)]},
        {"say": "read"},
        {"calls": [write("a.txt"), write("b.txt")]},
        {"say": "done"}
    ]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    let ran = product.exec(&["--skip-git-repo-check", "-s", "workspace-write", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = product.exec(&["--skip-git-repo-check", "resume", "--last", "go on"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = |name| std::fs::read_to_string(product.work.join(name)).unwrap();
    assert_eq!((text("a.txt").as_str(), text("b.txt").as_str()), ("1\n2\n3\n", "mine\n"));
}

#[test]
fn killed_in_mid_command_it_resumes_to_the_end() {
    let product = Product::new();
    let script = json!({"turns": [
        {"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "1\n"}}]},
        {"calls": [{"tool": "shell", "args": {"command": "touch began; sleep 30; touch late"}}]},
        {"say": "after the kill"}
    ], "strict": ["pairing"]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    let mut command = product.command();
    command.args(["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !product.work.join("began").exists() {
        assert!(Instant::now() < until, "the command did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let ran = product.exec(&["--json", "--skip-git-repo-check", "resume", "--last", "go on"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("after the kill"));
    // Two requests before the kill, one after it.
    assert!(ran.out.contains("\"input_tokens\":300"), "{}", ran.out);
    let asked = server.requests().last().unwrap().body.to_string();
    assert!(asked.contains("Interrupted. It may have happened"), "{asked}");
    assert!(!product.work.join("late").exists());
}

#[test]
fn a_session_has_one_process() {
    let product = Product::new();
    let script = json!({"turns": [{"say": "a"}, {"say": "b"}]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    prompt(&mut agent, 2, &session, "one");
    let ran = product.exec(&["--skip-git-repo-check", "resume", &session, "two"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(&format!("is open in process {}", agent.pid())), "{}", ran.err);
}

#[test]
fn an_unknown_session_is_an_error_and_not_a_new_one() {
    let product = Product::new();
    let server = ModelServer::say(&json!({"turns": [{"say": "a"}]}), &product.work);
    product.configure(&server, "chat", "");
    for id in ["nope", "01a22f31-16d9-73ab-84aa-a7ba289ebbae", "../../etc/passwd"] {
        let ran = product.exec(&["--skip-git-repo-check", "resume", id, "go"]);
        assert_eq!(ran.code, Some(1), "{id}");
        assert!(ran.err.contains("no session"), "{}", ran.err);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn undo_takes_back_edits_and_keeps_what_the_person_changed() {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n").unwrap();
    let script = json!({"turns": [
        {"calls": [{"tool": "edit", "args": {"path": "a.txt", "old": "2", "new": "two"}},
                   {"tool": "write", "args": {"path": "new.txt", "content": "x\n"}}]},
        {"say": "done"}, {"say": "I know"}
    ]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "mode = \"workspace-write\"");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    prompt(&mut agent, 2, &session, "go");
    std::fs::write(product.work.join("a.txt"), "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n").unwrap();
    prompt(&mut agent, 3, &session, "/undo");
    assert_eq!(
        std::fs::read_to_string(product.work.join("a.txt")).unwrap(),
        "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"
    );
    assert!(!product.work.join("new.txt").exists());
    prompt(&mut agent, 4, &session, "now");
    assert!(server.requests().last().unwrap().body.to_string().contains("took back your changes"));
}

#[test]
fn eight_sessions_do_not_mix() {
    let product = Product::new();
    let turns: Vec<Value> = (0..8).map(|_| json!({"words": 300})).collect();
    let server = ModelServer::say(&json!({ "turns": turns }), &product.work);
    product.configure(&server, "chat", "");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    agent.ask(0, "initialize", &json!({"protocolVersion": 1}));
    let sessions: Vec<String> = (0..8)
        .map(|at| {
            let made = agent.ask(10 + at, "session/new", &json!({"cwd": product.work, "mcpServers": []}));
            made["result"]["sessionId"].as_str().unwrap().to_string()
        })
        .collect();
    for (at, session) in (0..).zip(&sessions) {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": format!("p{at}")}]});
        agent.send(&json!({"jsonrpc": "2.0", "id": 100 + at, "method": "session/prompt", "params": params}));
    }
    for at in 0..8 {
        let answer = agent.wait(&json!({"id": 100 + at}), Duration::from_secs(20)).expect("an answer");
        assert_eq!(answer["result"]["stopReason"], "end_turn");
    }
    let wanted: String = (0..300).map(|number| format!("word{number} ")).collect();
    for session in &sessions {
        let said: String = agent
            .messages()
            .iter()
            .filter(|message| message["params"]["sessionId"] == session.as_str())
            .filter(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
            .map(|message| message["params"]["update"]["content"]["text"].as_str().unwrap().to_string())
            .collect();
        assert_eq!(said, wanted);
    }
}

#[test]
fn compaction_goes_on_with_a_summary() {
    let product = Product::new();
    let script = json!({"turns": [
        {"calls": [{"tool": "shell", "args": {"command": "echo hello"}}]},
        {"say": "done"}, {"say": "SUMMARY OF IT"}, {"say": "on"}
    ], "strict": ["pairing"]});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    let mut agent = Agent::start(&mut product.command(), &product.work);
    let session = open(&mut agent, &product);
    prompt(&mut agent, 2, &session, "first");
    prompt(&mut agent, 3, &session, "/compact the names");
    prompt(&mut agent, 4, &session, "more");
    let requests = server.requests();
    assert!(requests[2].body.to_string().contains("the names"));
    let last = requests[3].body.to_string();
    assert!(last.contains("SUMMARY OF IT") && !last.contains("echo hello"), "{last}");
    assert!(requests.iter().all(|request| request.rejected.is_none()));
}
