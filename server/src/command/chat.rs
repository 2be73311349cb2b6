//! x
pub(crate) fn run(_: &crate::cli::Shared, _: Option<String>) -> Result<std::process::ExitCode, String> {
    Err("x".into())
}
pub(crate) fn resume(
    _: &crate::cli::Shared,
    _: Option<String>,
    _: bool,
) -> Result<std::process::ExitCode, String> {
    Err("x".into())
}
