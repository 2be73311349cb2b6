//! A provider's own words out of an error body: short, without markup, without our secrets.

use serde_json::Value;

use crate::provider::Provider;

/// A provider's text is cut here.
const TEXT_BYTES: usize = 2 * 1024;

/// What a person reads: secrets go before the cut, so that no half of one is left.
pub(crate) fn told(provider: &Provider, text: String) -> String {
    cut(&redacted(provider, text))
}

/// The message inside of an error body, whatever its shape.
pub(crate) fn message(body: &str) -> String {
    let trimmed = body.trim();
    match serde_json::from_str::<Value>(trimmed) {
        Ok(json) => message_in(&json),
        Err(_) => plain(trimmed),
    }
}

/// The same, of a body that is JSON. An aggregator's own message is followed by the one it passes on.
pub(crate) fn message_in(json: &Value) -> String {
    const PLACES: &[&str] = &[
        "/error/message",
        "/message",
        "/detail",
        "/detail/0/msg",
        "/error",
        "/errors/0/message",
        "/0/error/message",
        "/msg",
    ];
    let found = PLACES.iter().filter_map(|place| json.pointer(place)).find_map(Value::as_str);
    let Some(found) = found.or_else(|| json.as_str()).map(str::trim).filter(|text| !text.is_empty()) else {
        return json.to_string();
    };
    let passed_on = ["/error/metadata/raw", "/metadata/raw"].iter().find_map(|place| json.pointer(place));
    match passed_on.and_then(Value::as_str).map(message).filter(|text| !text.is_empty()) {
        Some(raw) => format!("{found}: {raw}"),
        None => plain(found),
    }
}

/// The text of a page, without its tags, scripts and styles.
fn plain(body: &str) -> String {
    let start = body.get(..body.floor_char_boundary(256)).unwrap_or_default().to_lowercase();
    if !["<html", "<!doctype", "<body", "<head"].iter().any(|tag| start.contains(tag)) {
        return body.to_string();
    }
    let (mut text, mut rest) = (String::new(), body);
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let lower = after.get(..after.floor_char_boundary(8)).unwrap_or_default().to_lowercase();
        let end = match lower {
            tag if tag.starts_with("style") => "</style>",
            tag if tag.starts_with("script") => "</script>",
            _ => ">",
        };
        rest = after.split_once(end).map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let end = text.floor_char_boundary(TEXT_BYTES);
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
}

/// Servers like to quote keys back.
fn redacted(provider: &Provider, text: String) -> String {
    provider.secrets().iter().fold(text, |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_in_every_shape() {
        let table = [
            (r#"{"error":{"message":"no"}}"#, "no"),
            (r#"{"message":"no"}"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            (r#"{"detail":[{"loc":["body"],"msg":"no"}]}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"[{"error":{"message":"no"}}]"#, "no"),
            (
                r#"{"error":{"message":"Provider error","metadata":{"raw":"{\"message\":\"no\"}"}}}"#,
                "Provider error: no",
            ),
            (r#"{"code":7}"#, r#"{"code":7}"#),
            ("a < b and c > d", "a < b and c > d"),
            ("<!DOCTYPE html><style>b{}</style><h1>502</h1>\n<p>bad gateway", "502 bad gateway"),
            ("", ""),
        ];
        for (body, text) in table {
            assert_eq!(message(body), text, "{body}");
        }
    }
}
