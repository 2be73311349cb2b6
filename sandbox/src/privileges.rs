//! What a process gives up before it becomes a command: open files, new privileges, capabilities.

/// Nothing that is open now, but for the three standard files, passes into what is executed next.
pub(crate) fn close_files() {
    // SAFETY: it only marks descriptors of this process; no memory is involved.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// No exec gives privileges any more.
pub(crate) fn none_new() -> Result<(), String> {
    // SAFETY: this option takes four plain numbers.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(failed("no_new_privs")),
    }
}

/// No capability now, and none to be had by an exec.
pub(crate) fn drop_all() -> Result<(), String> {
    for capability in 0..64 {
        // SAFETY: plain numbers; a capability this kernel lacks, or that may not be dropped any more, is looked
        // at below.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    clear()?;
    // As root an exec would fill the set up to the bounds; an ordinary user has nothing to fill it from.
    // SAFETY: geteuid has no preconditions; the option takes plain numbers and answers 0 or 1.
    let bounded = unsafe { libc::geteuid() == 0 && libc::prctl(libc::PR_CAPBSET_READ, 0, 0, 0, 0) == 1 };
    if bounded { Err("capabilities: the bounding set of root could not be emptied".into()) } else { Ok(()) }
}

fn clear() -> Result<(), String> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: the header and the six words of version 3 are what the call reads.
    match unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) } {
        0 => Ok(()),
        _ => Err(failed("capabilities")),
    }
}

fn failed(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}
