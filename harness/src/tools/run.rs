//! Running commands: inside the wall unless the person allowed otherwise, output told while it comes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use files::{FileEdit, Watch};
use protocol::{
    Action, AtLimit, Change, Chunk, Decliner, FilePath, IoWhy, ItemId, LIVE_BYTES, Outcome, Pipe, RunEnd,
    RunTime, Sandbox, Task, TaskId,
};
use sandbox::{Piece, Policy, Running, Spec};

use super::capture::{Capture, text, trim_end};
use super::{Bench, guard};
use crate::approve::Walled;
use crate::limits::LIVE_PERIOD;

/// What a command did: the outcome, and the files that are different now.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) changed: Vec<FileEdit>,
}

/// Runs one command to its end, its limit, or into the background.
pub(crate) async fn run(
    bench: &Bench<'_>,
    item: &ItemId,
    action: &Action,
    cwd: &Path,
    walled: Walled,
    task: TaskId,
) -> Ran {
    let Action::Run { command, time, .. } = action else {
        return Ran { outcome: broken(format!("not a command: {}", action.title())), changed: Vec::new() };
    };
    if time.at_limit == AtLimit::Now && bench.means.tasks.is_full() {
        let text = format!("{} background commands are running; stop one first", crate::limits::TASKS);
        return Ran { outcome: broken(text), changed: Vec::new() };
    }
    let (watch, guarded) = tokio::join!(watcher(bench, walled), guard::before(bench, walled));
    let started = Instant::now();
    let running = match sandbox::start(bench.wall, spec(bench, command, cwd, (walled, guarded))) {
        Ok(running) => running,
        Err(refused) => {
            let why = refused.to_string();
            return Ran { outcome: Outcome::Declined { by: Decliner::Sandbox, why }, changed: Vec::new() };
        }
    };
    let cwd = FilePath::from(cwd);
    let (end, output) = match time.at_limit {
        AtLimit::Now => {
            (background(bench, item, command, running, Capture::default(), task), Default::default())
        }
        AtLimit::Kill | AtLimit::Leave => foreground(bench, item, command, time, running, task).await,
    };
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let changed = match watch {
        Some(watch) if !matches!(end, RunEnd::StillRunning(_)) => {
            tokio::join!(changes(watch), guard::after(bench)).0
        }
        _ => Vec::new(),
    };
    Ran { outcome: Outcome::Ran { end, output, wall_ms, cwd }, changed }
}

/// Where a command runs: a folder that is there.
pub(crate) fn folder(bench: &Bench<'_>, cwd: Option<&FilePath>) -> Result<PathBuf, Outcome> {
    let Some(cwd) = cwd else { return Ok(bench.means.cwd.clone()) };
    let place = bench.means.roots.resolve(&cwd.0)?;
    if place.real.is_dir() {
        return Ok(place.real);
    }
    Err(Outcome::Failed {
        why: IoWhy::NotFound,
        path: Some(cwd.clone()),
        text: format!("{cwd}: there is no such folder to run in"),
    })
}

fn spec(bench: &Bench<'_>, command: &str, cwd: &Path, (walled, guarded): (Walled, Vec<PathBuf>)) -> Spec {
    let resolved = bench.resolved;
    let sandbox = match walled {
        Walled::Inside => resolved.settings.sandbox,
        Walled::Outside => Sandbox::FullAccess,
    };
    let mut roots = bench.means.folders.clone();
    roots.extend(resolved.writable_roots.iter().cloned());
    let mut env = resolved.env.clone();
    env.push(("INTERPRETER_SESSION_ID".into(), bench.means.session.0.clone()));
    env.push(("INTERPRETER_SANDBOX".into(), sandbox.to_string()));
    Spec {
        argv: vec!["bash".into(), "-c".into(), command.into()],
        cwd: cwd.to_path_buf(),
        env,
        policy: Policy {
            sandbox,
            network: resolved.settings.network,
            roots,
            guarded,
            hidden: resolved.hidden.clone(),
        },
    }
}

/// Reads until the command ends or its time is over.
async fn foreground(
    bench: &Bench<'_>,
    item: &ItemId,
    command: &str,
    time: &RunTime,
    mut running: Running,
    task: TaskId,
) -> (RunEnd, protocol::Captured) {
    let mut capture = Capture::default();
    let mut live = Live::default();
    let limit = tokio::time::sleep(Duration::from_millis(time.limit_ms));
    tokio::pin!(limit);
    loop {
        let flush = live.due();
        tokio::select! {
            piece = running.next() => match piece {
                Some(Piece::Out(bytes)) => { capture.add(&bytes); live.add(Pipe::Out, &bytes); }
                Some(Piece::Err(bytes)) => { capture.add(&bytes); live.add(Pipe::Err, &bytes); }
                Some(Piece::Ended(end)) => {
                    live.tell(bench, item).await;
                    return (end, capture.take());
                }
                None => return (RunEnd::Stopped, capture.take()),
            },
            () = &mut limit => {
                live.tell(bench, item).await;
                if time.at_limit == AtLimit::Leave {
                    return (background(bench, item, command, running, capture, task), Default::default());
                }
                running.stop().await;
                return (RunEnd::TimedOut { limit_ms: time.limit_ms }, capture.take());
            }
            () = tokio::time::sleep_until(flush), if live.waiting() => live.tell(bench, item).await,
        }
    }
}

/// Hands the command to the session's background commands.
fn background(
    bench: &Bench<'_>,
    item: &ItemId,
    command: &str,
    running: Running,
    capture: Capture,
    id: TaskId,
) -> RunEnd {
    let task = Task { id: id.clone(), item: item.clone(), command: command.into(), end: None, spill: None };
    let ended = bench.means.ended.clone();
    let adopted = bench.means.tasks.adopt(task, running, capture, move |task| {
        // A session that is gone needs no end.
        let _ = ended.try_send(task);
    });
    match adopted {
        Ok(()) => RunEnd::StillRunning(id),
        Err(crate::tasks::TooMany) => RunEnd::Stopped,
    }
}

/// Output on its way to the faces: at once when it was quiet, else a few times a second, the tail alone.
#[derive(Default)]
struct Live {
    pending: Vec<(Pipe, Vec<u8>)>,
    bytes: usize,
    told: Option<tokio::time::Instant>,
}

impl Live {
    fn add(&mut self, pipe: Pipe, bytes: &[u8]) {
        match self.pending.last_mut() {
            Some((last, held)) if *last == pipe => held.extend_from_slice(bytes),
            _ => self.pending.push((pipe, bytes.to_vec())),
        }
        self.bytes += bytes.len();
        while self.bytes > 2 * LIVE_BYTES {
            let over = self.bytes - LIVE_BYTES;
            let Some((_, first)) = self.pending.first_mut() else { return };
            let cut = over.min(first.len());
            first.drain(..cut);
            self.bytes -= cut;
            if first.is_empty() {
                self.pending.remove(0);
            }
        }
    }

    fn waiting(&self) -> bool {
        self.bytes > 0
    }

    fn due(&self) -> tokio::time::Instant {
        self.told.map_or_else(tokio::time::Instant::now, |told| told + LIVE_PERIOD)
    }

    async fn tell(&mut self, bench: &Bench<'_>, item: &ItemId) {
        for (from, bytes) in std::mem::take(&mut self.pending) {
            // The rest of a cut character comes with the next piece.
            let whole = trim_end(&bytes);
            let rest = bytes.get(whole.len()..).unwrap_or_default().to_vec();
            if !whole.is_empty() {
                let chunk = Chunk { from, text: text(whole) };
                // A session that is gone needs no output.
                let _ = bench.tell.change(item, Change::Output(chunk)).await;
            }
            if !rest.is_empty() {
                self.pending.push((from, rest));
            }
        }
        self.bytes = 0;
        self.told = Some(tokio::time::Instant::now());
    }
}

/// Looks at the folders before a command that may write in them.
async fn watcher(bench: &Bench<'_>, walled: Walled) -> Option<Arc<Mutex<Watch>>> {
    if walled == Walled::Inside && bench.resolved.settings.sandbox == Sandbox::ReadOnly {
        return None;
    }
    let watch = Arc::clone(&bench.means.watch);
    let looking = Arc::clone(&watch);
    tokio::task::spawn_blocking(move || lock(&looking).before()).await.ok()?;
    Some(watch)
}

async fn changes(watch: Arc<Mutex<Watch>>) -> Vec<FileEdit> {
    tokio::task::spawn_blocking(move || lock(&watch).after()).await.unwrap_or_default()
}

fn lock(watch: &Mutex<Watch>) -> std::sync::MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(text: String) -> Outcome {
    Outcome::Failed { why: IoWhy::Internal, path: None, text }
}
