//! Tool calls: one call, then updates, the last of them final.

use protocol::{
    Act, Action, Ask, Change, FileDiff, FileKind, Grant, Item, ItemId, Line, Outcome, ReadBody, RunEnd,
    Stage, Verb,
};
use serde_json::{Map, Value, json};

use crate::caps::Caps;

/// What is shown of a result.
const TEXT_BYTES: usize = 16 * 1024;

/// The tool call's id: ours, by the session's count.
pub(crate) fn call_id(item: &ItemId) -> String {
    format!("call_{item}")
}

/// A call whose arguments are not there yet.
pub(crate) fn forming(id: &ItemId, act: &Act, caps: Caps) -> Value {
    let mut call = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call_id(id),
        "title": act.title(),
        "kind": kind(act.verb),
        "status": "pending",
    });
    if caps.terminal_output && act.verb == Verb::Run {
        set(&mut call, "content", terminal(id));
        set(&mut call, "_meta", json!({"terminal_info": {"terminal_id": terminal_id(id)}}));
    }
    call
}

/// A whole call of the past.
pub(crate) fn whole(item: &Item, act: &Act, caps: Caps) -> Value {
    let mut call = last(item, act, Caps { terminal_output: false, ..caps });
    set(&mut call, "sessionUpdate", "tool_call".into());
    call
}

/// What a change means for a call; nothing for those told in another way.
pub(crate) fn update(item: &Item, act: &Act, change: &Change, caps: Caps) -> Option<Value> {
    let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": call_id(&item.id)});
    match change {
        Change::Formed { input, .. } => {
            set(&mut call, "title", act.title().into());
            set(&mut call, "rawInput", raw(&input.0));
            set_locations(&mut call, act);
        }
        Change::Stage(Stage::Running) => set(&mut call, "status", "in_progress".into()),
        Change::Files(_) => {
            set(&mut call, "title", act.title().into());
            set(&mut call, "content", diffs(&act.files));
            set_locations(&mut call, act);
        }
        Change::Output(chunk) if caps.terminal_output => {
            let output = json!({"terminal_id": terminal_id(&item.id), "data": chunk.text});
            set(&mut call, "_meta", json!({"terminal_output": output}));
        }
        Change::Output(_) => set(&mut call, "content", json!([content(&fenced(&act.live))])),
        Change::Stage(_) | Change::Text(_) | Change::Plan(_) => return None,
    }
    Some(call)
}

/// The call's final state.
pub(crate) fn last(item: &Item, act: &Act, caps: Caps) -> Value {
    let mut call = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id(&item.id),
        "title": act.title(),
        "kind": kind(act.verb),
        "status": if item.stage == Stage::Done { "completed" } else { "failed" },
        "rawInput": raw(&act.input.0),
    });
    set_locations(&mut call, act);
    let mut shown = Vec::new();
    let run = matches!(act.outcome, Some(Outcome::Ran { .. }));
    match &act.outcome {
        Some(Outcome::Ran { end, .. }) if caps.terminal_output => {
            shown.push(json!({"type": "terminal", "terminalId": terminal_id(&item.id)}));
            let (code, signal) = exit(end);
            let exit = json!({"terminal_id": terminal_id(&item.id), "exit_code": code, "signal": signal});
            set(&mut call, "_meta", json!({ "terminal_exit": exit }));
        }
        Some(outcome) => shown.extend(outcome_content(outcome)),
        None => {}
    }
    if !act.files.is_empty()
        && (item.stage == Stage::Done || run || item.stage == Stage::Declined)
        && let Value::Array(list) = diffs(&act.files)
    {
        // The diff says all that a finished edit has to say.
        if matches!(act.outcome, Some(Outcome::Edited { .. })) {
            shown.clear();
        }
        shown.extend(list);
    }
    set(&mut call, "content", shown.into());
    if let Some(outcome) = &act.outcome {
        set(&mut call, "rawOutput", raw_output(outcome));
    }
    call
}

/// What is asked of the person: the call as a whole.
pub(crate) fn permission(ask: &Ask, item: Option<&Item>, act: Option<&Act>) -> Value {
    let options: Vec<Value> = ask
        .choices
        .iter()
        .map(|choice| {
            let kind = match choice.grant {
                Grant::Once => "allow_once",
                Grant::Session { .. } | Grant::Always { .. } => "allow_always",
                Grant::Reject => "reject_once",
                Grant::RejectAlways { .. } => "reject_always",
            };
            json!({"optionId": choice.id, "name": choice.name, "kind": kind})
        })
        .collect();
    let id = item.map_or_else(|| format!("ask_{}", ask.id), |item| call_id(&item.id));
    let mut call = json!({"toolCallId": id, "title": ask.why, "status": "pending"});
    if let Some(act) = act {
        set(&mut call, "title", act.title().into());
        set(&mut call, "kind", kind(act.verb).into());
        set(&mut call, "rawInput", raw(&act.input.0));
        set_locations(&mut call, act);
        let mut shown = Vec::new();
        if let Some(Action::Run { command, .. }) = &act.action {
            shown.push(content(&fenced(command)));
        }
        if !ask.why.is_empty() {
            shown.push(content(&ask.why));
        }
        if let Value::Array(list) = diffs(&act.files) {
            shown.extend(list);
        }
        set(&mut call, "content", shown.into());
    }
    json!({"toolCall": call, "options": options})
}

fn kind(verb: Verb) -> &'static str {
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

fn set(value: &mut Value, name: &str, field: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(name.into(), field);
    }
}

/// Arguments as JSON, or as the text they are.
fn raw(input: &str) -> Value {
    serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.to_string()))
}

/// Files that exist, with the line where to look; clients watch them.
fn set_locations(call: &mut Value, act: &Act) {
    let mut places: Vec<(String, Option<u32>)> =
        act.files.iter().map(|file| (file.path.0.clone(), file.hunks.first().map(first_line))).collect();
    if let (true, Some(Action::Read { path, .. } | Action::Write { path, .. } | Action::Edit { path, .. })) =
        (places.is_empty(), &act.action)
    {
        let read = match &act.outcome {
            Some(Outcome::Read { path, body: ReadBody::Lines { first, .. }, .. }) => {
                Some((path.0.clone(), u32::try_from(*first).ok()))
            }
            _ => None,
        };
        places.push(read.unwrap_or_else(|| (path.0.clone(), None)));
    }
    let list: Vec<Value> = places
        .into_iter()
        .filter(|(path, _)| std::path::Path::new(path).is_absolute() && std::path::Path::new(path).is_file())
        .map(|(path, line)| match line {
            Some(line) => json!({"path": path, "line": line.max(1)}),
            None => json!({ "path": path }),
        })
        .collect();
    if !list.is_empty() {
        set(call, "locations", list.into());
    }
}

fn first_line(hunk: &protocol::Hunk) -> u32 {
    let same = hunk.lines.iter().take_while(|line| matches!(line, Line::Same(_))).count();
    hunk.new_line.max(1) + u32::try_from(same).unwrap_or(0)
}

/// One block a hunk: the region before and after.
fn diffs(files: &[FileDiff]) -> Value {
    let mut shown = Vec::new();
    for file in files {
        if let Some(cut) = &file.cut {
            shown.push(content(&format!("{}: {cut}", file.path)));
        }
        if file.hunks.is_empty() && file.cut.is_none() {
            shown.push(diff(file, None, String::new()));
        }
        for hunk in &file.hunks {
            let side = |skip: fn(&Line) -> bool| -> String {
                hunk.lines.iter().filter(|line| !skip(line)).map(Line::text).collect()
            };
            let old = side(|line| matches!(line, Line::New(_)));
            let new = side(|line| matches!(line, Line::Gone(_)));
            let old = (!matches!(file.kind, FileKind::Add)).then_some(old);
            shown.push(diff(file, old, new));
        }
    }
    shown.into()
}

fn diff(file: &FileDiff, old: Option<String>, new: String) -> Value {
    let mut made = Map::new();
    made.insert("type".into(), "diff".into());
    made.insert("path".into(), file.path.0.as_str().into());
    if let Some(old) = old {
        made.insert("oldText".into(), old.into());
    }
    made.insert("newText".into(), new.into());
    made.into()
}

fn content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn terminal_id(id: &ItemId) -> String {
    format!("term_{id}")
}

fn terminal(id: &ItemId) -> Value {
    json!([{"type": "terminal", "terminalId": terminal_id(id)}])
}

/// In a fence that the text does not close.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_string();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn exit(end: &RunEnd) -> (Option<i32>, Option<String>) {
    match end {
        RunEnd::Exited(code) => (Some(*code), None),
        RunEnd::Signalled(signal) => (None, Some(format!("SIG{signal}"))),
        RunEnd::TimedOut { .. } => (Some(124), None),
        RunEnd::StillRunning(_) | RunEnd::Stopped => (None, None),
    }
}

fn outcome_content(outcome: &Outcome) -> Option<Value> {
    let text = match outcome {
        Outcome::Ran { .. } => fenced(&short(&outcome.text())),
        Outcome::Read { body: ReadBody::Image { mime, data }, .. } => {
            let image = json!({"type": "image", "mimeType": mime, "data": data.0});
            return Some(json!({"type": "content", "content": image}));
        }
        Outcome::Read { body: ReadBody::Lines { text, .. }, .. } => fenced(&short(text)),
        Outcome::Found { files, .. } => {
            let names: Vec<&str> = files.iter().map(|file| file.path.0.as_str()).collect();
            short(&format!("{}\n{}", outcome.text(), names.join("\n")))
        }
        Outcome::Listed { paths, .. } => {
            let names: Vec<&str> = paths.iter().map(|entry| entry.path.0.as_str()).collect();
            short(&format!("{}\n{}", outcome.text(), names.join("\n")))
        }
        Outcome::Plan(_) => return None,
        Outcome::Fetched { text, .. } => short(&format!("{}\n{text}", outcome.text())),
        Outcome::Tasks(_)
        | Outcome::Edited { .. }
        | Outcome::EditFailed { .. }
        | Outcome::Answered(_)
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Declined { .. }
        | Outcome::Interrupted
        | Outcome::Failed { .. } => short(&outcome.text()),
    };
    Some(content(&text))
}

/// The end of a long text.
fn short(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let from = text.ceil_char_boundary(text.len() - TEXT_BYTES);
    format!("[{from} bytes left out]\n{}", text.get(from..).unwrap_or_default())
}

fn raw_output(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Ran { end, output, .. } => {
            json!({"exitCode": exit(end).0, "output": short(&output.text()), "bytes": output.bytes})
        }
        other => json!({ "text": short(&other.text()) }),
    }
}
