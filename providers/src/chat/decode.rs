//! The chunks of a Chat Completions stream as events.

use protocol::model::{ModelEvent, Stop, Thought};
use protocol::{Json, Tokens};
use serde_json::{Map, Value};

use crate::calls::{Calls, salt};
use crate::failure::Trouble;
use crate::model::Decoder;
use crate::provider::Provider;

/// One answer under way.
pub(crate) struct Decode {
    provider: Provider,
    calls: Calls,
    reasoning: String,
    /// The field the reasoning came in, for the way back.
    spelled: &'static str,
    details: Vec<Value>,
    refusal: String,
    finish: Option<String>,
    done: bool,
    anything: bool,
}

impl Decode {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            provider: provider.clone(),
            calls: Calls::new(salt()),
            reasoning: String::new(),
            spelled: "reasoning_content",
            details: Vec::new(),
            refusal: String::new(),
            finish: None,
            done: false,
            anything: false,
        }
    }

    fn choice(&mut self, choice: &Value, events: &mut Vec<ModelEvent>) {
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        for spelled in ["reasoning_content", "reasoning"] {
            if let Some(more) = said(delta.get(spelled)) {
                self.spelled = spelled;
                self.reasoning.push_str(more);
                events.push(ModelEvent::Thought(more.into()));
                break;
            }
        }
        if let Some(details) = delta.get("reasoning_details").and_then(Value::as_array) {
            self.details.extend(details.iter().cloned());
        }
        if let Some(more) = said(delta.get("content")) {
            self.anything = true;
            events.push(ModelEvent::Text(more.into()));
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

    /// Reasoning as it goes back: under its own name, with what sealed it.
    fn seal(&self, events: &mut Vec<ModelEvent>) {
        if self.reasoning.is_empty() && self.details.is_empty() {
            return;
        }
        let mut fields = Map::new();
        if !self.reasoning.is_empty() {
            fields.insert(self.spelled.into(), self.reasoning.as_str().into());
        }
        if !self.details.is_empty() {
            fields.insert("reasoning_details".into(), self.details.clone().into());
        }
        events.push(ModelEvent::Sealed(Thought {
            provider: self.provider.id.clone(),
            text: self.reasoning.clone(),
            sealed: Some(Json(Value::Object(fields).to_string())),
        }));
    }

    fn stop(&self) -> Stop {
        let finish = self.finish.as_deref().unwrap_or_default();
        match finish {
            "length" | "max_tokens" => Stop::Length,
            _ if self.calls.any_begun() => Stop::Calls,
            "content_filter" => Stop::Filter,
            _ if !self.refusal.is_empty() && !self.anything => Stop::Refusal(self.refusal.clone()),
            "stop" | "end_turn" | "eos" | "tool_calls" | "function_call" | "" => Stop::End,
            other => Stop::Other(other.into()),
        }
    }
}

impl Decoder for Decode {
    fn feed(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        // A line that is no JSON is noise of a gateway; a stream of noise alone has no end mark.
        let Ok(chunk) = serde_json::from_str::<Value>(data) else { return Ok(()) };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Trouble::inside(&self.provider, error));
        }
        for choice in chunk.get("choices").and_then(Value::as_array).into_iter().flatten() {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice, events);
            }
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            events.push(ModelEvent::Used(tokens(usage)));
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Trouble> {
        let said =
            self.anything || !self.calls.is_empty() || !self.reasoning.is_empty() || !self.refusal.is_empty();
        if self.finish.is_none() && !(self.done && said) {
            let text = if said { "the stream broke off before its end mark" } else { "the answer was empty" };
            return Err(Trouble::broken(text));
        }
        self.seal(events);
        self.calls.end(events);
        events.push(ModelEvent::Stopped(self.stop()));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
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
