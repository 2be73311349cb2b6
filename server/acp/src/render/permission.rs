//! What is put before a person as `session/request_permission`.

use std::path::Path;

use protocol::{Act, Action, Ask, Grant, Item, ItemKind, Question};
use serde_json::{Value, json};

use super::act::{call_id, cwd, kind, put_locations, raw_input};
use super::diff::diffs;
use super::outcome::{fenced, text};
use super::{View, put};

/// The call as a whole, with the engine's choices.
pub(crate) fn permission(ask: &Ask, item: Option<&Item>, view: View<'_>) -> Value {
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
    json!({"toolCall": call(ask, item, view), "options": options})
}

fn call(ask: &Ask, item: Option<&Item>, view: View<'_>) -> Value {
    let id = item.map_or_else(|| format!("ask_{}", ask.id), |item| call_id(&item.id));
    let mut call = json!({"toolCallId": id, "title": ask.why, "status": "pending"});
    let Some(Item { kind: ItemKind::Act(act), .. }) = item else { return call };
    put(&mut call, "title", act.title().into());
    put(&mut call, "kind", kind(act.verb).into());
    put(&mut call, "rawInput", raw_input(act));
    put_locations(&mut call, act, view);
    let mut shown = Vec::new();
    if let Some(Action::Run { command, .. }) = &act.action {
        shown.push(text(&fenced(command)));
        // Quoted, so that a folder's name cannot pass for words of ours.
        shown.extend(elsewhere(act, view).map(|folder| text(&format!("in {folder:?}"))));
    }
    if !ask.why.is_empty() {
        shown.push(text(&ask.why));
    }
    shown.extend(diffs(&act.files, view));
    put(&mut call, "content", shown.into());
    call
}

/// The folder of a command, unless it is the session's.
fn elsewhere(act: &Act, view: View<'_>) -> Option<String> {
    cwd(act, view).filter(|folder| view.place.cwd() != Some(Path::new(folder)))
}

/// A question with its choices, for a client without forms. The options are numbered, and skipping is one.
pub(crate) fn choices(ask: &Ask, item: Option<&Item>, question: &Question, view: View<'_>) -> Value {
    let mut call = call(ask, item, view);
    put(&mut call, "title", question.text.as_str().into());
    let about: Vec<String> = question
        .options
        .iter()
        .filter(|(_, about)| !about.is_empty())
        .map(|(label, about)| format!("- {label}: {about}"))
        .collect();
    let said = if about.is_empty() {
        question.text.clone()
    } else {
        format!("{}\n\n{}", question.text, about.join("\n"))
    };
    put(&mut call, "content", json!([text(&said)]));
    let mut options: Vec<Value> = question
        .options
        .iter()
        .enumerate()
        .map(|(at, (label, _))| json!({"optionId": format!("option_{at}"), "name": label, "kind": "allow_once"}))
        .collect();
    options.push(json!({"optionId": "skip", "name": "Do not answer", "kind": "reject_once"}));
    json!({"toolCall": call, "options": options})
}
