//! What clients really send, as frames that the ACP crate takes: the door for odd ids, missing fields,
//! batches, broken text. And the way back: answers under the client's own ids, without what they quote.
//!
//! It knows JSON-RPC and `initialize`'s version, no other method. Called by the transport, line by line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::ids::Ids;

/// Told by us when the input has ended; clients cannot say it.
pub(crate) const ENDED: &str = "$/input_ended";
const CANCEL: &str = "$/cancel_request";

const NOT_JSON: i32 = -32700;
const NOT_A_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;

#[derive(Debug, PartialEq)]
pub(crate) enum Mended {
    /// For the crate.
    Line(String),
    /// For the client, at once.
    Answer(String),
    Nothing,
}

pub(crate) fn ended() -> String {
    json!({"jsonrpc": "2.0", "method": ENDED, "params": {}}).to_string()
}

/// An error under an id in JSON.
pub(crate) fn refusal(id: &str, code: i32, message: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", json!({"code": code, "message": message}))
}

/// A line as the crate can take it.
pub(crate) fn mend(bytes: &[u8], ids: &Ids) -> Mended {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Mended::Nothing;
    }
    let whole = paired(text);
    let text = whole.as_ref();
    let frame = match serde_json::from_str::<Value>(text) {
        Ok(frame) => frame,
        Err(error) => {
            let why = if error.is_syntax() && error.to_string().starts_with("recursion limit") {
                "the message is nested too deeply; at most 127 levels are read"
            } else {
                "the message is not JSON; send one object a line"
            };
            return Mended::Answer(refusal(&id_of(text), NOT_JSON, why));
        }
    };
    let Value::Object(mut fields) = frame else {
        let why = "the message must be one JSON object; batches are not taken";
        return Mended::Answer(refusal("null", NOT_A_REQUEST, why));
    };
    match (fields.remove("method"), fields.remove("id")) {
        (Some(Value::String(method)), None) => notification(&method, fields.remove("params"), ids),
        (Some(Value::String(method)), Some(id)) => {
            request(&method, &verbatim(text, &id), fields.remove("params"), ids)
        }
        (Some(_), id) => Mended::Answer(refusal(
            &id.map_or_else(|| "null".into(), |id| verbatim(text, &id)),
            NOT_A_REQUEST,
            "the method must be a string",
        )),
        (None, Some(id)) if fields.contains_key("result") || fields.contains_key("error") => {
            response(id, fields)
        }
        (None, id) => Mended::Answer(refusal(
            &id.map_or_else(|| "null".into(), |id| verbatim(text, &id)),
            NOT_A_REQUEST,
            "the message has no method",
        )),
    }
}

/// The id of what cannot be read as a whole, so that nobody waits for an answer.
fn id_of(text: &str) -> String {
    let id = serde_json::from_str::<Written>(text).ok().map(|written| written.id.get());
    id.filter(|id| !id.starts_with(['{', '['])).unwrap_or("null").to_string()
}

/// Half of a letter beyond the first plane, as JavaScript writes a text that was cut there, becomes a letter
/// that says so.
fn paired(text: &str) -> Cow<'_, str> {
    let code = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let high = code(at).is_some_and(|code| (0xD800..0xDC00).contains(&code));
        let low = |at| code(at).is_some_and(|code| (0xDC00..0xE000).contains(&code));
        at += match (high, low(at), low(at + 6)) {
            (true, _, true) => 12,
            (true, _, false) | (_, true, _) => {
                out += text.get(done..at).unwrap_or_default();
                out += "\\ufffd";
                done = at + 6;
                6
            }
            // The escaped letter is one byte, or the text is broken.
            (false, false, _) => 2,
        };
    }
    if done == 0 {
        return text.into();
    }
    out += text.get(done..).unwrap_or_default();
    out.into()
}

fn request(method: &str, id: &str, params: Option<Value>, ids: &Ids) -> Mended {
    if id.starts_with(['{', '[']) {
        return Mended::Answer(refusal("null", NOT_A_REQUEST, "the id must be a string or a number"));
    }
    if method == ENDED {
        return Mended::Answer(refusal(id, NO_METHOD, "there is no such method"));
    }
    let mut params = match params {
        Some(Value::Object(params)) => params,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return Mended::Answer(refusal(id, BAD_PARAMS, "params must be an object")),
    };
    if method == "initialize" {
        // Numbers as text, numbers too high and none at all: the answer is version 1 in any case.
        params.insert("protocolVersion".into(), 1.into());
    }
    let ours = ids.take(id.to_string());
    Mended::Line(json!({"jsonrpc": "2.0", "id": ours, "method": method, "params": params}).to_string())
}

fn notification(method: &str, params: Option<Value>, ids: &Ids) -> Mended {
    let mut params = match params {
        Some(Value::Object(params)) => params,
        None | Some(_) => Map::new(),
    };
    if method == ENDED {
        return Mended::Nothing;
    }
    if method == CANCEL {
        let theirs = params.get("requestId").map(Value::to_string);
        let Some(ours) = theirs.and_then(|id| ids.find(&id)) else { return Mended::Nothing };
        params.insert("requestId".into(), ours.into());
    }
    Mended::Line(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
}

/// An answer to us; a malformed one must still end what waits for it.
fn response(id: Value, mut fields: Map<String, Value>) -> Mended {
    if !id.is_string() && !id.is_i64() {
        // Nothing of ours waits under such an id.
        return Mended::Nothing;
    }
    let frame = match fields.remove("error") {
        None | Some(Value::Null) => {
            json!({"jsonrpc": "2.0", "id": id, "result": fields.remove("result").unwrap_or(Value::Null)})
        }
        Some(error) => {
            let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
            let message = error.get("message").or(Some(&error)).and_then(Value::as_str);
            let (code, message) = (code.unwrap_or(INTERNAL), message.unwrap_or("the client failed"));
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    };
    Mended::Line(frame.to_string())
}

/// The id alone, to the letter.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
}

/// An id as the client wrote it: a number that does not fit ours is read once more, as text.
fn verbatim(text: &str, id: &Value) -> String {
    match id {
        Value::Number(number) if number.is_f64() => match serde_json::from_str::<Written>(text) {
            Ok(written) => written.id.get().to_string(),
            Err(_) => number.to_string(),
        },
        _ => id.to_string(),
    }
}

/// An outgoing frame, read no further than needed.
#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// An outgoing line with the client's own id, and an error without what it quotes.
pub(crate) fn tidy(line: String, ids: &Ids) -> String {
    let Ok(frame) = serde_json::from_str::<Frame>(&line) else { return line };
    if frame.method.is_some() {
        return line;
    }
    let id = frame.id.and_then(|ours| ids.give_back(ours)).unwrap_or_else(|| "null".into());
    if let Some(result) = frame.result {
        return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", result.get());
    }
    let failed: Value =
        frame.error.and_then(|error| serde_json::from_str(error.get()).ok()).unwrap_or(Value::Null);
    let code = failed.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL.into());
    let message = failed.get("message").and_then(Value::as_str).unwrap_or("internal error");
    let mut error = json!({"code": code, "message": message});
    // The only fact that helps a program; everything else may quote what was asked.
    let session = failed.get("data").and_then(|data| data.get("sessionId"));
    if let (Some(session), Some(fields)) = (session, error.as_object_mut()) {
        fields.insert("data".into(), json!({ "sessionId": session }));
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Result<Value, i64> {
        match mend(bytes, &Ids::default()) {
            Mended::Line(line) => Ok(serde_json::from_str(&line).unwrap()),
            Mended::Answer(line) => {
                let answer: Value = serde_json::from_str(&line).unwrap();
                Err(answer["error"]["code"].as_i64().unwrap())
            }
            Mended::Nothing => Err(0),
        }
    }

    #[test]
    fn odd_lines_are_mended_or_answered() {
        let rows: &[(&[u8], i64)] = &[
            (b"", 0),
            (b"\xef\xbb\xbf  ", 0),
            (b"Welcome to my shell", NOT_JSON.into()),
            (b"{bad", NOT_JSON.into()),
            (b"\xff\xfe{}", NOT_JSON.into()),
            (b"[]", NOT_A_REQUEST.into()),
            (b"[{\"id\":1,\"method\":\"x\"},{\"id\":2,\"method\":\"x\"}]", NOT_A_REQUEST.into()),
            (b"17", NOT_A_REQUEST.into()),
            (b"{}", NOT_A_REQUEST.into()),
            (b"{\"id\":1}", NOT_A_REQUEST.into()),
            (b"{\"id\":1,\"method\":7}", NOT_A_REQUEST.into()),
            (b"{\"id\":{},\"method\":\"x\"}", NOT_A_REQUEST.into()),
            (b"{\"id\":1,\"method\":\"x\",\"params\":[1]}", BAD_PARAMS.into()),
            (b"{\"id\":1,\"method\":\"$/input_ended\"}", NO_METHOD.into()),
            (b"{\"method\":\"$/input_ended\"}", 0),
            (b"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":9}}", 0),
        ];
        for (bytes, code) in rows {
            assert_eq!(line(bytes), Err(*code), "{}", String::from_utf8_lossy(bytes));
        }
        for id in ["0", "-1", "1.5", "\"a\"", "123456789012345678901234567890", "null"] {
            let mended =
                line(format!("{{\"id\":{id},\"method\":\"x\",\"params\":null}}").as_bytes()).unwrap();
            assert_eq!(mended, json!({"jsonrpc": "2.0", "id": 0, "method": "x", "params": {}}), "{id}");
        }
    }

    #[test]
    fn text_that_is_no_utf8_inside_a_string_is_repaired() {
        let mended = line(b"{\"id\":1,\"method\":\"x\",\"params\":{\"t\":\"\xff\"}}").unwrap();
        assert_eq!(mended["params"]["t"], "\u{fffd}");
    }

    #[test]
    fn half_letters_are_mended() {
        for (sent, read) in [
            (r"cut \ud83d", "cut \u{fffd}"),
            (r"\ud83d\ude00!", "\u{1f600}!"),
            (r"\ude00\ud83d\ud83d\ude00", "\u{fffd}\u{fffd}\u{1f600}"),
            (r"\\ud83d \n", "\\ud83d \n"),
            (r"é\ud83dé", "é\u{fffd}é"),
        ] {
            let mended =
                line(format!(r#"{{"id":1,"method":"x","params":{{"t":"{sent}"}}}}"#).as_bytes()).unwrap();
            assert_eq!(mended["params"]["t"], read, "{sent}");
        }
        for broken in ["\\", "\\é", "\\ud8", "\\ud83d\\", "{\"a\":\"\\u12\"}"] {
            assert_eq!(line(broken.as_bytes()), Err(NOT_JSON.into()), "{broken}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_under_its_id() {
        let deep =
            format!(r#"{{"id":"a","method":"x","params":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        let Mended::Answer(answer) = mend(deep.as_bytes(), &Ids::default()) else { panic!("taken") };
        assert!(answer.contains(r#""id":"a""#) && answer.contains("nested too deeply"), "{answer}");
    }

    #[test]
    fn versions_of_all_kinds_are_one() {
        for version in ["1", "\"1\"", "99", "\"2025-01-01\"", "null", "[]"] {
            let text = format!(
                "{{\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":{version}}}}}"
            );
            assert_eq!(line(text.as_bytes()).unwrap()["params"]["protocolVersion"], 1, "{version}");
        }
    }

    #[test]
    fn malformed_answers_still_end_what_waits() {
        let cases = [
            (r#"{"id":"a","error":"boom"}"#, json!({"code": -32603, "message": "boom"})),
            (r#"{"id":"a","error":{}}"#, json!({"code": -32603, "message": "the client failed"})),
            (r#"{"id":"a","result":1,"error":{"code":5,"message":"m"}}"#, json!({"code": 5, "message": "m"})),
        ];
        for (text, error) in cases {
            assert_eq!(line(text.as_bytes()).unwrap()["error"], error, "{text}");
        }
        assert_eq!(line(br#"{"id":"a","result":{},"error":null}"#).unwrap()["result"], json!({}));
    }

    #[test]
    fn answers_get_their_ids_back_to_the_letter() {
        for id in
            ["1.50", "1e3", "-0", "\"x\"", "123456789012345678901234567890", "null", "18446744073709551616"]
        {
            let ids = Ids::default();
            let text = format!("{{\"id\":{id},\"method\":\"x\"}}");
            assert!(matches!(mend(text.as_bytes(), &ids), Mended::Line(_)));
            let answer = tidy("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"a\":1}}".into(), &ids);
            assert_eq!(answer, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"a\":1}}}}"));
        }
    }

    #[test]
    fn errors_tell_no_params() {
        let ids = Ids::default();
        let ours = ids.take("\"x\"".into());
        let failed = json!({"jsonrpc": "2.0", "id": ours, "error": {"code": -32602, "message": "m",
            "data": {"params": "sk-secret", "sessionId": "s"}}});
        let answer = tidy(failed.to_string(), &ids);
        assert!(!answer.contains("secret") && answer.contains("\"sessionId\":\"s\""), "{answer}");
        let update = "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}".to_string();
        assert_eq!(tidy(update.clone(), &ids), update);
    }

    #[test]
    fn a_cancel_finds_the_request_under_our_number() {
        let ids = Ids::default();
        let ours = ids.take("\"p\"".into());
        let text = br#"{"method":"$/cancel_request","params":{"requestId":"p"}}"#;
        let Mended::Line(line) = mend(text, &ids) else { panic!("lost") };
        assert!(line.contains(&format!("\"requestId\":{ours}")), "{line}");
    }
}
