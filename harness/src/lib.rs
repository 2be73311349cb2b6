//! The engine: sessions, turns, the journal, approvals and tools. It knows no protocol of the outside;
//! faces speak to it over a `link`.

mod approve;
mod client;
mod clock;
pub mod context;
mod desk;
mod engine;
mod host;
mod ids;
pub mod journal;
mod known;
mod limits;
mod lobby;
mod proposal;
mod session;
mod setup;
mod steering;
mod tasks;
mod tools;
mod turn;
mod undo;

pub use engine::{Engine, House};
pub use setup::{Resolved, Setup};
