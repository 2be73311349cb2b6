//! The harness trait and what a harness may look at.

use protocol::model::{ModelCall, ModelRequest, ToolSpec};
use protocol::{
    Act, Action, Conversation, EntryKind, FilePath, Note, Outcome, Plan, Reply, Said, Settings, SystemPrompt,
    Task, Verb,
};
use serde::{Deserialize, Serialize};

/// What the loop and the pickers read of a harness.
pub struct HarnessSpec {
    pub name: &'static str,
    pub about: &'static str,
    /// Requests in one turn before it stops with a limit.
    pub max_requests: u32,
}

/// Facts that would break the provider's cache if they moved: taken once per session, journaled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub cwd: String,
    pub roots: Vec<String>,
    pub os: String,
    pub shell: String,
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Branch and state of the repository, none outside one.
    pub git: Option<String>,
    /// AGENTS.md texts with their paths, outermost first.
    pub instructions: Vec<(FilePath, String)>,
    /// What the client adds, or puts in the place of the harness's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemPrompt>,
}

/// What a harness may look at.
#[derive(Clone, Debug)]
pub struct Context {
    pub frame: Frame,
    /// The truth of this moment about approvals, sandbox, model.
    pub settings: Settings,
    /// What the sandbox lacks on this machine; empty when it is whole.
    pub wall_lacks: Vec<String>,
    /// Whether git's hooks are held, and commands have a loopback of their own.
    pub wall_is_full: bool,
    /// Whether somebody can answer a question.
    pub can_ask: bool,
    pub plan: Plan,
    pub tasks: Vec<Task>,
}

/// What the loop does after the model's message.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    Act(Vec<ModelCall>),
    End,
    /// Say this and ask again.
    Nudge(Note),
    Fail(String),
}

/// When something is told unasked.
#[derive(Clone, Debug, PartialEq)]
pub enum Moment {
    /// The first turn of a session, or the first after a compaction.
    Begins,
    /// Approvals, sandbox or network are no longer what the model was told.
    ModeChanged,
    /// A background command ended since the last request.
    TaskEnded { task: Task, output: String },
    /// The session goes on after its process was ended in the middle of a turn.
    Resumed {
        /// Files of calls that were cut off, which are not as they were before them.
        changed: Vec<FilePath>,
    },
    /// The person took back edits of an earlier turn.
    Undone { files: Vec<FilePath> },
}

/// Counts of this turn, kept by the loop so that a harness stays pure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub requests: u32,
    pub empty_in_a_row: u32,
    /// Messages cut at the output limit, without a whole one between.
    pub cut_in_a_row: u32,
}

/// A dialect of one program. Everything is a pure function.
pub trait Harness: Send + Sync {
    fn spec(&self) -> HarnessSpec;
    /// The functions the model may call.
    fn tools(&self, context: &Context) -> Vec<ToolSpec>;
    /// What a tool is, known as soon as it is named.
    fn verb(&self, tool: &str) -> Verb;
    /// The whole request. Same conversation and context, same bytes.
    fn request(&self, talk: &Conversation, context: &Context) -> ModelRequest;
    /// Finds the calls and says how to go on.
    fn next(&self, said: &Said, tally: &Tally) -> Next;
    /// A foreign call as an action; a wrong call is an outcome like any other.
    fn action(&self, call: &ModelCall, context: &Context) -> Result<Action, Outcome>;
    /// An outcome in the words shown to the model.
    fn reply(&self, act: &Act, context: &Context) -> Reply;
    /// What is told unasked. The loop appends it to the conversation, so that it stays in place.
    fn notes(&self, moment: &Moment, context: &Context) -> Vec<Note>;
    /// The request for a summary of the conversation.
    fn summarise(&self, talk: &Conversation, focus: Option<&str>, context: &Context) -> ModelRequest;
    /// The new conversation out of a summary.
    fn resume(&self, summary: &str, context: &Context) -> Vec<EntryKind>;
}
