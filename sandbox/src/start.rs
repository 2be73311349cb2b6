//! The door: which walls a command gets, and its start.

use std::process::Stdio;

use protocol::Sandbox;
use tokio::process::Command;

use crate::level::Level;
use crate::policy::{Refused, Spec};
use crate::prepared::{Kept, Prepared};
use crate::running::{Again, Line, Running};
use crate::wall::Wall;

/// Starts a command inside of the wall.
///
/// Must be called within a tokio runtime. Errors: the wall does not hold what the policy asks for, or the
/// command cannot be started. It is never started with less.
pub fn start(wall: &Wall, spec: Spec) -> Result<Running, Refused> {
    check(&spec)?;
    let running = once(wall, &spec)?;
    Ok(match wall.level {
        Level::Full if spec.policy.sandbox != Sandbox::FullAccess => {
            running.or(Again { wall: wall.clone(), spec })
        }
        Level::Full | Level::Landlock | Level::None => running,
    })
}

pub(crate) fn once(wall: &Wall, spec: &Spec) -> Result<Running, Refused> {
    let mut prepared = prepare(wall, spec)?;
    let command = &mut prepared.command;
    command.env_clear().envs(environment(spec, prepared.kept));
    if spec.policy.sandbox != Sandbox::FullAccess {
        let folder = prepared.temp.as_ref().map_or("/tmp".into(), |temp| temp.path().to_path_buf());
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, &folder);
        }
    }
    let line = match prepared.kept {
        Kept::ByKeeper => {
            let (ours, its) = line().map_err(|error| failed(spec, &error))?;
            command.stdin(its);
            Some(ours)
        }
        Kept::ByGroup => {
            command.stdin(Stdio::null());
            None
        }
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    detach(&mut prepared);
    let child = prepared.command.spawn().map_err(|error| failed(spec, &error))?;
    Ok(Running::new(child, prepared.kept, prepared.temp, line))
}

/// The line to a keeper: our end, and its standard input.
#[cfg(unix)]
fn line() -> std::io::Result<(Line, Stdio)> {
    let (ours, its) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((Line::from_std(ours)?, std::os::fd::OwnedFd::from(its).into()))
}

#[cfg(not(unix))]
fn line() -> std::io::Result<(Line, Stdio)> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn check(spec: &Spec) -> Result<(), Refused> {
    let refused = |why: String, remedy: &str| Err(Refused { why, remedy: remedy.into() });
    if spec.argv.first().is_none_or(String::is_empty) {
        return refused("the command is empty".into(), "give a program to run");
    }
    if spec.argv.iter().any(|word| word.contains('\0')) {
        return refused("the command holds a NUL character".into(), "write it as an escape, for printf");
    }
    if !spec.cwd.is_dir() {
        let why = format!("{}: there is no such folder to run in", spec.cwd.display());
        return refused(why, "give a folder that exists");
    }
    Ok(())
}

fn prepare(wall: &Wall, spec: &Spec) -> Result<Prepared, Refused> {
    match (spec.policy.sandbox, wall.level) {
        #[cfg(target_os = "linux")]
        (Sandbox::FullAccess, _) if wall.helper.is_absolute() => crate::inside::kept(wall, spec),
        (Sandbox::FullAccess, _) => Ok(plain(spec)),
        (_, Level::None) => Err(no_wall(wall)),
        #[cfg(target_os = "linux")]
        (_, Level::Full) => crate::inside::full(wall, spec),
        #[cfg(target_os = "linux")]
        (_, Level::Landlock) => crate::inside::landlocked(wall, spec),
        #[cfg(not(target_os = "linux"))]
        (_, Level::Full | Level::Landlock) => Err(no_wall(wall)),
    }
}

/// Variables that the loader obeys would work on bubblewrap and the helper, in a folder that commands write:
/// the helper sets them for the command alone.
fn environment(spec: &Spec, kept: Kept) -> impl Iterator<Item = (&String, &String)> {
    let given = spec.env.iter().filter(move |(name, _)| kept == Kept::ByGroup || !for_the_loader(name));
    given.map(|(name, value)| (name, value))
}

/// Whether the dynamic loader or the C library takes code or paths from it before a program's first line.
pub(crate) fn for_the_loader(name: &str) -> bool {
    name.starts_with("LD_") || matches!(name, "GLIBC_TUNABLES" | "GCONV_PATH" | "LOCPATH" | "NLSPATH")
}

fn plain(spec: &Spec) -> Prepared {
    let mut command = Command::new(spec.argv.first().map_or("", String::as_str));
    command.args(spec.argv.iter().skip(1)).current_dir(&spec.cwd).kill_on_drop(true);
    Prepared {
        command,
        kept: Kept::ByGroup,
        temp: None,
        #[cfg(target_os = "linux")]
        files: Vec::new(),
    }
}

fn failed(spec: &Spec, error: &std::io::Error) -> Refused {
    let program = spec.argv.first().map_or("the command", String::as_str);
    let remedy = match error.kind() {
        std::io::ErrorKind::ArgumentListTooLong => "shorten the command; put long text into a file",
        std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => "end other commands first",
        _ => "check that the program exists and may be run",
    };
    Refused { why: format!("{program} cannot be started: {error}"), remedy: remedy.into() }
}

fn no_wall(wall: &Wall) -> Refused {
    Refused {
        why: format!("there is no sandbox to run it in: {}", wall.lacks.join("; ")),
        remedy: wall.remedy.clone().unwrap_or_else(|| "choose danger-full-access knowingly".into()),
    }
}

/// Its own session without a terminal, nothing inherited, no core files.
#[cfg(target_os = "linux")]
fn detach(prepared: &mut Prepared) {
    use std::os::fd::AsRawFd;
    let files: Vec<i32> = prepared.files.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: between fork and exec only calls that are safe there are made, on plain numbers; the vector is
    // only read.
    unsafe {
        prepared.command.pre_exec(move || {
            libc::setsid();
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            crate::privileges::close_files();
            for file in &files {
                libc::fcntl(*file, libc::F_SETFD, 0);
            }
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn detach(prepared: &mut Prepared) {
    #[cfg(unix)]
    prepared.command.process_group(0);
}
