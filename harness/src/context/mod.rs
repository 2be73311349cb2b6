//! The facts of a session that stay fixed: folder, system, date, repository, AGENTS.md.

mod docs;
mod git;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dialect::Frame;
use protocol::Notice;

/// Where to look, and how much to take.
pub struct Where<'a> {
    pub cwd: &'a Path,
    pub roots: &'a [PathBuf],
    /// May hold a global AGENTS.md.
    pub home: &'a Path,
    /// Bytes of the project's files together.
    pub doc_bytes: usize,
    /// Further names to look for where there is no AGENTS.md.
    pub doc_names: &'a [String],
    pub now: SystemTime,
}

/// Looks at it all, once; what is left out is told.
pub fn frame(at: &Where) -> (Frame, Vec<Notice>) {
    let (instructions, notices) = docs::instructions(at);
    let since = at.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day, ..) = protocol::time::civil(u64::try_from(since.as_millis()).unwrap_or(0));
    let frame = Frame {
        cwd: at.cwd.display().to_string(),
        roots: at.roots.iter().map(|root| root.display().to_string()).collect(),
        os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        shell: "bash".into(),
        date: format!("{year:04}-{month:02}-{day:02}"),
        git: git::state(at.cwd),
        instructions,
        system: None,
    };
    (frame, notices)
}

/// The folder above `cwd` that holds a repository, else `cwd` itself.
pub fn project_root(cwd: &Path) -> PathBuf {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd).to_path_buf()
}
