//! What came of an action: facts only. A harness makes the model's words of it, a face the person's.

use serde::{Deserialize, Serialize};

use crate::*;

/// What came of an action. Facts only; a harness makes the model's words, a face the person's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ran {
        end: RunEnd,
        output: Captured,
        wall_ms: u64,
        cwd: FilePath,
    },
    Tasks(Vec<Task>),
    Read {
        path: FilePath,
        digest: Digest,
        seen: Seen,
        body: ReadBody,
    },
    Listed {
        root: FilePath,
        paths: Vec<PathInfo>,
        total: u64,
        ignored: u64,
    },
    Found {
        files: Vec<FoundFile>,
        total: u64,
        more: bool,
    },
    Edited {
        files: Vec<FileNow>,
        replaced: u32,
    },
    EditFailed {
        path: FilePath,
        why: EditFailure,
    },
    Plan(Plan),
    Answered(Vec<QuestionReply>),
    Fetched {
        url: String,
        status: u16,
        mime: String,
        text: String,
        more: bool,
    },
    NoSuchTool {
        near: Vec<String>,
    },
    BadInput(Vec<Problem>),
    Declined {
        by: Decliner,
        why: String,
    },
    /// Cancelled, or cut off by a crash and closed on resume.
    Interrupted,
    Failed {
        why: IoWhy,
        path: Option<FilePath>,
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut { limit_ms: u64 },
    StillRunning(TaskId),
    Stopped,
}

/// Head and tail of an output in order of arrival, `omitted` bytes left out between them; `spill` holds all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Captured {
    pub head: String,
    pub tail: String,
    pub bytes: u64,
    pub omitted: u64,
    pub spill: Option<FilePath>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Chunk {
    pub from: Pipe,
    pub text: String,
}

#[derive(Clone, Debug, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    Out,
    Err,
    Both,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    First,
    Unchanged,
    Changed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBody {
    Lines { text: String, first: u64, count: u64, total: u64, more: bool },
    Image { mime: String, data: Base64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct PathInfo {
    pub path: FilePath,
    pub folder: bool,
    pub bytes: u64,
    pub changed_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct FoundFile {
    pub path: FilePath,
    pub changed_ms: u64,
    pub count: u64,
    pub hits: Vec<Hit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Hit {
    pub line: u64,
    pub column: u32,
    pub text: String,
    pub context: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct FileNow {
    pub path: FilePath,
    pub digest: Digest,
    pub lines: u64,
    pub bytes: u64,
    /// Whether the model knows all of it: it gave the whole, or had seen the whole before.
    #[serde(default)]
    pub whole: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditFailure {
    NotFound {
        old: String,
        near: Vec<u32>,
    },
    Ambiguous {
        old: String,
        lines: Vec<u32>,
    },
    NotRead,
    /// Only a part was seen; the first line that was not.
    PartlyRead {
        unseen: u64,
    },
    Stale,
    NoChange,
    EmptyOld,
    Exists,
    NotText,
    Gone,
    BadPatch {
        line: u32,
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    NotJson { at: u64, why: String },
    Missing(String),
    Unexpected(String),
    Wrong { name: String, want: String, got: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decliner {
    Person,
    Policy,
    Sandbox,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoWhy {
    NotFound,
    NotAFile,
    Outside,
    Permission,
    TooBig,
    NotText,
    Network,
    NoTask,
    NobodyToAsk,
    Internal,
}
