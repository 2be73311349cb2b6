//! The chat against an engine played by hand, to look at it in any terminal: `cargo run -p tui-lite --example play`.
//!
//! The first word of a prompt is the scene: say, edit, run, ask, plan, evil, fail, panic; anything else is echoed.

// One of the scenes is an engine that panics.
#![allow(clippy::panic)]

#[path = "play/fake.rs"]
mod fake;
#[path = "play/scenes.rs"]
mod scenes;

use protocol::FilePath;
use tui_lite::{Chat, Start};

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let (client, port) = link::pair();
    tokio::spawn(fake::serve(port));
    let cwd = std::env::current_dir().unwrap_or_default();
    let chat = Chat {
        cwd: FilePath::from(cwd.as_path()),
        roots: vec![],
        prompt: std::env::args().nth(1),
        start: Start::New,
        options: vec![],
        version: env!("CARGO_PKG_VERSION").into(),
    };
    match tui_lite::run(client, chat).await {
        // A read of the keyboard that is still under way must not hold us.
        Ok(()) => std::process::exit(0),
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(1)
        }
    }
}
