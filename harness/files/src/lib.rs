//! Files as bytes: reading, searching, splicing edits, patches and diffs.
//!
//! Plain functions that may wait for the disk; no tokio, no model, no session. The engine's tools call it
//! on threads that may block, and hands it the bytes of what an editor has open.

mod check;
mod commit;
mod diff;
mod draft;
mod edit;
mod encoding;
mod hits;
mod list;
mod matching;
pub mod patch;
mod plan;
mod put;
mod read;
mod refine;
mod refused;
mod roots;
mod search;
mod spot;
mod stat;
mod text;
mod tolerant;
mod undo;
mod walk;
mod watch;

use protocol::Digest;
use sha2::{Digest as _, Sha256};

pub use check::check_name;
pub use commit::commit;
pub use diff::diff;
pub use list::{find, list};
pub use plan::{Before, FileEdit, Planned, Sighting, plan};
pub use read::{load, read};
pub use roots::{Place, Roots};
pub use search::search;
pub use text::Text;
pub use undo::{Overlap, undo};
pub use watch::Watch;

/// The name of these bytes: SHA-256 in hex.
pub fn digest(bytes: &[u8]) -> Digest {
    use std::fmt::Write;
    let hash = Sha256::digest(bytes);
    Digest(hash.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
