//! `interpreter acp`.

use std::process::ExitCode;
use std::sync::Arc;

use face_acp::About;
use harness::Setup;

use super::shared;
use crate::cli::Shared;
use crate::config::{Config, Tolerance};
use crate::house;

pub(crate) fn run(flags: &Shared) -> Result<ExitCode, String> {
    let runtime = house::runtime()?;
    let served = runtime.block_on(async {
        let config = shared::config(flags, Tolerance::Broken).await?;
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
    served.map(|()| ExitCode::SUCCESS)
}
