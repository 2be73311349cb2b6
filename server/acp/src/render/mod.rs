//! Events as `session/update`s. Pure: board and event in, JSON out.

mod act;
mod item;
mod session;

pub(crate) use act::{last, permission, update};
pub(crate) use item::{finished, started, text};
pub(crate) use session::{commands, mode, notice, options, plan, rows, title, usage};
