//! Signals that end the chat in good order.

/// Listens from now on.
#[cfg(unix)]
pub(crate) struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    /// To be asked to end, to lose the terminal, and Ctrl-C where it is a signal.
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        Self(kinds.into_iter().flat_map(signal).collect())
    }

    /// Waits for one of them. May be dropped while it waits.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let came = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

/// Listens from now on.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Waits for Ctrl-C where it is a signal.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
