//! The face between a client of bytes and an engine played by hand.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asks;
mod fake;
mod prompts;
mod raw;
mod sessions;
mod tools;
