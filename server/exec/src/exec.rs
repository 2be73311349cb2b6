//! What a run is asked to do, as values.

use std::path::PathBuf;

use protocol::{Content, FilePath, Json, Keep, SessionId};

use crate::paint::{Paint, Reader};

/// One run: a prompt, the session it belongs to, and how to show it.
#[derive(Clone, Debug)]
pub struct Exec {
    pub start: Start,
    /// Where the session works; empty for the stored folder of a resumed one.
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    /// Option ids and values; they win over the stored ones of a resumed session.
    pub options: Vec<(String, String)>,
    pub keep: Keep,
    pub input: Vec<Content>,
    /// JSON Schema that the final answer must follow.
    pub schema: Option<Json>,
    pub show: Show,
    /// Where the last message goes when the turn completes.
    pub last_message: Option<PathBuf>,
}

/// Which session.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    New,
    Resume(SessionId),
    /// The newest one, of this folder or of all.
    Last { cwd: Option<FilePath> },
}

/// How the run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// One JSON object a line on the output; what is for people alone goes to the error output.
    Json,
    /// The final message on the output, progress on the error output.
    Text { paint: Paint, reader: Reader },
}

/// What ends a run from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Hangup,
    Interrupt,
    Terminate,
}

impl Signal {
    /// The exit code that shells expect.
    pub fn code(self) -> i32 {
        match self {
            Signal::Hangup => 129,
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Hangup => "SIGHUP",
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }
}
