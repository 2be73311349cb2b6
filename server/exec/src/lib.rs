//! The exec face: one prompt, its answer on standard output, progress on standard error, or Codex exec's
//! JSON lines. It knows `protocol` and `link`; the command line gives it an [`Exec`].

mod json;
mod run;
mod text;

pub use run::{Color, Exec, Format, Seen, Start, run};
