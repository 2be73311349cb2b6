//! Tool calls out of deltas whose ids, indexes and arguments servers send in every way.
//!
//! It does not read arguments: they are forwarded as they come. Both wires' decoders use it.

use std::collections::BTreeMap;

use protocol::CallId;
use protocol::model::ModelEvent;
use serde_json::Value;

use crate::balance::Balance;

/// The calls of one answer. Slots are ours: a wire's index may be missing or the same for all.
#[derive(Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// The call that a wire index means now.
    by_index: BTreeMap<u64, usize>,
    /// For made-up ids: different in each answer.
    salt: String,
}

#[derive(Default)]
struct Call {
    id: String,
    /// The id is ours until the server gives one.
    made_up: bool,
    name: String,
    /// Bytes of arguments that have been forwarded.
    sent: usize,
    balance: Balance,
    begun: bool,
    /// Arguments that came before the name.
    early: String,
    /// Arguments for the case that none are streamed.
    offered: String,
}

/// One delta of a call, as far as it says anything.
struct Delta<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    input: String,
}

impl Calls {
    pub(crate) fn new(salt: String) -> Self {
        Self { salt, ..Self::default() }
    }

    /// Whether any call has a name, and so will run.
    pub(crate) fn any_begun(&self) -> bool {
        self.calls.iter().any(|call| call.begun)
    }

    /// Whether a call came whose name never did.
    pub(crate) fn any_nameless(&self) -> bool {
        let says = |call: &Call| !call.made_up || !call.early.trim().is_empty();
        self.calls.iter().any(|call| !call.begun && says(call))
    }

    /// One delta of a call as chat servers send it.
    pub(crate) fn delta(&mut self, delta: &Value, events: &mut Vec<ModelEvent>) {
        let delta = Delta::read(delta);
        let at = self.find(&delta);
        if let Some(call) = self.calls.get_mut(at) {
            call.introduce(delta.id, delta.name);
        }
        self.input(at, &delta.input, events);
    }

    /// Which call a delta belongs to.
    fn find(&mut self, delta: &Delta<'_>) -> usize {
        let indexed = delta.index.and_then(|index| self.by_index.get(&index).copied());
        let known = indexed.or_else(|| self.unindexed(delta));
        let same = known.filter(|at| self.calls.get(*at).is_some_and(|call| !call.is_other(delta)));
        let at = same.unwrap_or_else(|| self.open());
        if let Some(index) = delta.index {
            self.by_index.insert(index, at);
        }
        at
    }

    /// The call a delta means by its id, or by coming right behind it.
    fn unindexed(&self, delta: &Delta<'_>) -> Option<usize> {
        // An index that is new after others is a new call; the first one may just come late.
        let late = delta.index.is_none() || self.by_index.is_empty();
        if let Some(id) = delta.id {
            let means = |call: &Call| !call.made_up && call.id == id;
            return self.calls.iter().rposition(means).filter(|_| late || delta.name.is_none());
        }
        let last = self.calls.last().filter(|_| late)?;
        let continues = delta.name.is_none_or(|name| last.name == name && last.sent > 0);
        continues.then(|| self.calls.len() - 1)
    }

    fn open(&mut self) -> usize {
        let at = self.calls.len();
        self.calls.push(Call { id: self.made(at), made_up: true, ..Call::default() });
        at
    }

    fn made(&self, at: usize) -> String {
        format!("call_{}_{at}", self.salt)
    }

    fn input(&mut self, at: usize, input: &str, events: &mut Vec<ModelEvent>) {
        self.begin_named(at, events);
        match self.calls.get_mut(at) {
            Some(call) if call.begun => call.forward(slot(at), input.to_string(), events),
            Some(call) => call.early.push_str(input),
            None => {}
        }
    }

    /// A call with a name is told at once, whatever else is missing.
    fn begin_named(&mut self, at: usize, events: &mut Vec<ModelEvent>) {
        let Some(call) = self.calls.get(at).filter(|call| !call.begun && !call.name.is_empty()) else {
            return;
        };
        // Results are paired by id, so that no two calls of one answer may share it.
        let taken = self.calls.iter().any(|other| other.begun && other.id == call.id);
        let made = taken.then(|| self.made(at));
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(made) = made {
            call.id = made;
            call.made_up = true;
        }
        call.begun = true;
        let (id, name) = (CallId(call.id.clone()), call.name.clone());
        events.push(ModelEvent::CallBegun { slot: slot(at), id, name });
        let early = std::mem::take(&mut call.early);
        call.forward(slot(at), early, events);
    }

    /// The stream is over: calls without arguments get an empty object.
    pub(crate) fn end(&mut self, events: &mut Vec<ModelEvent>) {
        for (at, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.begun) {
            if call.sent == 0 {
                let offered = std::mem::take(&mut call.offered);
                call.forward(slot(at), offered, events);
            }
            if call.sent == 0 {
                call.forward(slot(at), "{}".into(), events);
            }
            events.push(ModelEvent::CallEnded { slot: slot(at) });
        }
        self.by_index.clear();
    }

    /// A call that a Responses server announces under `key`, its output index.
    pub(crate) fn begin(&mut self, key: u64, id: &str, name: &str, events: &mut Vec<ModelEvent>) {
        let by_id = self.calls.iter().rposition(|call| !id.is_empty() && !call.made_up && call.id == id);
        let by_key = self.by_index.get(&key).copied().filter(|at| {
            self.calls.get(*at).is_some_and(|call| id.is_empty() || call.made_up || call.id == id)
        });
        let at = by_id.or(by_key).unwrap_or_else(|| self.open());
        self.by_index.insert(key, at);
        if let Some(call) = self.calls.get_mut(at) {
            let said = |text: &'_ str| !text.is_empty();
            call.introduce(Some(id).filter(|id| said(id)), Some(name).filter(|name| said(name)));
        }
        self.begin_named(at, events);
    }

    /// More arguments of it.
    pub(crate) fn more(&mut self, key: u64, input: &str, events: &mut Vec<ModelEvent>) {
        if let Some(at) = self.by_index.get(&key).copied() {
            self.input(at, input, events);
        }
    }

    /// Arguments that were there when it began: they count when none are streamed.
    pub(crate) fn offer(&mut self, key: u64, input: String) {
        let at = self.by_index.get(&key).copied();
        if let Some(call) = at.and_then(|at| self.calls.get_mut(at)) {
            call.offered = input;
        }
    }

    /// Its whole arguments: whatever was not streamed of them is forwarded now.
    pub(crate) fn settle(&mut self, key: u64, input: &str, events: &mut Vec<ModelEvent>) {
        let Some(at) = self.by_index.get(&key).copied() else { return };
        let Some(call) = self.calls.get(at).filter(|call| !call.balance.is_whole()) else { return };
        let rest = input.get(call.sent..).unwrap_or_default().to_string();
        self.input(at, &rest, events);
    }
}

impl<'a> Delta<'a> {
    fn read(delta: &'a Value) -> Self {
        let function = delta.get("function").unwrap_or(delta);
        let index = delta.get("index");
        let input = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        Self {
            index: index.and_then(|index| index.as_u64().or_else(|| index.as_str()?.parse().ok())),
            id: text(delta.get("id")),
            name: text(function.get("name")),
            input,
        }
    }
}

impl Call {
    /// What a call is called, until it was told.
    fn introduce(&mut self, id: Option<&str>, name: Option<&str>) {
        if self.begun {
            return;
        }
        if let Some(id) = id {
            self.id = id.to_string();
            self.made_up = false;
        }
        if let Some(name) = name {
            self.name = name.to_string();
        }
    }

    /// Whether a delta under this call's index or id is the first of another call.
    fn is_other(&self, delta: &Delta<'_>) -> bool {
        if delta.id.is_some_and(|id| !self.made_up && self.id != id) {
            return true;
        }
        let Some(name) = delta.name.filter(|_| self.begun) else { return false };
        // Some servers repeat the name in every delta; only behind whole arguments is it a new call.
        let begins_again = self.balance.is_whole() && !delta.input.trim().is_empty();
        let renamed = self.name != name && (self.sent == 0 || self.balance.is_whole());
        begins_again || renamed
    }

    fn forward(&mut self, slot: u32, text: String, events: &mut Vec<ModelEvent>) {
        // `null` for "no arguments" is told as an empty object when the call ends.
        if text.is_empty() || (self.sent == 0 && text.trim() == "null") {
            return;
        }
        self.sent += text.len();
        self.balance.feed(&text);
        events.push(ModelEvent::CallInput { slot, text });
    }
}

fn slot(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A string that says something: servers send empty ones for "as before".
fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Tells the made-up ids of one answer from those of another.
pub(crate) fn salt() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros());
    format!("{now:x}{:x}", ANSWERS.fetch_add(1, Ordering::Relaxed))
}

/// Arguments as every server takes them back: the text of an object.
pub(crate) fn object_text(input: &str) -> String {
    let trimmed = input.trim();
    if trimmed.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
        return input.to_string();
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Null) => "{}".into(),
        Ok(other) => serde_json::json!({ "input": other }).to_string(),
        Err(_) if trimmed.is_empty() => "{}".into(),
        Err(_) => serde_json::json!({ "malformed": input }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn play(deltas: &[Value]) -> Vec<(String, String, String)> {
        let (mut calls, mut events) = (Calls::new("x".into()), Vec::new());
        for delta in deltas {
            calls.delta(delta, &mut events);
        }
        calls.end(&mut events);
        folded(events)
    }

    fn folded(events: Vec<ModelEvent>) -> Vec<(String, String, String)> {
        let mut out: Vec<(String, String, String)> = Vec::new();
        for event in events {
            match event {
                ModelEvent::CallBegun { slot, id, name } => {
                    assert_eq!(slot as usize, out.len());
                    out.push((id.0, name, String::new()));
                }
                ModelEvent::CallInput { slot, text } => out[slot as usize].2.push_str(&text),
                _ => {}
            }
        }
        out
    }

    fn call(id: &str, name: &str, input: &str) -> (String, String, String) {
        (id.into(), name.into(), input.into())
    }

    #[test]
    fn ids_and_indexes_in_every_way() {
        // Empty id and name in continuations.
        let empty = [
            json!({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}),
            json!({"index":0,"id":"","function":{"name":"","arguments":":1}"}}),
        ];
        assert_eq!(play(&empty), [call("a", "f", "{\"x\":1}")]);
        // No id at all.
        let none = [json!({"index":0,"function":{"name":"f","arguments":"{}"}})];
        assert_eq!(play(&none), [call("call_x_0", "f", "{}")]);
        // All under index 0, each with its own id.
        let zero = [
            json!({"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}),
            json!({"index":0,"id":"b","function":{"name":"f","arguments":"{\"n\":2}"}}),
        ];
        assert_eq!(play(&zero), [call("a", "f", "{\"n\":1}"), call("b", "f", "{\"n\":2}")]);
        // Without indexes.
        let bare = [
            json!({"id":"a","function":{"name":"f","arguments":"{}"}}),
            json!({"id":"b","function":{"name":"g","arguments":"{"}}),
            json!({"function":{"arguments":"}"}}),
        ];
        assert_eq!(play(&bare), [call("a", "f", "{}"), call("b", "g", "{}")]);
        // The id repeated in every delta; interleaved indexes.
        let mixed = [
            json!({"index":0,"id":"a","function":{"name":"f","arguments":"{"}}),
            json!({"index":1,"id":"b","function":{"name":"g","arguments":"{"}}),
            json!({"index":0,"id":"a","function":{"arguments":"}"}}),
            json!({"index":1,"id":"b","function":{"arguments":"}"}}),
        ];
        assert_eq!(play(&mixed), [call("a", "f", "{}"), call("b", "g", "{}")]);
    }

    #[test]
    fn calls_that_share_an_index_or_an_id() {
        let part = |name: &str, input: &str| json!({"index":0,"function":{"name":name,"arguments":input}});
        // No ids, all under index 0, each whole.
        let whole = [part("f", "{\"n\":1}"), part("f", "{\"n\":2}"), part("g", "{}")];
        assert_eq!(
            play(&whole),
            [
                call("call_x_0", "f", "{\"n\":1}"),
                call("call_x_1", "f", "{\"n\":2}"),
                call("call_x_2", "g", "{}")
            ]
        );
        // No arguments, another name.
        assert_eq!(
            play(&[part("f", ""), part("g", "")]),
            [call("call_x_0", "f", "{}"), call("call_x_1", "g", "{}")]
        );
        // The name repeated in every delta, also in an empty last one.
        let named = [part("f", "{\"n\""), part("f", ":1}"), part("f", "")];
        assert_eq!(play(&named), [call("call_x_0", "f", "{\"n\":1}")]);
        let bare = |input: &str| json!({"function":{"name":"f","arguments":input}});
        assert_eq!(play(&[bare("{\"n\""), bare(":1}")]), [call("call_x_0", "f", "{\"n\":1}")]);
        assert_eq!(
            play(&[bare("{}"), bare("{}")]),
            [call("call_x_0", "f", "{}"), call("call_x_1", "f", "{}")]
        );
    }

    #[test]
    fn no_two_calls_share_an_id() {
        let one = json!({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}});
        let two = [call("a", "f", "{}"), call("call_x_1", "f", "{}")];
        let whole = json!({"index":1,"id":"a","function":{"name":"f","arguments":"{}"}});
        assert_eq!(play(&[one.clone(), whole]), two);
        let begun = json!({"index":1,"id":"a","function":{"name":"f","arguments":""}});
        let rest = json!({"index":1,"id":"a","function":{"arguments":"{}"}});
        assert_eq!(play(&[one, begun, rest]), two);
    }

    #[test]
    fn ids_indexes_and_names_that_come_late() {
        let late_id = [
            json!({"index":0,"function":{"name":"f","arguments":"{"}}),
            json!({"index":0,"id":"a","function":{"arguments":"}"}}),
        ];
        assert_eq!(play(&late_id), [call("call_x_0", "f", "{}")]);
        let late_index = [
            json!({"id":"a","function":{"name":"f","arguments":""}}),
            json!({"index":0,"function":{"arguments":"{}"}}),
        ];
        assert_eq!(play(&late_index), [call("a", "f", "{}")]);
        let late_name = [
            json!({"index":0,"id":"a","function":{"arguments":"{\"n\":"}}),
            json!({"index":0,"function":{"name":"f","arguments":"1}"}}),
        ];
        assert_eq!(play(&late_name), [call("a", "f", "{\"n\":1}")]);
        let text_index = [
            json!({"index":"0","id":"a","function":{"name":"f","arguments":"{"}}),
            json!({"index":"1","id":"b","function":{"name":"f","arguments":"{"}}),
            json!({"index":"0","function":{"arguments":"}"}}),
            json!({"index":"1","function":{"arguments":"}"}}),
        ];
        assert_eq!(play(&text_index), [call("a", "f", "{}"), call("b", "f", "{}")]);
    }

    #[test]
    fn responses_calls_are_told_once() {
        let (mut calls, mut events) = (Calls::new("x".into()), Vec::new());
        calls.begin(0, "a", "f", &mut events);
        calls.more(0, "{\"n\"", &mut events);
        // The server's last word has more than was streamed; telling it again changes nothing.
        for _ in 0..2 {
            calls.begin(0, "a", "f", &mut events);
            calls.settle(0, "{\"n\":1}", &mut events);
        }
        // Another call under the same index, with arguments that only its announcement had.
        calls.begin(0, "b", "g", &mut events);
        calls.offer(0, "{\"m\":2}".into());
        calls.end(&mut events);
        assert_eq!(folded(events), [call("a", "f", "{\"n\":1}"), call("b", "g", "{\"m\":2}")]);
    }

    #[test]
    fn a_call_without_a_name_is_known() {
        let (mut calls, mut events) = (Calls::new("x".into()), Vec::new());
        calls.delta(&json!({}), &mut events);
        assert!(!calls.any_nameless());
        calls.delta(&json!({"index":0,"id":"a","function":{"arguments":"{}"}}), &mut events);
        assert!(calls.any_nameless() && !calls.any_begun() && events.is_empty());
    }

    #[test]
    fn arguments_in_every_way() {
        let table =
            [(json!(""), "{}"), (json!(null), "{}"), (json!("null"), "{}"), (json!({"a":1}), "{\"a\":1}")];
        for (arguments, text) in table {
            let delta = json!({"index":0,"id":"a","function":{"name":"f","arguments":arguments}});
            assert_eq!(play(&[delta]), [call("a", "f", text)]);
        }
        assert_eq!(play(&[json!({"index":0,"id":"a","function":{"name":"f"}})]), [call("a", "f", "{}")]);
    }

    #[test]
    fn replayed_arguments_are_objects() {
        for (input, text) in
            [("", "{}"), ("null", "{}"), ("{\"a\": 1}", "{\"a\": 1}"), ("[1]", "{\"input\":[1]}")]
        {
            assert_eq!(object_text(input), text);
        }
        assert_eq!(object_text("{\"a"), "{\"malformed\":\"{\\\"a\"}");
    }
}
