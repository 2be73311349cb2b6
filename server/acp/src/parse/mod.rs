//! ACP's params as our words. Lenient where clients differ, strict where a guess could do harm.

mod prompt;
mod uri;

use agent_client_protocol::Error;
use protocol::{FilePath, SessionId, SystemMode, SystemPrompt};
use serde_json::Value;

use crate::errors::{bad_params, name};

pub(crate) use prompt::prompt;

pub(crate) fn session(params: &Value) -> Result<SessionId, Error> {
    Ok(SessionId(text(params, "sessionId")?.to_string()))
}

pub(crate) fn text<'a>(params: &'a Value, field: &str) -> Result<&'a str, Error> {
    let found = params.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or_else(|| bad_params(format!("{field} is missing; give a string that is not empty")))
}

/// A value of an option: a name, or yes and no.
pub(crate) fn value(params: &Value) -> Result<String, Error> {
    match params.get("value") {
        Some(Value::Bool(value)) => Ok(value.to_string()),
        _ => Ok(text(params, "value")?.to_string()),
    }
}

/// The folder that the client works in.
pub(crate) fn cwd(params: &Value) -> Result<FilePath, Error> {
    absolute(text(params, "cwd")?, "cwd")
}

/// The folder, when one is given.
pub(crate) fn cwd_if_any(params: &Value) -> Result<Option<FilePath>, Error> {
    match params.get("cwd") {
        None | Some(Value::Null) => Ok(None),
        Some(_) => cwd(params).map(Some),
    }
}

/// Further folders; none when they are not given.
pub(crate) fn roots(params: &Value) -> Result<Vec<FilePath>, Error> {
    match params.get("additionalDirectories") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(roots)) => roots
            .iter()
            .map(|root| absolute(root.as_str().unwrap_or_default(), "additionalDirectories"))
            .collect(),
        Some(_) => Err(bad_params("additionalDirectories must be a list of absolute paths")),
    }
}

/// The client's part of the system prompt: texts alone.
pub(crate) fn system(params: &Value) -> Result<Option<SystemPrompt>, Error> {
    let Some(given) = params.get("systemPrompt").filter(|given| !given.is_null()) else { return Ok(None) };
    let mode = match given.get("mode").and_then(Value::as_str) {
        Some("append") => SystemMode::Append,
        Some("override") => SystemMode::Override,
        _ => return Err(bad_params("systemPrompt.mode must be append or override")),
    };
    let blocks = given.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect();
    match texts.map(|texts| texts.join("\n\n")).filter(|text| !text.trim().is_empty()) {
        Some(text) => Ok(Some(SystemPrompt { mode, text })),
        None => Err(bad_params("systemPrompt.content must be a list of text blocks with some text")),
    }
}

fn absolute(path: &str, what: &str) -> Result<FilePath, Error> {
    if std::path::Path::new(path).is_absolute() {
        return Ok(FilePath(path.to_string()));
    }
    Err(bad_params(format!("{what} is {:?}; give an absolute path", name(path))))
}

/// Names of the MCP servers that the client would have us start.
pub(crate) fn servers(params: &Value) -> Vec<String> {
    let list = params.get("mcpServers").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|server| name(server.get("name").and_then(Value::as_str).unwrap_or("unnamed")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn folders_are_absolute_or_refused() {
        assert!(cwd(&json!({"cwd": "/a"})).is_ok());
        for bad in [json!({"cwd": "a/b"}), json!({"cwd": ""}), json!({"cwd": 1}), json!({})] {
            assert!(cwd(&bad).is_err(), "{bad}");
        }
        assert_eq!(cwd_if_any(&json!({"cwd": null})).unwrap(), None);
        assert_eq!(roots(&json!({})).unwrap(), []);
        assert_eq!(roots(&json!({"additionalDirectories": ["/a"]})).unwrap(), [FilePath("/a".into())]);
        assert!(roots(&json!({"additionalDirectories": ["a"]})).is_err());
        assert!(roots(&json!({"additionalDirectories": "/a"})).is_err());
    }

    #[test]
    fn missing_servers_are_none() {
        assert_eq!(servers(&json!({})), Vec::<String>::new());
        assert_eq!(servers(&json!({"mcpServers": [{"name": "a"}, {}]})), ["a", "unnamed"]);
    }

    #[test]
    fn values_are_names_or_yes_and_no() {
        assert_eq!(value(&json!({"value": "x"})).unwrap(), "x");
        assert_eq!(value(&json!({"type": "boolean", "value": true})).unwrap(), "true");
        assert!(value(&json!({"value": 1})).is_err());
    }
}
