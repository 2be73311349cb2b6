//! What happens in a session as ACP's `session/update`s.
//!
//! Values in, JSON out; the one look at the disk is `Place::holds`. It sends nothing and remembers nothing.

mod act;
mod diff;
mod item;
mod outcome;
mod permission;
mod session;

use serde_json::Value;

use crate::caps::Caps;
use crate::place::Place;

pub(crate) use act::{announces, begun, last};
pub(crate) use item::{changed, past, said, started};
pub(crate) use permission::{choices, permission};
pub(crate) use session::{commands, current_mode, notice, options, pickers, rows, title, usage};

/// For whom it is rendered, and where the session works.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) caps: Caps,
    pub(crate) place: &'a Place,
}

/// Sets a field of an object.
pub(crate) fn put(value: &mut Value, name: &str, field: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(name.into(), field);
    }
}
