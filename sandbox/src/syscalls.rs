//! The inner wall: seccomp. What is not needed to build and test is refused with EPERM; another
//! architecture's calls end the process.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::{calls, refusals};

/// What lies outside of the filter decides what it must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    /// Own namespaces: pid, ipc, and net when the network is off.
    Bubblewrap {
        own_net: bool,
    },
    Nothing {
        network: bool,
    },
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, BackendError>;

const MSG_FASTOPEN: u64 = libc::MSG_FASTOPEN as u64;
/// The low bits of a socket's type; the rest are flags.
const TYPE: u64 = 0xf;
/// The filters, to be put up as the last thing before the command.
pub(crate) struct Filters([BpfProgram; 2]);

impl Filters {
    pub(crate) fn of(around: Around) -> Result<Self, String> {
        let arch = target()?;
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let by_argument: BpfProgram = rules(around)
            .and_then(|rules| SeccompFilter::new(rules, SeccompAction::Allow, refused, arch))
            .and_then(TryInto::try_into)
            .map_err(|error| format!("seccomp: {error}"))?;
        let whole = refusals::program(&whole(around)).map_err(|error| format!("seccomp: {error}"))?;
        Ok(Self([by_argument, whole]))
    }

    pub(crate) fn put_up(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|program| {
            seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))
        })
    }
}

fn target() -> Result<TargetArch, String> {
    std::env::consts::ARCH
        .try_into()
        .map_err(|_| format!("seccomp: no filter for {}", std::env::consts::ARCH))
}

/// Calls refused whatever their arguments.
fn whole(around: Around) -> Vec<i64> {
    let mut refused = [calls::DENIED, calls::OWN].concat();
    match around {
        Around::Bubblewrap { .. } => {}
        Around::Nothing { network: true } => refused.extend(calls::ALONE),
        Around::Nothing { network: false } => refused.extend([calls::ALONE, calls::NETWORK].concat()),
    }
    refused
}

/// Calls refused by their arguments.
fn rules(around: Around) -> Built<Rules> {
    let mut rules = Rules::new();
    sockets(&mut rules, around)?;
    sending(&mut rules, around)?;
    let spaces = calls::NEW_SPACES.iter().map(|space| u64::from(space.unsigned_abs()));
    rules.insert(libc::SYS_clone, spaces.map(|space| masked(0, space, space)).collect::<Built<_>>()?);
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1)?);
    let typing = [libc::TIOCSTI, libc::TIOCLINUX];
    let typing = typing.iter().map(|request| SeccompRule::new(vec![dword(1, SeccompCmpOp::Eq, *request)?]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Built<_>>()?);
    Ok(rules)
}

/// Refuses every family but those that are safe here.
fn sockets(rules: &mut Rules, around: Around) -> Built<()> {
    let internet = [libc::AF_INET, libc::AF_INET6];
    let mut families: Vec<i32> = match around {
        Around::Nothing { network: false } => Vec::new(),
        Around::Nothing { network: true } | Around::Bubblewrap { .. } => internet.to_vec(),
    };
    // The routing table, for programs that list addresses; others of that family reach into the kernel.
    let routes =
        matches!(around, Around::Nothing { network: true } | Around::Bubblewrap { own_net: false, .. });
    let mut refused = Vec::new();
    if routes {
        families.push(libc::AF_NETLINK);
        refused.push(SeccompRule::new(vec![
            dword(0, SeccompCmpOp::Eq, word(libc::AF_NETLINK))?,
            dword(2, SeccompCmpOp::Ne, word(libc::NETLINK_ROUTE))?,
        ])?);
    }
    // Always true: without a family, all are refused.
    let mut others = vec![dword(0, SeccompCmpOp::Ge, 0)?];
    for family in families {
        others.push(dword(0, SeccompCmpOp::Ne, word(family))?);
    }
    refused.push(SeccompRule::new(others)?);
    rules.insert(libc::SYS_socket, refused);
    // Unix sockets with names lead out: a path that can be seen can be connected to, read-only or not. Of a
    // pair, datagrams can be sent to any path.
    let others = SeccompRule::new(vec![dword(0, SeccompCmpOp::Ne, word(libc::AF_UNIX))?])?;
    rules.insert(libc::SYS_socketpair, vec![others, masked(1, TYPE, word(libc::SOCK_DGRAM))?]);
    Ok(())
}

/// Refuses what sends and connects at once, around the rules for `connect`.
fn sending(rules: &mut Rules, around: Around) -> Built<()> {
    let mut to = vec![masked(3, MSG_FASTOPEN, MSG_FASTOPEN)?];
    if around == (Around::Nothing { network: false }) {
        let given = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        to.push(SeccompRule::new(vec![given])?);
    } else {
        rules.insert(libc::SYS_sendmmsg, vec![masked(3, MSG_FASTOPEN, MSG_FASTOPEN)?]);
    }
    rules.insert(libc::SYS_sendto, to);
    rules.insert(libc::SYS_sendmsg, vec![masked(2, MSG_FASTOPEN, MSG_FASTOPEN)?]);
    Ok(())
}

/// Refuses devices, not the pipes with names that the same call makes.
fn devices(arg: u8) -> Built<Vec<SeccompRule>> {
    let kinds = [libc::S_IFBLK, libc::S_IFCHR];
    kinds.iter().map(|kind| masked(arg, u64::from(libc::S_IFMT), u64::from(*kind))).collect()
}

fn word(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}

fn masked(arg: u8, mask: u64, value: u64) -> Built<SeccompRule> {
    let op = SeccompCmpOp::MaskedEq(mask);
    SeccompRule::new(vec![SeccompCondition::new(arg, SeccompCmpArgLen::Qword, op, value)?])
}

fn dword(arg: u8, op: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(arg, SeccompCmpArgLen::Dword, op, value)
}
