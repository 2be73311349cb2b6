//! How good this machine's wall is.

use std::path::PathBuf;

use crate::level::Level;

/// What the self-test found. A caller keeps it as long as its process.
#[derive(Clone, Debug)]
pub struct Wall {
    pub level: Level,
    /// What the best level would hold and this one does not.
    pub lacks: Vec<String>,
    /// What would make it better.
    pub remedy: Option<String>,
    /// Our own binary, started again inside of the wall.
    pub(crate) helper: PathBuf,
    pub(crate) bwrap: Option<PathBuf>,
    /// The Landlock version that this kernel enforces.
    pub(crate) landlock: u8,
}

impl Wall {
    /// No wall, and why.
    pub fn none(why: &str) -> Self {
        Self {
            level: Level::None,
            lacks: vec![why.to_string()],
            remedy: None,
            helper: PathBuf::new(),
            bwrap: None,
            landlock: 0,
        }
    }

    /// Tests what this machine holds, once: it runs a command behind the true flags, some 30 ms.
    ///
    /// `helper` is a binary whose `sandbox-exec` subcommand is [`crate::helper`].
    pub async fn probe(helper: PathBuf) -> Self {
        Self::probe_up_to(helper, Level::Full).await
    }

    /// As [`probe`](Self::probe), without trying a level above `best`.
    #[cfg(not(target_os = "linux"))]
    pub async fn probe_up_to(_helper: PathBuf, _best: Level) -> Self {
        let mut wall = Self::none("there is no sandbox for this system yet");
        wall.remedy = Some("use Linux or a Linux container, or choose danger-full-access knowingly".into());
        wall
    }

    /// As [`probe`](Self::probe), without trying a level above `best`.
    #[cfg(target_os = "linux")]
    pub async fn probe_up_to(helper: PathBuf, best: Level) -> Self {
        crate::trial::probe(helper, best).await
    }
}
