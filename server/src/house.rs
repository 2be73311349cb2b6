//! The engine with this program's configuration behind it.

use std::sync::Arc;

use harness::{Engine, House};

use crate::config::Config;

/// Starts it; needs a runtime.
pub(crate) fn start(config: Config) -> Result<Engine, String> {
    let helper =
        std::env::current_exe().map_err(|error| format!("this program cannot find itself: {error}"))?;
    let home = config.home.clone();
    let version = env!("CARGO_PKG_VERSION").to_string();
    Ok(Engine::start(House { setup: Arc::new(config), home, version, helper }))
}

/// Two threads are plenty: one for the faces and sessions while the other waits for a disk.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))
}
