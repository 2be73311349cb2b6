//! Commands that go on in the background: each has one task that owns its process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{Captured, RunEnd, Task, TaskId};
use sandbox::{Piece, Running};
use tokio::sync::watch;

use crate::limits;
use crate::tools::capture::Capture;

/// The background commands of one session. Dropping it ends them all.
#[derive(Default)]
pub(crate) struct Tasks {
    table: Mutex<BTreeMap<TaskId, Handle>>,
}

#[derive(Clone)]
struct Handle {
    task: Task,
    output: Arc<Mutex<Capture>>,
    end: watch::Receiver<Option<RunEnd>>,
    stop: tokio_util::sync::CancellationToken,
    /// Whether the model was told of the end.
    told: bool,
}

/// Why a command was not taken into the background.
pub(crate) struct TooMany;

impl Tasks {
    /// Takes over a running command. `ended` is called once, when it has ended.
    pub(crate) fn adopt(
        &self,
        task: Task,
        running: Running,
        capture: Capture,
        ended: impl FnOnce(Task) + Send + 'static,
    ) -> Result<(), TooMany> {
        let mut table = self.lock();
        if alive(&table) >= limits::TASKS {
            return Err(TooMany);
        }
        let (sender, end) = watch::channel(None);
        let output = Arc::new(Mutex::new(capture));
        let stop = tokio_util::sync::CancellationToken::new();
        let handle =
            Handle { task: task.clone(), output: Arc::clone(&output), end, stop: stop.clone(), told: false };
        table.insert(task.id.clone(), handle);
        drop(table);
        tokio::spawn(async move {
            let end = watch(running, &output, &stop).await;
            let _ = sender.send(Some(end.clone()));
            ended(Task { end: Some(end), ..task });
        });
        Ok(())
    }

    /// Whether no further command is taken.
    pub(crate) fn is_any_running(&self) -> bool {
        alive(&self.lock()) > 0
    }

    pub(crate) fn is_full(&self) -> bool {
        alive(&self.lock()) >= limits::TASKS
    }

    /// Every command, with how it stands.
    pub(crate) fn list(&self) -> Vec<Task> {
        self.lock().values().map(Handle::now).collect()
    }

    /// What it printed since the last look, and how it stands; waits up to `wait` for the end.
    pub(crate) async fn poll(&self, id: &TaskId, wait: Duration) -> Option<(RunEnd, Captured)> {
        let mut handle = self.lock().get(id).cloned()?;
        if !wait.is_zero() {
            let _ = tokio::time::timeout(wait, handle.end.wait_for(Option::is_some)).await;
        }
        let end = handle.end.borrow().clone();
        let output = handle.output.lock().unwrap_or_else(PoisonError::into_inner).take();
        if end.is_some()
            && let Some(handle) = self.lock().get_mut(id)
        {
            handle.told = true;
        }
        Some((end.unwrap_or_else(|| RunEnd::StillRunning(id.clone())), output))
    }

    /// Ends it with everything it started; answers when it is gone.
    pub(crate) async fn stop(&self, id: &TaskId) -> Option<(RunEnd, Captured)> {
        let mut handle = self.lock().get(id).cloned()?;
        handle.stop.cancel();
        let _ = tokio::time::timeout(limits::CANCEL, handle.end.wait_for(Option::is_some)).await;
        self.poll(id, Duration::ZERO).await
    }

    /// Commands that ended and of which the model was not told yet.
    pub(crate) fn untold(&self) -> Vec<(Task, String)> {
        let mut ended = Vec::new();
        for handle in self.lock().values_mut() {
            if handle.end.borrow().is_some() && !handle.told {
                handle.told = true;
                let output = handle.output.lock().unwrap_or_else(PoisonError::into_inner).take();
                ended.push((handle.now(), output.text()));
            }
        }
        ended
    }

    /// Ends all of them.
    pub(crate) fn stop_all(&self) {
        for handle in self.lock().values() {
            handle.stop.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TaskId, Handle>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn alive(table: &BTreeMap<TaskId, Handle>) -> usize {
    table.values().filter(|handle| handle.end.borrow().is_none()).count()
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl Handle {
    fn now(&self) -> Task {
        Task { end: self.end.borrow().clone(), ..self.task.clone() }
    }
}

async fn watch(
    mut running: Running,
    output: &Mutex<Capture>,
    stop: &tokio_util::sync::CancellationToken,
) -> RunEnd {
    loop {
        let piece = tokio::select! {
            piece = running.next() => piece,
            () = stop.cancelled() => {
                running.stop().await;
                return RunEnd::Stopped;
            }
        };
        match piece {
            Some(Piece::Out(bytes) | Piece::Err(bytes)) => {
                output.lock().unwrap_or_else(PoisonError::into_inner).add(&bytes);
            }
            Some(Piece::Ended(end)) => return end,
            None => return RunEnd::Stopped,
        }
    }
}
