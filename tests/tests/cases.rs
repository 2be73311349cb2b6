//! Reported failures, each a folder under `cases/`, run through the built binary.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tests::product::{Product, copy};
use tests::{Agent, ModelServer};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("cases")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    assert!(found.len() > 25, "the cases are not all here");
    found
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a case may ask to be checked; a misspelled check would hold always.
const CHECKS: &[&str] = &[
    "setup",
    "approval",
    "steps",
    "scripts",
    "agent_cwd",
    "same",
    "files",
    "shell",
    "request_has",
    "request_lacks",
    "last_once",
    "max_result",
];

/// Runs under way together.
const AT_ONCE: usize = 4;

/// One run of a case: a face, a wire, a script.
struct Run<'a> {
    folder: &'a Path,
    case: &'a Value,
    script: &'a str,
    wire: &'a str,
    steps: Option<&'a str>,
}

impl Run<'_> {
    fn play(&self) -> Result<(), String> {
        let product = Product::new();
        let input = self.folder.join("in");
        if input.is_dir() {
            copy(&input, &product.work);
        }
        for line in self.case["check"]["setup"].as_array().into_iter().flatten() {
            let line =
                line.as_str().expect("a command").replace("@@CASE@@", &self.folder.display().to_string());
            let ran = Command::new("sh").args(["-c", &line]).current_dir(&product.work).status().expect("sh");
            assert!(ran.success(), "setup: {line}");
        }
        let before = product.root().join("before");
        copy_plain(&product.work, &before);
        let server = ModelServer::play(&self.folder.join(self.script), &product.work);
        let approval = self.case["check"]["approval"].as_str().unwrap_or("on-request");
        let more = format!("mode = \"workspace-write\"\napproval_policy = \"{approval}\"");
        product.configure(&server, self.wire, &more);
        match self.steps {
            Some(steps) => self.acp(&product, steps)?,
            None => {
                let ran = product.exec(&["--json", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
                if ran.code != Some(0) {
                    return Err(format!("exit code {:?}: {}{}", ran.code, ran.out, ran.err));
                }
                let turns = json(&self.folder.join(self.script))["turns"].as_array().map_or(0, Vec::len);
                if server.turns_played() != turns {
                    return Err(format!("{} of {turns} turns were played", server.turns_played()));
                }
            }
        }
        self.check(&product, &before, &server)
    }

    fn acp(&self, product: &Product, steps: &str) -> Result<(), String> {
        let mut command = product.command();
        if let Some(cwd) = self.case["check"]["agent_cwd"].as_str() {
            let cwd = product.root().join(cwd);
            std::fs::create_dir_all(&cwd).expect("a folder");
            std::fs::write(cwd.join("AGENTS.md"), "DECOY").expect("a decoy");
            command.current_dir(cwd);
        }
        let mut agent = Agent::start(&mut command, &product.work);
        agent.play(&json(&self.folder.join(steps)))?;
        every_call_ended(&agent.messages())
    }

    fn check(&self, product: &Product, before: &Path, server: &ModelServer) -> Result<(), String> {
        let check = &self.case["check"];
        let known = check.as_object().ok_or("the case has no check")?.keys();
        if let Some(unknown) = known.into_iter().find(|key| !CHECKS.contains(&key.as_str())) {
            return Err(format!("no such check: {unknown}"));
        }
        let requests = server.requests();
        if let Some(refused) = requests.iter().find_map(|request| request.rejected.clone()) {
            return Err(format!("the model server refused a request: {refused}"));
        }
        let expect = self.folder.join("expect");
        if expect.is_dir() {
            same_tree(&expect, &product.work)?;
        }
        for name in strings(&check["same"]) {
            let (old, new) = (std::fs::read(before.join(&name)), std::fs::read(product.work.join(&name)));
            if old.ok() != new.ok() {
                return Err(format!("{name} changed"));
            }
        }
        for (name, text) in check["files"].as_object().into_iter().flatten() {
            let held = std::fs::read(product.work.join(name)).map_err(|error| format!("{name}: {error}"))?;
            if held != text.as_str().expect("a text").as_bytes() {
                return Err(format!("{name} holds {:?}", String::from_utf8_lossy(&held)));
            }
        }
        for line in strings(&check["shell"]) {
            let ran = Command::new("sh").args(["-c", &line]).current_dir(&product.work).status().expect("sh");
            if !ran.success() {
                return Err(format!("does not hold: {line}"));
            }
        }
        let said: String = requests.iter().map(|request| request.body.to_string()).collect();
        for text in strings(&check["request_has"]) {
            let text = text.replace("@@WORK@@", &product.work.display().to_string());
            if !said.contains(&text) {
                let results = requests.last().map(|last| results(&last.body)).unwrap_or_default();
                return Err(format!("no request holds {text:?}; the results: {results:?}"));
            }
        }
        for text in strings(&check["request_lacks"]) {
            if said.contains(&text) {
                return Err(format!("a request holds {text:?}"));
            }
        }
        for text in strings(&check["last_once"]) {
            let count = requests.last().map_or(0, |last| last.body.to_string().matches(&text).count());
            if count != 1 {
                return Err(format!("the last request holds {text:?} {count} times"));
            }
        }
        if let (Some(limit), Some(last)) = (check["max_result"].as_u64(), requests.last()) {
            let longest = results(&last.body).into_iter().map(|text| text.len() as u64).max().unwrap_or(0);
            if longest > limit {
                return Err(format!("a result has {longest} bytes"));
            }
        }
        Ok(())
    }
}

/// Results of calls in a request, of either wire.
fn results(body: &Value) -> Vec<String> {
    let list = body["messages"].as_array().or(body["input"].as_array()).expect("messages");
    let results = list.iter().filter(|item| item["role"] == "tool" || item["type"] == "function_call_output");
    results
        .map(
            |item| {
                if item["role"] == "tool" { item["content"].to_string() } else { item["output"].to_string() }
            },
        )
        .collect()
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().expect("a text").to_string()).collect()
}

/// A copy for comparing; links are not followed.
fn copy_plain(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    let ran = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp");
    assert!(ran.success());
}

fn same_tree(expect: &Path, work: &Path) -> Result<(), String> {
    for entry in std::fs::read_dir(expect).expect("expect").flatten() {
        let target = work.join(entry.file_name());
        if entry.path().is_dir() {
            same_tree(&entry.path(), &target)?;
            continue;
        }
        let held = std::fs::read(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        if held != std::fs::read(entry.path()).expect("a file") {
            return Err(format!("{} holds {:?}", target.display(), String::from_utf8_lossy(&held)));
        }
    }
    Ok(())
}

/// Every announced call reached its end before its prompt's answer, and none was updated unannounced.
fn every_call_ended(messages: &[Value]) -> Result<(), String> {
    let mut calls: std::collections::BTreeMap<(String, String), String> = Default::default();
    for message in messages {
        let params = &message["params"];
        let update = &params["update"];
        let key = (params["sessionId"].to_string(), update["toolCallId"].to_string());
        let status = update["status"].as_str();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => drop(calls.insert(key, status.unwrap_or("pending").into())),
            Some("tool_call_update") => {
                let known = calls.get_mut(&key).ok_or_else(|| format!("never announced: {key:?}"))?;
                if let Some(status) = status {
                    *known = status.into();
                }
            }
            _ => {}
        }
        if message["result"].get("stopReason").is_some()
            && let Some(open) =
                calls.iter().find(|(_, status)| !matches!(status.as_str(), "completed" | "failed"))
        {
            return Err(format!("still open at an answer: {open:?}"));
        }
    }
    Ok(())
}

/// Every way a case is to be run: each script on each wire, by each list of steps or else by `exec`.
fn runs<'a>(folder: &'a Path, case: &'a Value) -> Vec<Run<'a>> {
    let listed = |name: &str| case["check"][name].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut scripts: Vec<&str> = listed("scripts").collect();
    if scripts.is_empty() {
        scripts.push("mock.json");
    }
    let mut faces: Vec<Option<&str>> = listed("steps").map(Some).collect();
    if faces.is_empty() {
        faces.push(None);
    }
    let mut runs = Vec::new();
    for script in scripts {
        for wire in ["chat", "responses"] {
            runs.extend(faces.iter().map(|steps| Run { folder, case, script, wire, steps: *steps }));
        }
    }
    runs
}

/// Runs a class, some at a time: most of them wait for clocks.
fn run_class(wanted: &str) {
    let cases: Vec<(PathBuf, Value)> = cases()
        .into_iter()
        .map(|folder| (folder.clone(), json(&folder.join("case.json"))))
        .filter(|(_, case)| case["class"] == wanted)
        .collect();
    let runs: Vec<Run> = cases.iter().flat_map(|(folder, case)| runs(folder, case)).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = run.play() {
                        let name = run.folder.display();
                        let line = format!("{name} {} {} {:?}: {why}", run.script, run.wire, run.steps);
                        failed.lock().expect("the list").push(line);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    println!("{} runs of class {wanted}", runs.len());
    assert!(failed.is_empty(), "{} of {} runs failed:\n{}", failed.len(), runs.len(), failed.join("\n"));
}

#[test]
fn edit() {
    run_class("edit");
}

#[test]
fn acp() {
    run_class("acp");
}
