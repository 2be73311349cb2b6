//! What comes from the engine one by one, and signals beside it: the first asks the turn to end, a second
//! one, or too long a wait, ends the run.

use std::collections::VecDeque;
use std::time::Duration;

use link::Client;
use protocol::{Command, Down, Order, SessionId, Target, Up};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::exec::Signal;

/// How long a turn that was told to end may take; the engine itself promises less.
const PATIENCE: Duration = Duration::from_secs(3);
/// The tag of commands whose answer nobody waits for.
const UNTOLD: u64 = 0;

/// The link with its queue, and the way in for signals.
pub(crate) struct Inbox {
    client: Client,
    waits: VecDeque<Down>,
    signals: mpsc::Receiver<Signal>,
    tags: u64,
    /// The session that a signal is for.
    pub(crate) session: Option<SessionId>,
    pub(crate) stopping: Option<Stopping>,
}

/// The run shall end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping {
    pub(crate) why: Why,
    deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Signal(Signal),
    /// The reader of the output is gone.
    Unread,
}

/// Nothing more will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The engine is gone.
    Engine,
    /// A second signal, or the turn did not end in time.
    Impatient,
}

impl Inbox {
    pub(crate) fn new(client: Client, signals: mpsc::Receiver<Signal>) -> Self {
        Self { client, waits: VecDeque::new(), signals, tags: UNTOLD, session: None, stopping: None }
    }

    /// Sends a command; its answer carries this tag.
    pub(crate) async fn send(&mut self, command: Command) -> Result<u64, Over> {
        self.tags += 1;
        let tag = self.tags;
        self.client.send(Up::Command { tag, command }).await.map_err(|_| Over::Engine)?;
        Ok(tag)
    }

    /// Sends an order without waiting for its answer.
    pub(crate) async fn tell(&self, order: Order) -> Result<(), Over> {
        let Some(session) = self.session.clone() else { return Ok(()) };
        let command = Command::Session { session, order };
        self.client.send(Up::Command { tag: UNTOLD, command }).await.map_err(|_| Over::Engine)
    }

    /// Whether something can be handled without waiting.
    pub(crate) fn has_more(&self) -> bool {
        !self.waits.is_empty()
    }

    /// The next thing the engine says.
    pub(crate) async fn next(&mut self) -> Result<Down, Over> {
        loop {
            if let Some(down) = self.waits.pop_front() {
                return Ok(down);
            }
            tokio::select! {
                biased;
                signal = heard(&mut self.signals) => self.stop(Why::Signal(signal)).await?,
                downs = self.client.take() => self.waits.extend(downs.ok_or(Over::Engine)?),
                () = late(self.stopping) => return Err(Over::Impatient),
            }
        }
    }

    /// Does something that takes its time, with an ear for signals.
    pub(crate) async fn while_doing<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Over> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                signal = heard(&mut self.signals) => self.stop(Why::Signal(signal)).await?,
                () = late(self.stopping) => return Err(Over::Impatient),
            }
        }
    }

    /// Asks the turn to end; asked twice by signals, it is over.
    pub(crate) async fn stop(&mut self, why: Why) -> Result<(), Over> {
        match (self.stopping, why) {
            (None, _) => self.stopping = Some(Stopping { why, deadline: Instant::now() + PATIENCE }),
            (Some(_), Why::Signal(_)) => return Err(Over::Impatient),
            (Some(_), Why::Unread) => return Ok(()),
        }
        if self.session.is_none() {
            // There is no turn yet that could end by itself.
            return Err(Over::Impatient);
        }
        self.tell(Order::Cancel(Target::Turn)).await
    }
}

async fn heard(signals: &mut mpsc::Receiver<Signal>) -> Signal {
    match signals.recv().await {
        Some(signal) => signal,
        None => std::future::pending().await,
    }
}

async fn late(stopping: Option<Stopping>) {
    match stopping {
        Some(stopping) => tokio::time::sleep_until(stopping.deadline).await,
        None => std::future::pending().await,
    }
}
