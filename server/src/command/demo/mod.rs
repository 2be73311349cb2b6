//! `interpreter demo`: a whole session through the real engine, with a scripted model.
//!
//! A scratch repository with a small real bug; tests that fail, a permission request, an edit, tests that
//! pass. No key, no network; the scratch is gone afterwards, also after Ctrl-C.

mod project;
mod show;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use protocol::{CanAsk, Command, Done, FilePath, Keep, Open, Order, Origin, Past, SessionId, Up, When};
use providers::script::Script;

use crate::cli::Trouble;
use crate::config::{Config, Given, Tolerance};
use crate::house;
use show::Show;

/// Words come at this pace, for the eye; at once when nobody watches.
const PACE_MS: u64 = 25;

pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let scratch = project::Scratch::make()?;
    let runtime = house::runtime()?;
    let passed = runtime.block_on(async {
        tokio::select! {
            passed = session(&scratch) => passed,
            _ = tokio::signal::ctrl_c() => Err("stopped; the scratch repository is removed".into()),
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    drop(scratch);
    match passed? {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

async fn session(scratch: &project::Scratch) -> Result<bool, String> {
    let mut show = Show::new();
    show.intro(&scratch.work);
    let mut script = Script::parse(project::SCRIPT).map_err(|error| error.to_string())?;
    script.pace_ms = if show.is_watched() { PACE_MS } else { 0 };
    script.work = scratch.work.display().to_string();
    let given = Given { script: Some(Arc::new(script)), ignore_user: true, ..Given::default() };
    let config = Config { home: scratch.home.clone(), given, tolerance: Tolerance::None };
    let engine = house::start(config)?;
    let client = engine.connect();
    let followed = follow(&client, &scratch.work, &mut show).await;
    drop(client);
    engine.close().await;
    followed?;
    let passed = project::tests_pass(&scratch.work);
    show.outro(passed);
    Ok(passed)
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
                        send(client, &mut asked, Command::Session { session: session.clone(), order })
                            .await?;
                    }
                    if let protocol::EventKind::TurnEnded { end, .. } = &event.kind {
                        return match end {
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
