//! The crate at its door: a model server on loopback, and what comes of asking it.

// Test code: it may panic, since that is how a test fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attempts;
mod local;
mod loopback;
mod rehearsal;
mod requests;
mod wire;
