//! Reported failures, each a folder under `cases/`, run through the built binary.

use std::path::{Path, PathBuf};
use std::process::Command;

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
                return Err(format!("no request holds {text:?}"));
            }
        }
        for text in strings(&check["request_lacks"]) {
            if said.contains(&text) {
                return Err(format!("a request holds {text:?}"));
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

fn run_class(wanted: &str) {
    let mut failed = Vec::new();
    let mut count = 0;
    for folder in cases() {
        let case = json(&folder.join("case.json"));
        if case["class"] != wanted {
            continue;
        }
        let steps = strings(&case["check"]["steps"]);
        let mut scripts = strings(&case["check"]["scripts"]);
        if scripts.is_empty() {
            scripts.push("mock.json".into());
        }
        for script in &scripts {
            for wire in ["chat", "responses"] {
                let faces: Vec<Option<&str>> = if steps.is_empty() {
                    vec![None]
                } else {
                    steps.iter().map(|name| Some(name.as_str())).collect()
                };
                for steps in faces {
                    count += 1;
                    let run = Run { folder: &folder, case: &case, script, wire, steps };
                    if let Err(why) = run.play() {
                        failed.push(format!("{} {script} {wire} {steps:?}: {why}", folder.display()));
                    }
                }
            }
        }
    }
    println!("{count} runs of class {wanted}");
    assert!(failed.is_empty(), "{} of {count} runs failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn edit() {
    run_class("edit");
}

#[test]
fn acp() {
    run_class("acp");
}
