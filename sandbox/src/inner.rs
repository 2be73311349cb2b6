//! What the outer half of the wall tells the helper: one argument of JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the helper has to do before it becomes, or keeps, the command.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inner {
    /// The Landlock version that must be enforced.
    pub(crate) landlock: u8,
    /// Folders and files that may be written.
    pub(crate) write: Vec<PathBuf>,
    /// Whether bubblewrap is around.
    pub(crate) bubblewrap: bool,
    pub(crate) network: bool,
    #[serde(default)]
    pub(crate) walls: Walls,
    #[serde(default)]
    pub(crate) stay: Stay,
    /// Variables that the loader obeys: for the command, never for bubblewrap and the helper.
    #[serde(default)]
    pub(crate) env: Vec<(String, String)>,
    /// A folder that the keeper removes after the command.
    #[serde(default)]
    pub(crate) temp: Option<PathBuf>,
}

/// Whether there is a wall at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Walls {
    #[default]
    Up,
    /// Full access: only the tree is kept.
    Down,
}

/// What becomes of the helper's own process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stay {
    /// It becomes the command.
    #[default]
    Leave,
    /// It stays beside the command as its keeper, told what to do by its standard input.
    Keep,
}
