//! Codex exec's JSON lines, with the ends it leaves out: every started item and every turn is completed.

use std::collections::HashMap;

use protocol::{
    Act, Action, Board, Change, EventKind, FileDiff, FileKind, Item, ItemId, ItemKind, Level, Notice,
    Outcome, Plan, RunEnd, SessionId, Stage, StepState, Tokens, TurnEnd, TurnId, Usage,
};
use serde_json::{Value, json};

use crate::run::{Show, Shown};
use crate::text::clean;

/// What has been told so far.
#[derive(Default)]
pub(crate) struct JsonLines {
    /// Ids count per process.
    ids: HashMap<ItemId, String>,
    next: u32,
    started: Vec<ItemId>,
    usage: Usage,
    turn: Option<TurnId>,
    last: Option<String>,
    /// The summary of a compaction that was asked for; the answer where the model says nothing else.
    compacted: Option<(ItemId, String)>,
}

impl Show for JsonLines {
    fn opened(&mut self, session: &SessionId) -> Shown {
        line(&json!({"type": "thread.started", "thread_id": session.0}))
    }

    fn event(&mut self, board: &Board, kind: &EventKind) -> Shown {
        match kind {
            EventKind::TurnStarted { turn, .. } => {
                self.turn = Some(turn.clone());
                line(&json!({"type": "turn.started", "turn_id": turn.0}))
            }
            EventKind::ItemStarted(_) => Shown::default(),
            EventKind::ItemChanged { item, change } => self.changed(board, item, change),
            EventKind::ItemFinished(item) => self.finished(item),
            EventKind::UsageChanged(usage) => {
                self.usage = usage.clone();
                Shown::default()
            }
            EventKind::Noticed(notice) => self.notice(notice),
            EventKind::TurnEnded { end: TurnEnd::Done, .. } => self.completed(),
            EventKind::TurnEnded { .. }
            | EventKind::SessionOpened(_)
            | EventKind::SessionChanged(_)
            | EventKind::SessionClosed
            | EventKind::Asked(_)
            | EventKind::AskClosed { .. }
            | EventKind::TaskChanged(_)
            | EventKind::TaskOutput { .. } => Shown::default(),
        }
    }

    fn failed(&mut self, text: &str) -> Shown {
        let mut shown = line(&json!({"type": "error", "message": text}));
        let turn = self.turn.as_ref().map(|turn| turn.0);
        shown.out += &line(&json!({"type": "turn.failed", "turn_id": turn, "error": {"message": text}})).out;
        shown.err = format!("error: {}\n", clean(text));
        shown
    }

    fn last_message(&self) -> Option<&str> {
        self.last.as_deref()
    }
}

impl JsonLines {
    fn completed(&mut self) -> Shown {
        let mut shown = Shown::default();
        if let (None, Some((item, summary))) = (&self.last, self.compacted.take()) {
            let item = json!({"id": self.id(&item), "type": "agent_message", "text": summary});
            shown.out += &line(&json!({"type": "item.completed", "item": item})).out;
            self.last = Some(summary);
        }
        shown.out += &line(&json!({
            "type": "turn.completed",
            "turn_id": self.turn.as_ref().map(|turn| turn.0),
            "usage": tokens(&self.usage.session),
            "turn_usage": tokens(&self.usage.turn),
            "last_usage": tokens(&self.usage.last),
        }))
        .out;
        shown
    }

    fn id(&mut self, item: &ItemId) -> String {
        let next = self.next;
        match self.ids.get(item) {
            Some(id) => id.clone(),
            None => {
                self.next += 1;
                let id = format!("item_{next}");
                self.ids.insert(item.clone(), id.clone());
                id
            }
        }
    }

    fn changed(&mut self, board: &Board, id: &ItemId, change: &Change) -> Shown {
        let open =
            board.sessions.values().find_map(|session| session.open_items.iter().find(|item| item.id == *id));
        match (change, open.map(|item| &item.kind)) {
            // A command or edit is told of once it is allowed and runs.
            (Change::Stage(Stage::Running), Some(ItemKind::Act(act))) => {
                let item = self.act(id, act, Stage::Running);
                self.started.push(id.clone());
                line(&json!({"type": "item.started", "item": item}))
            }
            (Change::Plan(plan), _) => {
                let item = self.todo(id, plan);
                line(&json!({"type": "item.updated", "item": item}))
            }
            (
                Change::Stage(_)
                | Change::Text(_)
                | Change::Formed { .. }
                | Change::Output(_)
                | Change::Files(_),
                _,
            ) => Shown::default(),
        }
    }

    fn finished(&mut self, item: &Item) -> Shown {
        let body = match &item.kind {
            ItemKind::User { .. } => return Shown::default(),
            ItemKind::Message(text) => {
                // What a broken stream said is void.
                if item.stage != Stage::Done || text.is_empty() {
                    return Shown::default();
                }
                self.last = Some(text.clone());
                json!({"id": self.id(&item.id), "type": "agent_message", "text": text})
            }
            ItemKind::Thought(text) => {
                if item.stage != Stage::Done || text.is_empty() {
                    return Shown::default();
                }
                json!({"id": self.id(&item.id), "type": "reasoning", "text": text})
            }
            ItemKind::Act(act) => self.act(&item.id, act, item.stage),
            ItemKind::Plan(plan) => self.todo(&item.id, plan),
            ItemKind::Compaction { summary, .. } => {
                if item.stage == Stage::Done {
                    self.compacted = Some((item.id.clone(), summary.clone()));
                }
                return Shown::default();
            }
        };
        line(&json!({"type": "item.completed", "item": body}))
    }

    fn notice(&mut self, notice: &Notice) -> Shown {
        let text = format!("{}: {}", notice.title, notice.text);
        match (&notice.retry, notice.level) {
            (Some(_), _) => line(&json!({"type": "error", "message": text})),
            (None, Level::Warning | Level::Error) => {
                let id = format!("item_{}", self.next);
                self.next += 1;
                line(&json!({"type": "item.completed", "item": {"id": id, "type": "error", "message": text}}))
            }
            (None, Level::Info) => Shown { out: String::new(), err: format!("{}\n", clean(&text)) },
        }
    }

    fn act(&mut self, id: &ItemId, act: &Act, stage: Stage) -> Value {
        let id = self.id(id);
        let mut item = match &act.action {
            Some(Action::Run { command, .. }) => run(&id, command, act, stage),
            Some(Action::Write { .. } | Action::Edit { .. } | Action::Patch { .. }) => json!({
                "id": id,
                "type": "file_change",
                "changes": act.files.iter().map(change).collect::<Vec<_>>(),
                "status": status(stage),
            }),
            _ => call(&id, act, stage),
        };
        if let Some(fields) = item.as_object_mut() {
            if matches!(act.outcome, Some(Outcome::Declined { .. })) {
                fields.insert("declined".into(), true.into());
            }
            let failed = stage.is_final() && stage != Stage::Done;
            if let (true, Some(outcome), Some("file_change")) =
                (failed, &act.outcome, fields["type"].as_str())
            {
                fields.insert("error".into(), json!({"message": outcome.text()}));
            }
        }
        item
    }

    fn todo(&mut self, id: &ItemId, plan: &Plan) -> Value {
        let items: Vec<Value> = plan
            .steps
            .iter()
            .map(|step| json!({"text": step.text, "completed": matches!(step.state, StepState::Done)}))
            .collect();
        json!({"id": self.id(id), "type": "todo_list", "items": items})
    }
}

fn run(id: &str, command: &str, act: &Act, stage: Stage) -> Value {
    let (output, code) = match &act.outcome {
        Some(Outcome::Ran { end, output, .. }) => (output.text(), code(end)),
        Some(other) => (other.text(), None),
        None => (act.live.clone(), None),
    };
    json!({
        "id": id,
        "type": "command_execution",
        "command": format!("bash -c {}", quoted(command)),
        "aggregated_output": output,
        "exit_code": code,
        "status": status(stage),
    })
}

fn code(end: &RunEnd) -> Option<i32> {
    match end {
        RunEnd::Exited(code) => Some(*code),
        RunEnd::Signalled(signal) => Some(128 + signal),
        RunEnd::TimedOut { .. } => Some(124),
        RunEnd::StillRunning(_) | RunEnd::Stopped => None,
    }
}

/// One word of a shell, quoted where it has to be.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter));
    if plain { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn change(file: &FileDiff) -> Value {
    let kind = match &file.kind {
        FileKind::Add => "add",
        FileKind::Delete => "delete",
        FileKind::Update | FileKind::Move { .. } | FileKind::Binary => "update",
    };
    match &file.kind {
        FileKind::Move { from } => json!({"path": from.0, "kind": kind, "move_path": file.path.0}),
        FileKind::Add | FileKind::Delete | FileKind::Update | FileKind::Binary => {
            json!({"path": file.path.0, "kind": kind})
        }
    }
}

/// Tools that Codex does not have are told in the shape of a call to a server.
fn call(id: &str, act: &Act, stage: Stage) -> Value {
    let arguments: Value = serde_json::from_str(&act.input.0).unwrap_or(Value::Null);
    let text = act.outcome.as_ref().map(Outcome::text);
    let failed = stage.is_final() && stage != Stage::Done;
    let result = text
        .clone()
        .filter(|_| !failed && stage.is_final())
        .map(|text| json!({"content": [{"type": "text", "text": text}], "structured_content": null}));
    let error = text.filter(|_| failed).map(|message| json!({"message": message}));
    json!({
        "id": id,
        "type": "mcp_tool_call",
        "server": "interpreter",
        "tool": act.tool,
        "arguments": arguments,
        "result": result,
        "error": error,
        "status": status(stage),
    })
}

fn status(stage: Stage) -> &'static str {
    match stage {
        Stage::Forming | Stage::Waiting | Stage::Running => "in_progress",
        Stage::Done => "completed",
        Stage::Failed | Stage::Declined | Stage::Cancelled => "failed",
    }
}

fn tokens(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cached_input_tokens": tokens.cached,
        "cache_write_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
        "reasoning_output_tokens": tokens.reasoning,
    })
}

fn line(value: &Value) -> Shown {
    let mut out = String::new();
    for letter in value.to_string().chars() {
        // JSON lets these stand in a text, and a terminal obeys some of them.
        match letter {
            '\u{7f}'..='\u{9f}' => out += &format!("\\u{:04x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out.push('\n');
    Shown { out, err: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_control_characters_and_means_the_same() {
        let value = json!({"text": "a\u{1b}[31m\u{9b}2J\u{7f}é\n"});
        let shown = line(&value);
        assert_eq!(shown.out.chars().filter(|letter| letter.is_control()).count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&shown.out).unwrap(), value);
    }
}
