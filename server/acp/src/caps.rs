//! What the client can do, read once.

use serde_json::Value;

/// Parsed from `clientCapabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Reads and writes buffers; both, or it is of no use.
    pub(crate) files: bool,
    /// Shows live output of commands by `_meta.terminal_output`.
    pub(crate) terminal_output: bool,
    /// Has forms for questions.
    pub(crate) forms: bool,
    pub(crate) notices: bool,
}

impl Caps {
    pub(crate) fn parse(caps: &Value) -> Self {
        let flag = |place: &str| match caps.pointer(place) {
            None | Some(Value::Null) | Some(Value::Bool(false)) => false,
            Some(_) => true,
        };
        Self {
            files: flag("/fs/readTextFile") && flag("/fs/writeTextFile"),
            terminal_output: flag("/_meta/terminal_output"),
            forms: flag("/elicitation/form"),
            notices: flag("/session/notices"),
        }
    }
}
