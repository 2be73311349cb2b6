//! Signals that ask the program to stop, by number.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

#[cfg(unix)]
use crate::cli::complain;

/// Listens from now on; needs a runtime.
#[cfg(unix)]
pub(super) struct Signals(Vec<(i32, Signal)>);

#[cfg(unix)]
impl Signals {
    /// Ctrl-C, to be asked to end, and to lose the terminal.
    pub(super) fn all() -> Self {
        Self::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])
    }

    /// Those that end a chat, where Ctrl-C is a key.
    pub(super) fn of_a_chat() -> Self {
        Self::of(&[libc::SIGTERM, libc::SIGHUP])
    }

    fn of(numbers: &[i32]) -> Self {
        let listened = numbers.iter().filter_map(|number| match signal(SignalKind::from_raw(*number)) {
            Ok(signal) => Some((*number, signal)),
            Err(error) => {
                complain(&format!("signals: {error}"));
                None
            }
        });
        Self(listened.collect())
    }

    /// Waits for one. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> i32 {
        std::future::poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            match signals.find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number))
            {
                Some(number) => std::task::Poll::Ready(number),
                None => std::task::Poll::Pending,
            }
        })
        .await
    }
}

/// Listens from now on; needs a runtime.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn all() -> Self {
        Self
    }

    pub(super) fn of_a_chat() -> Self {
        Self
    }

    /// Waits for Ctrl-C where it is a signal.
    pub(super) async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 2,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Signals {
    /// The one that came already.
    pub(super) async fn came(&mut self) -> Option<i32> {
        tokio::select! {
            biased;
            number = self.next() => Some(number),
            () = std::future::ready(()) => None,
        }
    }
}
