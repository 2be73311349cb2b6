//! Acts that a shell cannot do, one per run: the exit code is 0 when the act succeeded, 1 when it was refused.
//!
//! For the tests of the wall alone; it is their helper, too.

#[cfg(target_os = "linux")]
mod act;
#[cfg(target_os = "linux")]
mod sockets;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|arg| arg == sandbox::HELPER) {
        return sandbox::helper(args.into_iter().skip(2));
    }
    let words: Vec<String> = args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first().and_then(|(name, rest)| run(name, rest)) {
        None => {
            eprintln!("no such act: {words:?}");
            ExitCode::from(9)
        }
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{words:?}: {error}");
            ExitCode::from(1)
        }
    }
}

#[cfg(target_os = "linux")]
fn run(name: &str, words: &[&str]) -> Option<std::io::Result<()>> {
    sockets::run(name, words).or_else(|| act::run(name, words))
}

#[cfg(not(target_os = "linux"))]
fn run(_: &str, _: &[&str]) -> Option<std::io::Result<()>> {
    None
}

/// What a call gave, negative for a failure.
#[cfg(target_os = "linux")]
pub(crate) fn given(value: i64) -> std::io::Result<()> {
    if value < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
pub(crate) fn number(words: &[&str], at: usize) -> i64 {
    words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0)
}
