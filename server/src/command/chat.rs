//! `interpreter` and `interpreter resume`: the terminal chat.

use std::process::ExitCode;

use protocol::SessionId;
use tui_lite::{Chat, Start};

use super::signals::Signals;
use super::{first_images, input, shared};
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
    let images = input::images(&flags.image, &cwd)?;
    let options = shared::options(flags);
    let runtime = house::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::of_a_chat();
        let config = shared::config(flags, Tolerance::None).await?;
        shared::forewarn(&config, &cwd, &options);
        let engine = house::start(config)?;
        let chat = Chat {
            cwd: shared::exact("this folder", &cwd)?,
            roots,
            prompt,
            start,
            options,
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let ended = tui_lite::run(first_images::attach(engine.connect(), images), chat).await;
        engine.close().await;
        // A terminal that is gone cannot be written to either.
        match signals.came().await {
            Some(number) => Ok(Some(number)),
            None => ended.map(|()| None),
        }
    });
    // A read of the keyboard that is still under way must not hold us.
    runtime.shutdown_background();
    match ended? {
        Some(number) => Err(Trouble::Signal(number)),
        None => Ok(ExitCode::SUCCESS),
    }
}
