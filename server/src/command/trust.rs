//! `interpreter trust [DIR]`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use harness::Setup;

use super::shared;
use crate::cli::Trouble;
use crate::config::{Config, Given, Tolerance, home, project_root};

pub(crate) fn run(dir: Option<PathBuf>) -> Result<ExitCode, Trouble> {
    let cwd = shared::real("trust", &dir.unwrap_or_else(|| PathBuf::from(".")))?;
    if !cwd.is_dir() {
        return Err(format!("trust {}: it is no folder; give a folder", cwd.display()).into());
    }
    let config = Config { home: home()?, given: Given::default(), tolerance: Tolerance::None };
    config.trust(&cwd)?;
    // It is done, whether or not somebody reads so.
    let _ = writeln!(std::io::stdout(), "trusted: {}", project_root(&cwd).display());
    Ok(ExitCode::SUCCESS)
}
