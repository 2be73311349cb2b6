//! What an action does to files, as hunks of lines.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct FileDiff {
    pub path: FilePath,
    pub kind: FileKind,
    pub hunks: Vec<Hunk>,
    pub cut: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Add,
    Update,
    Delete,
    Move { from: FilePath },
    Binary,
}

/// Lines with their own line ends, context included, enough for a unified diff, an old/new pair,
/// a snippet for the model and an exact undo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Hunk {
    pub old_line: u32,
    pub new_line: u32,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Same(String),
    Gone(String),
    New(String),
}

impl Line {
    /// The line with its own line end.
    pub fn text(&self) -> &str {
        match self {
            Line::Same(text) | Line::Gone(text) | Line::New(text) => text,
        }
    }
}

impl FileDiff {
    /// Roughly what it costs to keep.
    pub fn bytes(&self) -> usize {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text().len()).sum()
    }

    /// Lines added and lines removed.
    pub fn counts(&self) -> (usize, usize) {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.fold((0, 0), |(added, removed), line| match line {
            Line::Same(_) => (added, removed),
            Line::New(_) => (added + 1, removed),
            Line::Gone(_) => (added, removed + 1),
        })
    }
}
