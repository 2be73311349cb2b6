//! x
pub(crate) fn run() -> Result<std::process::ExitCode, String> { Err("x".into()) }
