//! `interpreter` and `interpreter resume`: the terminal chat.

use std::process::ExitCode;

use protocol::SessionId;
use tui_lite::{Chat, Start};

use super::shared;
use crate::cli::Trouble;
use crate::config::Tolerance;
use crate::flags::Shared;
use crate::house;

pub(crate) fn run(flags: &Shared, prompt: Option<String>) -> Result<ExitCode, Trouble> {
    chat(flags, prompt, Start::New)
}

pub(crate) fn resume(flags: &Shared, id: Option<String>, last: bool) -> Result<ExitCode, Trouble> {
    let start = match (id, last) {
        (Some(id), false) => Start::Resume(SessionId(id)),
        (None, _) => Start::Last,
        (Some(_), true) => return Err(Trouble::Usage("resume: give an id or --last, not both".into())),
    };
    chat(flags, None, start)
}

fn chat(flags: &Shared, prompt: Option<String>, start: Start) -> Result<ExitCode, Trouble> {
    let cwd = shared::folder(flags)?;
    let roots = shared::roots(flags, &cwd)?;
    let runtime = house::runtime()?;
    let ended = runtime.block_on(async {
        let config = shared::config(flags, Tolerance::None).await?;
        let engine = house::start(config)?;
        let chat = Chat {
            cwd: shared::exact("this folder", &cwd)?,
            roots,
            prompt,
            start,
            options: shared::options(flags),
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let ended = tui_lite::run(engine.connect(), chat).await;
        engine.close().await;
        ended
    });
    // A read of the keyboard that is still under way must not hold us.
    runtime.shutdown_background();
    Ok(ended.map(|()| ExitCode::SUCCESS)?)
}
