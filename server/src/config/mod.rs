//! Configuration: files, flags and environment as what one session runs with.

mod keys;
mod layers;
mod modes;
mod options;
mod provider;
mod raw;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness::{Resolved, Setup};
use protocol::{Level, Notice, Refusal};

pub(crate) use layers::{given, home};
pub(crate) use trust::{is_trusted, project_root};

use layers::Layers;
use raw::Raw;

/// What a broken file means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tolerance {
    /// The program ends with the reason.
    None,
    /// The session starts without the file and says so.
    Broken,
}

/// What the command line and the environment add to the files.
#[derive(Clone, Default)]
pub(crate) struct Given {
    /// `key=value`, in order.
    pub(crate) overrides: Vec<String>,
    pub(crate) profile: Option<String>,
    pub(crate) strict: bool,
    pub(crate) ignore_user: bool,
    pub(crate) add_dirs: Vec<PathBuf>,
    /// A local server that was found, with its models.
    pub(crate) local: Option<Arc<providers::local::Found>>,
    /// What the rehearsal provider plays.
    pub(crate) script: Option<Arc<providers::script::Script>>,
}

/// Reads the files anew for each session, since a session may be years younger than its process.
pub(crate) struct Config {
    pub(crate) home: PathBuf,
    pub(crate) given: Given,
    pub(crate) tolerance: Tolerance,
}

impl Config {
    fn layers(&self, cwd: &Path) -> Result<Layers, String> {
        Layers::read(&self.home, cwd, &self.given, self.tolerance)
    }

    /// The configuration of a folder before any session.
    pub(crate) fn check(&self, cwd: &Path) -> Result<Vec<Notice>, String> {
        let layers = self.layers(cwd)?;
        Raw::from(&layers.merged)?;
        Ok(layers.notices)
    }
}

impl Setup for Config {
    fn resolve(&self, cwd: &Path, chosen: &[(String, String)]) -> Result<Resolved, Refusal> {
        if !cwd.is_absolute() {
            let why = format!("{} is relative", cwd.display());
            return Err(invalid("cwd", why, "give an absolute path"));
        }
        if !cwd.is_dir() {
            let why = format!("{} is no folder", cwd.display());
            return Err(invalid("cwd", why, "give a folder that exists"));
        }
        options::known(chosen)?;
        let layers =
            self.layers(cwd).map_err(|why| invalid("configuration", why, "mend it, or take the key out"))?;
        let raw = Raw::from(&layers.merged)
            .map_err(|why| invalid("configuration", why, "mend the key, or take it out"))?;
        let provider = provider::choose(&raw, chosen, &self.given, &self.home)?;
        let settings = modes::settings(&raw, chosen, layers.trusted, &provider)?;
        let mut writable_roots = raw.workspace.writable_roots.clone();
        writable_roots.extend(self.given.add_dirs.iter().cloned());
        let mut notices = layers.notices;
        notices.extend(provider.notices.iter().cloned());
        let hidden = std::env::home_dir().map(|home| sandbox::secrets_in(&home)).unwrap_or_default();
        // Keys, settings that may hold some, and what other sessions read.
        let own = ["auth.json", "config.toml", "sessions"].map(|name| self.home.join(name));
        Ok(Resolved {
            options: options::offered(&settings, &provider, &raw),
            settings,
            notices,
            trusted: layers.trusted,
            project: project_root(cwd),
            writable_roots,
            hidden: hidden.into_iter().chain(own.into_iter().filter(|path| path.exists())).collect(),
            env: raw.environment(),
            min_level: raw.min_level()?,
            window: raw.model_context_window,
            max_output: raw.model_max_output_tokens,
            doc_bytes: raw.project_doc_max_bytes.unwrap_or(32_768),
            doc_names: raw.project_doc_fallback_filenames.clone().unwrap_or_default(),
            home: self.home.clone(),
            allowed: layers.allowed,
            provider: provider.provider,
        })
    }

    fn trust(&self, cwd: &Path) -> Result<(), String> {
        trust::trust(&self.home, &project_root(cwd))
    }

    fn allow(&self, cwd: &Path, scope: &str) -> Result<(), String> {
        trust::allow(&self.home, &project_root(cwd), scope)
    }
}

pub(crate) fn invalid(what: &str, why: String, remedy: &str) -> Refusal {
    Refusal::Invalid { what: what.into(), why, remedy: remedy.into() }
}

pub(crate) fn warning(title: &str, text: String) -> Notice {
    Notice { level: Level::Warning, title: title.into(), text, retry: None }
}
