//! A turn as the bytes of a wire. Knows nothing of HTTP.

use std::collections::BTreeMap;
use std::path::Path;

use providers::script::{Script, ToolMap, Turn};
use serde_json::{Value, json};

use super::{Thought, Wire};

/// An answer, and the calls it makes.
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) issued: BTreeMap<String, Thought>,
}

/// The answer number `at`, counted from 0, on a wire.
pub(super) fn body(script: &Script, turn: &Turn, folder: &Path, (wire, at): (Wire, usize)) -> Answer {
    let raw = match (&turn.body, &turn.body_file) {
        (Some(body), _) => Some(body.clone().into_bytes()),
        (None, Some(file)) => {
            let path = folder.join(file);
            Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        }
        (None, None) => None,
    };
    if let Some(raw) = raw {
        return Answer { bytes: filled(&raw, script), issued: BTreeMap::new() };
    }
    let calls = calls(script, turn, at);
    let thought =
        Thought { words: turn.reasoning.clone(), sealed: turn.reasoning.as_ref().map(|_| sealed(at)) };
    let issued = calls.iter().map(|(id, ..)| (id.clone(), thought.clone())).collect();
    let text = match wire {
        Wire::Chat => chat(turn, &calls),
        Wire::Responses => responses(turn, &calls, at),
    };
    Answer { bytes: text.into_bytes(), issued }
}

/// Raw bytes with each `@@NAME@@` replaced that stands for something; the rest stays as it is.
fn filled(raw: &[u8], script: &Script) -> Vec<u8> {
    let map = ToolMap::native();
    let meant = |mark: &[u8]| match std::str::from_utf8(mark).ok()? {
        "WORK" => Some(script.work.clone()),
        mark => map.placeholder(mark),
    };
    let find = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"@@");
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = find(rest) {
        let (before, behind) = (&rest[..at], &rest[at + 2..]);
        out.extend_from_slice(before);
        match find(behind).and_then(|end| Some((meant(&behind[..end])?, end))) {
            Some((name, end)) => {
                out.extend_from_slice(name.as_bytes());
                rest = &behind[end + 2..];
            }
            None => {
                out.extend_from_slice(b"@@");
                rest = behind;
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

fn sealed(at: usize) -> String {
    format!("sealed-{at}")
}

fn words(turn: &Turn) -> Vec<String> {
    if let Some(count) = turn.words {
        return (0..count).map(|number| format!("word{number} ")).collect();
    }
    turn.say.iter().flat_map(|text| text.split_inclusive(' ')).map(str::to_string).collect()
}

/// An id, a tool's name and the text of its arguments.
type Call = (String, String, String);

fn calls(script: &Script, turn: &Turn, at: usize) -> Vec<Call> {
    let map = ToolMap::native();
    let made = turn.calls.iter().enumerate().map(|(slot, call)| {
        let (name, args) = map.call(call, &script.work);
        (call.id.clone().unwrap_or_else(|| format!("call_{at}_{slot}")), name, args)
    });
    made.collect()
}

/// Arguments in pieces, as models stream them.
fn pieces(args: &str) -> Vec<String> {
    let letters: Vec<char> = args.chars().collect();
    letters.chunks(24).map(|chunk| chunk.iter().collect()).collect()
}

fn event(out: &mut String, data: &Value) {
    out.push_str(&format!("data: {data}\n\n"));
}

fn chat(turn: &Turn, calls: &[Call]) -> String {
    let mut out = String::new();
    let delta = |delta: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    if let Some(text) = &turn.reasoning {
        event(&mut out, &delta(json!({"role": "assistant", "reasoning_content": text})));
    }
    for word in words(turn) {
        event(&mut out, &delta(json!({"content": word})));
    }
    for (slot, (id, name, args)) in calls.iter().enumerate() {
        let head =
            json!({"index": slot, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        event(&mut out, &delta(json!({"tool_calls": [head]})));
        for piece in pieces(args) {
            let more = json!({"index": slot, "function": {"arguments": piece}});
            event(&mut out, &delta(json!({"tool_calls": [more]})));
        }
    }
    let finish =
        turn.finish.clone().unwrap_or_else(|| if calls.is_empty() { "stop" } else { "tool_calls" }.into());
    event(&mut out, &json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    let (input, output) = turn.usage.map_or((100, 10), |usage| (usage.input, usage.output));
    event(
        &mut out,
        &json!({"id": "c", "choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}}),
    );
    out + "data: [DONE]\n\n"
}

fn responses(turn: &Turn, calls: &[Call], at: usize) -> String {
    let mut out = String::new();
    let mut index = 0;
    event(&mut out, &json!({"type": "response.created", "response": {"id": "r"}}));
    if let Some(text) = &turn.reasoning {
        event(
            &mut out,
            &json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "delta": text}),
        );
        let item = json!({"type": "reasoning", "id": format!("rs_{at}"),
            "summary": [{"type": "summary_text", "text": text}], "encrypted_content": sealed(at)});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    let said = words(turn);
    if !said.is_empty() {
        for word in &said {
            event(
                &mut out,
                &json!({"type": "response.output_text.delta", "output_index": index, "delta": word}),
            );
        }
        let content = json!([{"type": "output_text", "text": said.concat()}]);
        let item = json!({"type": "message", "role": "assistant", "content": content});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    for (id, name, args) in calls {
        let head = json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""});
        event(&mut out, &json!({"type": "response.output_item.added", "output_index": index, "item": head}));
        for piece in pieces(args) {
            let delta = json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece});
            event(&mut out, &delta);
        }
        let item = json!({"type": "function_call", "call_id": id, "name": name, "arguments": args});
        event(&mut out, &json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        index += 1;
    }
    event(&mut out, &closing(turn));
    out
}

fn closing(turn: &Turn) -> Value {
    let (input, output) = turn.usage.map_or((100, 10), |usage| (usage.input, usage.output));
    let usage = json!({"input_tokens": input, "output_tokens": output});
    match turn.finish.as_deref() {
        Some("length") => json!({"type": "response.incomplete", "response": {"usage": usage,
            "incomplete_details": {"reason": "max_output_tokens"}}}),
        _ => json!({"type": "response.completed", "response": {"id": "r", "output": [], "usage": usage}}),
    }
}
