//! The self-test of this machine's wall: the true flags, run once.

use std::path::PathBuf;

use crate::level::Level;

/// What the self-test found.
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

    /// Tests what this machine holds. `helper` is a binary whose `sandbox-exec` subcommand is [`crate::helper`].
    #[cfg(not(target_os = "linux"))]
    pub async fn probe(_helper: PathBuf) -> Self {
        let mut wall = Self::none("there is no sandbox for this system yet");
        wall.remedy = Some("use Linux or a Linux container, or choose danger-full-access knowingly".into());
        wall
    }

    /// Tests what this machine holds. `helper` is a binary whose `sandbox-exec` subcommand is [`crate::helper`].
    #[cfg(target_os = "linux")]
    pub async fn probe(helper: PathBuf) -> Self {
        let base = Self {
            level: Level::None,
            lacks: Vec::new(),
            remedy: None,
            helper,
            bwrap: None,
            landlock: crate::landlocked::version(),
        };
        if base.landlock == 0 {
            let mut none = base;
            none.lacks = vec!["this kernel has no Landlock of version 3 or later".into()];
            none.remedy = Some("use Linux 6.2 or later with Landlock enabled (lsm=landlock)".into());
            return none;
        }
        let why = match find("bwrap") {
            None => ("bubblewrap is not installed".to_string(), "install the package bubblewrap".to_string()),
            Some(bwrap) => {
                let full = Self { level: Level::Full, bwrap: Some(bwrap), ..base.clone() };
                match full.try_out().await {
                    Ok(()) => return full.told(),
                    Err(why) => {
                        let remedy = "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu an \
                                      AppArmor profile for bwrap (sysctl kernel.apparmor_restrict_unprivileged_userns=0)";
                        (format!("bubblewrap does not start here: {why}"), remedy.to_string())
                    }
                }
            }
        };
        let small = Self { level: Level::Landlock, ..base.clone() };
        match small.try_out().await {
            Ok(()) => Self { lacks: small.lacking(&why.0), remedy: Some(why.1), ..small }.told(),
            Err(inner) => {
                let mut none = base;
                none.lacks = vec![why.0, format!("Landlock and seccomp do not start here: {inner}")];
                none.remedy = Some(why.1);
                none
            }
        }
    }

    /// What Landlock and seccomp cannot do without bubblewrap.
    #[cfg(target_os = "linux")]
    fn lacking(&self, why: &str) -> Vec<String> {
        vec![
            why.to_string(),
            "hooks and settings in the project can be changed".into(),
            "modes and times of files outside can be changed".into(),
            "keys in the home folder and other processes can be seen".into(),
            "commands have no network at all, not even their own loopback".into(),
        ]
    }

    #[cfg(target_os = "linux")]
    fn told(mut self) -> Self {
        if self.landlock < 6 {
            self.lacks.push(
                "signals and abstract sockets are not held by Landlock (Linux 6.12 or later does)".into(),
            );
        }
        self
    }

    /// Runs nothing, inside of the whole wall.
    #[cfg(target_os = "linux")]
    async fn try_out(&self) -> Result<(), String> {
        use crate::policy::{Policy, Spec};
        use crate::running::{Piece, start};
        let policy = Policy {
            sandbox: protocol::Sandbox::ReadOnly,
            network: protocol::Network::Off,
            roots: Vec::new(),
            guarded: Vec::new(),
            hidden: Vec::new(),
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let spec = Spec {
            argv: ["sh", "-c", ":"].map(str::to_string).to_vec(),
            cwd: "/".into(),
            env: vec![("PATH".into(), path)],
            policy,
        };
        let mut running = start(self, spec).map_err(|refused| refused.to_string())?;
        let mut said = Vec::new();
        let told = tokio::time::timeout(std::time::Duration::from_secs(10), async {
            while let Some(piece) = running.next().await {
                match piece {
                    Piece::Out(bytes) | Piece::Err(bytes) => said.extend(bytes),
                    Piece::Ended(end) => return Some(end),
                }
            }
            None
        });
        match told.await {
            Ok(Some(protocol::RunEnd::Exited(0))) => Ok(()),
            Ok(_) => Err(String::from_utf8_lossy(&said).trim().to_string()),
            Err(_) => Err("it did not end within 10 s".into()),
        }
    }
}

/// A program on the path.
#[cfg(target_os = "linux")]
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
