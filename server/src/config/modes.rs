//! Modes: names for pairs of sandbox and approvals, and the settings that come of everything chosen.

use protocol::{Approval, Network, Refusal, Sandbox, Settings};

use super::invalid;
use super::options::value;
use super::provider::Chosen;
use super::raw::Raw;

/// One mode: its name, words, and what it means.
pub(crate) struct Mode {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) sandbox: Sandbox,
    pub(crate) approval: Approval,
}

/// All modes, the most careful first.
pub(crate) const MODES: &[Mode] = &[
    Mode {
        id: "plan",
        name: "Plan",
        about: "Looks and plans; changes nothing and asks nothing",
        sandbox: Sandbox::ReadOnly,
        approval: Approval::Never,
    },
    Mode {
        id: "read-only",
        name: "Read only",
        about: "Reads and runs commands that change nothing; asks before a change",
        sandbox: Sandbox::ReadOnly,
        approval: Approval::OnRequest,
    },
    Mode {
        id: "workspace-write",
        name: "Workspace",
        about: "Works in the project inside of the sandbox; asks before it leaves it",
        sandbox: Sandbox::WorkspaceWrite,
        approval: Approval::OnRequest,
    },
    Mode {
        id: "auto",
        name: "Auto",
        about: "Works in the project inside of the sandbox; what would leave it fails",
        sandbox: Sandbox::WorkspaceWrite,
        approval: Approval::Never,
    },
    Mode {
        id: "full-access",
        name: "Full access",
        about: "No sandbox and no questions",
        sandbox: Sandbox::FullAccess,
        approval: Approval::Never,
    },
];

/// The mode of a pair that has no name.
pub(crate) const CUSTOM: &str = "custom";

/// What a session really runs with.
pub(crate) fn settings(
    raw: &Raw,
    chosen: &[(String, String)],
    trusted: bool,
    provider: &Chosen,
) -> Result<Settings, Refusal> {
    let picked = value(chosen, "mode").filter(|mode| *mode != CUSTOM);
    let default = if trusted { "workspace-write" } else { "read-only" };
    let base = mode(picked.or(raw.mode.as_deref()).unwrap_or(default))?;
    // A picked mode wins over halves in the files; halves picked beside it win over the mode.
    let half = |id: &str, file: &Option<String>| {
        let file = file.as_deref().filter(|_| picked.is_none());
        value(chosen, id).or(file).map(str::to_string)
    };
    let sandbox = half("sandbox_mode", &raw.sandbox_mode).map_or(Ok(base.sandbox), |name| sandbox(&name))?;
    let approval =
        half("approval_policy", &raw.approval_policy).map_or(Ok(base.approval), |name| approval(&name))?;
    let harness = value(chosen, "harness").or(raw.harness.as_deref()).filter(|name| !name.is_empty());
    let effort = value(chosen, "effort").map(str::to_string).or_else(|| raw.model_reasoning_effort.clone());
    Ok(Settings {
        provider: provider.provider.id.clone(),
        model: provider.model.clone(),
        effort: effort.filter(|effort| effort != "default"),
        harness: harness.unwrap_or("native").to_string(),
        harness_why: harness.is_none().then(|| "the default".to_string()),
        mode: name_of(base, sandbox, approval).to_string(),
        approval,
        sandbox,
        network: if raw.workspace.network_access || sandbox == Sandbox::FullAccess {
            Network::On
        } else {
            Network::Off
        },
    })
}

/// Whether the words of a layer are known ones, also where a face puts others in their place.
pub(super) fn known(raw: &Raw) -> Result<(), Refusal> {
    raw.mode.as_deref().map(mode).transpose()?;
    raw.sandbox_mode.as_deref().map(sandbox).transpose()?;
    raw.approval_policy.as_deref().map(approval).transpose()?;
    match raw.harness.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => super::options::known(&[("harness".into(), name.into())]),
        None => Ok(()),
    }
}

/// The chosen mode as long as both halves are its own, else the mode they make, else none.
fn name_of(base: &Mode, sandbox: Sandbox, approval: Approval) -> &'static str {
    if (base.sandbox, base.approval) == (sandbox, approval) {
        return base.id;
    }
    let same =
        MODES.iter().find(|mode| mode.id != "plan" && (mode.sandbox, mode.approval) == (sandbox, approval));
    same.map_or(CUSTOM, |mode| mode.id)
}

fn mode(name: &str) -> Result<&'static Mode, Refusal> {
    MODES.iter().find(|mode| mode.id == name).ok_or_else(|| Refusal::Unknown {
        what: "mode".into(),
        name: name.into(),
        known: MODES.iter().map(|mode| mode.id.to_string()).collect(),
    })
}

fn sandbox(name: &str) -> Result<Sandbox, Refusal> {
    match name {
        "read-only" => Ok(Sandbox::ReadOnly),
        "workspace-write" => Ok(Sandbox::WorkspaceWrite),
        "danger-full-access" => Ok(Sandbox::FullAccess),
        other => Err(Refusal::Unknown {
            what: "sandbox_mode".into(),
            name: other.into(),
            known: ["read-only", "workspace-write", "danger-full-access"].map(str::to_string).to_vec(),
        }),
    }
}

fn approval(name: &str) -> Result<Approval, Refusal> {
    match name {
        "untrusted" => Ok(Approval::Untrusted),
        // Codex's earlier name for nearly the same.
        "on-request" | "on-failure" => Ok(Approval::OnRequest),
        "never" => Ok(Approval::Never),
        other => Err(invalid(
            "approval_policy",
            format!("{other:?} is unknown"),
            "give untrusted, on-request or never",
        )),
    }
}
