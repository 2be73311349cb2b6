//! ACP's params as our words. Lenient where clients differ, strict where a guess could do harm.

mod prompt;

use agent_client_protocol::Error;
use protocol::{FilePath, SessionId};
use serde_json::Value;

use crate::errors::bad_params;

pub(crate) use prompt::prompt;

pub(crate) fn session(params: &Value) -> Result<SessionId, Error> {
    Ok(SessionId(text(params, "sessionId")?.to_string()))
}

pub(crate) fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Error> {
    let found = params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or_else(|| bad_params(format!("{name} is missing; give a string")))
}

/// A folder that the client works in.
pub(crate) fn cwd(params: &Value) -> Result<FilePath, Error> {
    absolute(text(params, "cwd")?, "cwd")
}

pub(crate) fn absolute(path: &str, what: &str) -> Result<FilePath, Error> {
    if std::path::Path::new(path).is_absolute() {
        return Ok(FilePath(path.to_string()));
    }
    Err(bad_params(format!("{what} must be an absolute path")))
}

/// Further folders; none when they are not given.
pub(crate) fn roots(params: &Value) -> Result<Vec<FilePath>, Error> {
    let list = params.get("additionalDirectories").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|root| absolute(root.as_str().unwrap_or_default(), "additionalDirectories"))
        .collect()
}

/// How many MCP servers the client would have us start.
pub(crate) fn servers(params: &Value) -> Vec<String> {
    let list = params.get("mcpServers").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|server| server.get("name").and_then(Value::as_str).unwrap_or("unnamed").to_string())
        .collect()
}
