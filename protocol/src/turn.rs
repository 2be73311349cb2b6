//! How a turn ends.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    Cancelled,
    Refused(String),
    Limit(Limit),
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Tokens,
    Requests,
    Cost,
    Time,
    Repeats,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Failure {
    pub kind: FailureKind,
    pub text: String,
    pub remedy: Option<String>,
    pub status: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Auth,
    Quota,
    Overflow,
    BadRequest,
    Network,
    Provider,
    Format,
    Hook,
    Disk,
    Internal,
}
