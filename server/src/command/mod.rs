//! What each subcommand does.

pub(crate) mod acp;
pub(crate) mod chat;
pub(crate) mod demo;
pub(crate) mod exec;
mod first_images;
mod input;
mod shared;
mod signals;
pub(crate) mod trust;
