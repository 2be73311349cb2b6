//! What the client can do, read once from `initialize`.

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
        // Markers are booleans in places and empty objects in others.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_half_of_the_files_is_none() {
        let caps = |caps| Caps::parse(&caps);
        assert_eq!(caps(json!(null)), Caps::default());
        assert!(!caps(json!({"fs": {"readTextFile": true, "writeTextFile": false}})).files);
        assert!(caps(json!({"fs": {"readTextFile": true, "writeTextFile": true}})).files);
        assert!(caps(json!({"elicitation": {"form": {}}})).forms);
        assert!(!caps(json!({"session": {"notices": null}})).notices);
        assert!(caps(json!({"_meta": {"terminal_output": true}})).terminal_output);
    }
}
