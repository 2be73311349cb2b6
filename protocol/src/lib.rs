//! The vocabulary of Open Interpreter: what faces, engine, harnesses and wires say to each other.
//!
//! Plain data: no I/O, no clock, no tokio. Text is UTF-8, repaired where bytes enter the house.
//! Every enum is matched without `_` inside the house; what another process may not know yet is
//! handled where bytes are read (the journal), not here.

mod action;
mod ask;
mod board;
mod command;
mod content;
mod conversation;
mod diff;
mod done;
mod event;
mod host;
mod ids;
mod item;
mod link;
pub mod model;
mod notice;
mod outcome;
mod plan;
mod session;
mod task;
pub mod time;
mod turn;
mod usage;
pub mod words;

pub use action::*;
pub use ask::*;
pub use board::*;
pub use command::*;
pub use content::*;
pub use conversation::*;
pub use diff::*;
pub use done::*;
pub use event::*;
pub use host::*;
pub use ids::*;
pub use item::*;
pub use link::*;
pub use notice::*;
pub use outcome::*;
pub use plan::*;
pub use session::*;
pub use task::*;
pub use turn::*;
pub use usage::*;
