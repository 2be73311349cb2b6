//! A question to the person, and the answer.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Ask {
    pub id: AskId,
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    pub what: AskWhat,
    pub why: String,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskWhat {
    /// The item's action: the face shows the whole command or the diff.
    Act,
    Questions(Vec<Question>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Choice {
    pub id: String,
    pub name: String,
    pub grant: Grant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    Once,
    Session { scope: String },
    Always { scope: String },
    Reject,
    RejectAlways { scope: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Choice {
        id: String,
        note: Option<String>,
    },
    Answers(Vec<QuestionReply>),
    /// The person looked and said nothing: a refusal, never a permission, never a cancel.
    Dismissed,
    /// The turn ended first.
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Question {
    pub id: String,
    pub head: String,
    pub text: String,
    pub options: Vec<(String, String)>,
    pub many: bool,
    pub free: bool,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct QuestionReply {
    pub question: String,
    pub picked: Vec<String>,
    pub text: Option<String>,
}
