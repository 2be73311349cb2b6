//! A session as faces see it: what it is, what it really runs with, what can be picked.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct SessionInfo {
    pub id: SessionId,
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    pub title: Option<String>,
    pub settings: Settings,
    pub options: Vec<ConfigOption>,
    pub commands: Vec<SlashCommand>,
    pub running: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct SessionRow {
    pub id: SessionId,
    pub cwd: FilePath,
    pub title: Option<String>,
    pub updated_ms: u64,
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct SlashCommand {
    pub name: String,
    pub about: String,
    pub hint: Option<String>,
}

/// As meant, never as written: what this session really runs with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Settings {
    pub provider: String,
    pub model: String,
    pub effort: Option<String>,
    /// The harness's name, and why it was chosen unless the user fixed it.
    pub harness: String,
    pub harness_why: Option<String>,
    pub mode: String,
    pub approval: Approval,
    pub sandbox: Sandbox,
    pub network: Network,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    Untrusted,
    OnRequest,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    #[serde(rename = "danger-full-access")]
    FullAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    Off,
    On,
}

/// One picker, for every face: ACP option, `/model`, app-server list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct ConfigOption {
    pub id: String,
    pub name: String,
    pub kind: OptionKind,
    pub value: String,
    pub choices: Vec<OptionChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionKind {
    Mode,
    Model,
    Provider,
    Harness,
    Effort,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct OptionChoice {
    pub value: String,
    pub name: String,
    pub about: Option<String>,
    pub group: Option<String>,
}

/// How a session stands. Finished items come from the journal (`Past`), the rest from here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Snapshot {
    pub info: SessionInfo,
    pub seq: u64,
    pub open_items: Vec<Item>,
    pub asks: Vec<Ask>,
    pub tasks: Vec<Task>,
    pub plan: Plan,
    pub usage: Usage,
}

impl std::fmt::Display for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Approval::Untrusted => "untrusted",
            Approval::OnRequest => "on-request",
            Approval::Never => "never",
        })
    }
}

impl std::fmt::Display for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sandbox::ReadOnly => "read-only",
            Sandbox::WorkspaceWrite => "workspace-write",
            Sandbox::FullAccess => "danger-full-access",
        })
    }
}
