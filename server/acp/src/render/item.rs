//! Messages, thoughts, and the person's own words; calls are in `act`.

use protocol::{Change, Content, Item, ItemId, ItemKind};
use serde_json::{Value, json};

use super::{View, act, session};

const AGENT: &str = "agent_message_chunk";
const THOUGHT: &str = "agent_thought_chunk";

/// What is told when an item begins. Text mostly follows in changes.
pub(crate) fn started(item: &Item, view: View<'_>) -> Vec<Value> {
    match &item.kind {
        ItemKind::User { content, .. } => user(&item.id, content),
        ItemKind::Message(text) => said(AGENT, &message_id(&item.id), text),
        ItemKind::Thought(text) => said(THOUGHT, &message_id(&item.id), text),
        ItemKind::Act(call) => vec![act::begun(item, call, view)],
        ItemKind::Plan(plan) => vec![session::plan(plan)],
        ItemKind::Compaction { .. } => {
            said(THOUGHT, &message_id(&item.id), "The conversation is being compacted.\n\n")
        }
    }
}

/// What a change of an item means that was told of; `item` is as it stands after it.
pub(crate) fn changed(item: &Item, change: &Change, view: View<'_>) -> Vec<Value> {
    match (&item.kind, change) {
        (ItemKind::Message(_), Change::Text(more)) => said(AGENT, &message_id(&item.id), more),
        (ItemKind::Thought(_) | ItemKind::Compaction { .. }, Change::Text(more)) => {
            said(THOUGHT, &message_id(&item.id), more)
        }
        (ItemKind::Plan(plan), Change::Plan(_)) => vec![session::plan(plan)],
        (ItemKind::Act(call), change) => act::update(item, call, change, view).into_iter().collect(),
        (
            ItemKind::User { .. }
            | ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::Plan(_)
            | ItemKind::Compaction { .. },
            Change::Text(_)
            | Change::Formed { .. }
            | Change::Stage(_)
            | Change::Output(_)
            | Change::Files(_)
            | Change::Plan(_),
        ) => Vec::new(),
    }
}

/// A whole item of which the client has heard nothing, by the same words.
pub(crate) fn past(item: &Item, view: View<'_>) -> Vec<Value> {
    match &item.kind {
        ItemKind::User { content, .. } => user(&item.id, content),
        ItemKind::Message(text) => said(AGENT, &message_id(&item.id), text),
        ItemKind::Thought(text) => said(THOUGHT, &message_id(&item.id), text),
        ItemKind::Act(call) if act::shows(call) => vec![act::whole(item, call, view)],
        ItemKind::Act(_) => Vec::new(),
        ItemKind::Plan(plan) => vec![session::plan(plan)],
        ItemKind::Compaction { summary, .. } => {
            said(THOUGHT, &message_id(&item.id), &format!("The conversation was compacted.\n\n{summary}"))
        }
    }
}

fn message_id(id: &ItemId) -> String {
    format!("msg_{id}")
}

/// A piece of text; pieces of one message share its id. Nothing of nothing.
pub(crate) fn said(kind: &str, id: &str, text: &str) -> Vec<Value> {
    if text.is_empty() {
        return Vec::new();
    }
    vec![json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": id})]
}

fn user(item: &ItemId, content: &[Content]) -> Vec<Value> {
    let chunk = |part| json!({"sessionUpdate": "user_message_chunk", "content": block(part), "messageId": message_id(item)});
    content.iter().map(chunk).collect()
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { mime, data, .. } => json!({"type": "image", "mimeType": mime, "data": data.0}),
        Content::Link { uri, name, lines, .. } => {
            let lines = lines.map_or_else(String::new, |(from, to)| format!("#L{from}:{to}"));
            json!({"type": "resource_link", "uri": format!("{}{lines}", encoded(uri)), "name": name})
        }
        Content::Resource { uri, mime, text: Some(text), .. } => {
            json!({"type": "resource", "resource": {"uri": encoded(uri), "mimeType": mime, "text": text}})
        }
        Content::Resource { uri, mime, text: None, data } => {
            let blob = data.as_ref().map(|data| data.0.as_str()).unwrap_or_default();
            json!({"type": "resource", "resource": {"uri": encoded(uri), "mimeType": mime, "blob": blob}})
        }
    }
}

/// An address as it goes on the wire.
fn encoded(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_string() };
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte);
    let letter = |byte: u8| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file://{}", path.bytes().map(letter).collect::<String>())
}
