//! The inner wall: seccomp. What is not needed to build and test is refused with EPERM; another
//! architecture's calls end the process.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

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

/// Refused whatever the arguments.
const DENIED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_mq_open,
    libc::SYS_pidfd_getfd,
];

/// Refused where no pid and ipc namespace holds them.
const ALONE: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
];

/// Refused where the network is off and no namespace holds it.
const NETWORK: &[i64] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendmmsg,
];

const MSG_FASTOPEN: u64 = 0x2000_0000;
/// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME.
const NEW_SPACES: [u64; 8] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000, 0x80];

/// Puts the filters up; the last thing before the command.
pub(crate) fn put_up(around: Around) -> Result<(), String> {
    let arch = target()?;
    let main = compile(rules(around).map_err(|error| error.to_string())?, libc::EPERM, arch)?;
    // Programs take "no such call" as "use clone", whose flags can be looked at.
    let clone3 = compile(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS, arch)?;
    for program in [&main, &clone3] {
        seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

fn target() -> Result<TargetArch, String> {
    std::env::consts::ARCH
        .try_into()
        .map_err(|_| format!("seccomp: no filter for {}", std::env::consts::ARCH))
}

fn compile(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, String> {
    let errno = u32::try_from(errno).unwrap_or(1);
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)
        .and_then(TryInto::try_into)
        .map_err(|error| format!("seccomp: {error}"))
}

fn rules(around: Around) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let network_off = matches!(around, Around::Nothing { network: false });
    if matches!(around, Around::Nothing { .. }) {
        rules.extend(ALONE.iter().map(|call| (*call, Vec::new())));
    }
    if network_off {
        rules.extend(NETWORK.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_socket, vec![sockets(around)?]);
    // Datagrams of a pair can be sent to any path.
    rules.insert(libc::SYS_socketpair, vec![masked(1, 0xf, libc::SOCK_DGRAM as u64)?]);
    rules.insert(libc::SYS_sendto, vec![masked(3, MSG_FASTOPEN, MSG_FASTOPEN)?]);
    rules.insert(libc::SYS_sendmsg, vec![masked(2, MSG_FASTOPEN, MSG_FASTOPEN)?]);
    if !network_off {
        rules.insert(libc::SYS_sendmmsg, vec![masked(3, MSG_FASTOPEN, MSG_FASTOPEN)?]);
    } else if let Some(sendto) = rules.get_mut(&libc::SYS_sendto) {
        sendto.push(condition(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?);
    }
    let spaces: Result<Vec<SeccompRule>, _> =
        NEW_SPACES.iter().map(|space| masked(0, *space, *space)).collect();
    rules.insert(libc::SYS_clone, spaces?);
    let devices = |arg| {
        Ok::<_, seccompiler::BackendError>(vec![
            masked(arg, u64::from(libc::S_IFMT), u64::from(libc::S_IFBLK))?,
            masked(arg, u64::from(libc::S_IFMT), u64::from(libc::S_IFCHR))?,
        ])
    };
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_mknod, devices(1)?);
        rules.extend(
            [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load].map(|call| (call, Vec::new())),
        );
    }
    let typed = [libc::TIOCSTI, libc::TIOCLINUX];
    let typed: Result<Vec<SeccompRule>, _> = typed
        .iter()
        .map(|request| condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request))
        .collect();
    rules.insert(libc::SYS_ioctl, typed?);
    Ok(rules)
}

/// Refuses every family but those that are safe here. Unix sockets exist only as pairs: a path may lead
/// to a server outside.
fn sockets(around: Around) -> Result<SeccompRule, seccompiler::BackendError> {
    let families: &[i32] = match around {
        Around::Bubblewrap { own_net: true } => &[libc::AF_INET, libc::AF_INET6],
        Around::Bubblewrap { own_net: false } | Around::Nothing { network: true } => {
            &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
        Around::Nothing { network: false } => &[],
    };
    let mut conditions = vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ge, 0)?];
    for family in families {
        let family = u64::try_from(*family).unwrap_or(0);
        conditions.push(SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)?);
    }
    SeccompRule::new(conditions)
}

fn masked(arg: u8, mask: u64, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    condition(arg, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask), value)
}

fn condition(
    arg: u8,
    len: SeccompCmpArgLen,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(arg, len, op, value)?])
}
