//! Tool calls out of deltas whose ids, indexes and arguments servers send in every way.

use std::collections::BTreeMap;

use protocol::CallId;
use protocol::model::ModelEvent;
use serde_json::Value;

/// The calls of one answer. Slots are ours: a wire's index may be missing or the same for all.
#[derive(Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// The call that a wire index means now.
    by_index: BTreeMap<u64, usize>,
    /// For made-up ids: different in each answer.
    salt: String,
}

struct Call {
    id: String,
    name: String,
    /// What has been forwarded.
    sent: usize,
    begun: bool,
    /// Arguments that came before the name.
    early: String,
    whole: bool,
}

impl Calls {
    pub(crate) fn new(salt: String) -> Self {
        Self { salt, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// One delta of a call as chat servers send it.
    pub(crate) fn delta(&mut self, delta: &Value, events: &mut Vec<ModelEvent>) {
        let function = delta.get("function").unwrap_or(delta);
        let id = text(delta.get("id"));
        let name = text(function.get("name"));
        let index = delta.get("index").and_then(Value::as_u64);
        let at = self.find(index, id, name);
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(id) = id
            && !call.begun
        {
            call.id = id.to_string();
        }
        if let Some(name) = name
            && !call.begun
        {
            call.name.push_str(name);
        }
        let (input, whole) = match function.get("arguments") {
            None | Some(Value::Null) => (String::new(), false),
            Some(Value::String(text)) => (text.clone(), false),
            Some(other) => (other.to_string(), true),
        };
        self.input(at, &input, whole, events);
    }

    /// Which call a delta belongs to: a new id under an index that has one already is a new call.
    fn find(&mut self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> usize {
        let known = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => match id {
                Some(id) => self.calls.iter().position(|call| call.id == id),
                None => self.calls.len().checked_sub(1).filter(|_| name.is_none()),
            },
        };
        if let Some(call) = known.and_then(|at| self.calls.get(at)) {
            let other = id.is_some_and(|id| call.begun && call.id != id && !call.made_up(&self.salt));
            let again = id.is_none() && name.is_some() && call.begun && call.whole;
            if !other && !again {
                return known.unwrap_or_default();
            }
        }
        let at = self.calls.len();
        self.calls.push(Call {
            id: format!("{}{at}", made(&self.salt)),
            name: String::new(),
            sent: 0,
            begun: false,
            early: String::new(),
            whole: false,
        });
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        at
    }

    fn input(&mut self, at: usize, input: &str, whole: bool, events: &mut Vec<ModelEvent>) {
        let Some(call) = self.calls.get_mut(at) else { return };
        let slot = u32::try_from(at).unwrap_or(u32::MAX);
        if call.name.is_empty() {
            call.early.push_str(input);
            return;
        }
        if !call.begun {
            call.begun = true;
            events.push(ModelEvent::CallBegun { slot, id: CallId(call.id.clone()), name: call.name.clone() });
            let early = std::mem::take(&mut call.early);
            if !early.is_empty() {
                call.sent += early.len();
                events.push(ModelEvent::CallInput { slot, text: early });
            }
        }
        call.whole |= whole;
        if !input.is_empty() {
            call.sent += input.len();
            events.push(ModelEvent::CallInput { slot, text: input.to_string() });
        }
    }

    /// The stream is over: calls without arguments get an empty object.
    pub(crate) fn end(&mut self, events: &mut Vec<ModelEvent>) {
        for (at, call) in self.calls.iter().enumerate().filter(|(_, call)| call.begun) {
            let slot = u32::try_from(at).unwrap_or(u32::MAX);
            if call.sent == 0 {
                events.push(ModelEvent::CallInput { slot, text: "{}".into() });
            }
            events.push(ModelEvent::CallEnded { slot });
        }
        self.by_index.clear();
    }

    /// Whether any call has a name, and so will run.
    pub(crate) fn any_begun(&self) -> bool {
        self.calls.iter().any(|call| call.begun)
    }

    /// A call that a Responses server named by its own item id.
    pub(crate) fn begin(&mut self, key: u64, id: &str, name: &str, events: &mut Vec<ModelEvent>) {
        if self.by_index.contains_key(&key) {
            return;
        }
        let at = self.calls.len();
        let id = if id.is_empty() { format!("{}{at}", made(&self.salt)) } else { id.to_string() };
        self.calls.push(Call {
            id,
            name: name.into(),
            sent: 0,
            begun: false,
            early: String::new(),
            whole: false,
        });
        self.by_index.insert(key, at);
        self.input(at, "", false, events);
    }

    /// More arguments of it.
    pub(crate) fn more(&mut self, key: u64, input: &str, events: &mut Vec<ModelEvent>) {
        if let Some(at) = self.by_index.get(&key).copied() {
            self.input(at, input, false, events);
        }
    }

    /// Its whole arguments, for servers that stream none of them.
    pub(crate) fn settle(&mut self, key: u64, input: &str, events: &mut Vec<ModelEvent>) {
        if let Some(at) = self.by_index.get(&key).copied()
            && self.calls.get(at).is_some_and(|call| call.sent == 0)
        {
            self.input(at, input, true, events);
        }
    }
}

impl Call {
    fn made_up(&self, salt: &str) -> bool {
        self.id.starts_with(&made(salt))
    }
}

fn made(salt: &str) -> String {
    format!("call_{salt}_")
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
    match serde_json::from_str::<Value>(input.trim()) {
        Ok(Value::Object(_)) => input.to_string(),
        Ok(Value::Null) => "{}".into(),
        Ok(other) => serde_json::json!({ "input": other }).to_string(),
        Err(_) if input.trim().is_empty() => "{}".into(),
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
    fn arguments_in_every_way() {
        for (arguments, text) in [(json!(""), "{}"), (json!(null), "{}"), (json!({"a":1}), "{\"a\":1}")] {
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
