//! The script of a model that is played: one format for `interpreter demo` and for the tests' model server.
//!
//! `{"turns": [TURN...], "strict": [...], "after_last": TURN}`. An abstract turn says, thinks and calls;
//! a raw turn gives the bytes of an HTTP answer. Delivery options matter to the model server alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a played model says, request by request.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Script {
    pub turns: Vec<Turn>,
    /// Checks of each request, as real servers make them: a name, or a name with an argument.
    #[serde(default)]
    pub strict: Vec<Value>,
    /// Played for every request behind the last turn; without it that is an error.
    #[serde(default)]
    pub after_last: Option<Box<Turn>>,
    /// Milliseconds between words, for the eye.
    #[serde(default)]
    pub pace_ms: u64,
    /// Stands for `@@WORK@@`.
    #[serde(skip)]
    pub work: String,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub say: Option<String>,
    pub reasoning: Option<String>,
    pub calls: Vec<ScriptCall>,
    pub usage: Option<ScriptUsage>,
    /// The finish reason, where it shall not be the true one.
    pub finish: Option<String>,
    /// A raw answer: a file beside the script, or the text itself.
    pub body_file: Option<String>,
    pub body: Option<String>,
    pub status: Option<u16>,
    #[serde(rename = "type")]
    pub mime: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// Bytes of one network write.
    pub chunk: Option<usize>,
    /// Before the answer begins.
    pub delay_ms: Option<u64>,
    pub gzip: bool,
    /// How the connection ends: `close`, `reset`, `hang`.
    pub end: Option<String>,
    /// A line sent again and again behind the body.
    pub repeat: Option<Repeat>,
    /// Words that are counted instead of written: the model says that many numbered ones.
    pub words: Option<u64>,
}

/// One call, by the abstract name of a tool.
#[derive(Clone, Debug, Deserialize)]
pub struct ScriptCall {
    /// `shell`, `read`, `write`, `edit`, `patch`, or `raw:NAME`.
    pub tool: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub id: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ScriptUsage {
    #[serde(rename = "in", default)]
    pub input: u64,
    #[serde(rename = "out", default)]
    pub output: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Repeat {
    pub line: String,
    #[serde(default)]
    pub every_ms: u64,
    #[serde(default)]
    pub for_s: f64,
}

/// The text is no script.
#[derive(Debug, thiserror::Error)]
#[error("not a script: {0}")]
pub struct BadScript(#[from] serde_json::Error);

impl Script {
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        Ok(serde_json::from_str(text)?)
    }

    /// The answer to request number `at`, counted from 0.
    pub fn turn(&self, at: usize) -> Option<&Turn> {
        self.turns.get(at).or(self.after_last.as_deref())
    }
}

/// Abstract names of tools and arguments, as one harness has them.
#[derive(Clone, Debug)]
pub struct ToolMap {
    tools: BTreeMap<String, (String, BTreeMap<String, String>)>,
}

impl ToolMap {
    /// The native harness's names.
    pub fn native() -> Self {
        let rows: &[(&str, &str, &[(&str, &str)])] = &[
            ("shell", "bash", &[("command", "command")]),
            ("read", "read_file", &[("path", "path")]),
            ("write", "write_file", &[("path", "path"), ("content", "content")]),
            (
                "edit",
                "edit_file",
                &[("path", "path"), ("old", "old_text"), ("new", "new_text"), ("all", "replace_all")],
            ),
            ("patch", "apply_patch", &[("input", "patch")]),
        ];
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(from, to)| (from.to_string(), to.to_string())).collect::<BTreeMap<_, _>>()
        };
        let tools = rows.iter().map(|(name, tool, args)| (name.to_string(), (tool.to_string(), owned(args))));
        Self { tools: tools.collect() }
    }

    /// The real name of a tool and the text of its arguments. Arguments that the map does not name stay.
    pub fn call(&self, call: &ScriptCall, work: &str) -> (String, String) {
        let args = placed(&call.args, work);
        if let Some(raw) = call.tool.strip_prefix("raw:") {
            return (raw.to_string(), text(&args));
        }
        let Some((name, names)) = self.tools.get(&call.tool) else { return (call.tool.clone(), text(&args)) };
        let Value::Object(args) = args else { return (name.clone(), text(&args)) };
        let renamed: Map<String, Value> =
            args.into_iter().map(|(arg, value)| (names.get(&arg).cloned().unwrap_or(arg), value)).collect();
        (name.clone(), Value::Object(renamed).to_string())
    }

    /// The real name and argument behind `@@SHELL@@` and the like.
    pub fn placeholder(&self, mark: &str) -> Option<String> {
        let tool = |name: &str| self.tools.get(name);
        let arg = |name: &str, arg: &str| tool(name).and_then(|tool| tool.1.get(arg).cloned());
        match mark {
            "SHELL" => tool("shell").map(|tool| tool.0.clone()),
            "CMD" => arg("shell", "command"),
            "WRITE" => tool("write").map(|tool| tool.0.clone()),
            "PATH" => arg("write", "path"),
            "CONTENT" => arg("write", "content"),
            _ => None,
        }
    }
}

fn text(args: &Value) -> String {
    match args {
        Value::String(text) => text.clone(),
        Value::Null => "{}".into(),
        other => other.to_string(),
    }
}

/// `@@WORK@@` replaced in every string.
fn placed(value: &Value, work: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("@@WORK@@", work)),
        Value::Array(items) => items.iter().map(|item| placed(item, work)).collect(),
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), placed(value, work))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_calls_become_the_harness_own() {
        let script = Script::parse(
            r#"{"turns":[{"calls":[{"tool":"edit","args":{"path":"@@WORK@@/a","old":"x","new":"y","all":true}},
                {"tool":"raw:odd","args":"{not json"}]}]}"#,
        )
        .unwrap();
        let calls = &script.turn(0).unwrap().calls;
        let map = ToolMap::native();
        let (name, args) = map.call(&calls[0], "/w");
        assert_eq!(name, "edit_file");
        assert_eq!(args, r#"{"path":"/w/a","old_text":"x","new_text":"y","replace_all":true}"#);
        assert_eq!(map.call(&calls[1], "/w"), ("odd".into(), "{not json".into()));
        assert!(script.turn(1).is_none());
        assert_eq!(map.placeholder("CONTENT").as_deref(), Some("content"));
    }

    #[test]
    fn a_bad_script_says_where() {
        let error = Script::parse("{\"turns\": [{\"say\": 1}]}").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
