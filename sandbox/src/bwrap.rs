//! The outer wall: bubblewrap's arguments for a policy.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use protocol::{Network, Sandbox};

use crate::policy::Policy;

/// All arguments in front of the command.
pub(crate) fn arguments(policy: &Policy, cwd: &Path, helper: &Path) -> Vec<OsString> {
    let mut args = Args::default();
    args.flags(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    ]);
    if policy.network == Network::Off {
        args.flags(&["--unshare-net"]);
    }
    args.bind("--ro-bind", Path::new("/"));
    args.pair("--dev", Path::new("/dev"));
    args.pair("--proc", Path::new("/proc"));
    if is_root() {
        args.bind("--ro-bind", Path::new("/proc/sys"));
    }
    for folder in ["/tmp", "/run"] {
        if Path::new(folder).is_dir() {
            args.pair("--tmpfs", Path::new(folder));
        }
    }
    if policy.network == Network::On {
        resolver(&mut args);
    }
    for root in &policy.roots {
        let Ok(root) = root.canonicalize() else { continue };
        args.bind(if policy.sandbox == Sandbox::WorkspaceWrite { "--bind" } else { "--ro-bind" }, &root);
    }
    if policy.sandbox == Sandbox::WorkspaceWrite {
        for guard in policy.guarded.iter().filter_map(|guard| guard.canonicalize().ok()) {
            args.bind("--ro-bind", &guard);
        }
    }
    for hidden in policy.hidden.iter().filter_map(|hidden| hidden.canonicalize().ok()) {
        args.hide(&hidden);
    }
    // The helper may lie in a folder that is covered.
    args.bind("--ro-bind", helper);
    args.pair("--chdir", cwd);
    args.list.push("--".into());
    args.list
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

    fn bind(&mut self, flag: &str, path: &Path) {
        self.list.extend([OsStr::new(flag), path.as_os_str(), path.as_os_str()].map(OsString::from));
    }

    fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.pair("--tmpfs", path);
        } else {
            self.list.extend(
                [OsStr::new("--ro-bind"), OsStr::new("/dev/null"), path.as_os_str()].map(OsString::from),
            );
        }
    }
}

/// Names are resolved by a file that often lies in `/run`, which is covered.
fn resolver(args: &mut Args) {
    let target: Option<PathBuf> = Path::new("/etc/resolv.conf").canonicalize().ok();
    if let Some(target) = target.filter(|target| target.starts_with("/run")) {
        args.bind("--ro-bind", &target);
    }
}

pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}
