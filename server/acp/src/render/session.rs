//! What a session is, as ACP shows it: pickers, commands, title, usage, plan, notices, lists.

use protocol::{
    ConfigOption, Level, Notice, OptionChoice, OptionKind, Plan, Rank, SessionRow, SlashCommand, StepState,
    Usage,
};
use serde_json::{Value, json};

use super::put;

/// The pickers.
pub(crate) fn options(options: &[ConfigOption]) -> Value {
    options.iter().map(option).collect()
}

/// The fields of an answer that say what can be chosen.
pub(crate) fn pickers(of: &[ConfigOption]) -> Value {
    let mut pickers = json!({ "configOptions": options(of) });
    if let Some(modes) = mode(of) {
        put(&mut pickers, "modes", modes);
    }
    pickers
}

fn option(option: &ConfigOption) -> Value {
    let category = match option.kind {
        OptionKind::Mode => "mode",
        OptionKind::Model => "model",
        OptionKind::Effort => "thought_level",
        OptionKind::Harness => "_harness",
        OptionKind::Provider => "_provider",
    };
    json!({
        "id": option.id,
        "name": option.name,
        "category": category,
        "type": "select",
        "currentValue": option.value,
        "options": choices(&option.choices),
    })
}

/// A list, or a list of groups when any choice is in one.
fn choices(all: &[OptionChoice]) -> Value {
    if all.iter().all(|choice| choice.group.is_none()) {
        return all.iter().map(choice).collect();
    }
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for one in all {
        let name = one.group.as_deref().unwrap_or("Other");
        match groups.iter_mut().find(|(group, _)| *group == name) {
            Some((_, members)) => members.push(choice(one)),
            None => groups.push((name, vec![choice(one)])),
        }
    }
    groups
        .into_iter()
        .map(|(name, members)| json!({"group": name, "name": name, "options": members}))
        .collect()
}

fn choice(choice: &OptionChoice) -> Value {
    let mut shown = json!({"value": choice.value, "name": choice.name});
    if let Some(about) = &choice.about {
        put(&mut shown, "description", about.as_str().into());
    }
    shown
}

/// The mode picker once more, for clients that know only modes.
pub(crate) fn mode(options: &[ConfigOption]) -> Option<Value> {
    let mode = options.iter().find(|option| option.kind == OptionKind::Mode)?;
    let modes: Vec<Value> = mode
        .choices
        .iter()
        .map(|choice| {
            let mut shown = json!({"id": choice.value, "name": choice.name});
            if let Some(about) = &choice.about {
                put(&mut shown, "description", about.as_str().into());
            }
            shown
        })
        .collect();
    Some(json!({"currentModeId": mode.value, "availableModes": modes}))
}

/// The picked mode.
pub(crate) fn current_mode(options: &[ConfigOption]) -> Option<&str> {
    options.iter().find(|option| option.kind == OptionKind::Mode).map(|option| option.value.as_str())
}

pub(crate) fn commands(commands: &[SlashCommand]) -> Value {
    let list: Vec<Value> = commands
        .iter()
        .map(|command| {
            let mut shown = json!({"name": command.name, "description": command.about});
            if let Some(hint) = &command.hint {
                put(&mut shown, "input", json!({ "hint": hint }));
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
    if let Some((amount, currency)) = &usage.cost {
        put(&mut shown, "cost", json!({"amount": amount, "currency": currency}));
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
    let mut shown = json!({"sessionUpdate": "notice", "severity": severity, "title": notice.title});
    if !notice.text.is_empty() {
        put(&mut shown, "description", notice.text.as_str().into());
    }
    shown
}

/// Sessions that can be loaded.
pub(crate) fn rows(rows: &[SessionRow]) -> Value {
    let readable = rows.iter().filter(|row| row.unreadable.is_none());
    readable
        .map(|row| {
            let mut shown = json!({
                "sessionId": row.id.0,
                "cwd": row.cwd.0,
                "updatedAt": protocol::time::rfc3339(row.updated_ms),
            });
            if let Some(title) = &row.title {
                put(&mut shown, "title", title.as_str().into());
            }
            shown
        })
        .collect()
}
