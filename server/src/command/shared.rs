//! Flags as configuration and as options of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness::Setup;
use protocol::FilePath;
use providers::local::{self, Local};

use crate::cli::warn;
use crate::config::{Config, Given, Tolerance, home};
use crate::flags::{ApprovalArg, LocalArg, SandboxArg, Shared};

/// The folder to work in, absolute.
pub(super) fn folder(shared: &Shared) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("this folder: {error}"))?;
    let Some(dir) = &shared.cd else {
        exact("this folder", &here)?;
        return Ok(here);
    };
    let real = real("--cd", &here.join(dir))?;
    if real.is_dir() { Ok(real) } else { Err(format!("--cd {}: it is no folder", real.display())) }
}

/// Further folders, absolute.
pub(super) fn folders(shared: &Shared, cwd: &Path) -> Result<Vec<PathBuf>, String> {
    shared.add_dir.iter().map(|dir| real("--add-dir", &cwd.join(dir))).collect()
}

/// The same for a session.
pub(super) fn roots(shared: &Shared, cwd: &Path) -> Result<Vec<FilePath>, String> {
    folders(shared, cwd)?.iter().map(|dir| exact("--add-dir", dir)).collect()
}

/// A path that is there, links resolved, whose name is text.
pub(super) fn real(what: &str, path: &Path) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| format!("{what} {path:?}: {error}"))?;
    exact(what, &real)?;
    Ok(real)
}

/// A path for people and wires. One that is no UTF-8 is refused: written as text it would name another.
pub(super) fn exact(what: &str, path: &Path) -> Result<FilePath, String> {
    FilePath::exact(path).ok_or_else(|| format!("{what}: {path:?} is no UTF-8; rename it, then try again"))
}

/// What a session is opened with, from flags alone: these win over what it stored.
pub(super) fn options(shared: &Shared) -> Vec<(String, String)> {
    let mut options = Vec::new();
    let mut set = |id: &str, value: &str| options.push((id.to_string(), value.to_string()));
    if let Some(model) = &shared.model {
        set("model", model);
    }
    if shared.full_auto {
        set("mode", "auto");
    }
    if shared.yolo {
        set("mode", "full-access");
    }
    match shared.sandbox {
        Some(SandboxArg::ReadOnly) => set("sandbox_mode", "read-only"),
        Some(SandboxArg::WorkspaceWrite) => set("sandbox_mode", "workspace-write"),
        Some(SandboxArg::DangerFullAccess) => set("sandbox_mode", "danger-full-access"),
        None => {}
    }
    match shared.approval {
        Some(ApprovalArg::Untrusted) => set("approval_policy", "untrusted"),
        Some(ApprovalArg::OnFailure | ApprovalArg::OnRequest) => set("approval_policy", "on-request"),
        Some(ApprovalArg::Never) => set("approval_policy", "never"),
        None => {}
    }
    options
}

/// The same as configuration, for a face whose sessions choose for themselves.
pub(super) fn overrides(shared: &Shared) -> Vec<String> {
    let mut overrides = Vec::new();
    let mut set = |key: &str, value: &str| overrides.push(format!("{key}={}", serde_json::json!(value)));
    for (id, value) in options(shared) {
        match (id.as_str(), value.as_str()) {
            // A file's halves would win over a mode.
            ("mode", "full-access") => {
                set("sandbox_mode", "danger-full-access");
                set("approval_policy", "never");
            }
            ("mode", _) => {
                set("sandbox_mode", "workspace-write");
                set("approval_policy", "never");
            }
            (id, value) => set(id, value),
        }
    }
    overrides
}

/// The configuration with these flags; looks for a local server where one was asked for.
pub(super) async fn config(shared: &Shared, tolerance: Tolerance) -> Result<Config, String> {
    for flag in shared.without_effect() {
        warn(&format!("{flag} has no effect here"));
    }
    let mut given = Given {
        overrides: shared.config.clone(),
        profile: shared.profile.clone(),
        strict: shared.strict_config,
        ..Given::default()
    };
    if shared.oss || shared.local_provider.is_some() {
        let kinds: &[Local] = match shared.local_provider {
            Some(LocalArg::Ollama) => &[Local::Ollama],
            Some(LocalArg::Lmstudio) => &[Local::LmStudio],
            None => &[Local::Ollama, Local::LmStudio],
        };
        let found = local::find(kinds, &|name| std::env::var(name).ok()).await.map_err(|asked| {
            let start: Vec<&str> = kinds.iter().map(|kind| how_to_start(*kind)).collect();
            format!(
                "no local model server answers; asked {}; start one: {}",
                asked.join(", "),
                start.join(", or ")
            )
        })?;
        given.local = Some(Arc::new(found));
    }
    Ok(Config { home: home()?, given, tolerance })
}

fn how_to_start(kind: Local) -> &'static str {
    match kind {
        Local::Ollama => "ollama serve",
        Local::LmStudio => "lms server start",
    }
}

/// What there is to say of the configuration, where no session will be opened that says it.
pub(super) fn forewarn(config: &Config, cwd: &Path, options: &[(String, String)]) {
    if config.resolve(cwd, options).is_ok() {
        return;
    }
    for notice in config.check(cwd).unwrap_or_default() {
        warn(&format!("{}: {}", notice.title, notice.text));
    }
}
