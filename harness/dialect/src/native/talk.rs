//! The conversation as messages for a wire.

use protocol::model::{Message, Part, Role};
use protocol::{Content, Conversation, EntryKind};

/// Every entry as it was said, in order.
pub(super) fn messages(talk: &Conversation) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for entry in &talk.entries {
        match &entry.kind {
            EntryKind::Heard { content, .. } => push(&mut messages, Role::User, parts(content)),
            EntryKind::Note(note) => push(&mut messages, Role::User, note.parts.clone()),
            EntryKind::Said(said) => push(&mut messages, Role::Assistant, said.parts.clone()),
            EntryKind::Result { call, reply } => {
                let result =
                    Part::Result { call: call.clone(), parts: reply.parts.clone(), error: reply.error };
                push(&mut messages, Role::Tool, vec![result]);
            }
        }
    }
    messages
}

/// Neighbours of one role that is not the assistant's are one message, as strict servers want it.
fn push(messages: &mut Vec<Message>, role: Role, parts: Vec<Part>) {
    if parts.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if last.role == role && role != Role::Assistant => last.parts.extend(parts),
        _ => messages.push(Message { role, parts }),
    }
}

pub(super) fn user(text: String) -> Message {
    Message { role: Role::User, parts: vec![Part::Text(text)] }
}

/// The same talk for a request without tools: calls and results as text, since servers refuse calls of
/// functions that the request does not declare.
pub(super) fn without_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut plain = Vec::new();
    for message in messages {
        let role = if message.role == Role::Tool { Role::User } else { message.role };
        let parts: Vec<Part> = message
            .parts
            .into_iter()
            .filter_map(|part| match part {
                Part::Call(call) => Some(Part::Text(format!("[called {} with {}]", call.name, call.input.0))),
                Part::Result { parts, .. } => Some(Part::Text(format!("[result: {}]", plain_text(&parts)))),
                Part::Thought(_) => None,
                Part::Text(_) | Part::Image { .. } => Some(part),
            })
            .collect();
        push(&mut plain, role, parts);
    }
    plain
}

fn plain_text(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Image { .. } => "(an image)",
        Part::Thought(_) | Part::Call(_) | Part::Result { .. } => "",
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a person gave, as the model sees it.
fn parts(content: &[Content]) -> Vec<Part> {
    content.iter().map(part).collect()
}

fn part(content: &Content) -> Part {
    match content {
        Content::Text(text) => Part::Text(text.clone()),
        Content::Image { mime, data, .. } => Part::Image { mime: mime.clone(), data: data.clone() },
        Content::Link { uri, name, lines, .. } => {
            let place = uri.strip_prefix("file://").unwrap_or(uri);
            let shown =
                if place.ends_with(name.as_str()) { place.to_string() } else { format!("{name} ({place})") };
            Part::Text(match lines {
                Some((from, to)) => format!("[mentioned: {shown}, lines {from} to {to}]"),
                None => format!("[mentioned: {shown}]"),
            })
        }
        Content::Resource { uri, text: Some(text), .. } => {
            Part::Text(format!("<resource uri=\"{uri}\">\n{text}\n</resource>"))
        }
        Content::Resource { uri, mime, data: Some(data), .. }
            if mime.as_deref().is_some_and(|mime| mime.starts_with("image/")) =>
        {
            let mime =
                mime.clone().unwrap_or_else(|| format!("image/{}", uri.rsplit('.').next().unwrap_or("png")));
            Part::Image { mime, data: data.clone() }
        }
        Content::Resource { uri, mime, .. } => Part::Text(format!(
            "[attached: {uri}, {}, not shown because it is not text]",
            mime.as_deref().unwrap_or("unknown type")
        )),
    }
}
