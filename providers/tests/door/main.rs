//! The crate at its door: a model server on loopback, and what comes of asking it.

mod attempts;
mod local;
mod loopback;
mod rehearsal;
mod requests;
mod wire;
