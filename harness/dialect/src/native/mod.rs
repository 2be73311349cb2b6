//! placeholder
pub struct Native;
