//! Tool calls: announced once, updated, and ended before the prompt is answered.

use std::time::Duration;

use protocol::*;
use serde_json::{Value, json};

use crate::fake::{Fake, act, cwd, formed, output, ran, run};

fn kinds(update: &Value) -> (&str, &str) {
    (update["sessionUpdate"].as_str().unwrap(), update["toolCallId"].as_str().unwrap())
}

/// A call that ran and ended.
fn ended(command: &str, outcome: Outcome) -> ItemKind {
    let mut call = act("shell", Verb::Run);
    (call.input, call.action, call.outcome) = (Json("{\"a\":1}".into()), Some(run(command)), Some(outcome));
    ItemKind::Act(call)
}

#[tokio::test]
async fn a_command_is_shown_from_its_name_to_its_end() {
    let mut fake = Fake::open(json!({}), "s").await;
    let command = "for i in 1 2 3; do\n  echo $i\ndone";
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    fake.change("s", 1, formed(run(command)));
    fake.change("s", 1, Change::Stage(Stage::Running));
    fake.finish("s", 1, Stage::Done, ended(command, ran("1\n2\n3\n", RunEnd::Exited(0))));
    let call = fake.update().await;
    assert_eq!(kinds(&call), ("tool_call", "call_1"));
    let known = (&call["title"], &call["kind"], &call["status"], &call["name"]);
    assert_eq!(known, (&json!("shell"), &json!("execute"), &json!("pending"), &json!("shell")));
    let whole = fake.update().await;
    assert_eq!((&whole["title"], &whole["rawInput"]), (&json!(command), &json!({"a": 1})));
    assert_eq!(fake.update().await["status"], "in_progress");
    let last = fake.update().await;
    assert_eq!(kinds(&last), ("tool_call_update", "call_1"));
    assert_eq!((&last["status"], &last["rawOutput"]["exitCode"]), (&json!("completed"), &json!(0)));
    assert_eq!(last["content"][0]["content"]["text"], "```\n1\n2\n3\n```");
}

#[tokio::test]
async fn every_call_reaches_its_end_before_the_answer() {
    let mut fake = Fake::open(json!({}), "s").await;
    let id = fake.prompt("s", 1).await;
    fake.start_turn("s", 1);
    let declined = Outcome::Declined { by: Decliner::Person, why: String::new() };
    let rows = [
        (Stage::Done, ran("ok", RunEnd::Exited(0)), "completed"),
        (Stage::Failed, ran("", RunEnd::Exited(3)), "failed"),
        (Stage::Declined, declined, "failed"),
        (Stage::Cancelled, Outcome::Interrupted, "failed"),
    ];
    for (item, (stage, outcome, _)) in (1..).zip(rows.clone()) {
        fake.start_item("s", item, ItemKind::Act(act("shell", Verb::Run)));
        fake.change("s", item, formed(run("x")));
        fake.finish("s", item, stage, ended("x", outcome));
    }
    fake.end_turn("s", 1, TurnEnd::Cancelled);
    let mut last = std::collections::BTreeMap::new();
    let answer = loop {
        let frame = fake.recv().await;
        if frame.get("id").is_some() {
            break frame;
        }
        let update = &frame["params"]["update"];
        let (kind, call) = kinds(update);
        assert_eq!(kind == "tool_call", !last.contains_key(call), "{update}");
        let status = update["status"].as_str().map(str::to_string);
        *last.entry(call.to_string()).or_insert(None) = status;
    };
    assert_eq!(answer["id"], id);
    let ends: Vec<_> = last.into_values().flatten().collect();
    assert_eq!(ends, rows.map(|(_, _, status)| status));
}

#[tokio::test]
async fn output_streams_into_a_terminal_where_there_are_terminals() {
    let mut fake = Fake::open(json!({"_meta": {"terminal_output": true}}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    fake.silence().await;
    fake.change("s", 1, formed(run("make")));
    fake.change("s", 1, Change::Stage(Stage::Running));
    fake.change("s", 1, output("one\n"));
    fake.change("s", 1, output("two\n"));
    fake.finish("s", 1, Stage::Failed, ended("make", ran("one\ntwo\n", RunEnd::Signalled(9))));
    let call = fake.update().await;
    assert_eq!(kinds(&call), ("tool_call", "call_1"));
    assert_eq!(call["_meta"]["terminal_info"], json!({"terminal_id": "term_1", "cwd": cwd()}));
    assert_eq!(call["content"], json!([{"type": "terminal", "terminalId": "term_1"}]));
    assert_eq!(fake.update().await["status"], "in_progress");
    let mut heard = String::new();
    let last = loop {
        let update = fake.update().await;
        match update["_meta"]["terminal_output"]["data"].as_str() {
            Some(data) => heard += data,
            None => break update,
        }
    };
    assert_eq!(heard, "one\ntwo\n");
    let exit = json!({"terminal_id": "term_1", "exit_code": null, "signal": "SIGKILL"});
    assert_eq!((&last["_meta"]["terminal_exit"], &last["status"]), (&exit, &json!("failed")));
    assert_eq!(last["content"][0]["type"], "terminal");
    assert_eq!(last["content"][1]["content"]["text"], "killed by signal 9");
}

#[tokio::test]
async fn what_is_no_command_has_no_terminal() {
    let mut fake = Fake::open(json!({"_meta": {"terminal_output": true}}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("poll", Verb::Run)));
    fake.change("s", 1, formed(Action::Poll { task: Some(TaskId(1)), wait_ms: 0 }));
    let mut call = act("poll", Verb::Run);
    (call.action, call.outcome) = (
        Some(Action::Poll { task: Some(TaskId(1)), wait_ms: 0 }),
        Some(ran("so far", RunEnd::StillRunning(TaskId(1)))),
    );
    fake.finish("s", 1, Stage::Done, ItemKind::Act(call));
    let begun = fake.update().await;
    assert!(
        begun.get("_meta").is_none() && begun["title"].as_str().unwrap().contains("background"),
        "{begun}"
    );
    let last = fake.update().await;
    assert!(last["content"][0]["content"]["text"].as_str().unwrap().contains("so far"), "{last}");
}

#[tokio::test]
async fn without_terminals_the_tail_is_shown_now_and_then() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    fake.change("s", 1, formed(run("yes")));
    fake.update().await;
    fake.update().await;
    let line = "0123456789abcde\n".repeat(64);
    let began = std::time::Instant::now();
    for _ in 0..60 {
        fake.change("s", 1, output(&line));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let most = began.elapsed().as_millis() / 250 + 2;
    // The last output comes without anything new.
    let mut shown = Vec::new();
    while let Some(update) = fake.update_within(Duration::from_millis(600)).await {
        shown.push(update);
    }
    assert!((3..=most).contains(&(shown.len() as u128)), "{} of {most}", shown.len());
    let last = shown.last().unwrap()["content"][0]["content"]["text"].as_str().unwrap();
    assert!(last.len() <= LIVE_BYTES + 10, "{}", last.len());
}

fn hunk() -> Hunk {
    let lines = vec![Line::Same("a\n".into()), Line::Gone("b\n".into()), Line::New("c\n".into())];
    Hunk { old_line: 4, new_line: 4, lines }
}

#[tokio::test]
async fn edits_show_their_hunks_and_the_place_of_files_that_are_there() {
    let mut fake = Fake::open(json!({}), "s").await;
    let there = format!("{}/Cargo.toml", cwd());
    let diff = |path: &str, kind, hunks| FileDiff { path: FilePath(path.into()), kind, hunks, cut: None };
    let files = vec![
        diff(&there, FileKind::Update, vec![hunk(), hunk()]),
        diff("/etc/passwd", FileKind::Update, vec![hunk()]),
        diff(
            "new.txt",
            FileKind::Add,
            vec![Hunk { old_line: 0, new_line: 1, lines: vec![Line::New("n\n".into())] }],
        ),
        diff("empty.txt", FileKind::Add, vec![]),
    ];
    fake.start_item("s", 1, ItemKind::Act(act("patch", Verb::Edit)));
    fake.change("s", 1, Change::Files(files.clone()));
    fake.update().await;
    let update = fake.update().await;
    let expected = json!([
        {"type": "diff", "path": there, "oldText": "a\nb\n", "newText": "a\nc\n"},
        {"type": "diff", "path": there, "oldText": "a\nb\n", "newText": "a\nc\n"},
        {"type": "diff", "path": "/etc/passwd", "oldText": "a\nb\n", "newText": "a\nc\n"},
        {"type": "diff", "path": format!("{}/new.txt", cwd()), "newText": "n\n"},
        {"type": "diff", "path": format!("{}/empty.txt", cwd()), "newText": ""},
    ]);
    assert_eq!(update["content"], expected);
    assert_eq!(update["locations"], json!([{"path": there, "line": 5}]));
    // Failed, nothing was changed: the reason instead of the diff.
    let mut call = act("patch", Verb::Edit);
    (call.files, call.outcome) =
        (files, Some(Outcome::EditFailed { path: FilePath(there), why: EditFailure::Stale }));
    fake.finish("s", 1, Stage::Failed, ItemKind::Act(call));
    let last = fake.update().await;
    assert_eq!((last["content"].as_array().unwrap().len(), &last["status"]), (1, &json!("failed")));
    assert!(last["content"][0]["content"]["text"].as_str().unwrap().contains("changed since"), "{last}");
}

#[tokio::test]
async fn files_that_a_command_changed_are_shown_with_its_end() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    let ItemKind::Act(mut call) = ended("sed -i", ran("", RunEnd::Exited(0))) else { unreachable!() };
    call.files = vec![
        FileDiff { path: FilePath("a".into()), kind: FileKind::Update, hunks: vec![hunk()], cut: None },
        FileDiff {
            path: FilePath("b".into()),
            kind: FileKind::Delete,
            hunks: vec![],
            cut: Some("binary".into()),
        },
    ];
    fake.finish("s", 1, Stage::Done, ItemKind::Act(call));
    fake.update().await;
    let content = fake.update().await["content"].clone();
    assert_eq!(
        (&content[0]["type"], &content[1]["content"]["text"]),
        (&json!("diff"), &json!(format!("{}/b: binary", cwd())))
    );
}

#[tokio::test]
async fn a_plan_is_a_plan_and_no_call() {
    let mut fake = Fake::open(json!({}), "s").await;
    let step = |text: &str, state| Step { text: text.into(), state, rank: Rank::Medium };
    let plan = Plan { steps: vec![step("one", StepState::Active)], note: None };
    fake.start_item("s", 1, ItemKind::Act(act("plan", Verb::Plan)));
    fake.change("s", 1, formed(Action::Plan(plan.clone())));
    fake.start_item("s", 2, ItemKind::Plan(plan.clone()));
    let mut call = act("plan", Verb::Plan);
    call.outcome = Some(Outcome::Plan(plan.clone()));
    fake.finish("s", 1, Stage::Done, ItemKind::Act(call));
    fake.finish("s", 2, Stage::Done, ItemKind::Plan(plan));
    let entry = json!({"content": "one", "priority": "medium", "status": "in_progress"});
    assert_eq!(fake.update().await, json!({"sessionUpdate": "plan", "entries": [entry]}));
    fake.silence().await;
}

#[tokio::test]
async fn a_huge_diff_is_told_by_its_counts() {
    let mut fake = Fake::open(json!({}), "s").await;
    let lines = vec![Line::New("x".repeat(2 * 1024 * 1024))];
    let files = vec![FileDiff {
        path: FilePath("/a".into()),
        kind: FileKind::Add,
        hunks: vec![Hunk { old_line: 0, new_line: 1, lines }],
        cut: None,
    }];
    fake.start_item("s", 1, ItemKind::Act(act("write", Verb::Edit)));
    fake.change("s", 1, Change::Files(files));
    fake.update().await;
    let content = fake.update().await["content"].clone();
    assert_eq!(content[0]["content"]["text"], "/a: 1 lines added, 0 removed; too much to show");
}
