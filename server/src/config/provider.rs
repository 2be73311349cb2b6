//! Which provider and model a session uses, and with which key.

use std::path::Path;

use protocol::{Notice, Refusal};
use providers::{Provider, Secret, Wire};
use serde_json::Value;

use super::options::value;
use super::raw::{Raw, RawProvider};
use super::{Given, invalid, warning};
use crate::file;

const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENAI_MODEL: &str = "gpt-5.5";
const OPENAI_KEYS: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY"];

/// The provider and model of a session.
pub(crate) struct Chosen {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    /// Models that can be picked.
    pub(crate) models: Vec<String>,
    pub(crate) notices: Vec<Notice>,
}

/// Chooses; what is missing is told with everything that was looked for.
pub(super) fn choose(
    raw: &Raw,
    chosen: &[(String, String)],
    given: &Given,
    home: &Path,
) -> Result<Chosen, Refusal> {
    if let Some(script) = &given.script {
        return Ok(rehearsal(script.clone()));
    }
    let picked = value(chosen, "model").map(str::to_string).or_else(|| raw.model.clone());
    let id = value(chosen, "provider").or(raw.model_provider.as_deref());
    if let Some(found) = given.local.as_ref().filter(|found| id.is_none_or(|id| id == found.provider.id)) {
        let model = picked.or_else(|| found.models.first().cloned());
        let model = model.ok_or_else(|| {
            let why = format!("{} has no model", found.provider.name);
            invalid("model", why, "pull one there, or give -m")
        })?;
        let (provider, models) = (found.provider.clone(), found.models.clone());
        return Ok(Chosen { provider, model, models, notices: Vec::new() });
    }
    let id = id.unwrap_or("openai");
    let mut notices = Vec::new();
    let own = raw.model_providers.get(id);
    let provider = match (id, own) {
        ("openai", own) => openai(raw, own, home, &mut notices)?,
        (_, Some(own)) => custom(id, own, home, &mut notices)?,
        (_, None) => {
            let mut known: Vec<String> = raw.model_providers.keys().cloned().collect();
            known.push("openai".into());
            return Err(Refusal::Unknown { what: "provider".into(), name: id.into(), known });
        }
    };
    let model = match picked {
        Some(model) => model,
        None if id == "openai" => OPENAI_MODEL.into(),
        None => {
            let why = format!("the provider {id} needs one");
            return Err(invalid("model", why, "set `model` in config.toml, or give -m"));
        }
    };
    let models = if id == "openai" { vec![OPENAI_MODEL.into()] } else { Vec::new() };
    Ok(Chosen { provider, model, models, notices })
}

fn rehearsal(script: std::sync::Arc<providers::script::Script>) -> Chosen {
    let provider = Provider { script: Some(script), ..Provider::new("rehearsal", Wire::Rehearsal, "") };
    let model = "scripted".to_string();
    Chosen { provider, models: vec![model.clone()], model, notices: Vec::new() }
}

fn openai(
    raw: &Raw,
    own: Option<&RawProvider>,
    home: &Path,
    notices: &mut Vec<Notice>,
) -> Result<Provider, Refusal> {
    let url = own.and_then(|own| own.base_url.clone()).or_else(|| raw.openai_base_url.clone());
    let mut provider = Provider::new("openai", Wire::Responses, url.as_deref().unwrap_or(OPENAI_URL));
    provider.name = "OpenAI".into();
    if let Some(own) = own {
        fill(&mut provider, own, notices)?;
    }
    let stored = stored_key(home, "openai", notices);
    let named = own.and_then(|own| own.env_key.clone());
    let key = named.iter().map(String::as_str).chain(OPENAI_KEYS.iter().copied()).find_map(variable);
    provider.key = provider.key.or(key.map(Secret::new)).or(stored);
    // A server of one's own may need none.
    if provider.key.is_none() && url.is_none() {
        return Err(no_model(home));
    }
    Ok(provider)
}

fn no_model(home: &Path) -> Refusal {
    Refusal::NoModel {
        looked_for: vec![
            "CODEX_API_KEY and OPENAI_API_KEY in the environment".into(),
            format!("a key for openai in {}", home.join("auth.json").display()),
            format!("model_provider in {}", home.join("config.toml").display()),
            "--oss (Ollama at 127.0.0.1:11434, LM Studio at 127.0.0.1:1234)".into(),
        ],
        remedy: "run: export OPENAI_API_KEY=<your key>".into(),
    }
}

fn custom(id: &str, own: &RawProvider, home: &Path, notices: &mut Vec<Notice>) -> Result<Provider, Refusal> {
    let Some(url) = own.base_url.clone().filter(|url| !url.is_empty()) else {
        let what = format!("model_providers.{id}");
        return Err(invalid(&what, "it has no base_url".into(), "set base_url in config.toml"));
    };
    let mut provider = Provider::new(id, Wire::Responses, &url);
    fill(&mut provider, own, notices)?;
    let stored = stored_key(home, id, notices);
    let from_env = own.env_key.as_deref().and_then(variable).map(Secret::new);
    provider.key = provider.key.or(from_env).or(stored);
    if let (None, Some(name)) = (&provider.key, &own.env_key) {
        let mut looked_for = vec![format!("{name} in the environment (env_key of {id})")];
        looked_for.push(format!("a key for {id} in {}", home.join("auth.json").display()));
        let hint = own.env_key_instructions.clone().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Err(Refusal::NoModel { looked_for, remedy: format!("run: export {name}=<your key>{hint}") });
    }
    Ok(provider)
}

/// What a table of `model_providers` says.
fn fill(provider: &mut Provider, own: &RawProvider, notices: &mut Vec<Notice>) -> Result<(), Refusal> {
    if let Some(name) = &own.name {
        provider.name.clone_from(name);
    }
    match own.wire_api.as_deref() {
        None => {}
        Some("chat") => provider.wire = Wire::Chat,
        Some("responses") => provider.wire = Wire::Responses,
        Some(other) => {
            let what = format!("model_providers.{}.wire_api", provider.id);
            return Err(invalid(&what, format!("{other:?} is unknown"), "give \"responses\" or \"chat\""));
        }
    }
    if !provider.base_url.starts_with("http://") && !provider.base_url.starts_with("https://") {
        let what = format!("model_providers.{}.base_url", provider.id);
        return Err(invalid(
            &what,
            format!("{:?} is no http address", provider.base_url),
            "begin it with https://",
        ));
    }
    provider.headers = own.http_headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    for (header, name) in &own.env_http_headers {
        match variable(name) {
            Some(value) => provider.headers.push((header.clone(), value)),
            None => notices
                .push(warning("A header is not sent", format!("{header}: {name} is not in the environment"))),
        }
    }
    provider.query = own.query_params.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    provider.request_max_retries = own.request_max_retries.unwrap_or(provider.request_max_retries).min(100);
    provider.stream_max_retries = own.stream_max_retries.unwrap_or(provider.stream_max_retries).min(100);
    provider.stream_idle_timeout_ms =
        own.stream_idle_timeout_ms.unwrap_or(provider.stream_idle_timeout_ms).max(1);
    provider.key = own.experimental_bearer_token.clone().map(Secret::new);
    Ok(())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
}

/// `auth.json`: `{"<provider>": {"api_key": "..."}}`.
fn stored_key(home: &Path, id: &str, notices: &mut Vec<Notice>) -> Option<Secret> {
    let path = home.join("auth.json");
    let text = match file::text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            let text = format!("{}: {error}", path.display());
            notices.push(warning("The stored keys are not used", text));
            return None;
        }
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(keys) => keys.get(id)?.get("api_key")?.as_str().map(|key| Secret::new(key.trim().to_string())),
        Err(error) => {
            // Its text may hold keys; only the place is told.
            let text = format!("{}:{}:{}: it is not JSON", path.display(), error.line(), error.column());
            notices.push(warning("The stored keys are not used", text));
            None
        }
    }
}
