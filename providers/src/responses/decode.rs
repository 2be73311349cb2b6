//! The events of a Responses stream as ours.

use std::collections::{BTreeMap, BTreeSet};

use protocol::model::{ModelEvent, Stop, Thought};
use protocol::{Json, Tokens};
use serde_json::Value;

use crate::calls::{Calls, salt};
use crate::failure::Trouble;
use crate::json::{self, Data};
use crate::provider::Provider;
use crate::stream::{Decoder, Mark};

/// Keys of items that came without an output index begin here.
const UNINDEXED: u64 = 1 << 32;

/// One answer under way.
pub(crate) struct Decode {
    provider: Provider,
    calls: Calls,
    /// Items whose text or thoughts came in deltas.
    streamed: BTreeSet<u64>,
    /// Keys of items that have an id but no output index.
    keys: BTreeMap<String, u64>,
    refusal: String,
    said: bool,
    sealed: bool,
    stop: Option<Stop>,
}

impl Decode {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            provider: provider.clone(),
            calls: Calls::new(salt()),
            streamed: BTreeSet::new(),
            keys: BTreeMap::new(),
            refusal: String::new(),
            said: false,
            sealed: false,
            stop: None,
        }
    }

    /// What tells an event's item from others: its output index, else its id.
    fn key(&mut self, event: &Value) -> u64 {
        if let Some(at) = event.get("output_index").and_then(Value::as_u64) {
            return at;
        }
        let id = match string(event, "item_id") {
            "" => event.pointer("/item/id").and_then(Value::as_str).unwrap_or_default(),
            id => id,
        };
        let next = UNINDEXED + self.keys.len() as u64;
        *self.keys.entry(id.to_string()).or_insert(next)
    }

    fn event(&mut self, event: &Value, events: &mut Vec<ModelEvent>) {
        let key = self.key(event);
        let delta = string(event, "delta");
        let item = event.get("item").unwrap_or(&Value::Null);
        match string(event, "type") {
            "response.output_text.delta" => {
                self.streamed.insert(key);
                self.say(delta, events);
            }
            "response.refusal.delta" => {
                self.streamed.insert(key);
                self.refusal.push_str(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.streamed.insert(key);
                think(delta, events);
            }
            "response.reasoning_summary_part.added" if self.streamed.contains(&key) => think("\n", events),
            "response.output_item.added" if string(item, "type") == "function_call" => {
                self.calls.begin(key, string(item, "call_id"), string(item, "name"), events);
                self.calls.offer(key, arguments(item));
            }
            "response.function_call_arguments.delta" => self.calls.more(key, delta, events),
            "response.function_call_arguments.done" => self.calls.settle(key, &arguments(event), events),
            "response.output_item.done" => self.item(key, item, events),
            _ => {}
        }
    }

    /// A finished output item: what it says and was not streamed.
    fn item(&mut self, key: u64, item: &Value, events: &mut Vec<ModelEvent>) {
        match string(item, "type") {
            "message" if self.streamed.insert(key) => self.message(item, events),
            "function_call" => {
                self.calls.begin(key, string(item, "call_id"), string(item, "name"), events);
                self.calls.settle(key, &arguments(item), events);
            }
            "reasoning" => self.reasoning(key, item, events),
            _ => {}
        }
    }

    fn message(&mut self, item: &Value, events: &mut Vec<ModelEvent>) {
        for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
            match string(part, "type") {
                "refusal" => self.refusal.push_str(string(part, "refusal")),
                _ => self.say(string(part, "text"), events),
            }
        }
    }

    fn say(&mut self, text: &str, events: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.said = true;
            events.push(ModelEvent::Text(text.into()));
        }
    }

    fn reasoning(&mut self, key: u64, item: &Value, events: &mut Vec<ModelEvent>) {
        let parts = ["summary", "content"].iter().filter_map(|name| item.get(*name)?.as_array());
        let texts: Vec<&str> =
            parts.flatten().map(|part| string(part, "text")).filter(|text| !text.is_empty()).collect();
        let text = texts.join("\n");
        if self.streamed.insert(key) {
            think(&text, events);
        }
        self.sealed = true;
        // Only what is encrypted can go back, since nothing is stored at the server.
        let sealed = item.get("encrypted_content").filter(|sealed| !sealed.is_null());
        let mut kept = item.clone();
        if let Some(fields) = kept.as_object_mut() {
            fields.shift_remove("status");
        }
        events.push(ModelEvent::Sealed(Thought {
            provider: self.provider.id.clone(),
            text,
            sealed: sealed.map(|_| Json(kept.to_string())),
        }));
    }

    /// The end of a response: whatever of its output no event told, then the usage.
    fn finished(&mut self, response: &Value, events: &mut Vec<ModelEvent>) {
        let (said, sealed) = (self.said || !self.refusal.is_empty(), self.sealed);
        let output = response.get("output").and_then(Value::as_array).into_iter().flatten();
        for (at, item) in (0u64..).zip(output) {
            match string(item, "type") {
                // By kind and not by place: servers leave items out of either list.
                "message" if !said => self.message(item, events),
                "reasoning" if !sealed => self.reasoning(at, item, events),
                "function_call" => {
                    let id = string(item, "call_id");
                    if !id.is_empty() || !self.calls.any_begun() {
                        self.calls.begin(at, id, string(item, "name"), events);
                        self.calls.settle(at, &arguments(item), events);
                    }
                }
                _ => {}
            }
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            events.push(ModelEvent::Used(tokens(usage)));
        }
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.stop = Some(match (string(response, "status"), reason) {
            ("incomplete", Some("content_filter")) => Stop::Filter,
            ("incomplete", Some("max_output_tokens") | None) => Stop::Length,
            ("incomplete", Some(other)) => Stop::Other(other.into()),
            _ if self.calls.any_begun() => Stop::Calls,
            _ if !self.refusal.is_empty() && !self.said => Stop::Refusal(self.refusal.clone()),
            _ => Stop::End,
        });
    }

    /// Events that end the answer, well or badly; none of them carries an item.
    fn end_event(&mut self, event: &Value, events: &mut Vec<ModelEvent>) -> Result<bool, Trouble> {
        let response = event.get("response").unwrap_or(&Value::Null);
        let given = |value: &Value| value.get("error").filter(|error| !error.is_null()).cloned();
        match string(event, "type") {
            "response.completed" => self.finished(response, events),
            "response.incomplete" => {
                let mut response = response.clone();
                if let Some(fields) = response.as_object_mut() {
                    fields.insert("status".into(), "incomplete".into());
                }
                self.finished(&response, events);
            }
            "response.failed" => {
                let error = given(response).unwrap_or_else(|| "the response failed".into());
                return Err(Trouble::inside(&self.provider, &error));
            }
            "response.cancelled" => {
                return Err(Trouble::broken(&self.provider, "the server cancelled its answer"));
            }
            "error" => {
                return Err(Trouble::inside(&self.provider, &given(event).unwrap_or_else(|| event.clone())));
            }
            // A server that does not stream answers with the response itself.
            "" if string(event, "object") == "response" => {
                if let Some(error) = given(event) {
                    return Err(Trouble::inside(&self.provider, &error));
                }
                self.finished(event, events);
            }
            "" => match given(event) {
                Some(error) => return Err(Trouble::inside(&self.provider, &error)),
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Decoder for Decode {
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let event = match json::read(data) {
            Data::Json(event) => event,
            Data::Noise => return Ok(()),
            Data::Torn => {
                return Err(Trouble::broken(&self.provider, "an event of the stream is no whole JSON"));
            }
        };
        if !self.end_event(&event, events)? {
            self.event(&event, events);
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let Some(stop) = self.stop.take() else {
            let said = self.said || self.calls.any_begun() || !self.streamed.is_empty();
            let text = if said { "the stream broke off before its end mark" } else { "the answer was empty" };
            return Err(Trouble::broken(&self.provider, text));
        };
        if self.calls.any_nameless() {
            return Err(Trouble::broken(&self.provider, "a tool call came without a name"));
        }
        self.calls.end(events);
        events.push(ModelEvent::Stopped(stop));
        Ok(())
    }

    fn mark(&self) -> Mark {
        if self.stop.is_some() { Mark::Last } else { Mark::None }
    }
}

fn think(text: &str, events: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        events.push(ModelEvent::Thought(text.into()));
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
