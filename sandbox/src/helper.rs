//! `interpreter sandbox-exec JSON -- COMMAND...`: puts up the inner walls, then becomes the command.
//!
//! One process, no threads, no configuration: it runs before everything else of the binary.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::landlocked::{self, Fence};
use crate::syscalls::{self, Around};

/// What the outer half tells the inner one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Inner {
    pub(crate) landlock: u8,
    pub(crate) write: Vec<PathBuf>,
    /// Whether bubblewrap is around.
    pub(crate) bubblewrap: bool,
    pub(crate) network: bool,
}

/// The body of the hidden subcommand; `args` are those behind its name.
pub fn helper(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args;
    let failed = match inner(args.next()) {
        Err(why) => why,
        Ok(inner) => {
            let mut rest = args.skip_while(|arg| arg == "--");
            match (rest.next(), put_up(&inner)) {
                (Some(program), Ok(())) => {
                    let error = Command::new(&program).args(rest).exec();
                    format!("{}: {error}", program.to_string_lossy())
                }
                (None, _) => "no command".into(),
                (_, Err(why)) => why,
            }
        }
    };
    // Without a standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "sandbox: {failed}");
    ExitCode::from(crate::REFUSED)
}

fn inner(policy: Option<OsString>) -> Result<Inner, String> {
    let text = policy.ok_or("no policy")?;
    serde_json::from_str(&text.to_string_lossy()).map_err(|error| format!("the policy: {error}"))
}

fn put_up(inner: &Inner) -> Result<(), String> {
    close_files();
    no_new_privileges()?;
    drop_capabilities()?;
    landlocked::put_up(&Fence {
        version: inner.landlock,
        write: &inner.write,
        no_tcp: !inner.bubblewrap && !inner.network,
    })?;
    syscalls::put_up(match inner.bubblewrap {
        true => Around::Bubblewrap { own_net: !inner.network },
        false => Around::Nothing { network: inner.network },
    })
}

/// Nothing that was open passes into the command.
pub(crate) fn close_files() {
    // SAFETY: it only marks descriptors of this process; no memory is involved.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

fn no_new_privileges() -> Result<(), String> {
    // SAFETY: this option takes four plain numbers.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("no_new_privs: {}", std::io::Error::last_os_error())),
    }
}

/// None now, and none to be had by an exec.
fn drop_capabilities() -> Result<(), String> {
    for capability in 0..64 {
        // SAFETY: plain numbers; capabilities this kernel lacks, or that are gone already, are an error to ignore.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: the header and the six words of version 3 are what the call reads.
    match unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) } {
        0 => Ok(()),
        _ => Err(format!("capabilities: {}", std::io::Error::last_os_error())),
    }
}
