//! The command line of Open Interpreter: configuration, credentials, trust, and the faces put to the engine.
//!
//! The only crate that reads configuration files and the environment, and that knows clap.

mod cli;
mod command;
mod config;
mod file;
mod flags;
mod house;

use std::process::ExitCode;

/// Runs the program with these arguments, the first being its name.
pub fn main(args: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let args: Vec<std::ffi::OsString> = args.collect();
    // Inside of the sandbox this binary is only the inner wall; nothing else may start there.
    if args.get(1).is_some_and(|arg| arg == sandbox::HELPER) {
        return sandbox::helper(args.into_iter().skip(2));
    }
    cli::run(args)
}
