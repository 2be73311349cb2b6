//! What the house can do, typed. Limits and defaults are the harness's and already filled in.

use serde::{Deserialize, Serialize};

use crate::*;

/// What the house can do. Limits and defaults are the harness's and already filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A shell command line. `unsandboxed` is the model's reason for asking to run it outside the wall.
    Run {
        command: String,
        cwd: Option<FilePath>,
        time: RunTime,
        why: Option<String>,
        unsandboxed: Option<String>,
    },
    /// New output of a background command; none lists them.
    Poll {
        task: Option<TaskId>,
        wait_ms: u64,
    },
    Stop {
        task: TaskId,
    },
    Read {
        path: FilePath,
        span: Span,
        cap: Cap,
    },
    Write {
        path: FilePath,
        text: String,
        rule: EditRule,
    },
    Edit {
        path: FilePath,
        swaps: Vec<Swap>,
        rule: EditRule,
    },
    Patch {
        files: Vec<PatchFile>,
        rule: EditRule,
    },
    Search(Box<Search>),
    Find {
        glob: String,
        root: Option<FilePath>,
        ignored: bool,
        cap: Cap,
    },
    List {
        path: FilePath,
        depth: u32,
        ignored: bool,
        cap: Cap,
    },
    Plan(Plan),
    Question(Vec<Question>),
    Fetch {
        url: String,
        cap: Cap,
        limit_ms: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct RunTime {
    pub limit_ms: u64,
    pub at_limit: AtLimit,
}

/// Kill is a timeout; Leave answers "still running" with a task; Now is in the background from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    Kill,
    Leave,
    Now,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// Which part of a file. Lines count from 1; a negative `from` counts from the end.
pub enum Span {
    Whole,
    Lines { from: i64, count: Option<u32> },
}

#[derive(Clone, Debug, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Cap {
    pub lines: Option<u32>,
    pub bytes: Option<u64>,
}

/// Replace `old` by `new`; several see each what the one before left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Swap {
    pub old: String,
    pub new: String,
    pub hits: Hits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hits {
    One,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct EditRule {
    pub must_be_read: bool,
    pub match_by: MatchBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchBy {
    Exact,
    TrimmedEnds,
    Fuzzy,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct PatchFile {
    pub path: FilePath,
    pub op: PatchOp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchOp {
    Add(Vec<String>),
    Delete,
    Update { to: Option<FilePath>, chunks: Vec<PatchChunk> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct PatchChunk {
    pub under: Vec<String>,
    /// The line of the file where it begins, if the patch says so: a hint.
    #[serde(default)]
    pub line: Option<u32>,
    pub lines: Vec<Line>,
    pub at_end: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Search {
    pub pattern: String,
    pub literal: bool,
    pub root: Option<FilePath>,
    pub include: Vec<String>,
    pub ignore_case: bool,
    pub multiline: bool,
    pub ignored: bool,
    pub around: (u32, u32),
    pub want: Want,
    pub cap: Cap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    Lines,
    Files,
    Counts,
}
