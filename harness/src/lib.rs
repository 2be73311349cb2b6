//! The engine: sessions, turns, the journal, approvals and tools. It knows no protocol of the outside;
//! faces speak to it over a `link`.

mod approve;
mod client;
mod clock;
mod context;
mod desk;
mod engine;
mod host;
mod ids;
mod journal;
mod known;
mod limits;
mod lobby;
mod plain;
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

/// Names and words of the harnesses, in the order of the pickers.
pub fn harnesses() -> Vec<(&'static str, &'static str)> {
    dialect::harnesses().iter().map(|harness| (harness.spec().name, harness.spec().about)).collect()
}
