//! The exec face through the built binary: input, output, exit codes, signals.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::ModelServer;
use tests::product::{Product, run};

fn stage(script: &Value) -> (Product, ModelServer) {
    let product = Product::new();
    let server = ModelServer::say(script, &product.work);
    product.configure(&server, "responses", "");
    (product, server)
}

#[test]
fn the_answer_is_on_stdout_and_progress_on_stderr() {
    let (product, _server) = stage(&json!({"turns": [
        {"say": "looking", "calls": [{"tool": "shell", "args": {"command": "echo hi"}}]}, {"say": "the answer"}
    ]}));
    let ran = product.exec(&["--skip-git-repo-check", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "the answer\n"));
    assert!(ran.err.contains("echo hi") && ran.err.contains("looking"), "{}", ran.err);
}

#[test]
fn exit_codes_tell_how_it_ended() {
    let bad = json!({"turns": [{"status": 400, "type": "application/json", "body": "{\"error\":{\"message\":\"no\"}}"}]});
    let (product, server) = stage(&bad);
    let ran = product.exec(&["--json", "--skip-git-repo-check", "go"]);
    assert_eq!(ran.code, Some(1));
    let types: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(types, ["thread.started", "turn.started", "error", "turn.failed"]);
    assert_eq!(server.requests().len(), 1, "a 400 is not tried again");
    assert_eq!(product.exec(&["--no-such-flag"]).code, Some(2));
    let ran = product.exec(&["go"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("--skip-git-repo-check"), "{}", ran.err);
}

#[test]
fn without_a_provider_it_says_what_it_looked_for() {
    let product = Product::new();
    let ran = product.exec(&["--skip-git-repo-check", "go"]);
    assert_eq!(ran.code, Some(1));
    for text in ["OPENAI_API_KEY", "auth.json", "config.toml", "--oss", "export OPENAI_API_KEY="] {
        assert!(ran.err.contains(text), "{text}: {}", ran.err);
    }
}

#[test]
fn the_prompt_comes_by_argument_by_pipe_or_by_both() {
    let say = json!({"turns": [], "after_last": {"say": "ok"}});
    let (product, server) = stage(&say);
    let piped = |args: &[&str], input: &str| {
        let mut command = product.command();
        command.arg("exec").args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        server.requests().last().unwrap().body["input"].to_string()
    };
    assert!(piped(&["--skip-git-repo-check"], "from the pipe").contains("from the pipe"));
    assert!(piped(&["--skip-git-repo-check", "-"], "by dash").contains("by dash"));
    let both = piped(&["--skip-git-repo-check", "look at"], "some text");
    assert!(both.contains("look at\\n\\n<stdin>\\nsome text\\n</stdin>"), "{both}");
}

#[test]
fn a_prompt_argument_never_waits_for_an_idle_pipe() {
    let (product, _server) = stage(&json!({"turns": [{"say": "ok"}]}));
    let mut command = product.command();
    command.args(["exec", "--skip-git-repo-check", "go"]).stdin(Stdio::piped());
    let started = Instant::now();
    let ran = run(&mut command, Duration::from_secs(10));
    assert_eq!(ran.code, Some(0));
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn signals_end_the_item_the_turn_and_the_tree() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (product, _server) = stage(&json!({"turns": [
            {"calls": [{"tool": "shell", "args": {"command": "touch began; sleep 2; touch late"}}]}, {"say": "never"}
        ]}));
        let mut command = product.command();
        command.args(["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !product.work.join("began").exists() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Instant::now();
        let kill = std::process::Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        let output = child.wait_with_output().unwrap();
        assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
        assert_eq!(output.status.code(), Some(code), "{signal}");
        let out = String::from_utf8(output.stdout).unwrap();
        let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(
            events
                .iter()
                .any(|event| event["type"] == "item.completed" && event["item"]["status"] == "failed"),
            "{out}"
        );
        assert_eq!(events.last().unwrap()["type"], "turn.failed");
        std::thread::sleep(Duration::from_millis(2_200));
        assert!(!product.work.join("late").exists(), "{signal}");
    }
}

#[test]
fn a_retried_request_is_told_and_comes_to_its_end() {
    let (product, server) = stage(&json!({"turns": [
        {"status": 429, "headers": {"retry-after": "1"}, "type": "application/json", "body": "{\"error\":{\"message\":\"slow\"}}"},
        {"status": 503, "type": "text/html", "body": "<h1>busy</h1>"},
        {"say": "made it"}
    ]}));
    let ran = product.exec(&["--json", "--skip-git-repo-check", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.out.contains("slow") && ran.out.contains("made it"));
    assert_eq!(server.requests().len(), 3);
    assert!(ran.took > Duration::from_secs(1), "Retry-After is kept");
}

#[test]
fn secrets_are_in_no_output() {
    let (product, _server) = stage(&json!({"turns": [
        {"calls": [{"tool": "shell", "args": {"command": "env"}}]},
        {"status": 401, "type": "application/json", "body": "{\"error\":{\"message\":\"bad key sk-planted-secret\"}}"}
    ]}));
    let text = std::fs::read_to_string(product.home.join("config.toml")).unwrap();
    std::fs::write(product.home.join("config.toml"), text + "env_key = \"PLANTED_KEY\"\n").unwrap();
    let mut command = product.command();
    command
        .args(["exec", "--json", "--skip-git-repo-check", "go"])
        .env("PLANTED_KEY", "sk-planted-secret")
        .stdin(Stdio::null());
    let ran = run(&mut command, Duration::from_secs(20));
    assert_eq!(ran.code, Some(1));
    assert!(
        !ran.out.contains("planted-secret") && !ran.err.contains("planted-secret"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn an_output_schema_and_a_last_message_file() {
    let (product, server) = stage(&json!({"turns": [{"say": "{\"ok\": true}"}]}));
    std::fs::write(product.root().join("s.json"), "{\"type\": \"object\"}").unwrap();
    let (schema, last) = (product.root().join("s.json"), product.root().join("last.txt"));
    let args = [
        "--skip-git-repo-check",
        "--output-schema",
        schema.to_str().unwrap(),
        "-o",
        last.to_str().unwrap(),
        "go",
    ];
    assert_eq!(product.exec(&args).code, Some(0));
    assert_eq!(std::fs::read_to_string(&last).unwrap(), "{\"ok\": true}");
    assert_eq!(server.requests()[0].body["text"]["format"]["schema"]["type"], "object");
    std::fs::write(&schema, "{nope").unwrap();
    let ran = product.exec(&args);
    assert!(ran.code == Some(1) && ran.err.contains("it is not JSON"), "{}", ran.err);
}

#[test]
fn a_folder_whose_name_is_no_text_is_refused_at_every_door() {
    use std::os::unix::ffi::OsStrExt;
    let (product, server) = stage(&json!({"turns": []}));
    let odd = product.root().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("a.png"), b"\x89PNG").unwrap();
    let before = std::fs::read(product.home.join("config.toml")).unwrap();
    let image = odd.join("a.png");
    let doors = [
        ("exec", &odd, "--skip-git-repo-check", None),
        ("trust", &odd, "--", None),
        ("exec", &product.work, "-C", Some(&odd)),
        ("exec", &product.work, "--add-dir", Some(&odd)),
        ("exec", &product.work, "-i", Some(&image)),
        ("trust", &product.work, "--", Some(&odd)),
    ];
    for (name, folder, flag, path) in doors {
        let mut command = product.command();
        command.current_dir(folder).args([name, flag]).args(path).stdin(Stdio::null());
        if name == "exec" {
            command.arg("go");
        }
        let ran = run(&mut command, Duration::from_secs(20));
        assert_eq!(ran.code, Some(1), "{command:?} {}", ran.err);
        assert!(ran.err.contains("odd\\xFF") && ran.err.contains("is no UTF-8; rename it"), "{}", ran.err);
    }
    assert!(server.requests().is_empty());
    assert_eq!(std::fs::read(product.home.join("config.toml")).unwrap(), before);
}

fn interpreter(product: &Product, args: &[&str]) -> tests::product::Ran {
    run(product.command().args(args).stdin(Stdio::null()), Duration::from_secs(20))
}

#[test]
fn flags_before_a_subcommand_count() {
    let (product, server) = stage(&json!({"turns": [], "after_last": {"say": "ok"}}));
    let ran = interpreter(&product, &["-m", "before", "exec", "--skip-git-repo-check", "hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = interpreter(&product, &["-m", "before", "exec", "-m", "behind", "--skip-git-repo-check", "hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let models: Vec<Value> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["before", "behind"]);
    for args in [&["foo", "bar"][..], &["exec", "foo", "bar"], &["foo", "exec", "bar"]] {
        let ran = interpreter(&product, args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.err.contains("a prompt of several words needs quotes"), "{}", ran.err);
    }
    let ran = interpreter(&product, &["-m", "x", "trust"]);
    assert!(ran.code == Some(2) && ran.err.contains("leave them out"), "{}", ran.err);
}

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    let (product, server) = stage(&json!({"turns": []}));
    for args in [
        &["exec", "-c", "foo", "go"][..],
        &["exec", ""],
        &["exec", "resume"],
        &["exec", "resume", "x", "--all"],
        &["acp", "-i", "a.png"],
        &["acp", "-C", "/"],
    ] {
        let ran = interpreter(&product, args);
        assert_eq!(ran.code, Some(2), "{args:?} {}", ran.err);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn flags_without_effect_are_told() {
    let (product, _server) = stage(&json!({"turns": [{"say": "ok"}]}));
    let ran = product.exec(&["--skip-git-repo-check", "--enable", "x", "--disable", "y", "--search", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ok\n"));
    for flag in ["--enable x", "--disable y", "--search"] {
        assert!(ran.err.contains(&format!("warning: {flag} has no effect here")), "{}", ran.err);
    }
}

fn pipe(path: &std::path::Path) -> String {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    path.to_str().unwrap().to_string()
}

#[test]
fn a_pipe_or_a_device_is_no_file() {
    let (product, _server) = stage(&json!({"turns": []}));
    let fifo = pipe(&product.root().join("fifo"));
    for flag in ["-i", "--output-schema"] {
        for path in [fifo.as_str(), "/dev/zero"] {
            let ran = product.exec(&["--skip-git-repo-check", flag, path, "go"]);
            assert_eq!(ran.code, Some(1));
            assert!(ran.err.contains(path) && ran.err.contains("no regular file"), "{}", ran.err);
        }
    }
    pipe(&product.home.join("auth.json"));
    std::fs::remove_file(product.home.join("config.toml")).unwrap();
    pipe(&product.home.join("config.toml"));
    for args in [&["exec", "--skip-git-repo-check", "go"][..], &["trust"]] {
        let ran = interpreter(&product, args);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("config.toml: it is no regular file"), "{}", ran.err);
    }
    let ran = product.exec(&["--skip-git-repo-check", "--ignore-user-config", "go"]);
    assert!(ran.code == Some(1) && ran.err.contains("no usable model provider"), "{}", ran.err);
}

#[test]
fn trust_takes_folders_alone() {
    let product = Product::new();
    let ran = interpreter(&product, &["trust", "/etc/passwd"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("/etc/passwd: it is no folder"), "{}", ran.err);
    assert_eq!(std::fs::read_dir(&product.home).unwrap().count(), 0);
}

#[test]
fn a_wrong_value_is_told_with_its_place() {
    let (product, server) = stage(&json!({"turns": []}));
    let file = product.home.join("config.toml");
    for (text, told) in [
        ("model = 5\n", "config.toml:1:9: model: invalid type: integer `5`, expected a string"),
        ("\napproval_policy = \"some\"\n", "config.toml:2:19: approval_policy"),
        ("harness = \"none\"\n", "config.toml:1:11: harness: unknown harness \"none\"; known: native"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ran = product.exec(&["--skip-git-repo-check", "go"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains(told) && !ran.err.contains("session "), "{}", ran.err);
    }
    std::fs::write(&file, "modle = \"m\"\n").unwrap();
    let ran = product.exec(&["--skip-git-repo-check", "go"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("did you mean model?") && ran.err.contains("no usable model"), "{}", ran.err);
    let ran = product.exec(&["--skip-git-repo-check", "-c", "model=5", "go"]);
    assert!(ran.err.contains("-c model: invalid type"), "{}", ran.err);
    assert!(server.requests().is_empty() && !product.home.join("sessions").exists());
}

#[test]
fn an_output_that_is_full_or_closed_is_told() {
    for json in [&[][..], &["--json"]] {
        let (product, _server) = stage(&json!({"turns": [{"say": "ok"}]}));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = product.command();
        command.args(["exec", "--skip-git-repo-check"]).args(json).arg("go");
        let ended = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        let err = String::from_utf8(ended.stderr).unwrap();
        assert!(err.contains("error: standard output: No space left on device"), "{err}");
    }
    let (product, _server) = stage(&json!({"turns": [{"say": "ok"}]}));
    let mut command = product.command();
    command.args(["exec", "--skip-git-repo-check", "go"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(1) && err.contains("standard output: Broken pipe"), "{err}");
}

#[test]
fn commands_are_answered_and_what_is_none_is_refused() {
    let (product, server) = stage(&json!({"turns": [{"say": "hello"}, {"say": "in short"}]}));
    let exec = |args: &[&str]| product.exec(&[&["--skip-git-repo-check"], args].concat());
    let ran = exec(&["/compact"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "There is nothing to compact yet.\n"));
    let ran = exec(&["/nope"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("no command /nope; there are /compact, /undo, /status"), "{}", ran.err);
    assert!(server.requests().is_empty());
    assert_eq!(exec(&["go"]).out, "hello\n");
    let ran = exec(&["resume", "--last", "/compact"]);
    assert!(ran.code == Some(0) && ran.out.contains("in short"), "{ran:?}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_is_missing_is_told_with_a_command_that_helps() {
    let (product, _server) = stage(&json!({"turns": []}));
    let ran = product.exec(&["--skip-git-repo-check", "resume", "x", "go"]);
    assert!(ran.code == Some(1) && ran.err.contains("no session x; `/resume`"), "{}", ran.err);
    let mut command = product.command();
    command.env("CODEX_OSS_PORT", "1").args(["--local-provider", "lmstudio", "exec", "go"]);
    let ran = run(command.stdin(Stdio::null()), Duration::from_secs(20));
    assert!(ran.err.contains("lms server start") && !ran.err.contains("ollama"), "{}", ran.err);
}

/// A demo that is stopped while its scratch is being made, by a git that takes its time.
#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt;
    let product = Product::new();
    let git = product.home.join("git");
    std::fs::write(&git, "#!/bin/sh\nsleep 0.4\nPATH=${PATH#*:} exec git \"$@\"\n").unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", product.home.display(), std::env::var("PATH").unwrap());
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mut command = product.command();
        command.arg("demo").env("TMPDIR", &product.work).env("PATH", &path);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while std::fs::read_dir(&product.work).unwrap().count() == 0 {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{signal}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("is removed"), "{ended:?}");
        assert_eq!(std::fs::read_dir(&product.work).unwrap().count(), 0, "{signal}");
    }
    let mut command = product.command();
    command.arg("demo").env("TMPDIR", product.work.join("none")).stdin(Stdio::null());
    let ran = run(&mut command, Duration::from_secs(20));
    assert!(ran.code == Some(1) && ran.err.contains("set TMPDIR to a folder that exists"), "{}", ran.err);
    assert!(!product.work.join("none").exists());
}
