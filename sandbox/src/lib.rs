//! The operating system's walls around a command: bubblewrap outside, Landlock and seccomp inside, and a
//! process tree that dies with its command.
//!
//! It knows no model and no session. The engine's `run` calls [`start`]; the binary's hidden subcommand is
//! [`helper`], which puts up the inner walls and then becomes the command.
//!
//! Built and tested on Linux. Elsewhere the level is `none`: only full access runs, and says so.

#[cfg(target_os = "linux")]
mod bwrap;
mod env;
mod guard;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod landlocked;
mod level;
mod policy;
mod running;
#[cfg(target_os = "linux")]
mod syscalls;
mod tree;
mod wall;

pub use env::scrub;
pub use guard::{guarded_in, new_guarded, secrets_in};
pub use level::Level;
pub use policy::{Policy, Refused, Spec};
pub use running::{Piece, Running, start};
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
