//! A record as a line, and a line as a record or as what it is instead.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::{Record, VERSION};

/// A line as it stands, its body passed over.
#[derive(Deserialize)]
struct Line<'a> {
    n: Option<u64>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    must: bool,
    /// It has to be there, and to be JSON.
    #[serde(borrow, rename = "body")]
    _body: &'a RawValue,
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
pub(super) enum Found {
    Record(Box<Record>),
    /// Of a kind that was not asked for.
    Passed,
    /// From a later version; may be passed over.
    Unknown,
    /// From a later version; the session cannot go on without it.
    Sealed(String),
    Bad,
}

/// The line with its newline.
pub(super) fn write(n: u64, at: u64, record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(&Out { n, at, must: record.must(), record })?;
    line.push(b'\n');
    Ok(line)
}

/// Every kind of record, as `Record` names them.
pub(super) const KINDS: &[&str] = &[
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
    "used",
    "turn_ended",
    "title",
];

/// Reads a line, with its number if it has one; only `wanted` kinds are read as a whole.
pub(super) fn read(bytes: &[u8], wanted: impl Fn(&str) -> bool) -> (Option<u64>, Found) {
    let Ok(line) = serde_json::from_slice::<Line>(bytes) else { return (None, Found::Bad) };
    let kind: &str = &line.kind;
    let found = match KINDS.contains(&kind) {
        false if line.must => Found::Sealed(format!("a line of kind {kind:?}")),
        false => Found::Unknown,
        true if !wanted(kind) => Found::Passed,
        true => match serde_json::from_slice(bytes) {
            Ok(Record::Head { version, .. }) if version > VERSION => {
                Found::Sealed(format!("format {version}, and this program writes {VERSION}"))
            }
            Ok(record) => Found::Record(Box::new(record)),
            // It is whole, so it is not damage: a later version put something new inside.
            Err(error) if line.must => Found::Sealed(format!("a line of kind {kind:?}: {error}")),
            Err(_) => Found::Bad,
        },
    };
    (line.n, found)
}
