//! What a session is, as ACP shows it.

use protocol::{
    ConfigOption, Level, Notice, OptionKind, Plan, Rank, SessionRow, SlashCommand, StepState, Usage,
};
use serde_json::{Value, json};

/// The pickers.
pub(crate) fn options(options: &[ConfigOption]) -> Value {
    options.iter().map(option).collect()
}

fn option(option: &ConfigOption) -> Value {
    let category = match option.kind {
        OptionKind::Mode => "mode",
        OptionKind::Model => "model",
        OptionKind::Effort => "thought_level",
        OptionKind::Harness => "_harness",
        OptionKind::Provider => "_provider",
    };
    let choices: Vec<Value> = option
        .choices
        .iter()
        .map(|choice| match &choice.about {
            Some(about) => json!({"value": choice.value, "name": choice.name, "description": about}),
            None => json!({"value": choice.value, "name": choice.name}),
        })
        .collect();
    json!({
        "id": option.id,
        "name": option.name,
        "category": category,
        "type": "select",
        "currentValue": option.value,
        "options": choices,
    })
}

/// The mode picker once more, for clients that know only modes.
pub(crate) fn mode(options: &[ConfigOption]) -> Option<Value> {
    let mode = options.iter().find(|option| option.kind == OptionKind::Mode)?;
    let modes: Vec<Value> = mode
        .choices
        .iter()
        .map(|choice| json!({"id": choice.value, "name": choice.name, "description": choice.about}))
        .collect();
    Some(json!({"currentModeId": mode.value, "availableModes": modes}))
}

pub(crate) fn commands(commands: &[SlashCommand]) -> Value {
    let list: Vec<Value> = commands
        .iter()
        .map(|command| {
            let mut shown = json!({"name": command.name, "description": command.about});
            if let (Some(hint), Some(fields)) = (&command.hint, shown.as_object_mut()) {
                fields.insert("input".into(), json!({ "hint": hint }));
            }
            shown
        })
        .collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": list})
}

pub(crate) fn title(title: &str, at_ms: u64) -> Value {
    json!({"sessionUpdate": "session_info_update", "title": title, "updatedAt": protocol::time::rfc3339(at_ms)})
}

/// Nothing when the window is not known: a gauge needs both.
pub(crate) fn usage(usage: &Usage) -> Option<Value> {
    let (used, size) = usage.window?;
    let mut shown = json!({"sessionUpdate": "usage_update", "used": used, "size": size});
    if let (Some((amount, currency)), Some(fields)) = (&usage.cost, shown.as_object_mut()) {
        fields.insert("cost".into(), json!({"amount": amount, "currency": currency}));
    }
    Some(shown)
}

pub(crate) fn plan(plan: &Plan) -> Value {
    let entries: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            let priority = match step.rank {
                Rank::High => "high",
                Rank::Medium => "medium",
                Rank::Low => "low",
            };
            let status = match step.state {
                StepState::Pending => "pending",
                StepState::Active => "in_progress",
                StepState::Done => "completed",
            };
            json!({"content": step.text, "priority": priority, "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

/// For clients that declared notices.
pub(crate) fn notice(notice: &Notice) -> Value {
    let severity = match notice.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    json!({"sessionUpdate": "notice", "severity": severity, "title": notice.title, "description": notice.text})
}

pub(crate) fn rows(rows: &[SessionRow]) -> Value {
    let readable = rows.iter().filter(|row| row.unreadable.is_none());
    readable
        .map(|row| {
            let mut shown = json!({
                "sessionId": row.id.0,
                "cwd": row.cwd.0,
                "updatedAt": protocol::time::rfc3339(row.updated_ms),
            });
            if let (Some(title), Some(fields)) = (&row.title, shown.as_object_mut()) {
                fields.insert("title".into(), title.as_str().into());
            }
            shown
        })
        .collect()
}
