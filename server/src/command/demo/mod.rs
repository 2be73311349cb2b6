//! `interpreter demo`: a whole session through the real engine, with a scripted model.
//!
//! A scratch repository with a small real bug; tests that fail, a permission request, an edit, tests that
//! pass. No key, no network; the scratch is gone afterwards, also after
//! a signal.

mod project;
mod show;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use protocol::{
    CanAsk, Command, Done, FilePath, Keep, Open, Order, Origin, Past, SessionId, Target, Up, When,
};
use providers::script::Script;

use super::signals::Signals;
use crate::cli::{Trouble, complain};
use crate::config::{Config, Given, Tolerance};
use crate::house;
use show::Show;

/// Words come at this pace, for the eye; at once when nobody watches.
const PACE_MS: u64 = 25;

/// How long a session that was stopped may take to close.
const CLOSE: Duration = Duration::from_secs(2);

pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let runtime = house::runtime()?;
    let mut kept = None;
    let ended = runtime.block_on(async {
        // From before the scratch is made: it is removed whatever comes.
        let mut signals = Signals::all();
        let made = tokio::task::spawn_blocking(project::Scratch::make).await;
        let made = made.map_err(|error| Trouble::Failed(format!("the scratch repository: {error}")))?;
        if let Some(number) = signals.came().await {
            return Err(Trouble::Signal(number));
        }
        session(kept.insert(made?), &mut signals).await
    });
    runtime.shutdown_timeout(CLOSE);
    drop(kept);
    if let Err(Trouble::Signal(number)) = ended {
        complain(&format!("stopped by signal {number}; the scratch repository is removed"));
    }
    ended
}

async fn session(scratch: &project::Scratch, signals: &mut Signals) -> Result<ExitCode, Trouble> {
    let mut show = Show::new();
    show.intro(&scratch.work);
    let mut script = Script::parse(project::SCRIPT).map_err(|error| error.to_string())?;
    script.pace_ms = if show.is_watched() { PACE_MS } else { 0 };
    script.work = scratch.work.display().to_string();
    let given = Given { script: Some(Arc::new(script)), ignore_user: true, ..Given::default() };
    let config = Config { home: scratch.home.clone(), given, tolerance: Tolerance::None };
    let engine = house::start(config)?;
    let client = engine.connect();
    let followed = tokio::select! {
        followed = follow(&client, &scratch.work, &mut show) => followed.map_err(Trouble::Failed),
        number = signals.next() => Err(Trouble::Signal(number)),
    };
    drop(client);
    // One that does not close in time ends with the runtime.
    let _ = tokio::time::timeout(CLOSE, engine.close()).await;
    followed?;
    if show.was_rejected() {
        show.outro_rejected();
        return Ok(ExitCode::SUCCESS);
    }
    let passed = project::tests_pass(&scratch.work);
    show.outro(passed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Opens, prompts, and shows the turn to its end.
async fn follow(client: &link::Client, work: &Path, show: &mut Show) -> Result<(), String> {
    let open = Open {
        from: Origin::New,
        past: Past::Nothing,
        cwd: FilePath::from(work),
        roots: Vec::new(),
        options: Vec::new(),
        asks: CanAsk::Permission,
        keep: Keep::Journal,
        system: None,
    };
    let mut asked = 0;
    send(client, &mut asked, Command::Open(Box::new(open))).await?;
    let mut session: Option<SessionId> = None;
    loop {
        let downs = client.take().await.ok_or("the engine is gone")?;
        for down in downs {
            match down {
                protocol::Down::Reply { reply: Err(refusal), .. } => return Err(refusal.to_string()),
                protocol::Down::Reply { reply: Ok(Done::Opened(snapshot)), .. } => {
                    let id = snapshot.info.id.clone();
                    show.opened(*snapshot);
                    let input = vec![protocol::Content::Text(project::PROMPT.into())];
                    let order = Order::Prompt { input, when: When::Queue, schema: None };
                    send(client, &mut asked, Command::Session { session: id.clone(), order }).await?;
                    session = Some(id);
                }
                protocol::Down::Event(event) => {
                    let answer = show.event(&event).await;
                    if let (Some((ask, answer)), Some(session)) = (answer, &session) {
                        let order = Order::Answer { ask, answer };
                        let command = Command::Session { session: session.clone(), order };
                        send(client, &mut asked, command).await?;
                        if show.was_rejected() {
                            // What the script says next holds only for an edit that was made.
                            let order = Order::Cancel(Target::Turn);
                            let command = Command::Session { session: session.clone(), order };
                            send(client, &mut asked, command).await?;
                        }
                    }
                    if let protocol::EventKind::TurnEnded { end, .. } = &event.kind {
                        return match end {
                            _ if show.was_rejected() => Ok(()),
                            protocol::TurnEnd::Done => Ok(()),
                            protocol::TurnEnd::Failed(failure) => Err(failure.to_string()),
                            protocol::TurnEnd::Cancelled
                            | protocol::TurnEnd::Refused(_)
                            | protocol::TurnEnd::Limit(_) => Err("the turn did not come to its end".into()),
                        };
                    }
                }
                protocol::Down::Reply { .. }
                | protocol::Down::Past { .. }
                | protocol::Down::Host { .. }
                | protocol::Down::HostCancelled { .. } => {}
            }
        }
    }
}

async fn send(client: &link::Client, tag: &mut u64, command: Command) -> Result<(), String> {
    *tag += 1;
    client.send(Up::Command { tag: *tag, command }).await.map_err(|_| "the engine is gone".to_string())
}
