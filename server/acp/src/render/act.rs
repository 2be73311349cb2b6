//! Tool calls: one call, then updates, the last of them final.

use protocol::{Act, Action, Change, Item, ItemId, Outcome, Stage, Verb};
use serde_json::{Value, json};

use super::diff::{diffs, locations};
use super::outcome::{content, exit, fenced, raw, text};
use super::{View, put};
use crate::caps::Caps;

/// The tool call's id: ours, by the session's count.
pub(super) fn call_id(id: &ItemId) -> String {
    format!("call_{id}")
}

/// Whether a call is shown at all: the plan has an update of its own.
pub(crate) fn shows(act: &Act) -> bool {
    act.verb != Verb::Plan
}

/// Whether a call is announced as it stands. A terminal is announced together with its call, and only a
/// complete call says whether it has one.
pub(crate) fn announces(act: &Act, caps: Caps) -> bool {
    match act.verb {
        Verb::Run => !caps.terminal_output || act.action.is_some(),
        Verb::Plan => false,
        Verb::Read
        | Verb::Edit
        | Verb::Delete
        | Verb::Move
        | Verb::Search
        | Verb::Fetch
        | Verb::Think
        | Verb::Ask
        | Verb::Other => true,
    }
}

/// The call as far as it is known.
pub(crate) fn begun(item: &Item, act: &Act, view: View<'_>) -> Value {
    let mut call = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call_id(&item.id),
        "title": act.title(),
        "name": act.tool,
        "kind": kind(act.verb),
        "status": status(item.stage),
    });
    if act.action.is_some() {
        put(&mut call, "rawInput", raw_input(act));
        put_locations(&mut call, act, view);
    }
    if has_terminal(act, view.caps) {
        let mut terminal = json!({ "terminal_id": terminal_id(&item.id) });
        if let Some(cwd) = cwd(act, view) {
            put(&mut terminal, "cwd", cwd.into());
        }
        put(&mut call, "content", json!([{"type": "terminal", "terminalId": terminal_id(&item.id)}]));
        put(&mut call, "_meta", json!({ "terminal_info": terminal }));
    } else if !act.files.is_empty() {
        put(&mut call, "content", diffs(&act.files, view).into());
    }
    call
}

/// What a change means for a call that was announced; nothing for those told in another way.
pub(crate) fn update(item: &Item, act: &Act, change: &Change, view: View<'_>) -> Option<Value> {
    let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": call_id(&item.id)});
    match change {
        Change::Formed { .. } => {
            put(&mut call, "title", act.title().into());
            put(&mut call, "rawInput", raw_input(act));
            put_locations(&mut call, act, view);
        }
        Change::Stage(Stage::Running) => put(&mut call, "status", status(Stage::Running).into()),
        Change::Files(_) => {
            let shown = diffs(&act.files, view);
            // A command's terminal stays; its changed files come with its end.
            if !shown.is_empty() && act.verb != Verb::Run {
                put(&mut call, "content", shown.into());
            }
            put(&mut call, "title", act.title().into());
            put_locations(&mut call, act, view);
        }
        Change::Output(chunk) if has_terminal(act, view.caps) => {
            let output = json!({"terminal_id": terminal_id(&item.id), "data": chunk.text});
            put(&mut call, "_meta", json!({ "terminal_output": output }));
        }
        Change::Output(_) => put(&mut call, "content", json!([text(&fenced(&act.live))])),
        Change::Stage(
            Stage::Forming
            | Stage::Waiting
            | Stage::Done
            | Stage::Failed
            | Stage::Declined
            | Stage::Cancelled,
        )
        | Change::Text(_)
        | Change::Plan(_) => return None,
    }
    Some(call)
}

/// The final state of a call that was announced.
pub(crate) fn last(item: &Item, act: &Act, view: View<'_>) -> Value {
    let mut call = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id(&item.id),
        "title": act.title(),
        "status": status(item.stage),
    });
    if act.action.is_none() {
        // Nothing formed, so the arguments were not told yet.
        put(&mut call, "rawInput", raw_input(act));
    }
    put_locations(&mut call, act, view);
    let mut shown = Vec::new();
    if has_terminal(act, view.caps) {
        let end = match &act.outcome {
            Some(Outcome::Ran { end, .. }) => Some(end),
            _ => None,
        };
        let (code, signal) = end.map_or((None, None), exit);
        let exit = json!({"terminal_id": terminal_id(&item.id), "exit_code": code, "signal": signal});
        put(&mut call, "_meta", json!({ "terminal_exit": exit }));
        match end {
            Some(end) => {
                shown.push(json!({"type": "terminal", "terminalId": terminal_id(&item.id)}));
                shown.extend(code.map_or_else(|| end.words(), |_| None).map(|words| text(&words)));
            }
            None => shown.extend(act.outcome.as_ref().and_then(content)),
        }
    } else {
        shown.extend(act.outcome.as_ref().and_then(content));
    }
    shown.extend(diffs(files(item, act), view));
    put(&mut call, "content", shown.into());
    if let Some(outcome) = &act.outcome {
        put(&mut call, "rawOutput", raw(outcome));
    }
    call
}

/// A call of the past, or one of which the client hears only now.
pub(crate) fn whole(item: &Item, act: &Act, view: View<'_>) -> Value {
    // A terminal is for what runs.
    let view = View { caps: Caps { terminal_output: false, ..view.caps }, ..view };
    let mut call = last(item, act, view);
    put(&mut call, "sessionUpdate", "tool_call".into());
    put(&mut call, "name", act.tool.as_str().into());
    put(&mut call, "kind", kind(act.verb).into());
    put(&mut call, "rawInput", raw_input(act));
    call
}

pub(super) fn kind(verb: Verb) -> &'static str {
    match verb {
        Verb::Run => "execute",
        Verb::Read => "read",
        Verb::Edit => "edit",
        Verb::Delete => "delete",
        Verb::Move => "move",
        Verb::Search => "search",
        Verb::Fetch => "fetch",
        Verb::Think | Verb::Plan => "think",
        Verb::Ask | Verb::Other => "other",
    }
}

fn status(stage: Stage) -> &'static str {
    match stage {
        Stage::Forming | Stage::Waiting => "pending",
        Stage::Running => "in_progress",
        Stage::Done => "completed",
        Stage::Failed | Stage::Declined | Stage::Cancelled => "failed",
    }
}

/// The diffs of a final call: what was done, or what a person declined.
fn files<'a>(item: &Item, act: &'a Act) -> &'a [protocol::FileDiff] {
    let ran = matches!(act.outcome, Some(Outcome::Ran { .. }));
    match item.stage {
        Stage::Done | Stage::Declined => &act.files,
        Stage::Failed | Stage::Cancelled if ran => &act.files,
        Stage::Failed | Stage::Cancelled | Stage::Forming | Stage::Waiting | Stage::Running => &[],
    }
}

fn has_terminal(act: &Act, caps: Caps) -> bool {
    caps.terminal_output && matches!(act.action, Some(Action::Run { .. }))
}

fn terminal_id(id: &ItemId) -> String {
    format!("term_{id}")
}

/// Where a command runs.
pub(super) fn cwd(act: &Act, view: View<'_>) -> Option<String> {
    match &act.action {
        Some(Action::Run { cwd: Some(cwd), .. }) => Some(view.place.absolute(cwd)),
        _ => view.place.cwd().map(|cwd| cwd.to_string_lossy().into_owned()),
    }
}

/// Arguments as JSON, or as the text they are.
pub(super) fn raw_input(act: &Act) -> Value {
    serde_json::from_str(&act.input.0).unwrap_or_else(|_| Value::String(act.input.0.clone()))
}

pub(super) fn put_locations(call: &mut Value, act: &Act, view: View<'_>) {
    if let Some(list) = locations(act, view) {
        put(call, "locations", list);
    }
}
