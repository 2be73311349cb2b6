//! The pickers: one table of options for every face.

use protocol::{ConfigOption, OptionChoice, OptionKind, Refusal, Settings};

use super::modes::{CUSTOM, MODES};
use super::provider::Chosen;
use super::raw::Raw;

/// Options a face may set; the last two are halves of the mode, for flags and stored sessions.
const IDS: &[&str] = &["mode", "model", "provider", "effort", "harness", "sandbox_mode", "approval_policy"];
const EFFORTS: &[(&str, &str)] = &[
    ("default", "Default"),
    ("none", "None"),
    ("minimal", "Minimal"),
    ("low", "Low"),
    ("medium", "Medium"),
    ("high", "High"),
    ("xhigh", "Extra high"),
];

/// The value chosen for an option.
pub(super) fn value<'a>(chosen: &'a [(String, String)], id: &str) -> Option<&'a str> {
    chosen.iter().rev().find(|(option, _)| option == id).map(|(_, value)| value.as_str())
}

/// Every option is one of ours, and every value of a closed list is in it.
pub(super) fn known(chosen: &[(String, String)]) -> Result<(), Refusal> {
    for (id, value) in chosen {
        if !IDS.contains(&id.as_str()) {
            return Err(unknown("option", id, IDS.iter().map(|id| id.to_string()).collect()));
        }
        let closed: Option<Vec<String>> = match id.as_str() {
            "mode" => {
                Some(MODES.iter().map(|mode| mode.id.to_string()).chain([CUSTOM.to_string()]).collect())
            }
            "harness" => Some(harnesses().iter().map(|(name, _)| name.to_string()).collect()),
            _ => None,
        };
        if let Some(known) = closed.filter(|known| !known.contains(value)) {
            return Err(unknown(id, value, known));
        }
        if value.is_empty() {
            return Err(unknown(id, value, Vec::new()));
        }
    }
    Ok(())
}

fn unknown(what: &str, name: &str, known: Vec<String>) -> Refusal {
    Refusal::Unknown { what: what.into(), name: name.into(), known }
}

fn harnesses() -> Vec<(&'static str, &'static str)> {
    harness::harnesses()
}

/// The pickers as they stand.
pub(super) fn offered(settings: &Settings, provider: &Chosen, raw: &Raw) -> Vec<ConfigOption> {
    let mut modes: Vec<OptionChoice> =
        MODES.iter().map(|mode| choice(mode.id, mode.name, Some(mode.about))).collect();
    if settings.mode == CUSTOM {
        modes.push(choice(CUSTOM, "Custom", Some("Sandbox and approvals were set apart")));
    }
    let models =
        with(&provider.models, &settings.model).into_iter().map(|model| choice(&model, &model, None));
    let mut ids: Vec<String> = vec!["openai".into()];
    ids.extend(raw.model_providers.keys().cloned());
    let ids = with(&ids, &settings.provider).into_iter().map(|id| {
        let name = raw.model_providers.get(&id).and_then(|provider| provider.name.clone());
        choice(&id, &name.unwrap_or_else(|| id.clone()), None)
    });
    let effort = settings.effort.clone().unwrap_or_else(|| "default".into());
    let mut efforts: Vec<OptionChoice> =
        EFFORTS.iter().map(|(value, name)| choice(value, name, None)).collect();
    if !EFFORTS.iter().any(|(value, _)| *value == effort) {
        efforts.push(choice(&effort, &effort, None));
    }
    let harnesses = harnesses().into_iter().map(|(name, about)| choice(name, name, Some(about))).collect();
    vec![
        option("mode", "Mode", OptionKind::Mode, &settings.mode, modes),
        option("model", "Model", OptionKind::Model, &settings.model, models.collect()),
        option("effort", "Effort", OptionKind::Effort, &effort, efforts),
        option("harness", "Harness", OptionKind::Harness, &settings.harness, harnesses),
        option("provider", "Provider", OptionKind::Provider, &settings.provider, ids.collect()),
    ]
}

/// The list with the current one in it.
fn with(list: &[String], current: &str) -> Vec<String> {
    let mut list: Vec<String> = list.to_vec();
    if !list.iter().any(|known| known == current) {
        list.insert(0, current.to_string());
    }
    list.dedup();
    list
}

fn option(id: &str, name: &str, kind: OptionKind, value: &str, choices: Vec<OptionChoice>) -> ConfigOption {
    ConfigOption { id: id.into(), name: name.into(), kind, value: value.into(), choices }
}

fn choice(value: &str, name: &str, about: Option<&str>) -> OptionChoice {
    OptionChoice { value: value.into(), name: name.into(), about: about.map(str::to_string), group: None }
}
