//! The events of a Responses stream as ours.

use std::collections::HashSet;

use protocol::model::{ModelEvent, Stop, Thought};
use protocol::{Json, Tokens};
use serde_json::Value;

use crate::calls::{Calls, salt};
use crate::failure::Trouble;
use crate::model::Decoder;
use crate::provider::Provider;

/// One answer under way.
pub(crate) struct Decode {
    provider: Provider,
    calls: Calls,
    /// Output indexes whose text came in deltas.
    streamed: HashSet<u64>,
    refusal: String,
    text: bool,
    stop: Option<Stop>,
}

impl Decode {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            provider: provider.clone(),
            calls: Calls::new(salt()),
            streamed: HashSet::new(),
            refusal: String::new(),
            text: false,
            stop: None,
        }
    }

    fn text(&mut self, text: &str, events: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text = true;
            events.push(ModelEvent::Text(text.into()));
        }
    }

    /// A finished output item: what it says and was not streamed.
    fn item(&mut self, at: u64, item: &Value, events: &mut Vec<ModelEvent>) {
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message" if !self.streamed.contains(&at) => {
                self.streamed.insert(at);
                for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                    match part.get("type").and_then(Value::as_str) {
                        Some("refusal") => self.refusal.push_str(string(part, "refusal")),
                        _ => self.text(string(part, "text"), events),
                    }
                }
            }
            "function_call" => {
                self.calls.begin(at, string(item, "call_id"), string(item, "name"), events);
                self.calls.settle(at, &arguments(item), events);
            }
            "reasoning" => self.reasoning(at, item, events),
            _ => {}
        }
    }

    fn reasoning(&mut self, at: u64, item: &Value, events: &mut Vec<ModelEvent>) {
        let parts =
            ["summary", "content"].iter().filter_map(|name| item.get(*name)).filter_map(Value::as_array);
        let text: Vec<&str> =
            parts.flatten().map(|part| string(part, "text")).filter(|text| !text.is_empty()).collect();
        let text = text.join("\n");
        if !self.streamed.contains(&at) && !text.is_empty() {
            events.push(ModelEvent::Thought(text.clone()));
        }
        self.streamed.insert(at);
        // Only what is encrypted can go back, since nothing is stored at the server.
        let sealed = item.get("encrypted_content").filter(|sealed| !sealed.is_null());
        let mut kept = item.clone();
        if let Some(fields) = kept.as_object_mut() {
            fields.remove("status");
        }
        events.push(ModelEvent::Sealed(Thought {
            provider: self.provider.id.clone(),
            text,
            sealed: sealed.map(|_| Json(kept.to_string())),
        }));
    }

    fn completed(&mut self, response: &Value, events: &mut Vec<ModelEvent>) {
        for (at, item) in response.get("output").and_then(Value::as_array).into_iter().flatten().enumerate() {
            // Whatever was not told item by item.
            let at = at as u64;
            let told = self.streamed.contains(&at) || self.calls.any_begun();
            if !told {
                self.item(at, item, events);
            }
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            events.push(ModelEvent::Used(tokens(usage)));
        }
    }
}

impl Decoder for Decode {
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let Ok(event) = serde_json::from_str::<Value>(data) else { return Ok(()) };
        let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let response = event.get("response").unwrap_or(&Value::Null);
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.output_text.delta" => {
                self.streamed.insert(at);
                self.text(string(&event, "delta"), events);
            }
            "response.refusal.delta" => {
                self.streamed.insert(at);
                self.refusal.push_str(string(&event, "delta"));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.streamed.insert(at);
                let more = string(&event, "delta");
                if !more.is_empty() {
                    events.push(ModelEvent::Thought(more.into()));
                }
            }
            "response.reasoning_summary_part.added" if self.streamed.contains(&at) => {
                events.push(ModelEvent::Thought("\n".into()));
            }
            "response.output_item.added" => {
                let item = event.get("item").unwrap_or(&Value::Null);
                if item.get("type").and_then(Value::as_str) == Some("function_call") {
                    self.calls.begin(at, string(item, "call_id"), string(item, "name"), events);
                }
            }
            "response.function_call_arguments.delta" => self.calls.more(at, string(&event, "delta"), events),
            "response.output_item.done" => self.item(at, event.get("item").unwrap_or(&Value::Null), events),
            "response.completed" => {
                self.completed(response, events);
                self.stop = Some(match () {
                    () if self.calls.any_begun() => Stop::Calls,
                    () if !self.refusal.is_empty() && !self.text => Stop::Refusal(self.refusal.clone()),
                    () => Stop::End,
                });
            }
            "response.incomplete" => {
                self.completed(response, events);
                let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
                self.stop = Some(match reason {
                    Some("content_filter") => Stop::Filter,
                    Some("max_output_tokens") | None => Stop::Length,
                    Some(other) => Stop::Other(other.into()),
                });
            }
            "response.failed" => {
                let error = response.get("error").unwrap_or(response);
                return Err(Trouble::inside(&self.provider, error));
            }
            "error" => return Err(Trouble::inside(&self.provider, event.get("error").unwrap_or(&event))),
            _ => {
                if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                    return Err(Trouble::inside(&self.provider, error));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let Some(stop) = self.stop.take() else {
            let said = self.text || !self.calls.is_empty();
            let text = if said { "the stream broke off before its end mark" } else { "the answer was empty" };
            return Err(Trouble::broken(text));
        };
        self.calls.end(events);
        events.push(ModelEvent::Stopped(stop));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.stop.is_some()
    }
}

fn string<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn arguments(item: &Value) -> String {
    match item.get("arguments") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn tokens(usage: &Value) -> Tokens {
    let count = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    Tokens {
        input: count("/input_tokens"),
        cached: count("/input_tokens_details/cached_tokens"),
        cache_write: count("/input_tokens_details/cache_write_tokens"),
        output: count("/output_tokens"),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
    }
}
