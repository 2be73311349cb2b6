//! Our items in the shapes of Codex's `exec --json`; keys of our own are extra, and readers skip them.
//!
//! A refused call is `failed` with `declined: true`, because strict readers know no further status.

use protocol::{Act, Action, FileDiff, FileKind, Item, ItemKind, Outcome, Plan, RunEnd, Stage, StepState, Tokens};
use serde_json::{Value, json};

/// The finished item without its id; nothing for what the stream does not show.
pub fn finished(item: &Item) -> Option<Value> {
    match &item.kind {
        ItemKind::User { .. } => None,
        ItemKind::Message(text) => match item.stage {
            // An attempt whose stream broke is void; the next one says it again.
            Stage::Failed => None,
            _ if text.is_empty() => None,
            Stage::Cancelled => Some(json!({"type": "agent_message", "text": text, "partial": true})),
            Stage::Forming | Stage::Waiting | Stage::Running | Stage::Done | Stage::Declined => {
                Some(json!({"type": "agent_message", "text": text}))
            }
        },
        ItemKind::Thought(text) if text.trim().is_empty() || item.stage == Stage::Failed => None,
        ItemKind::Thought(text) => Some(json!({"type": "reasoning", "text": text})),
        ItemKind::Act(act) => finished_act(item.stage, act),
        ItemKind::Plan(plan) => Some(todo_list(plan)),
        ItemKind::Compaction { why, before, after, .. } => Some(json!({
            "type": "context_compaction", "reason": why, "tokens_before": before, "tokens_after": after,
            "status": status(item.stage),
        })),
    }
}

/// The item of a call that begins to run; nothing for calls that are shown only when they are over.
pub fn started(act: &Act) -> Option<Value> {
    match &act.action {
        Some(Action::Run { command, .. }) => Some(json!({
            "type": "command_execution", "command": command_line(command), "aggregated_output": "",
            "exit_code": null, "status": "in_progress",
        })),
        Some(
            Action::Write { .. } | Action::Edit { .. } | Action::Patch { .. } | Action::Plan(_),
        )
        | None => None,
        Some(
            Action::Poll { .. }
            | Action::Stop { .. }
            | Action::Read { .. }
            | Action::Search(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Question(_)
            | Action::Fetch { .. },
        ) => Some(tool_call(act, "in_progress", Value::Null, Value::Null)),
    }
}

/// The plan as Codex's list.
pub fn todo_list(plan: &Plan) -> Value {
    let items: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| json!({"text": step.text, "completed": step.state == StepState::Done}))
        .collect();
    json!({"type": "todo_list", "items": items})
}

/// Counts of tokens under Codex's names.
pub fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cached_input_tokens": tokens.cached,
        "cache_write_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
        "reasoning_output_tokens": tokens.reasoning,
    })
}

fn finished_act(stage: Stage, act: &Act) -> Option<Value> {
    let mut item = match &act.action {
        // A call of an attempt that is void.
        None if matches!(act.outcome, None | Some(Outcome::Interrupted)) => return None,
        None => tool_call(act, status(stage), Value::Null, error(act)),
        Some(Action::Run { command, .. }) => command_execution(stage, act, command),
        Some(Action::Write { .. } | Action::Edit { .. } | Action::Patch { .. }) => file_change(stage, act),
        // The list itself says it, unless the call was wrong.
        Some(Action::Plan(_)) if stage == Stage::Done => return None,
        Some(
            Action::Plan(_)
            | Action::Poll { .. }
            | Action::Stop { .. }
            | Action::Read { .. }
            | Action::Search(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Question(_)
            | Action::Fetch { .. },
        ) => match stage {
            Stage::Done => tool_call(act, status(stage), Value::String(words(act)), Value::Null),
            Stage::Forming
            | Stage::Waiting
            | Stage::Running
            | Stage::Failed
            | Stage::Declined
            | Stage::Cancelled => tool_call(act, status(stage), Value::Null, error(act)),
        },
    };
    if let (Stage::Declined, Some(fields)) = (stage, item.as_object_mut()) {
        fields.insert("declined".into(), true.into());
    }
    Some(item)
}

fn command_execution(stage: Stage, act: &Act, command: &str) -> Value {
    let (output, exit_code) = match &act.outcome {
        Some(Outcome::Ran { end, output, .. }) => (output.text(), exit_code(end)),
        Some(_) | None => (words(act), Value::Null),
    };
    let mut item = json!({
        "type": "command_execution", "command": command_line(command), "aggregated_output": output,
        "exit_code": exit_code, "status": status(stage),
    });
    let Some(fields) = item.as_object_mut() else { return item };
    if let Some(Outcome::Ran { end: RunEnd::StillRunning(task), .. }) = &act.outcome {
        fields.insert("background_task".into(), task.0.into());
    }
    if !act.files.is_empty() {
        fields.insert("changes".into(), changes(&act.files));
    }
    item
}

/// The codes that shells give.
fn exit_code(end: &RunEnd) -> Value {
    match end {
        RunEnd::Exited(code) => (*code).into(),
        RunEnd::Signalled(signal) => (128 + signal).into(),
        RunEnd::TimedOut { .. } => 124.into(),
        RunEnd::StillRunning(_) | RunEnd::Stopped => Value::Null,
    }
}

/// The command as it is run, quoted for a shell.
fn command_line(command: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-+=./,:@%".contains(letter);
    if !command.is_empty() && command.chars().all(plain) {
        return format!("/bin/bash -c {command}");
    }
    format!("/bin/bash -c '{}'", command.replace('\'', r"'\''"))
}

fn file_change(stage: Stage, act: &Act) -> Value {
    let mut item = json!({
        "type": "file_change", "changes": named_changes(act), "status": status(stage),
    });
    if let (false, Some(fields)) = (stage == Stage::Done, item.as_object_mut()) {
        fields.insert("error".into(), error(act));
    }
    item
}

/// What was changed; what should have been, when it failed before a diff was there.
fn named_changes(act: &Act) -> Value {
    if !act.files.is_empty() {
        return changes(&act.files);
    }
    let change = |path: &str, kind: &str| json!({"path": path, "kind": kind});
    match &act.action {
        Some(Action::Write { path, .. } | Action::Edit { path, .. }) => json!([change(&path.0, "update")]),
        Some(Action::Patch { files, .. }) => files
            .iter()
            .map(|file| match &file.op {
                protocol::PatchOp::Add(_) => change(&file.path.0, "add"),
                protocol::PatchOp::Delete => change(&file.path.0, "delete"),
                protocol::PatchOp::Update { .. } => change(&file.path.0, "update"),
            })
            .collect(),
        Some(
            Action::Run { .. }
            | Action::Poll { .. }
            | Action::Stop { .. }
            | Action::Read { .. }
            | Action::Search(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Plan(_)
            | Action::Question(_)
            | Action::Fetch { .. },
        )
        | None => json!([]),
    }
}

/// A move is one update of its source, as Codex has it; `move_path` says where it went.
fn changes(files: &[FileDiff]) -> Value {
    let one = |file: &FileDiff| match &file.kind {
        FileKind::Add => json!({"path": file.path.0, "kind": "add"}),
        FileKind::Delete => json!({"path": file.path.0, "kind": "delete"}),
        FileKind::Update | FileKind::Binary => json!({"path": file.path.0, "kind": "update"}),
        FileKind::Move { from } => json!({"path": from.0, "kind": "update", "move_path": file.path.0}),
    };
    files.iter().map(one).collect()
}

/// A call that Codex has no shape for.
fn tool_call(act: &Act, status: &str, result: Value, error: Value) -> Value {
    let arguments = serde_json::from_str(&act.input.0).unwrap_or_else(|_| Value::String(act.input.0.clone()));
    json!({
        "type": "tool_call", "tool": act.tool, "title": act.title(), "arguments": arguments,
        "result": result, "error": error, "status": status,
    })
}

fn status(stage: Stage) -> &'static str {
    match stage {
        Stage::Forming | Stage::Waiting | Stage::Running => "in_progress",
        Stage::Done => "completed",
        Stage::Failed | Stage::Declined | Stage::Cancelled => "failed",
    }
}

fn words(act: &Act) -> String {
    act.outcome.as_ref().map(Outcome::text).unwrap_or_default()
}

fn error(act: &Act) -> Value {
    json!({"message": words(act)})
}
