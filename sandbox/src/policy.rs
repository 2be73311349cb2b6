//! What a command may do, and what is to be run.

use std::path::PathBuf;

use protocol::{Network, Sandbox};

/// What a command may do.
#[derive(Clone, Debug)]
pub struct Policy {
    pub sandbox: Sandbox,
    pub network: Network,
    /// Folders that may be written in, with workspace-write.
    pub roots: Vec<PathBuf>,
    /// Paths inside of them that may only be read.
    pub guarded: Vec<PathBuf>,
    /// Paths that may be neither read nor written.
    pub hidden: Vec<PathBuf>,
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Spec {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub policy: Policy,
}

/// The command was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; {remedy}")]
pub struct Refused {
    pub why: String,
    pub remedy: String,
}
