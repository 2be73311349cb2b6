//! What is executed at each level: bubblewrap or the helper, in front of the command.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use protocol::{Network, Sandbox};
use tokio::process::Command;

use crate::inner::{Inner, Stay, Walls};
use crate::mounts::Places;
use crate::policy::{Refused, Spec};
use crate::prepared::{Kept, Prepared, Temp};
use crate::start::for_the_loader;
use crate::wall::Wall;
use crate::{HELPER, bwrap, landlocked};

/// Bubblewrap around, Landlock and seccomp inside.
pub(crate) fn full(wall: &Wall, spec: &Spec) -> Result<Prepared, Refused> {
    let places = Places::of(&spec.policy);
    let program = bubblewrap(wall, &places)?;
    if !places.visible(&spec.cwd) {
        return Err(Refused {
            why: format!("{} cannot be seen inside of the sandbox", spec.cwd.display()),
            remedy: "run it in a folder of the project".into(),
        });
    }
    let files = empty_files(places.hidden_files().count())?;
    let mut write = vec![PathBuf::from("/tmp"), PathBuf::from("/dev")];
    write.extend(places.writable().map(Path::to_path_buf));
    let inner = Inner {
        landlock: wall.landlock,
        write,
        bubblewrap: true,
        network: spec.policy.network == Network::On,
        ..inner(spec)
    };
    let mut command = Command::new(program);
    command.args(bwrap::arguments(&bwrap::Outer {
        policy: &spec.policy,
        places: &places,
        empty: &files,
        cwd: &spec.cwd,
        helper: &wall.helper,
    }));
    command.arg(&wall.helper).args([HELPER, &text(&inner)?, "--"]).args(&spec.argv);
    // bubblewrap goes to the folder itself, inside.
    command.current_dir("/");
    Ok(Prepared { command, kept: Kept::ByKeeper, temp: None, files })
}

fn bubblewrap<'a>(wall: &'a Wall, places: &Places) -> Result<&'a Path, Refused> {
    let Some(program) = &wall.bwrap else {
        return Err(Refused { why: "bubblewrap is gone".into(), remedy: "install bubblewrap".into() });
    };
    if places.writable().any(|root| root != Path::new("/") && program.starts_with(root)) {
        return Err(Refused {
            why: format!("bubblewrap lies where commands may write: {}", program.display()),
            remedy: "install bubblewrap for the whole system, outside of the project".into(),
        });
    }
    Ok(program)
}

/// Landlock and seccomp alone.
pub(crate) fn landlocked(wall: &Wall, spec: &Spec) -> Result<Prepared, Refused> {
    let temp = Temp::new()?;
    let mut write = landlocked::harmless_devices();
    write.push(temp.path().to_path_buf());
    if spec.policy.sandbox == Sandbox::WorkspaceWrite {
        write.extend(spec.policy.roots.iter().cloned());
    }
    let inner = Inner {
        landlock: wall.landlock,
        write,
        network: spec.policy.network == Network::On,
        temp: Some(temp.path().to_path_buf()),
        ..inner(spec)
    };
    Ok(Prepared { temp: Some(temp), ..beside(wall, spec, &inner)? })
}

/// No wall: only its tree is kept.
pub(crate) fn kept(wall: &Wall, spec: &Spec) -> Result<Prepared, Refused> {
    beside(wall, spec, &Inner { walls: Walls::Down, ..inner(spec) })
}

fn beside(wall: &Wall, spec: &Spec, inner: &Inner) -> Result<Prepared, Refused> {
    let mut command = Command::new(&wall.helper);
    command.args([HELPER, &text(inner)?, "--"]).args(&spec.argv).current_dir(&spec.cwd);
    Ok(Prepared { command, kept: Kept::ByKeeper, temp: None, files: Vec::new() })
}

fn inner(spec: &Spec) -> Inner {
    let env = spec.env.iter().filter(|(name, _)| for_the_loader(name)).cloned().collect();
    Inner { stay: Stay::Keep, env, ..Inner::default() }
}

fn text(inner: &Inner) -> Result<String, Refused> {
    serde_json::to_string(inner).map_err(|error| Refused {
        why: format!("a folder of the sandbox cannot be told to it: {error}"),
        remedy: "give writable folders whose names are UTF-8".into(),
    })
}

/// What stands in for a hidden file: bubblewrap reads each once.
fn empty_files(count: usize) -> Result<Vec<OwnedFd>, Refused> {
    let open = || File::open("/dev/null").map(OwnedFd::from);
    (0..count).map(|_| open()).collect::<std::io::Result<_>>().map_err(|error| Refused {
        why: format!("/dev/null cannot be opened: {error}"),
        remedy: "end other commands first, or raise the limit of open files".into(),
    })
}
