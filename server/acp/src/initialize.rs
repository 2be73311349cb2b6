//! `initialize`: answered at once, from nothing but the request.
//!
//! What is advertised here is what `requests` takes; a test holds the two together.

use serde_json::{Value, json};

use crate::About;

/// The id of the login method that needs nothing but a key or a server that is there.
pub(crate) const KEY: &str = "api-key";

/// Ids that `authenticate` takes.
pub(crate) fn is_method(id: &str) -> bool {
    id == KEY
}

pub(crate) fn answer(about: &About) -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": {"name": about.name, "title": about.title, "version": about.version},
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {
                "list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {},
                "title": {}, "options": {}, "systemPrompt": {"mode": {"override": {}}},
            },
        },
        "_meta": {"steering": {"supported": true}},
        "authMethods": methods(),
    })
}

/// Never empty: registries and clients take an agent without any for broken. There is no login of our own
/// that a client could run in a terminal, so none is offered.
fn methods() -> Value {
    json!([{
        "id": KEY,
        "name": "API key",
        "description":
            "A key in the environment or in auth.json, a provider in config.toml, or a local model server",
    }])
}
