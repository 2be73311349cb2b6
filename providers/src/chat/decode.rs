//! The chunks of a Chat Completions stream as events.

use protocol::model::{ModelEvent, Stop, Thought};
use protocol::{Json, Tokens};
use serde_json::{Map, Value};

use super::details;
use crate::calls::{Calls, salt};
use crate::failure::Trouble;
use crate::json::{self, Data};
use crate::provider::Provider;
use crate::stream::{Decoder, Mark};

/// Finish reasons that mean that the server gave up in the middle.
const BROKEN_OFF: &[&str] = &["error", "abort", "insufficient_system_resource"];

/// One answer under way.
pub(crate) struct Decode {
    provider: Provider,
    calls: Calls,
    reasoning: String,
    /// The field the reasoning came in, for the way back; none where servers take none back.
    spelled: Option<&'static str>,
    details: Vec<Value>,
    refusal: String,
    finish: Option<String>,
    done: bool,
    said: bool,
}

impl Decode {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            provider: provider.clone(),
            calls: Calls::new(salt()),
            reasoning: String::new(),
            spelled: None,
            details: Vec::new(),
            refusal: String::new(),
            finish: None,
            done: false,
            said: false,
        }
    }

    fn choice(&mut self, choice: &Value, events: &mut Vec<ModelEvent>) {
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        for spelled in ["reasoning_content", "reasoning"] {
            if let Some(more) = said(delta.get(spelled)) {
                self.spelled = Some(spelled);
                self.think(more, events);
                break;
            }
        }
        for detail in delta.get("reasoning_details").and_then(Value::as_array).into_iter().flatten() {
            details::add(&mut self.details, detail);
        }
        match delta.get("content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, events)),
            content => self.say(said(content), events),
        }
        if let Some(more) = said(delta.get("refusal")) {
            self.refusal.push_str(more);
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls.delta(call, events);
        }
        if let Some(finish) = said(choice.get("finish_reason")) {
            self.finish = Some(finish.into());
        }
    }

    /// Content as a list: texts, and thinking that is a list again.
    fn part(&mut self, part: &Value, events: &mut Vec<ModelEvent>) {
        match part.get("thinking") {
            Some(Value::Array(thoughts)) => {
                for more in thoughts.iter().filter_map(|thought| said(thought.get("text"))) {
                    self.think(more, events);
                }
            }
            Some(thinking) => said(Some(thinking)).into_iter().for_each(|more| self.think(more, events)),
            None => self.say(said(part.get("text")), events),
        }
    }

    fn say(&mut self, more: Option<&str>, events: &mut Vec<ModelEvent>) {
        if let Some(more) = more {
            self.said = true;
            events.push(ModelEvent::Text(more.into()));
        }
    }

    fn think(&mut self, more: &str, events: &mut Vec<ModelEvent>) {
        self.reasoning.push_str(more);
        events.push(ModelEvent::Thought(more.into()));
    }

    /// Reasoning as it goes back: under its own name, with what sealed it.
    fn seal(&mut self, events: &mut Vec<ModelEvent>) {
        if self.reasoning.is_empty() && self.details.is_empty() {
            return;
        }
        let mut fields = Map::new();
        if let Some(spelled) = self.spelled {
            fields.insert(spelled.into(), self.reasoning.as_str().into());
        }
        if !self.details.is_empty() {
            fields.insert("reasoning_details".into(), std::mem::take(&mut self.details).into());
        }
        events.push(ModelEvent::Sealed(Thought {
            provider: self.provider.id.clone(),
            text: std::mem::take(&mut self.reasoning),
            sealed: Some(Json(Value::Object(fields).to_string())),
        }));
    }

    fn stop(&self) -> Stop {
        match self.finish.as_deref().unwrap_or_default() {
            "length" | "max_tokens" => Stop::Length,
            // What a filter cut off is not whole, calls included.
            "content_filter" => Stop::Filter,
            _ if self.calls.any_begun() => Stop::Calls,
            _ if !self.refusal.is_empty() && !self.said => Stop::Refusal(self.refusal.clone()),
            "stop" | "end_turn" | "eos" | "tool_calls" | "function_call" | "" => Stop::End,
            other => Stop::Other(other.into()),
        }
    }

    fn anything(&self) -> bool {
        let thought = !self.reasoning.is_empty() || !self.details.is_empty();
        self.said
            || thought
            || !self.refusal.is_empty()
            || self.calls.any_begun()
            || self.calls.any_nameless()
    }
}

impl Decoder for Decode {
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk = match json::read(data) {
            Data::Json(chunk) => chunk,
            Data::Noise => return Ok(()),
            Data::Torn => {
                return Err(Trouble::broken(&self.provider, "an event of the stream is no whole JSON"));
            }
        };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Trouble::inside(&self.provider, error));
        }
        if chunk.get("object").and_then(Value::as_str) == Some("error") {
            return Err(Trouble::inside(&self.provider, &chunk));
        }
        for choice in chunk.get("choices").and_then(Value::as_array).into_iter().flatten() {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice, events);
            }
        }
        let usage = [chunk.get("usage"), chunk.pointer("/x_groq/usage")];
        if let Some(usage) = usage.into_iter().flatten().find(|usage| usage.is_object()) {
            events.push(ModelEvent::Used(tokens(usage)));
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let broken = |text: &str| Err(Trouble::broken(&self.provider, text));
        if self.finish.is_none() && !(self.done && self.anything()) {
            return match self.anything() {
                true => broken("the stream broke off before its end mark"),
                false => broken("the answer was empty"),
            };
        }
        if let Some(finish) = self.finish.as_deref().filter(|finish| BROKEN_OFF.contains(finish)) {
            return broken(&format!("the server ended its answer with {finish:?}"));
        }
        if self.calls.any_nameless() {
            return broken("a tool call came without a name");
        }
        let stop = self.stop();
        self.seal(events);
        self.calls.end(events);
        events.push(ModelEvent::Stopped(stop));
        Ok(())
    }

    fn mark(&self) -> Mark {
        match (self.done, &self.finish) {
            (true, _) => Mark::Last,
            (false, Some(_)) => Mark::Finished,
            (false, None) => Mark::None,
        }
    }
}

fn said(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn tokens(usage: &Value) -> Tokens {
    let count = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    Tokens {
        input: count("/prompt_tokens"),
        cached: count("/prompt_tokens_details/cached_tokens")
            .max(count("/prompt_cache_hit_tokens"))
            .max(count("/cached_tokens")),
        cache_write: count("/prompt_tokens_details/cache_creation_tokens"),
        output: count("/completion_tokens"),
        reasoning: count("/completion_tokens_details/reasoning_tokens"),
    }
}
