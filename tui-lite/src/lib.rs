//! The terminal face: a small chat on the engine's events.
//!
//! What is finished goes into the terminal's own scrollback; the last lines of the screen hold what is under
//! way, a status line and the input. It knows `protocol`, `link` and the terminal, and no engine.
//!
//! Inside, `hear` and `step` fold what the engine says and what the person does into the `state`; `view` and
//! `transcript` make lines of it, `canvas` makes bytes of those. All of that is pure; only `chat`, `plain`,
//! `talk`, `term`, `panic` and `signals` touch the world.

mod answering;
mod canvas;
mod chat;
mod commands;
mod composer;
mod hear;
mod keys;
mod markdown;
mod panic;
mod picker;
mod plain;
mod row;
mod signals;
mod state;
mod step;
mod talk;
mod term;
#[cfg(test)]
mod testing;
mod text;
mod transcript;
mod view;

pub use chat::{Chat, Start, run};
