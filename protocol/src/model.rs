//! What harnesses and wires say to each other. Faces do not use it.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct ModelRequest {
    pub model: String,
    pub system: Vec<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub max_tokens: Option<u32>,
    pub thinking: Thinking,
    /// JSON Schema that the final answer must follow.
    pub output_schema: Option<Json>,
    pub cache_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Image { mime: String, data: Base64 },
    Thought(Thought),
    Call(ModelCall),
    Result { call: CallId, parts: Vec<Part>, error: bool },
}

/// `sealed` goes back verbatim to the provider it came from, and to no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Thought {
    pub provider: String,
    pub text: String,
    pub sealed: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct ModelCall {
    pub id: CallId,
    pub name: String,
    pub input: Json,
    pub spoken: Spoken,
}

/// A call read out of text is already in the text: it is never encoded as a native call.
#[derive(Clone, Debug, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoken {
    Native,
    InText,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    Default,
    Off,
    Effort(String),
    Budget(u32),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct ToolSpec {
    pub name: String,
    pub about: String,
    pub schema: Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    Text(String),
    Thought(String),
    Sealed(Thought),
    /// `slot` tells parallel calls apart while they stream.
    CallBegun {
        slot: u32,
        id: CallId,
        name: String,
    },
    CallInput {
        slot: u32,
        text: String,
    },
    CallEnded {
        slot: u32,
    },
    Used(Tokens),
    /// The terminal mark. A stream that ends without one is an error, and nothing in it runs.
    Stopped(Stop),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    End,
    Calls,
    Length,
    Filter,
    Refusal(String),
    Other(String),
}
