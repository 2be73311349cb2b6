//! A command under way: its output in order of arrival, its end, and its whole tree ended with it.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use protocol::{RunEnd, Sandbox};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::Instant;

use crate::level::Level;
use crate::policy::{Refused, Spec};
use crate::tree;
use crate::wall::Wall;

/// How long others may hold the output open after the command itself has ended.
const GRACE: Duration = Duration::from_millis(300);
/// Between asking and forcing.
const TERM: Duration = Duration::from_millis(200);
const PIECE_BYTES: usize = 32 * 1024;

/// What a command does next.
#[derive(Debug, PartialEq)]
pub enum Piece {
    Out(Vec<u8>),
    Err(Vec<u8>),
    /// `Exited` or `Signalled`; the last piece.
    Ended(RunEnd),
}

/// A command under way. Dropped, its whole tree is killed.
pub struct Running {
    child: Child,
    pid: u32,
    mark: String,
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    ended: Option<(ExitStatus, Instant)>,
    told: bool,
    /// Whether a pid namespace ends what the command leaves behind.
    contained: bool,
    /// A private folder for temporary files, where bubblewrap does not give one.
    temp: Option<PathBuf>,
}

/// Starts a command inside of the wall.
///
/// Errors: the wall does not hold what the policy asks for, or the command cannot be started. It is
/// never started with less.
pub fn start(wall: &Wall, spec: Spec) -> Result<Running, Refused> {
    let mark = tree::mark();
    let mut temp = None;
    let contained = wall.level == Level::Full && spec.policy.sandbox != Sandbox::FullAccess;
    let mut command = match (spec.policy.sandbox, wall.level) {
        (Sandbox::FullAccess, _) => plain(&spec)?,
        (_, Level::None) => return Err(no_wall(wall)),
        #[cfg(target_os = "linux")]
        (_, Level::Full) => inside::full(wall, &spec)?,
        #[cfg(target_os = "linux")]
        (_, Level::Landlock) => {
            let folder = inside::private_temp(&mark)?;
            let command = inside::landlocked(wall, &spec, &folder);
            temp = Some(folder);
            command?
        }
        #[cfg(not(target_os = "linux"))]
        (_, Level::Full | Level::Landlock) => return Err(no_wall(wall)),
    };
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    if spec.policy.sandbox != Sandbox::FullAccess {
        let folder = temp.clone().unwrap_or_else(|| PathBuf::from("/tmp"));
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, &folder);
        }
    }
    command.env(tree::MARK, &mark);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    detach(&mut command);
    let spawned = command.spawn();
    let mut child = spawned.map_err(|error| Refused {
        why: format!(
            "{} cannot be started: {error}",
            spec.argv.first().map_or("the command", String::as_str)
        ),
        remedy: "check that the program and the folder exist".into(),
    })?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let pid = child.id().unwrap_or(0);
    Ok(Running { child, pid, mark, out, err, ended: None, told: false, contained, temp })
}

fn plain(spec: &Spec) -> Result<Command, Refused> {
    let Some((program, args)) = spec.argv.split_first() else { return Err(empty()) };
    let mut command = Command::new(program);
    command.args(args).current_dir(&spec.cwd);
    Ok(command)
}

fn empty() -> Refused {
    Refused { why: "the command is empty".into(), remedy: "give a program to run".into() }
}

fn no_wall(wall: &Wall) -> Refused {
    Refused {
        why: format!("there is no sandbox to run it in: {}", wall.lacks.join("; ")),
        remedy: wall.remedy.clone().unwrap_or_else(|| "choose danger-full-access knowingly".into()),
    }
}

/// Its own session without a terminal, nothing inherited, no core files, and an end with ours.
#[cfg(target_os = "linux")]
fn detach(command: &mut Command) {
    // SAFETY: between fork and exec only calls that are safe there are made, on plain numbers.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            crate::helper::close_files();
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn detach(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true);
}

#[cfg(target_os = "linux")]
mod inside {
    use std::path::{Path, PathBuf};

    use protocol::{Network, Sandbox};
    use tokio::process::Command;

    use super::{Refused, Spec, Wall, empty};
    use crate::helper::Inner;
    use crate::{HELPER, bwrap, landlocked};

    pub(super) fn full(wall: &Wall, spec: &Spec) -> Result<Command, Refused> {
        let Some(program) = &wall.bwrap else {
            return Err(Refused { why: "bubblewrap is gone".into(), remedy: "install bubblewrap".into() });
        };
        let mut write = vec![PathBuf::from("/tmp"), PathBuf::from("/dev")];
        write.extend(writable(spec));
        let mut command = Command::new(program);
        command.args(bwrap::arguments(&spec.policy, &spec.cwd, &wall.helper));
        helper(&mut command, wall, spec, write, true)?;
        // bubblewrap goes there itself, inside.
        command.current_dir("/");
        Ok(command)
    }

    pub(super) fn landlocked(wall: &Wall, spec: &Spec, temp: &Path) -> Result<Command, Refused> {
        let mut write = landlocked::harmless_devices();
        write.push(temp.to_path_buf());
        write.extend(writable(spec));
        let mut command = Command::new(&wall.helper);
        let inner = inner(wall, spec, write, false);
        command.args([HELPER, &inner, "--"]).args(&spec.argv).current_dir(&spec.cwd);
        if spec.argv.is_empty() { Err(empty()) } else { Ok(command) }
    }

    fn helper(
        command: &mut Command,
        wall: &Wall,
        spec: &Spec,
        write: Vec<PathBuf>,
        around: bool,
    ) -> Result<(), Refused> {
        if spec.argv.is_empty() {
            return Err(empty());
        }
        let inner = inner(wall, spec, write, around);
        command.arg(&wall.helper).args([HELPER, &inner, "--"]).args(&spec.argv);
        Ok(())
    }

    fn inner(wall: &Wall, spec: &Spec, write: Vec<PathBuf>, bubblewrap: bool) -> String {
        let network = spec.policy.network == Network::On;
        let inner = Inner { landlock: wall.landlock, write, bubblewrap, network };
        // Paths that are no UTF-8 cannot be written; then the helper refuses.
        serde_json::to_string(&inner).unwrap_or_default()
    }

    fn writable(spec: &Spec) -> Vec<PathBuf> {
        match spec.policy.sandbox {
            Sandbox::WorkspaceWrite => spec.policy.roots.clone(),
            Sandbox::ReadOnly | Sandbox::FullAccess => Vec::new(),
        }
    }

    /// A folder for temporary files that nobody else has.
    pub(super) fn private_temp(mark: &str) -> Result<PathBuf, Refused> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = std::env::temp_dir().join(format!("interpreter-{mark}"));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(|error| Refused {
            why: format!("no private folder for temporary files: {}: {error}", folder.display()),
            remedy: "check TMPDIR".into(),
        })?;
        Ok(folder)
    }
}

enum Next {
    Out(std::io::Result<usize>),
    Err(std::io::Result<usize>),
    Exit(std::io::Result<ExitStatus>),
    Late,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The next thing it does; none after its end was told.
    pub async fn next(&mut self) -> Option<Piece> {
        let (mut out_bytes, mut err_bytes) =
            (Vec::with_capacity(PIECE_BYTES), Vec::with_capacity(PIECE_BYTES));
        loop {
            if self.told {
                return None;
            }
            if let (Some((status, _)), None, None) = (&self.ended, &self.out, &self.err) {
                let end = run_end(*status);
                self.told = true;
                self.kill();
                return Some(Piece::Ended(end));
            }
            let late = self.ended.as_ref().map(|(_, at)| *at + GRACE);
            let (out, err) = (&mut self.out, &mut self.err);
            let next = tokio::select! {
                read = async { match out { Some(out) => out.read_buf(&mut out_bytes).await, None => std::future::pending().await } } => Next::Out(read),
                read = async { match err { Some(err) => err.read_buf(&mut err_bytes).await, None => std::future::pending().await } } => Next::Err(read),
                status = self.child.wait(), if self.ended.is_none() => Next::Exit(status),
                () = async { match late { Some(at) => tokio::time::sleep_until(at).await, None => std::future::pending().await } } => Next::Late,
            };
            match next {
                Next::Out(Ok(0) | Err(_)) => self.out = None,
                Next::Out(Ok(_)) => return Some(Piece::Out(out_bytes)),
                Next::Err(Ok(0) | Err(_)) => self.err = None,
                Next::Err(Ok(_)) => return Some(Piece::Err(err_bytes)),
                Next::Exit(Ok(status)) => self.ended = Some((status, Instant::now())),
                Next::Exit(Err(_)) => {
                    self.told = true;
                    return Some(Piece::Ended(RunEnd::Stopped));
                }
                Next::Late => (self.out, self.err) = (None, None),
            }
        }
    }

    /// Asks the tree to end, then forces it; returns when the command is gone.
    pub async fn stop(&mut self) {
        if self.ended.is_none() {
            self.signal(Signal::Ask);
            if tokio::time::timeout(TERM, self.child.wait()).await.is_err() {
                self.signal(Signal::Force);
                // The kernel ends it now; waiting longer than this would be for a stuck disk.
                let _ = tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await;
            }
        }
        self.signal(Signal::Force);
        self.told = true;
    }

    fn kill(&self) {
        self.signal(Signal::Force);
    }

    fn signal(&self, signal: Signal) {
        #[cfg(unix)]
        let number = match signal {
            Signal::Ask => libc::SIGTERM,
            Signal::Force => libc::SIGKILL,
        };
        #[cfg(not(unix))]
        let number = signal as i32;
        match (&self.ended, self.contained) {
            // The pid may be somebody else's by now.
            (Some(_), true) => {}
            (Some(_), false) => tree::signal_marked(&self.mark, number),
            (None, _) => {
                tree::signal_group(self.pid, number);
                tree::signal_marked(&self.mark, number);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Ask,
    Force,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if let Some(temp) = &self.temp {
            // What cannot be removed is in the system's folder for temporary files.
            let _ = std::fs::remove_dir_all(temp);
        }
    }
}

#[cfg(unix)]
fn run_end(status: ExitStatus) -> RunEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, Some(signal)) => RunEnd::Signalled(signal),
        (None, None) => RunEnd::Stopped,
    }
}

#[cfg(not(unix))]
fn run_end(status: ExitStatus) -> RunEnd {
    status.code().map_or(RunEnd::Stopped, RunEnd::Exited)
}
