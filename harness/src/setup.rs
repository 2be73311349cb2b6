//! What the engine is handed: settings, provider and limits of one session, as values.
//!
//! The engine opens no configuration file and no keyring; whoever starts it implements [`Setup`].

use std::path::{Path, PathBuf};

use protocol::{ConfigOption, Notice, Refusal, Settings};
use providers::Provider;

/// Where the engine gets what a session runs with.
pub trait Setup: Send + Sync + 'static {
    /// What a session in `cwd` runs with; `options` are option ids and values that win over the
    /// configuration (a face's pickers, a resumed session's stored settings).
    ///
    /// Errors: `NoModel` when no provider is usable, `Unknown` for an option or value that is not there,
    /// `Invalid` for a relative or missing `cwd`.
    fn resolve(&self, cwd: &Path, options: &[(String, String)]) -> Result<Resolved, Refusal>;

    /// The person said that the project around `cwd` may be trusted; kept for later sessions.
    ///
    /// Errors: what happened, as a text for the person.
    fn trust(&self, cwd: &Path) -> Result<(), String>;

    /// The person allowed this scope (`run:cargo test`, `edit`, `fetch:example.org`) for good in the
    /// project around `cwd`.
    ///
    /// Errors: what happened, as a text for the person.
    fn allow(&self, cwd: &Path, scope: &str) -> Result<(), String>;
}

/// What one session runs with.
#[derive(Clone)]
pub struct Resolved {
    pub settings: Settings,
    /// The pickers with their current values.
    pub options: Vec<ConfigOption>,
    pub provider: Provider,
    /// What the person should know: unknown keys, a broken file, an ignored project configuration.
    pub notices: Vec<Notice>,
    pub trusted: bool,
    /// The project around cwd, links followed: what `trust` and `allow` are kept for.
    pub project: PathBuf,
    /// Writable folders beside cwd and the session's roots.
    pub writable_roots: Vec<PathBuf>,
    /// Paths that commands may neither read nor write.
    pub hidden: Vec<PathBuf>,
    /// The whole environment of commands, scrubbed.
    pub env: Vec<(String, String)>,
    /// The lowest level of the wall that may run a command.
    pub min_level: sandbox::Level,
    /// Tokens that the model can hold, if known.
    pub window: Option<u64>,
    /// Tokens that one answer may have, if set.
    pub max_output: Option<u32>,
    /// AGENTS.md: bytes of project files at most, and further file names to look for.
    pub doc_bytes: usize,
    pub doc_names: Vec<String>,
    /// The folder that may hold a global AGENTS.md (the product's home).
    pub home: PathBuf,
    /// Scopes allowed for good, as `Setup::allow` stored them.
    pub allowed: Vec<String>,
}

/// The settings of this moment with the connection that goes with them.
pub(crate) struct Live {
    pub(crate) resolved: Resolved,
    pub(crate) model: providers::Model,
}

impl Live {
    pub(crate) fn new(resolved: Resolved) -> Self {
        let model = providers::Model::new(resolved.provider.clone());
        Self { resolved, model }
    }
}
