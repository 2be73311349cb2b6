//! The self-test: the true flags, run once, and whether they hold.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Network, RunEnd, Sandbox};

use crate::level::Level;
use crate::policy::{Policy, Spec};
use crate::running::Piece;
use crate::wall::Wall;
use crate::{landlocked, start};

const LIMIT: Duration = Duration::from_secs(10);
const OLD: &str = "signals and abstract sockets are not held by Landlock (Linux 6.12 or later does)";

/// Why a level is not reached, and what would help.
struct Hindered {
    why: String,
    remedy: String,
}

/// The best level that holds here, not above `best`.
pub(crate) async fn probe(helper: PathBuf, best: Level) -> Wall {
    let none = Wall { helper, landlock: landlocked::version(), ..Wall::none("no wall was asked for") };
    if best == Level::None {
        return none;
    }
    if none.landlock == 0 {
        let lacks = vec!["this kernel has no Landlock of version 3 or later".into()];
        let remedy = Some("use Linux 6.2 or later with Landlock enabled (lsm=landlock)".into());
        return Wall { lacks, remedy, ..none };
    }
    let hindered = match full(&none, best).await {
        Ok(wall) => return wall,
        Err(hindered) => hindered,
    };
    let lacks = lacking(&hindered.why, none.landlock);
    let small = Wall { level: Level::Landlock, lacks, ..none.clone() };
    match try_out(&small).await {
        Ok(()) => Wall { remedy: Some(hindered.remedy), ..small },
        Err(inner) => {
            let lacks = vec![hindered.why, format!("Landlock and seccomp do not start here: {inner}")];
            Wall { lacks, remedy: Some(hindered.remedy), ..none }
        }
    }
}

async fn full(none: &Wall, best: Level) -> Result<Wall, Hindered> {
    if best < Level::Full {
        return Err(Hindered {
            why: "bubblewrap is not to be used".into(),
            remedy: "allow the level full".into(),
        });
    }
    let bwrap = find("bwrap").ok_or_else(|| Hindered {
        why: "bubblewrap is not installed".into(),
        remedy: "install the package bubblewrap".into(),
    })?;
    let lacks = if none.landlock < 6 { vec![OLD.to_string()] } else { Vec::new() };
    let full = Wall { level: Level::Full, bwrap: Some(bwrap), lacks, ..none.clone() };
    match try_out(&full).await {
        Ok(()) => Ok(full),
        Err(why) => Err(Hindered {
            why: format!("bubblewrap does not start here: {why}"),
            remedy: "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu an \
                     AppArmor profile for bwrap (sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
                .into(),
        }),
    }
}

/// What Landlock and seccomp cannot do without bubblewrap.
fn lacking(why: &str, landlock: u8) -> Vec<String> {
    let mut lacks = vec![
        why.to_string(),
        "hooks and settings in the project can be changed".into(),
        "modes, times and attributes of files outside can be changed".into(),
        "keys in the home folder and other processes can be seen".into(),
        "with the network off commands have not even their own loopback".into(),
    ];
    if landlock < 6 {
        lacks.push(OLD.into());
    }
    lacks
}

/// Tries to write where nothing may be written, inside of the whole wall.
async fn try_out(wall: &Wall) -> Result<(), String> {
    let policy = Policy {
        sandbox: Sandbox::ReadOnly,
        network: Network::Off,
        roots: Vec::new(),
        guarded: Vec::new(),
        hidden: Vec::new(),
    };
    // Everybody may write there, and it is not covered as other temporary folders are.
    let folder = Some(PathBuf::from("/var/tmp")).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    let outside = folder.join(format!("interpreter-wall-{}", std::process::id()));
    let line = "(: > \"$0\") 2>/dev/null; exit 0";
    let spec = Spec {
        argv: ["sh", "-c", line, &outside.to_string_lossy()].map(str::to_string).to_vec(),
        cwd: "/".into(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap_or_default())],
        policy,
    };
    let told = tokio::time::timeout(LIMIT, run(wall, spec)).await;
    let escaped = outside.exists();
    // It is there only when the wall did not hold.
    let _ = std::fs::remove_file(&outside);
    match told {
        Ok(Ok(())) if escaped => Err("a command wrote outside of it".into()),
        Ok(told) => told,
        Err(_) => Err(format!("it did not end within {} s", LIMIT.as_secs())),
    }
}

async fn run(wall: &Wall, spec: Spec) -> Result<(), String> {
    let mut running = start(wall, spec).map_err(|refused| refused.to_string())?;
    let mut said = Vec::new();
    while let Some(piece) = running.next().await {
        match piece {
            Piece::Out(bytes) | Piece::Err(bytes) => said.extend(bytes),
            Piece::Ended(RunEnd::Exited(0)) => return Ok(()),
            Piece::Ended(_) => break,
        }
    }
    Err(String::from_utf8_lossy(&said).trim().to_string())
}

/// A program on the path. Relative folders are left out: they may be the project's.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.filter_map(|folder| folder.join(name).canonicalize().ok()).find(|file| runs(file))
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
