//! `reasoning_details` of aggregators: fragments in every chunk, put together as they go back.

use serde_json::{Map, Value};

/// The fields that come in pieces.
const STREAMED: &[&str] = &["text", "summary", "data"];

/// Adds a fragment: one that continues the last detail is joined to it, any other begins a new one.
pub(crate) fn add(details: &mut Vec<Value>, fragment: &Value) {
    if let (Some(Value::Object(last)), Some(more)) = (details.last_mut(), fragment.as_object())
        && continues(last, more)
    {
        return join(last, more);
    }
    details.push(fragment.clone());
}

fn continues(last: &Map<String, Value>, more: &Map<String, Value>) -> bool {
    let same = |name: &str| last.get(name) == more.get(name);
    let id =
        more.get("id").is_none_or(Value::is_null) || last.get("id").is_none_or(Value::is_null) || same("id");
    // What is encrypted comes whole.
    let kind = more.get("type").and_then(Value::as_str).unwrap_or_default();
    same("type") && same("index") && id && !kind.ends_with("encrypted")
}

fn join(last: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (last.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(tail)) if STREAMED.contains(&name.as_str()) => {
                text.push_str(tail);
            }
            (Some(_), Value::Null) => {}
            _ => {
                last.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fragments_become_details() {
        let fragments = [
            json!({"type":"reasoning.text","text":"a","index":0,"format":"f","signature":null}),
            json!({"type":"reasoning.text","text":"b","index":0,"format":"f"}),
            json!({"type":"reasoning.text","signature":"s","index":0}),
            json!({"type":"reasoning.encrypted","data":"x","id":"1","index":1}),
            json!({"type":"reasoning.encrypted","data":"y","id":"2","index":1}),
        ];
        let mut details = Vec::new();
        fragments.iter().for_each(|fragment| add(&mut details, fragment));
        assert_eq!(
            details,
            [
                json!({"type":"reasoning.text","text":"ab","index":0,"format":"f","signature":"s"}),
                json!({"type":"reasoning.encrypted","data":"x","id":"1","index":1}),
                json!({"type":"reasoning.encrypted","data":"y","id":"2","index":1}),
            ]
        );
    }
}
