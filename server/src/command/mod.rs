//! What each subcommand does.

pub(crate) mod acp;
pub(crate) mod chat;
pub(crate) mod demo;
pub(crate) mod exec;
mod input;
mod shared;
pub(crate) mod trust;
