//! A request as a Chat Completions body.

use protocol::model::{Message, ModelRequest, Part, Role, Spoken, Thought, ToolSpec};
use serde_json::{Map, Value, json};

use crate::calls::object_text;
use crate::provider::Provider;
use crate::thinking::effort;

pub(crate) fn encode(provider: &Provider, request: &ModelRequest) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system.join("\n\n")}));
    }
    let mut images = Vec::new();
    for said in &request.messages {
        if said.role != Role::Tool {
            show(&mut images, &mut messages);
        }
        message(provider, said, &mut messages, &mut images);
    }
    show(&mut images, &mut messages);
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let Some(fields) = body.as_object_mut() else { return body };
    if !request.tools.is_empty() {
        fields.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    if let Some(max) = request.max_tokens {
        fields.insert(max_tokens(provider).into(), max.into());
    }
    if let Some(effort) = effort(&request.thinking) {
        fields.insert("reasoning_effort".into(), effort.into());
    }
    if let Some(schema) = &request.output_schema {
        let schema: Value = serde_json::from_str(&schema.0).unwrap_or(Value::Null);
        let format = json!({"name": "answer", "strict": true, "schema": schema});
        fields.insert("response_format".into(), json!({"type": "json_schema", "json_schema": format}));
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let schema: Value = serde_json::from_str(&tool.schema.0).unwrap_or_else(|_| json!({"type": "object"}));
    json!({"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": schema}})
}

/// OpenAI's reasoning models refuse the old name, most others do not know the new one.
fn max_tokens(provider: &Provider) -> &'static str {
    let url = reqwest::Url::parse(&provider.base_url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let openai = [".openai.com", ".openai.azure.com"].iter().any(|domain| host.ends_with(domain));
    if openai { "max_completion_tokens" } else { "max_tokens" }
}

/// A tool message holds text alone on this wire, and nothing may come between those of one answer: what
/// they show follows behind the last.
fn show(images: &mut Vec<Part>, out: &mut Vec<Value>) {
    if !images.is_empty() {
        out.push(json!({"role": "user", "content": content(images)}));
        images.clear();
    }
}

fn message(provider: &Provider, message: &Message, out: &mut Vec<Value>, images: &mut Vec<Part>) {
    match message.role {
        Role::System => out.push(json!({"role": "system", "content": content(&message.parts)})),
        Role::User => out.push(json!({"role": "user", "content": content(&message.parts)})),
        Role::Assistant => out.extend(assistant(provider, &message.parts)),
        Role::Tool => results(&message.parts, out, images),
    }
}

/// One text is a bare string, which every server takes; anything else is a list.
fn content(parts: &[Part]) -> Value {
    if !parts.iter().any(|part| matches!(part, Part::Image { .. })) {
        return Value::String(texts(parts).join("\n\n"));
    }
    let list = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(json!({"type": "text", "text": text})),
        Part::Image { mime, data } => {
            let url = format!("data:{mime};base64,{}", data.0);
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        Part::Thought(_) | Part::Call(_) | Part::Result { .. } => None,
    });
    Value::Array(list.collect())
}

fn texts(parts: &[Part]) -> Vec<&str> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image { .. } | Part::Thought(_) | Part::Call(_) | Part::Result { .. } => None,
    });
    texts.collect()
}

/// None for a message that says nothing: servers refuse those.
fn assistant(provider: &Provider, parts: &[Part]) -> Option<Value> {
    let text = texts(parts).concat();
    let calls: Vec<Value> = parts.iter().filter_map(call).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), if text.is_empty() { Value::Null } else { text.into() });
    for thought in parts.iter().filter_map(|part| own_thought(provider, part)) {
        replay(thought, &mut message);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    Some(Value::Object(message))
}

fn call(part: &Part) -> Option<Value> {
    match part {
        Part::Call(call) if call.spoken == Spoken::Native => Some(json!({
            "id": call.id.0,
            "type": "function",
            "function": {"name": call.name, "arguments": object_text(&call.input.0)},
        })),
        Part::Call(_) | Part::Text(_) | Part::Image { .. } | Part::Thought(_) | Part::Result { .. } => None,
    }
}

/// Reasoning goes back to the provider it came from, and to no other.
fn own_thought<'a>(provider: &Provider, part: &'a Part) -> Option<&'a Thought> {
    match part {
        Part::Thought(thought) if thought.provider == provider.id => Some(thought),
        Part::Thought(_) | Part::Text(_) | Part::Image { .. } | Part::Call(_) | Part::Result { .. } => None,
    }
}

/// Under the names it came with.
fn replay(thought: &Thought, message: &mut Map<String, Value>) {
    let sealed: Option<Map<String, Value>> =
        thought.sealed.as_ref().and_then(|sealed| serde_json::from_str(&sealed.0).ok());
    match sealed {
        Some(fields) => message.extend(fields),
        None if !thought.text.is_empty() => {
            message.insert("reasoning_content".into(), thought.text.as_str().into());
        }
        None => {}
    }
}

fn results(parts: &[Part], out: &mut Vec<Value>, images: &mut Vec<Part>) {
    for part in parts {
        let Part::Result { call, parts, .. } = part else { continue };
        let mut text = texts(parts).join("\n");
        let shown = parts.iter().filter(|part| matches!(part, Part::Image { .. }));
        let before = images.len();
        images.extend(shown.cloned());
        if images.len() > before && text.is_empty() {
            text = "The image follows.".into();
        }
        out.push(json!({"role": "tool", "tool_call_id": call.0, "content": text}));
    }
}
