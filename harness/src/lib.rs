//! The engine: sessions, turns, the journal, approvals and tools. It knows no protocol of the outside;
//! faces speak to it over a `link`.

pub mod context;
pub mod journal;
mod setup;

pub use setup::{Resolved, Setup};
