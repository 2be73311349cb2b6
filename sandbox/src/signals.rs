//! What a keeper waits for: ends of children, signals, and the line from the engine, in one place.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Signals that are read instead of obeyed.
pub(crate) struct Signals {
    before: libc::sigset_t,
    file: OwnedFd,
}

/// What a wait ended with.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    /// A child may have ended, or the time is over.
    Nothing,
    /// The tree is to be asked to end.
    Ask,
    /// The line is cut: the tree is to be killed.
    Kill,
}

impl Signals {
    pub(crate) fn hold() -> std::io::Result<Self> {
        let held = set(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
        let mut before = set(&[]);
        // SAFETY: both sets are valid; the descriptor is new and ours.
        unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &raw const held, &raw mut before);
            match libc::signalfd(-1, &raw const held, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(std::io::Error::last_os_error()),
                file => Ok(Self { before, file: OwnedFd::from_raw_fd(file) }),
            }
        }
    }

    /// For the child: obeys them again.
    pub(crate) fn release(&self) {
        // SAFETY: the set was filled by `hold`.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }

    /// Waits for a child's end, a word of the engine, or that long.
    pub(crate) fn wait(&self, at_most: Option<Duration>) -> Told {
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut files = [entry(0), entry(self.file.as_raw_fd())];
        let limit = at_most.map_or(-1, |most| i32::try_from(most.as_millis()).unwrap_or(i32::MAX - 1) + 1);
        // SAFETY: two entries, as said.
        unsafe { libc::poll(files.as_mut_ptr(), 2, limit) };
        let [line, signals] = files;
        let asked = signals.revents != 0 && self.read();
        match (line.revents != 0, asked) {
            (true, _) => read_line(),
            (false, true) => Told::Ask,
            (false, false) => Told::Nothing,
        }
    }

    /// Whether any of the waiting signals asks for the end.
    fn read(&self) -> bool {
        let mut asked = false;
        loop {
            // SAFETY: plain memory, filled by the call with whole records only.
            let mut told: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
            let size = std::mem::size_of_val(&told);
            // SAFETY: as above.
            let got = unsafe { libc::read(self.file.as_raw_fd(), (&raw mut told).cast(), size) };
            if usize::try_from(got) != Ok(size) {
                return asked;
            }
            asked |= told.ssi_signo != libc::SIGCHLD.unsigned_abs();
        }
    }
}

fn read_line() -> Told {
    let mut bytes = [0u8; 64];
    // SAFETY: as many bytes as there is room for.
    match unsafe { libc::read(0, bytes.as_mut_ptr().cast(), bytes.len()) } {
        1.. => Told::Ask,
        _ => Told::Kill,
    }
}

fn set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: plain memory that the first call fills.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Ends this process as the signal does; no core is left, by the limit set at the start.
pub(crate) fn die_of(signal: i32) {
    let set = set(&[signal]);
    // SAFETY: the default handler, and a valid set.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
