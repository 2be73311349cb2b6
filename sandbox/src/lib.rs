//! The operating system's walls around a command: bubblewrap outside, Landlock and seccomp inside, and a
//! process tree that dies with its command.
//!
//! It knows no model and no session. The engine's `run` calls [`start`]; the binary's hidden subcommand is
//! [`helper`], which stays beside the command as its keeper and puts up the inner walls in front of it.
//!
//! Built and tested on Linux. Elsewhere the level is `none`: only full access runs, and says so.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod calls;
mod env;
mod guard;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod landlocked;
mod level;
#[cfg(target_os = "linux")]
mod mounts;
mod policy;
mod prepared;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod refusals;
mod running;
mod secrets;
#[cfg(target_os = "linux")]
mod signals;
mod start;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod trial;
mod wall;

pub use env::scrub;
pub use guard::{Added, Guarded, is_guarded};
pub use level::Level;
pub use policy::{Policy, Refused, Spec};
pub use running::{Piece, Running};
pub use secrets::secrets_in;
pub use start::start;
pub use wall::Wall;

/// The name of the hidden subcommand that [`helper`] is.
pub const HELPER: &str = "sandbox-exec";
/// The exit code of a helper that could not put up the wall.
pub const REFUSED: u8 = 125;

#[cfg(target_os = "linux")]
pub use helper::helper;

/// There is no wall to put up here.
#[cfg(not(target_os = "linux"))]
pub fn helper(_: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::from(REFUSED)
}
