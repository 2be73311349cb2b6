//! The middle wall: Landlock. Rules only add, so everything is denied first; what the kernel does not fully
//! enforce is an error, never less.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

/// What the inner wall lets through.
pub(crate) struct Fence<'a> {
    pub(crate) version: u8,
    /// Folders and files that may be written.
    pub(crate) write: &'a [PathBuf],
    /// Whether TCP is denied, where no network namespace does it.
    pub(crate) no_tcp: bool,
}

/// The Landlock version of this kernel that is used here; 0 when there is none that will do.
pub(crate) fn version() -> u8 {
    // SAFETY: with a null pointer, size 0 and flag 1 the call only returns a number.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32) };
    match abi {
        6.. => 6,
        5 => 5,
        4 => 4,
        3 => 3,
        _ => 0,
    }
}

fn abi(version: u8) -> ABI {
    match version {
        6.. => ABI::V6,
        5 => ABI::V5,
        4 => ABI::V4,
        _ => ABI::V3,
    }
}

/// The rules, to be put up around this process and all that it becomes.
pub(crate) struct Rules(RulesetCreated);

impl Rules {
    pub(crate) fn of(fence: &Fence) -> Result<Self, String> {
        rules(fence).map(Self).map_err(|error| format!("Landlock: {error}"))
    }

    pub(crate) fn put_up(self) -> Result<(), String> {
        let status = self.0.restrict_self().map_err(|error| format!("Landlock: {error}"))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced if status.no_new_privs => Ok(()),
            other => Err(format!("Landlock is only {other:?}")),
        }
    }
}

fn rules(fence: &Fence) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let abi = abi(fence.version);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if fence.version >= 6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    if fence.no_tcp && fence.version >= 4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    let mut created = ruleset.create()?.set_compatibility(CompatLevel::HardRequirement);
    created = created.add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(abi)))?;
    for path in fence.write {
        // What does not exist needs no rule.
        let Ok(fd) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) };
        created = created.add_rule(PathBeneath::new(fd, access))?;
    }
    Ok(created)
}

/// Devices that programs write to and that lead nowhere.
pub(crate) fn harmless_devices() -> Vec<PathBuf> {
    let names = ["null", "zero", "full", "random", "urandom", "tty"];
    names.iter().map(|name| Path::new("/dev").join(name)).filter(|path| path.exists()).collect()
}
