//! The Chat Completions wire.

mod decode;
mod details;
mod encode;

pub(crate) use decode::Decode;
pub(crate) use encode::encode;
