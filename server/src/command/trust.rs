//! `interpreter trust [DIR]`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use harness::Setup;

use crate::config::{Config, Given, Tolerance, home, project_root};

pub(crate) fn run(dir: Option<PathBuf>) -> Result<ExitCode, String> {
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    let cwd = dir.canonicalize().map_err(|error| format!("{}: {error}", dir.display()))?;
    let config = Config { home: home()?, given: Given::default(), tolerance: Tolerance::None };
    config.trust(&cwd)?;
    // It is done, whether or not somebody reads so.
    let _ = writeln!(std::io::stdout(), "trusted: {}", project_root(&cwd).display());
    Ok(ExitCode::SUCCESS)
}
