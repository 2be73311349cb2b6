//! The keeper: the helper's own process, that stays beside the command and ends its whole tree with it.
//!
//! It stands outside of the inner walls, so the command cannot reach it, and inherits what the command's
//! processes leave behind. Its standard input is a line to the engine: a byte to it says that all is ready, a byte
//! from it asks the tree to end, the end of the line (the engine stopped it, or is gone) kills it. So nothing outlives a killed engine either.

use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::helper::refuse;
use crate::inner::Inner;
use crate::processes;
use crate::signals::{Signals, Told};

/// How long processes that the command left behind may go on: the reader of a pipe writes its last line.
const GRACE: Duration = Duration::from_millis(250);
/// How long a tree may take to be gone.
const KILL: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(2);

/// Runs `command`, which only returns when it failed, in a child, and waits for its tree.
pub(crate) fn keep(inner: &Inner, command: impl FnOnce() -> ExitCode) -> ExitCode {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let signals = match Signals::hold() {
        Ok(signals) => signals,
        Err(error) => return refuse(&format!("signals: {error}")),
    };
    if let Err(error) = say_ready() {
        return refuse(&format!("the line to the engine: {error}"));
    }
    // SAFETY: getpid has no preconditions; this process has one thread, so its child may go on as it likes.
    let (own, child) = unsafe { (libc::getpid(), libc::fork()) };
    match child {
        -1 => refuse(&format!("fork: {}", std::io::Error::last_os_error())),
        0 => match stand_alone(own, &signals) {
            Ok(()) => command(),
            Err(error) => refuse(&format!("a session of its own: {error}")),
        },
        main => {
            // Nobody traces it, not even without Landlock.
            // SAFETY: plain numbers.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
            let end = Watch { own, main, signals, end: None }.until_the_end();
            if let Some(temp) = &inner.temp {
                // What cannot be removed lies in the system's folder for temporary files.
                let _ = std::fs::remove_dir_all(temp);
            }
            end_as(end, inner.bubblewrap)
        }
    }
}

/// From here on the command may have begun, and is not to be started once more.
fn say_ready() -> std::io::Result<()> {
    // SAFETY: one byte that is there.
    match unsafe { libc::write(0, b"r".as_ptr().cast(), 1) } {
        1 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The command's side of the fork: its own session, no input, and an end with its keeper.
fn stand_alone(keeper: i32, signals: &Signals) -> std::io::Result<()> {
    signals.release();
    let null = std::fs::File::open("/dev/null")?;
    // SAFETY: plain numbers and descriptors of this process.
    let done = unsafe {
        libc::setsid() != -1
            && libc::dup2(null.as_raw_fd(), 0) != -1
            && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == 0
    };
    if !done {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: getppid has no preconditions.
    if unsafe { libc::getppid() } != keeper {
        return Err(std::io::Error::other("the keeper is gone"));
    }
    Ok(())
}

struct Watch {
    own: i32,
    main: i32,
    signals: Signals,
    /// The command's own end, once it has come.
    end: Option<(libc::c_int, Instant)>,
}

enum Left {
    Some,
    None,
}

impl Watch {
    /// The wait status of the command; none when it was killed first.
    fn until_the_end(mut self) -> Option<libc::c_int> {
        let_go_of_output();
        while let Left::Some = self.reap() {
            let rest = self.end.map(|(_, at)| GRACE.saturating_sub(at.elapsed()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                break;
            }
            match self.signals.wait(rest) {
                Told::Nothing => {}
                Told::Ask => self.send(libc::SIGTERM),
                Told::Kill => break,
            }
        }
        // One that forks all the time is met again at its children.
        let until = Instant::now() + KILL;
        while let Left::Some = self.reap() {
            if Instant::now() > until {
                break;
            }
            self.send(libc::SIGKILL);
            std::thread::sleep(AGAIN);
        }
        self.end.map(|(status, _)| status)
    }

    fn send(&self, signal: i32) {
        for pid in processes::below(self.own) {
            // SAFETY: plain numbers; a process that is gone meanwhile is an error to ignore.
            unsafe { libc::kill(pid, signal) };
        }
    }

    /// Takes the ends that have come.
    fn reap(&mut self) -> Left {
        loop {
            let mut status = 0;
            // SAFETY: the status is ours to write.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                0 => return Left::Some,
                pid if pid == self.main => self.end = Some((status, Instant::now())),
                pid if pid > 0 => {}
                _ => return Left::None,
            }
        }
    }
}

/// A reader of the output must see its end when the tree is gone, not when the keeper is.
fn let_go_of_output() {
    let Ok(null) = std::fs::File::options().write(true).open("/dev/null") else { return };
    for standard in [1, 2] {
        // SAFETY: descriptors of this process.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
}

/// Ends as the command did.
fn end_as(status: Option<libc::c_int>, first_of_its_space: bool) -> ExitCode {
    let signal = match status {
        Some(status) if libc::WIFEXITED(status) => {
            return ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX));
        }
        Some(status) => libc::WTERMSIG(status),
        None => libc::SIGKILL,
    };
    if !first_of_its_space {
        crate::signals::die_of(signal);
    }
    // The first process of a pid namespace is not ended by its own signals; shells say it so.
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
