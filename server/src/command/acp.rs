//! `interpreter acp`.

use std::process::ExitCode;
use std::sync::Arc;

use face_acp::About;
use harness::Setup;

use super::shared;
use crate::cli::Trouble;
use crate::config::{Config, Tolerance};
use crate::flags::Shared;
use crate::house;

pub(crate) fn run(flags: &Shared) -> Result<ExitCode, Trouble> {
    refuse(flags)?;
    let here = std::env::current_dir().map_err(|error| format!("this folder: {error}"))?;
    let add_dirs = shared::folders(flags, &here)?;
    let runtime = house::runtime()?;
    let served = runtime.block_on(async {
        let mut config = shared::config(flags, Tolerance::Broken).await?;
        // Each session chooses for itself; the flags are what it begins with.
        config.given.overrides.extend(shared::overrides(flags));
        config.given.add_dirs = add_dirs;
        let usable =
            Config { home: config.home.clone(), given: config.given.clone(), tolerance: Tolerance::Broken };
        let engine = house::start(config)?;
        let about = About {
            name: "open-interpreter".into(),
            title: "Open Interpreter".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            usable: Arc::new(move || {
                let here = std::env::current_dir().map_err(|error| error.to_string())?;
                usable.resolve(&here, &[]).map(|_| ()).map_err(|refusal| refusal.to_string())
            }),
        };
        let served = face_acp::run(engine.connect(), tokio::io::stdin(), tokio::io::stdout(), about).await;
        engine.close().await;
        served
    });
    // A read of standard input that is still under way must not hold us.
    runtime.shutdown_background();
    Ok(served.map(|()| ExitCode::SUCCESS)?)
}

/// Flags for one session, where the editor opens many.
fn refuse(flags: &Shared) -> Result<(), Trouble> {
    let why = match (flags.image.is_empty(), &flags.cd) {
        (false, _) => "--image: an editor sends its own images; leave it out",
        (true, Some(_)) => "--cd: an editor names the folder of each session; leave it out",
        (true, None) => return Ok(()),
    };
    Err(Trouble::Usage(why.into()))
}
