//! Harnesses: pure codecs between a model's dialect and the house's actions.
//!
//! A harness decides which tools a model sees, what they are called, how their results read and how the
//! loop goes on. It takes values and returns values: it opens no file, knows no session and no provider.
//! The engine's turn calls it; `native` is the house's own.

mod harness;
pub mod native;

pub use harness::*;

/// Every harness by name, in the order of the pickers.
pub fn harnesses() -> Vec<&'static dyn Harness> {
    vec![&native::Native]
}

/// The harness of that name.
pub fn harness(name: &str) -> Option<&'static dyn Harness> {
    harnesses().into_iter().find(|harness| harness.spec().name == name)
}
