//! The merged layers, typed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use protocol::Refusal;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::invalid;

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct Raw {
    pub(crate) model: Option<String>,
    pub(crate) model_provider: Option<String>,
    pub(crate) model_reasoning_effort: Option<String>,
    pub(crate) model_context_window: Option<u64>,
    pub(crate) model_max_output_tokens: Option<u32>,
    pub(crate) mode: Option<String>,
    pub(crate) approval_policy: Option<String>,
    pub(crate) sandbox_mode: Option<String>,
    pub(crate) harness: Option<String>,
    pub(crate) openai_base_url: Option<String>,
    #[serde(rename = "sandbox_workspace_write")]
    pub(crate) workspace: Workspace,
    #[serde(rename = "shell_environment_policy")]
    shell: ShellPolicy,
    pub(crate) project_doc_max_bytes: Option<usize>,
    pub(crate) project_doc_fallback_filenames: Option<Vec<String>>,
    pub(crate) model_providers: BTreeMap<String, RawProvider>,
    sandbox: RawSandbox,
    /// Read by `trust` from the user's own layer; here only its types count.
    #[serde(rename = "projects")]
    _projects: BTreeMap<String, RawProject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
struct RawProject {
    #[serde(rename = "trust_level")]
    _trust_level: Option<String>,
    #[serde(rename = "allow")]
    _allow: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct Workspace {
    pub(crate) writable_roots: Vec<PathBuf>,
    pub(crate) network_access: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
struct ShellPolicy {
    inherit: Option<Inherit>,
    exclude: Vec<String>,
    include_only: Vec<String>,
    set: BTreeMap<String, String>,
    ignore_default_excludes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Inherit {
    All,
    Core,
    None,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
struct RawSandbox {
    min_level: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawProvider {
    pub(crate) name: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) env_key: Option<String>,
    pub(crate) env_key_instructions: Option<String>,
    pub(crate) wire_api: Option<String>,
    pub(crate) http_headers: BTreeMap<String, String>,
    pub(crate) env_http_headers: BTreeMap<String, String>,
    pub(crate) query_params: BTreeMap<String, String>,
    pub(crate) request_max_retries: Option<u32>,
    pub(crate) stream_max_retries: Option<u32>,
    pub(crate) stream_idle_timeout_ms: Option<u64>,
    pub(crate) experimental_bearer_token: Option<String>,
}

impl Raw {
    /// Errors say what it should be; [`misfit`] names the key.
    pub(crate) fn from(layer: &Value) -> Result<Self, String> {
        let raw: Self = serde_json::from_value(layer.clone()).map_err(|error| error.to_string())?;
        super::modes::known(&raw).map_err(|refusal| refusal.to_string())?;
        raw.min_level().map_err(|refusal| refusal.to_string())?;
        Ok(raw)
    }

    pub(crate) fn min_level(&self) -> Result<sandbox::Level, Refusal> {
        match &self.sandbox.min_level {
            None => Ok(sandbox::Level::Landlock),
            Some(name) => {
                name.parse().map_err(|why| invalid("sandbox.min_level", why, "give full, landlock or none"))
            }
        }
    }

    /// The environment of commands.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let own = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let policy = &self.shell;
        let mut env: Vec<(String, String)> = match policy.inherit.unwrap_or(Inherit::Core) {
            Inherit::Core => sandbox::scrub(own),
            Inherit::None => sandbox::scrub(own.filter(|(name, _)| name == "PATH" || name == "HOME")),
            Inherit::All => {
                let all: Vec<(String, String)> = own.collect();
                let mut env = sandbox::scrub(all.clone().into_iter());
                let rest =
                    all.into_iter().filter(|(name, _)| policy.ignore_default_excludes || !is_secret(name));
                for (name, value) in rest {
                    if !env.iter().any(|(known, _)| *known == name) {
                        env.push((name, value));
                    }
                }
                env
            }
        };
        env.retain(|(name, _)| !policy.exclude.iter().any(|pattern| matches(pattern, name)));
        if !policy.include_only.is_empty() {
            env.retain(|(name, _)| policy.include_only.iter().any(|pattern| matches(pattern, name)));
        }
        for (name, value) in &policy.set {
            env.retain(|(known, _)| known != name);
            env.push((name.clone(), value.clone()));
        }
        env
    }
}

/// A value that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) key: Vec<String>,
    pub(crate) why: String,
}

/// The first value of a layer that cannot be used: the deepest key that is wrong by itself.
pub(crate) fn misfit(layer: &Value) -> Option<Misfit> {
    let mut why = Raw::from(layer).err()?;
    let mut key: Vec<String> = Vec::new();
    let mut at = layer;
    while let Some(map) = at.as_object() {
        let wrong = map.iter().find_map(|(name, value)| {
            let alone = key.iter().rev().fold(json_of(name, value), |inner, outer| json_of(outer, &inner));
            Raw::from(&alone).err().map(|why| (name, value, why))
        });
        let Some((name, value, found)) = wrong else { break };
        (at, why) = (value, found);
        key.push(name.clone());
    }
    Some(Misfit { key, why })
}

fn json_of(name: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(name.to_string(), value.clone())]))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|part| name.contains(part))
}

/// A name against a pattern with `*`, whatever the case.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_uppercase(), name.to_uppercase());
    let parts: Vec<&str> = pattern.split('*').collect();
    let mut rest = name.as_str();
    for (at, part) in parts.iter().enumerate() {
        let found = match (at, at + 1 == parts.len()) {
            (0, true) => (rest == *part).then_some(""),
            (0, false) => rest.strip_prefix(part),
            (_, true) => rest.ends_with(part).then_some(""),
            (_, false) => rest.find(part).and_then(|from| rest.get(from + part.len()..)),
        };
        match found {
            Some(left) => rest = left,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_types_name_the_key() {
        for (layer, key, why) in [
            (json!({"mode": "auto", "model_context_window": "many"}), "model_context_window", "u64"),
            (json!({"model": 5}), "model", "invalid type: integer `5`, expected a string"),
            (
                json!({"model_providers": {"a": {}, "x.y": {"base_url": true}}}),
                "model_providers.x.y.base_url",
                "boolean",
            ),
            (
                json!({"sandbox_workspace_write": {"writable_roots": [1]}}),
                "sandbox_workspace_write.writable_roots",
                "1",
            ),
            (json!({"projects": {"/p": {"trust_level": true}}}), "projects./p.trust_level", "boolean"),
            (json!({"sandbox": "x"}), "sandbox", "expected a table"),
            (json!({"approval_policy": "sometimes"}), "approval_policy", "on-request"),
            (json!({"sandbox_mode": "sometimes"}), "sandbox_mode", "read-only"),
            (json!({"mode": "sometimes"}), "mode", "full-access"),
            (json!({"harness": "sometimes"}), "harness", "known: native"),
            (json!({"sandbox": {"min_level": "some"}}), "sandbox.min_level", "landlock"),
        ] {
            let misfit = misfit(&layer).unwrap();
            assert_eq!(misfit.key.join("."), key);
            assert!(misfit.why.contains(why) && !misfit.why.contains("/harness"), "{misfit:?}");
        }
        assert_eq!(misfit(&json!({"model": "m", "unknown": 5})), None);
    }

    #[test]
    fn patterns() {
        for (pattern, name, held) in [
            ("AWS_*", "aws_region", true),
            ("*KEY*", "MY_KEYS", true),
            ("PATH", "PATHEXT", false),
            ("*", "X", true),
            ("A*Z", "AbcZ", true),
        ] {
            assert_eq!(matches(pattern, name), held, "{pattern} {name}");
        }
    }
}
