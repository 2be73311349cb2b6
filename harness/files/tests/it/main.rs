//! The crate through its public door, on real folders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commits;
mod edits;
mod folder;
mod patches;
mod takeback;
mod walks;
mod watching;
