//! Model wires: a `ModelRequest` in, `ModelEvent`s out, over HTTP or from a script.
//!
//! It knows HTTP, SSE, retries and the providers' dialects. It never sees a session, a tool or a file.
//! The engine's turn calls [`Model::say`].

mod balance;
mod calls;
mod chat;
mod failure;
mod http;
mod json;
pub mod local;
mod model;
mod provider;
mod rehearsal;
mod responses;
mod retry;
pub mod script;
mod sse;
mod stream;
mod thinking;
mod transport;

pub use http::{http, user_agent};
pub use model::{Heard, Model};
pub use provider::{Provider, Secret, UnknownWire, Wire};
