//! A record as a line, and a line as a record or as what it is instead.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::Record;

/// A line as it stands, its body not yet read.
#[derive(Deserialize)]
struct Line<'a> {
    kind: String,
    #[serde(default)]
    must: bool,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Out<'a> {
    n: u64,
    at: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    must: bool,
    #[serde(flatten)]
    record: &'a Record,
}

/// What a line turned out to be.
pub(crate) enum Found {
    Record(Box<Record>),
    /// From a later version; may be passed over.
    Unknown,
    /// From a later version; the session cannot go on without it.
    Sealed(String),
    Bad,
}

/// The line with its newline.
pub(crate) fn write(n: u64, at: u64, record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(&Out { n, at, must: record.must(), record })?;
    line.push(b'\n');
    Ok(line)
}

const KINDS: &[&str] = &[
    "head",
    "settings",
    "frame",
    "turn_began",
    "entry",
    "item",
    "begun",
    "granted",
    "compacted",
    "task",
    "edited",
    "undone",
    "turn_ended",
    "title",
];

/// Reads a line; `wanted` may pass over kinds without reading their bodies.
pub(crate) fn read(bytes: &[u8], wanted: impl Fn(&str) -> bool) -> Option<Found> {
    let Ok(line) = serde_json::from_slice::<Line>(bytes) else { return Some(Found::Bad) };
    if !KINDS.contains(&line.kind.as_str()) {
        return Some(if line.must { Found::Sealed(line.kind) } else { Found::Unknown });
    }
    if !wanted(&line.kind) {
        return None;
    }
    let body = line.body.map_or("null", RawValue::get);
    let tagged = format!("{{\"kind\":\"{}\",\"body\":{body}}}", line.kind);
    Some(match serde_json::from_str(&tagged) {
        Ok(record) => Found::Record(Box::new(record)),
        Err(_) => Found::Bad,
    })
}
