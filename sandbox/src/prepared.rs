//! A command made ready to be started: what is executed, and what must live as long as it.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::policy::Refused;

/// What is executed for a command.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    pub(crate) kept: Kept,
    pub(crate) temp: Option<Temp>,
    /// Files that bubblewrap reads, by number.
    #[cfg(target_os = "linux")]
    pub(crate) files: Vec<std::os::fd::OwnedFd>,
}

/// Who ends the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A keeper beside the command, told by its standard input.
    ByKeeper,
    /// We ourselves, as far as its group goes.
    ByGroup,
}

/// A folder for temporary files that nobody else has, gone when this is.
pub(crate) struct Temp(PathBuf);

impl Temp {
    pub(crate) fn new() -> Result<Self, Refused> {
        use std::sync::atomic::{AtomicU64, Ordering};
        // Only makes names differ.
        static COMMANDS: AtomicU64 = AtomicU64::new(0);
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let count = COMMANDS.fetch_add(1, Ordering::Relaxed);
        let name = format!("interpreter-{}-{count}-{now:x}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(|error| Refused {
            why: format!("no private folder for temporary files: {}: {error}", folder.display()),
            remedy: "check TMPDIR and the free space there".into(),
        })?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        // The keeper does the same when it comes last; what cannot be removed is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
