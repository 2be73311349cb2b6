//! Messages, thoughts and the person's own words.

use protocol::{ClientId, Content, Item, ItemId, ItemKind};
use serde_json::{Value, json};

use super::{act, session};
use crate::caps::Caps;

/// What is told when an item begins. Text follows in changes; the person's own words come back only to
/// others.
pub(crate) fn started(item: &Item, own: &ClientId, caps: Caps) -> Vec<Value> {
    match &item.kind {
        ItemKind::User { content, by } if by.as_ref() != Some(own) => user(&item.id, content),
        ItemKind::User { .. } | ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::Compaction { .. } => {
            Vec::new()
        }
        ItemKind::Act(made) => vec![act::forming(&item.id, made, caps)],
        ItemKind::Plan(plan) => vec![session::plan(plan)],
    }
}

/// A whole item of the past, by the same words.
pub(crate) fn finished(item: &Item, caps: Caps) -> Vec<Value> {
    match &item.kind {
        ItemKind::User { content, .. } => user(&item.id, content),
        ItemKind::Message(said) => said_chunk("agent_message_chunk", &item.id, said),
        ItemKind::Thought(said) => said_chunk("agent_thought_chunk", &item.id, said),
        ItemKind::Act(made) => vec![act::whole(item, made, caps)],
        ItemKind::Plan(plan) => vec![session::plan(plan)],
        ItemKind::Compaction { summary, .. } => said_chunk(
            "agent_thought_chunk",
            &item.id,
            &format!("The conversation was compacted:\n{summary}"),
        ),
    }
}

fn said_chunk(kind: &str, item: &ItemId, said: &str) -> Vec<Value> {
    if said.is_empty() { Vec::new() } else { vec![text(kind, item, said)] }
}

/// A piece of text; pieces of one message share its id.
pub(crate) fn text(kind: &str, item: &ItemId, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": format!("msg_{item}")})
}

fn user(item: &ItemId, content: &[Content]) -> Vec<Value> {
    let blocks = content.iter().map(block);
    blocks
        .map(|block| json!({"sessionUpdate": "user_message_chunk", "content": block, "messageId": format!("msg_{item}")}))
        .collect()
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { mime, data, .. } => json!({"type": "image", "mimeType": mime, "data": data.0}),
        Content::Link { uri, name, .. } => {
            json!({"type": "resource_link", "uri": encoded(uri), "name": name})
        }
        Content::Resource { uri, mime, text: Some(text), .. } => {
            json!({"type": "resource", "resource": {"uri": encoded(uri), "mimeType": mime, "text": text}})
        }
        Content::Resource { uri, mime, data, .. } => {
            let blob = data.as_ref().map(|data| data.0.clone()).unwrap_or_default();
            json!({"type": "resource", "resource": {"uri": encoded(uri), "mimeType": mime, "blob": blob}})
        }
    }
}

/// An address as it goes on the wire.
fn encoded(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_string() };
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte);
    let path: String = path
        .bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("file://{path}")
}
