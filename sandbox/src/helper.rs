//! `interpreter sandbox-exec JSON -- COMMAND...`: puts up the inner walls, then becomes the command.
//!
//! One thread, no runtime, no configuration: it runs before everything else of the binary. What it is told
//! comes from `inside`, by [`Inner`].

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::inner::{Inner, Stay, Walls};
use crate::landlocked::{self, Fence};
use crate::syscalls::{Around, Filters};
use crate::{keeper, privileges};

/// The body of the hidden subcommand; `args` are those behind its name.
///
/// Ends with 125 when a wall cannot be put up, with 127 or 126 when the program is not there or cannot be
/// run, as shells do.
pub fn helper(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args;
    let inner = match inner(args.next()) {
        Ok(inner) => inner,
        Err(why) => return refuse(&why),
    };
    let argv: Vec<OsString> = args.skip_while(|arg| arg == "--").collect();
    let Some((program, rest)) = argv.split_first() else { return refuse("there is no command") };
    privileges::close_files();
    let ready = match Ready::of(&inner) {
        Ok(ready) => ready,
        Err(why) => return refuse(&why),
    };
    match inner.stay {
        Stay::Leave => become_command(ready, &inner, program, rest),
        Stay::Keep => keeper::keep(&inner, || become_command(ready, &inner, program, rest)),
    }
}

fn inner(policy: Option<OsString>) -> Result<Inner, String> {
    let text = policy.ok_or("there is no policy; this subcommand is for our own use")?;
    serde_json::from_str(&text.to_string_lossy()).map_err(|error| format!("the policy: {error}"))
}

pub(crate) fn refuse(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(crate::REFUSED)
}

fn say(why: &str) {
    // Without a standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "sandbox: {why}");
}

/// Returns only when it failed.
fn become_command(ready: Option<Ready>, inner: &Inner, program: &OsString, args: &[OsString]) -> ExitCode {
    if let Some(Err(why)) = ready.map(Ready::put_up) {
        return refuse(&why);
    }
    let env = inner.env.iter().map(|(name, value)| (name, value));
    let error = Command::new(program).args(args).envs(env).exec();
    say(&format!("{}: {error}", program.to_string_lossy()));
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
}

/// The inner walls, made before there is a second process, so that putting them up is little work.
struct Ready {
    landlock: landlocked::Rules,
    seccomp: Filters,
}

impl Ready {
    /// None for full access.
    fn of(inner: &Inner) -> Result<Option<Self>, String> {
        if inner.walls == Walls::Down {
            return Ok(None);
        }
        let landlock = landlocked::Rules::of(&Fence {
            version: inner.landlock,
            write: &inner.write,
            no_tcp: !inner.bubblewrap && !inner.network,
        })?;
        let seccomp = Filters::of(match inner.bubblewrap {
            true => Around::Bubblewrap { own_net: !inner.network },
            false => Around::Nothing { network: inner.network },
        })?;
        Ok(Some(Self { landlock, seccomp }))
    }

    fn put_up(self) -> Result<(), String> {
        privileges::none_new()?;
        privileges::drop_all()?;
        self.landlock.put_up()?;
        self.seccomp.put_up()
    }
}
