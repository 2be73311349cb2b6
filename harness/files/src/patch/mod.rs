//! The patch format that many models were trained on: parsed leniently, applied strictly.

mod apply;
mod parse;
mod unwrap;

pub(crate) use apply::apply;
pub use parse::parse;
