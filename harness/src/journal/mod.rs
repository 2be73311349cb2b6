//! Sessions on disk: one file of lines each, and the bytes of edited files beside them.
//!
//! It knows records and files; it knows no turn and no face. The session's actor writes, openings read.

mod blobs;
mod book;
mod disk;
mod keep;
mod line;
mod list;
mod load;
mod pair;
mod record;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use load::{Begun, Loaded};
pub use pair::pair_up;
pub use record::{Record, VERSION};
pub use store::{Store, StoreError};
pub use writer::Journal;
