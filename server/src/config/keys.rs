//! Every key a configuration may have, and the ones that a project's file may not set.

use serde_json::Value;

/// Keys that are used; `*` is any name.
const USED: &[&str] = &[
    "model",
    "model_provider",
    "model_reasoning_effort",
    "model_context_window",
    "model_max_output_tokens",
    "mode",
    "approval_policy",
    "sandbox_mode",
    "harness",
    "openai_base_url",
    "sandbox_workspace_write.writable_roots",
    "sandbox_workspace_write.network_access",
    "shell_environment_policy.inherit",
    "shell_environment_policy.exclude",
    "shell_environment_policy.include_only",
    "shell_environment_policy.set.*",
    "shell_environment_policy.ignore_default_excludes",
    "project_doc_max_bytes",
    "project_doc_fallback_filenames",
    "model_providers.*.name",
    "model_providers.*.base_url",
    "model_providers.*.env_key",
    "model_providers.*.env_key_instructions",
    "model_providers.*.wire_api",
    "model_providers.*.http_headers.*",
    "model_providers.*.env_http_headers.*",
    "model_providers.*.query_params.*",
    "model_providers.*.request_max_retries",
    "model_providers.*.stream_max_retries",
    "model_providers.*.stream_idle_timeout_ms",
    "model_providers.*.experimental_bearer_token",
    "projects.*.trust_level",
    "projects.*.allow",
    "sandbox.min_level",
];

/// Keys of Codex that scripts and SDKs pass and that change nothing here yet.
const WITHOUT_EFFECT: &[&str] = &[
    "web_search",
    "tools.*",
    "features.*",
    "model_reasoning_summary",
    "model_verbosity",
    "hide_agent_reasoning",
    "show_raw_agent_reasoning",
    "notify",
    "history.*",
    "tui.*",
    "analytics.*",
    "feedback.*",
    "otel.*",
    "file_opener",
    "check_for_update_on_startup",
    "model_providers.*.requires_openai_auth",
    "model_providers.*.supports_websockets",
    "sandbox_workspace_write.exclude_tmpdir_env_var",
    "sandbox_workspace_write.exclude_slash_tmp",
];

/// What a project's own file may not decide, trusted or not.
const NOT_FOR_PROJECTS: &[&str] = &[
    "model_provider",
    "model_providers",
    "openai_base_url",
    "projects",
    "sandbox",
    "sandbox_mode",
    "approval_policy",
    "mode",
    "sandbox_workspace_write",
    "shell_environment_policy",
    "notify",
];

/// What is wrong with the keys of one layer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Oddities {
    pub(crate) unknown: Vec<String>,
    pub(crate) without_effect: Vec<String>,
}

/// Looks at every key of a layer.
pub(crate) fn look(layer: &Value) -> Oddities {
    let mut found = Oddities::default();
    walk(layer, &mut Vec::new(), &mut found);
    found
}

fn walk(value: &Value, path: &mut Vec<String>, found: &mut Oddities) {
    if !path.is_empty() && is_one_of(USED, path) {
        return;
    }
    if !path.is_empty() && is_one_of(WITHOUT_EFFECT, path) {
        return found.without_effect.push(path.join("."));
    }
    match value {
        Value::Object(map) if path.is_empty() || leads_on(path) => {
            for (name, inner) in map {
                path.push(name.clone());
                walk(inner, path, found);
                path.pop();
            }
        }
        _ => found.unknown.push(path.join(".")),
    }
}

fn is_one_of(patterns: &[&str], path: &[String]) -> bool {
    patterns.iter().any(|pattern| {
        let parts: Vec<&str> = pattern.split('.').collect();
        let open = parts.last() == Some(&"*") && path.len() >= parts.len();
        (parts.len() == path.len() || open)
            && parts.iter().zip(path).all(|(part, name)| *part == "*" || part == name)
    })
}

/// Whether a longer key may begin so.
fn leads_on(path: &[String]) -> bool {
    USED.iter().chain(WITHOUT_EFFECT).any(|pattern| {
        let parts: Vec<&str> = pattern.split('.').collect();
        parts.len() > path.len() && parts.iter().zip(path).all(|(part, name)| *part == "*" || part == name)
    })
}

/// The known key that is spelled most alike.
pub(crate) fn nearest(unknown: &str) -> Option<&'static str> {
    let shape = |key: &str| key.to_lowercase().replace(['-', ' '], "_");
    let wanted = shape(unknown);
    let far = |key: &str| {
        // Letters in another order are one slip.
        let slip = letters(&wanted) == letters(key);
        let far = if slip { 1 } else { distance(&wanted, key) };
        (far, wanted.len().abs_diff(key.len()))
    };
    let near = USED.iter().map(|key| (far(key), *key)).min()?;
    (near.0.0 <= 3).then_some(near.1)
}

fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

/// Single letters to change, add or take away.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut before = i;
        let mut last = i + 1;
        for (j, other) in b.iter().enumerate() {
            let up = row.get(j + 1).copied().unwrap_or(usize::MAX);
            let cost = (before + usize::from(letter != *other)).min(up + 1).min(last + 1);
            before = up;
            if let Some(cell) = row.get_mut(j) {
                *cell = last;
            }
            last = cost;
        }
        if let Some(cell) = row.last_mut() {
            *cell = last;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

/// Takes out what a project may not decide; gives the names.
pub(crate) fn strip_project(layer: &mut Value) -> Vec<String> {
    let Some(map) = layer.as_object_mut() else { return Vec::new() };
    NOT_FOR_PROJECTS
        .iter()
        .filter(|key| map.shift_remove(**key).is_some())
        .map(|key| key.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_key_is_known_or_told() {
        let layer = json!({
            "model": "m",
            "modle": "m",
            "model_providers": {"x": {"base_url": "u", "http_headers": {"A": "b"}, "base_ulr": "u"}},
            "projects": {"/a.b/c": {"trust_level": "trusted"}},
            "features": {"x": true},
            "web_search": "live",
        });
        let found = look(&layer);
        assert_eq!(found.unknown, ["modle", "model_providers.x.base_ulr"]);
        assert_eq!(found.without_effect, ["features.x", "web_search"]);
        assert_eq!(nearest("modle"), Some("model"));
        assert_eq!(nearest("aproval-policy"), Some("approval_policy"));
        assert_eq!(nearest("nothing_like_it"), None);
    }

    #[test]
    fn a_project_cannot_widen_anything() {
        let mut layer =
            json!({"model": "m", "sandbox_mode": "danger-full-access", "projects": {}, "mode": "auto"});
        assert_eq!(strip_project(&mut layer), ["projects", "sandbox_mode", "mode"]);
        assert_eq!(layer, json!({"model": "m"}));
    }
}
