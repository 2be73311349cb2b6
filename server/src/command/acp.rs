//! x
pub(crate) fn run(_: &crate::cli::Shared) -> Result<std::process::ExitCode, String> { Err("x".into()) }
