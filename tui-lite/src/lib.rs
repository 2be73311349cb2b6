//! The terminal face: a small chat on the engine's events.
//!
//! What is finished goes into the terminal's own scrollback; the last lines of the screen hold what is under
//! way, a status line and the input. It knows `protocol`, `link` and the terminal.

mod chat;
mod commands;
mod composer;
mod keys;
mod lines;
mod markdown;
mod plain;
mod state;
mod term;
mod view;

pub use chat::{Chat, Start, run};
