//! What a person should know and nobody asked for.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Notice {
    pub level: Level,
    pub title: String,
    pub text: String,
    pub retry: Option<Retry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Retry {
    pub attempt: u32,
    pub of: u32,
    pub wait_ms: u64,
}
