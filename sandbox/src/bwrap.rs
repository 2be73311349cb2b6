//! The outer wall: bubblewrap's arguments for a policy. Later mounts lie over earlier ones, so the order is
//! what decides.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use protocol::{Network, Sandbox};

use crate::mounts::Places;
use crate::policy::Policy;

/// What the arguments are made of.
pub(crate) struct Outer<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) places: &'a Places,
    /// One empty file for each hidden one.
    pub(crate) empty: &'a [OwnedFd],
    pub(crate) cwd: &'a Path,
    pub(crate) helper: &'a Path,
}

/// The keeper is the first process and ends the namespace with the line to us, so no `--die-with-parent`: that
/// would end it with the thread that started it.
const SPACES: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--as-pid-1",
    "--new-session",
    "--cap-drop",
    "ALL",
];

/// Below `/run` and needed to run anything, where they exist.
const SYSTEM: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// All arguments in front of the command.
pub(crate) fn arguments(outer: &Outer) -> Vec<OsString> {
    let (policy, places) = (outer.policy, outer.places);
    let mut args = Args::default();
    args.flags(SPACES);
    if policy.network == Network::Off {
        args.flags(&["--unshare-net"]);
    }
    let bind = if policy.sandbox == Sandbox::WorkspaceWrite { "--bind" } else { "--ro-bind" };
    let whole = places.roots.iter().any(|root| root == Path::new("/"));
    args.bind(if whole { bind } else { "--ro-bind" }, Path::new("/"));
    args.pair("--dev", Path::new("/dev"));
    args.pair("--proc", Path::new("/proc"));
    // There root's number is what the kernel asks for, not its capabilities.
    args.bind("--ro-bind", Path::new("/proc/sys"));
    for folder in &places.covered {
        args.pair("--tmpfs", folder);
    }
    for folder in SYSTEM.iter().map(Path::new).filter(|folder| folder.exists()) {
        args.bind("--ro-bind", folder);
    }
    if policy.network == Network::On {
        resolver(&mut args, places);
    }
    for root in places.roots.iter().filter(|root| *root != Path::new("/")) {
        args.bind(bind, root);
    }
    for pin in &places.pinned {
        args.bind("--bind", pin);
    }
    for guard in &places.guarded {
        args.bind("--ro-bind", guard);
    }
    hide(&mut args, outer);
    args.pair("--chdir", outer.cwd);
    args.list.push("--".into());
    args.list
}

/// Folders are empty, files too, and neither can be written.
fn hide(args: &mut Args, outer: &Outer) {
    let folders: Vec<&PathBuf> = outer.places.hidden.iter().filter(|path| path.is_dir()).collect();
    for folder in &folders {
        args.pair("--tmpfs", folder);
    }
    for (file, empty) in outer.places.hidden_files().zip(outer.empty) {
        args.two("--ro-bind-data", OsStr::new(&empty.as_raw_fd().to_string()), file);
    }
    // The helper may lie in a folder that is covered.
    args.bind("--ro-bind", outer.helper);
    for folder in &folders {
        args.pair("--remount-ro", folder);
    }
}

#[derive(Default)]
struct Args {
    list: Vec<OsString>,
}

impl Args {
    fn flags(&mut self, flags: &[&str]) {
        self.list.extend(flags.iter().map(OsString::from));
    }

    fn pair(&mut self, flag: &str, path: &Path) {
        self.list.extend([OsStr::new(flag), path.as_os_str()].map(OsString::from));
    }

    fn two(&mut self, flag: &str, from: &OsStr, to: &Path) {
        self.list.extend([OsStr::new(flag), from, to.as_os_str()].map(OsString::from));
    }

    fn bind(&mut self, flag: &str, path: &Path) {
        self.two(flag, path.as_os_str(), path);
    }
}

/// Names are resolved by a file that often lies in `/run`, which is covered.
fn resolver(args: &mut Args, places: &Places) {
    let target = Path::new("/etc/resolv.conf").canonicalize().ok();
    if let Some(target) = target.filter(|target| !places.visible(target)) {
        args.bind("--ro-bind", &target);
    }
}
