//! The JSON of one event, as forgiving as it is safe to be.

use serde_json::Value;

/// What the data of an event is.
pub(crate) enum Data {
    Json(Value),
    /// A word that gateways put between events.
    Noise,
    /// JSON that does not parse: part of the answer is lost.
    Torn,
}

/// Reads the data of one event.
pub(crate) fn read(data: &str) -> Data {
    if let Ok(value) = serde_json::from_str(data) {
        return Data::Json(value);
    }
    if !data.trim_start().starts_with('{') {
        return Data::Noise;
    }
    match serde_json::from_str(&paired(data)) {
        Ok(value) => Data::Json(value),
        Err(_) => Data::Torn,
    }
}

/// Halves of surrogate pairs, which servers escape one by one when a token ends within a character, become
/// the replacement character.
fn paired(data: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(data.len()), data);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (kept, len) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (escape.get(..12), 12),
            (Some(0xD800..=0xDFFF), _) => (Some("\\ufffd"), 6),
            _ => (None, 1 + escape.get(1..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)),
        };
        out.push_str(kept.or(escape.get(..len)).unwrap_or_default());
        rest = escape.get(len..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The code unit of a `\uXXXX` at the start.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_repaired() {
        let table = [
            (r#"{"a":"\ud83d"}"#, "\u{fffd}"),
            (r#"{"a":"x\udc69y"}"#, "x\u{fffd}y"),
            (r#"{"a":"\ud83d\udc69\ud83d"}"#, "👩\u{fffd}"),
            (r#"{"a":"\\ud83d \" é \ud83d"}"#, "\\ud83d \" é \u{fffd}"),
        ];
        for (data, text) in table {
            let Data::Json(value) = read(data) else { panic!("{data}") };
            assert_eq!(value["a"], text);
        }
    }

    #[test]
    fn noise_and_torn_data_are_told_apart() {
        for noise in ["ping", "", "[DONE]x", "\u{fffd}"] {
            assert!(matches!(read(noise), Data::Noise), "{noise}");
        }
        for torn in ["{", r#"{"a":"b"#, r#"{"a":"\"#, r#"{"a":"\u12"}"#, r#"{"a":1e999}"#] {
            assert!(matches!(read(torn), Data::Torn), "{torn}");
        }
    }
}
