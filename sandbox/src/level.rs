//! How good the wall of this machine is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// From worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No wall: only full access runs.
    None,
    /// Landlock and seccomp.
    Landlock,
    /// Bubblewrap, Landlock and seccomp.
    Full,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::None => "none",
            Level::Landlock => "landlock",
            Level::Full => "full",
        })
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "none" => Ok(Level::None),
            "landlock" => Ok(Level::Landlock),
            "full" => Ok(Level::Full),
            other => Err(format!("unknown level {other:?}; known: none, landlock, full")),
        }
    }
}
