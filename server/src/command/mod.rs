//! What each subcommand does.

pub(crate) mod acp;
pub(crate) mod chat;
pub(crate) mod demo;
pub(crate) mod exec;
mod export;
mod first_images;
mod input;
pub(crate) mod sessions;
mod shared;
mod signals;
pub(crate) mod trust;
