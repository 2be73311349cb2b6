//! The script of a model that is played: one format for `interpreter demo` and for the tests' model server.
//!
//! `{"turns": [TURN...], "strict": [...], "after_last": TURN}`. An abstract turn says, thinks and calls;
//! a raw turn gives the bytes of an HTTP answer. Delivery options matter to the model server alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a played model says, request by request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[serde(default, deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// `shell`, `read`, `write`, `edit`, `patch`, `mcp:SERVER:TOOL`, or `raw:NAME`.
    pub tool: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub id: Option<String>,
}

/// The tokens that an answer is said to cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptUsage {
    #[serde(rename = "in", default)]
    pub input: u64,
    #[serde(rename = "out", default)]
    pub output: u64,
}

/// A line that keeps a connection busy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    pub line: String,
    #[serde(default)]
    pub every_ms: u64,
    #[serde(default)]
    pub for_s: f64,
}

/// The text is no script.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    #[error("not a script: {0}")]
    Json(#[from] serde_json::Error),
    #[error("not a script: turn {turn}: {why}")]
    Turn { turn: usize, why: String },
}

impl Script {
    /// Reads a script; the error says where it is wrong.
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        let script: Self = serde_json::from_str(text)?;
        let turns = script.turns.iter().chain(script.after_last.as_deref());
        for (turn, played) in turns.enumerate() {
            played.check().map_err(|why| BadScript::Turn { turn, why })?;
        }
        Ok(script)
    }

    /// The answer to request number `at`, counted from 0.
    pub fn turn(&self, at: usize) -> Option<&Turn> {
        self.turns.get(at).or(self.after_last.as_deref())
    }
}

impl Turn {
    /// Whether it gives the bytes of an HTTP answer instead of what the model says.
    pub fn is_raw(&self) -> bool {
        self.body.is_some() || self.body_file.is_some()
    }

    fn check(&self) -> Result<(), String> {
        match self.end.as_deref() {
            None | Some("close" | "reset" | "hang") => {}
            Some(other) => return Err(format!("unknown end {other:?}; known: close, reset, hang")),
        }
        let speaks = self.say.is_some() || self.words.is_some() || !self.calls.is_empty();
        match (self.body.is_some(), self.body_file.is_some()) {
            (true, true) => Err("both body and body_file; give one".into()),
            (false, false) => Ok(()),
            _ if speaks => Err("a raw body as well as say, words or calls; give one".into()),
            _ => Ok(()),
        }
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
        if let Some(tool) = call.tool.strip_prefix("mcp:").and_then(mcp) {
            return (tool, text(&args));
        }
        let Some((name, names)) = self.tools.get(&call.tool) else { return (call.tool.clone(), text(&args)) };
        let Value::Object(args) = args else { return (name.clone(), text(&args)) };
        let renamed: Map<String, Value> =
            args.into_iter().map(|(arg, value)| (names.get(&arg).cloned().unwrap_or(arg), value)).collect();
        (name.clone(), Value::Object(renamed).to_string())
    }

    /// The real name or argument behind `@@SHELL@@`, `@@MCP:server:tool@@` and the like.
    pub fn placeholder(&self, mark: &str) -> Option<String> {
        let tool = |name: &str| self.tools.get(name);
        let arg = |name: &str, arg: &str| tool(name).and_then(|tool| tool.1.get(arg).cloned());
        match mark {
            "SHELL" => tool("shell").map(|tool| tool.0.clone()),
            "CMD" => arg("shell", "command"),
            "WRITE" => tool("write").map(|tool| tool.0.clone()),
            "PATH" => arg("write", "path"),
            "CONTENT" => arg("write", "content"),
            _ => mark.strip_prefix("MCP:").and_then(mcp),
        }
    }
}

/// `server:tool` as models know it.
fn mcp(name: &str) -> Option<String> {
    name.split_once(':').map(|(server, tool)| format!("mcp__{server}__{tool}"))
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
        assert_eq!(map.placeholder("MCP:s:t").as_deref(), Some("mcp__s__t"));
        assert_eq!(map.placeholder("ELSE"), None);
    }

    #[test]
    fn every_delivery_is_read() {
        let script = Script::parse(
            r#"{"turns":[{"body":"data: x","status":503,"type":"text/html","headers":{"retry-after":"1"},"chunk":1,
                "delay_ms":2,"gzip":true,"end":"reset","repeat":{"line":": ping","every_ms":1,"for_s":0.5}}],
                "strict":["pairing",{"max_body":9}],"after_last":{"say":"x","usage":{"in":1,"out":2}},"pace_ms":3}"#,
        )
        .unwrap();
        let turn = script.turn(0).unwrap();
        assert!(
            turn.is_raw() && turn.gzip && turn.status == Some(503) && turn.end.as_deref() == Some("reset")
        );
        assert_eq!(script.turn(7).unwrap().usage.unwrap().output, 2);
    }

    #[test]
    fn a_bad_script_says_where() {
        let table = [
            ("{\"turns\": [{\"say\": 1}]}", "line 1"),
            ("{\"turns\": [{\"sya\": \"x\"}]}", "unknown field `sya`"),
            ("{\"turns\": [{}, {\"end\": \"boom\"}]}", "turn 1: unknown end \"boom\""),
            ("{\"turns\": [{\"body\": \"\", \"body_file\": \"x\"}]}", "turn 0: both"),
            ("{\"turns\": [{\"body\": \"\", \"say\": \"x\"}]}", "turn 0: a raw body"),
            ("{}", "missing field `turns`"),
        ];
        for (text, part) in table {
            let error = Script::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
