//! A request as a Responses body.

use protocol::model::{Message, ModelRequest, Part, Role, Spoken, ToolSpec};
use serde_json::{Value, json};

use crate::calls::object_text;
use crate::provider::Provider;
use crate::thinking::effort;

pub(crate) fn encode(provider: &Provider, request: &ModelRequest) -> Value {
    let mut input = Vec::new();
    for said in &request.messages {
        message(provider, said, &mut input);
    }
    let mut body = json!({
        "model": request.model,
        "input": input,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    let Some(fields) = body.as_object_mut() else { return body };
    if !request.system.is_empty() {
        fields.insert("instructions".into(), request.system.join("\n\n").into());
    }
    if !request.tools.is_empty() {
        fields.insert("tools".into(), request.tools.iter().map(tool).collect());
        fields.insert("tool_choice".into(), "auto".into());
        fields.insert("parallel_tool_calls".into(), true.into());
    }
    if let Some(max) = request.max_tokens {
        fields.insert("max_output_tokens".into(), max.into());
    }
    if let Some(effort) = effort(&request.thinking) {
        // A summary is what a person can see of it.
        let reasoning = if effort == "none" {
            json!({ "effort": effort })
        } else {
            json!({"effort": effort, "summary": "auto"})
        };
        fields.insert("reasoning".into(), reasoning);
    }
    if let Some(schema) = &request.output_schema {
        let schema: Value = serde_json::from_str(&schema.0).unwrap_or(Value::Null);
        let format = json!({"type": "json_schema", "name": "answer", "strict": true, "schema": schema});
        fields.insert("text".into(), json!({"format": format}));
    }
    if let Some(key) = &request.cache_key {
        fields.insert("prompt_cache_key".into(), key.as_str().into());
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let schema: Value = serde_json::from_str(&tool.schema.0).unwrap_or_else(|_| json!({"type": "object"}));
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.about,
        "parameters": schema,
        "strict": false,
    })
}

fn message(provider: &Provider, message: &Message, out: &mut Vec<Value>) {
    let role = match message.role {
        Role::System => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => return message.parts.iter().for_each(|part| out.extend(result(part))),
    };
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => {
                let kind = if message.role == Role::Assistant { "output_text" } else { "input_text" };
                content.push(json!({"type": kind, "text": text}));
            }
            Part::Image { mime, data } => content.push(image(mime, &data.0)),
            Part::Thought(thought) if thought.provider == provider.id => {
                flush(role, &mut content, out);
                out.extend(
                    thought.sealed.as_ref().and_then(|sealed| serde_json::from_str::<Value>(&sealed.0).ok()),
                );
            }
            Part::Call(call) if call.spoken == Spoken::Native => {
                flush(role, &mut content, out);
                out.push(json!({
                    "type": "function_call",
                    "call_id": call.id.0,
                    "name": call.name,
                    "arguments": object_text(&call.input.0),
                }));
            }
            Part::Thought(_) | Part::Call(_) | Part::Result { .. } => {}
        }
    }
    flush(role, &mut content, out);
}

fn flush(role: &str, content: &mut Vec<Value>, out: &mut Vec<Value>) {
    if !content.is_empty() {
        let content = std::mem::take(content);
        out.push(json!({"type": "message", "role": role, "content": content}));
    }
}

fn image(mime: &str, data: &str) -> Value {
    json!({"type": "input_image", "image_url": format!("data:{mime};base64,{data}")})
}

fn result(part: &Part) -> Option<Value> {
    let Part::Result { call, parts, .. } = part else { return None };
    let plain = parts.iter().all(|part| matches!(part, Part::Text(_)));
    let list: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(json!({"type": "input_text", "text": text})),
            Part::Image { mime, data } => Some(image(mime, &data.0)),
            Part::Thought(_) | Part::Call(_) | Part::Result { .. } => None,
        })
        .collect();
    let output = if plain {
        let texts = parts
            .iter()
            .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
        Value::String(texts.collect::<Vec<_>>().join("\n"))
    } else {
        Value::Array(list)
    };
    Some(json!({"type": "function_call_output", "call_id": call.0, "output": output}))
}
