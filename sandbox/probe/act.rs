//! Acts on the kernel, files and other processes.

use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::{given, number};

/// None when there is no such act.
pub(crate) fn run(name: &str, words: &[&str]) -> Option<std::io::Result<()>> {
    let first = words.first().copied().unwrap_or_default();
    let pid = i32::try_from(number(words, 0)).unwrap_or(0);
    Some(match name {
        "true" => Ok(()),
        "truncate" => text(first).and_then(|path| call(libc::SYS_truncate, &[address(&path), 0])),
        "xattr" => xattr(first),
        "handle" => handle(first),
        "descriptors" => descriptors(),
        "signal" => call(libc::SYS_kill, &[i64::from(pid), i64::from(libc::SIGCONT)]),
        "ptrace" => call(libc::SYS_ptrace, &[i64::from(libc::PTRACE_ATTACH), i64::from(pid), 0, 0]),
        "read-memory" => read_memory(pid),
        "pidfd" => pidfd(pid),
        "io_uring" => io_uring(),
        "userns" => call(libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER)]),
        "clone-userns" => clone_userns(),
        "clone3" => clone3(),
        "mount" => mount(first),
        "chroot" => text(first).and_then(|path| call(libc::SYS_chroot, &[address(&path)])),
        "keyctl" => call(libc::SYS_keyctl, &[0, -3, 0]),
        "bpf" => refused(libc::SYS_bpf),
        "perf" => refused(libc::SYS_perf_event_open),
        "userfaultfd" => call(libc::SYS_userfaultfd, &[1]),
        "tiocsti" => tiocsti(),
        "shm" => call(libc::SYS_shmget, &[number(words, 0), 16, 0]),
        "queue" => queue(),
        "x32" => call(0x4000_0000 + libc::SYS_getpid, &[]),
        #[cfg(target_arch = "x86_64")]
        "int80" => int80(),
        _ => return None,
    })
}

fn call(number: i64, args: &[i64]) -> std::io::Result<()> {
    let arg = |at: usize| args.get(at).copied().unwrap_or(0);
    // SAFETY: pointers among the arguments are to memory that lives until the call is over.
    given(unsafe { libc::syscall(number, arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) })
}

fn text(path: &str) -> std::io::Result<CString> {
    Ok(CString::new(path)?)
}

fn address(text: &std::ffi::CStr) -> i64 {
    text.as_ptr() as i64
}

/// Succeeds unless the call is refused as a whole: bad arguments are told otherwise.
fn refused(number: i64) -> std::io::Result<()> {
    match call(number, &[0, 0, 0, 0, 0]) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EFAULT)) => Ok(()),
        other => other,
    }
}

fn xattr(path: &str) -> std::io::Result<()> {
    let path = text(path)?;
    call(libc::SYS_setxattr, &[address(&path), address(c"user.x"), address(c"1"), 1, 0])
}

fn handle(path: &str) -> std::io::Result<()> {
    let (path, mut handle, mut mount) = (text(path)?, [0u32; 64], 0i32);
    handle[0] = 128;
    let place = &raw mut handle as i64;
    let at = i64::from(libc::AT_FDCWD);
    call(libc::SYS_name_to_handle_at, &[at, address(&path), place, &raw mut mount as i64, 0])?;
    let root = std::fs::File::open("/")?;
    call(libc::SYS_open_by_handle_at, &[i64::from(root.as_raw_fd()), place, i64::from(libc::O_RDONLY)])
}

/// Succeeds when something but the standard three, and the listing itself, is open.
fn descriptors() -> std::io::Result<()> {
    let open = std::fs::read_dir("/proc/self/fd")?.count();
    if open > 4 { Ok(()) } else { Err(std::io::Error::other(format!("{open} are open"))) }
}

fn read_memory(pid: i32) -> std::io::Result<()> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.split('-').next().and_then(|hex| usize::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let mut bytes = [0u8; 16];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 16 };
    let remote = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: 16 };
    // SAFETY: sixteen bytes here; what is there is the kernel's to check.
    let got = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    given(i64::try_from(got).unwrap_or(-1))
}

fn pidfd(pid: i32) -> std::io::Result<()> {
    // SAFETY: plain numbers.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    given(process)?;
    call(libc::SYS_pidfd_getfd, &[process, 0, 0])
}

fn io_uring() -> std::io::Result<()> {
    let mut params = [0u8; 256];
    call(libc::SYS_io_uring_setup, &[4, params.as_mut_ptr() as i64])
}

fn clone_userns() -> std::io::Result<()> {
    // SAFETY: as fork; the child ends at once.
    unsafe {
        let child = libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0);
        if child == 0 {
            libc::_exit(0);
        }
        given(child)
    }
}

fn clone3() -> std::io::Result<()> {
    let mut args = [0u64; 11];
    args[0] = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    args[4] = u64::from(libc::SIGCHLD.unsigned_abs());
    // SAFETY: as fork; the child ends at once.
    unsafe {
        let child = libc::syscall(libc::SYS_clone3, args.as_ptr(), 88);
        if child == 0 {
            libc::_exit(0);
        }
        given(child)
    }
}

fn mount(path: &str) -> std::io::Result<()> {
    let path = text(path)?;
    call(libc::SYS_mount, &[address(c"tmpfs"), address(&path), address(c"tmpfs"), 0, 0])
}

/// Types into a terminal: the controlling one, or a new one of our own.
fn tiocsti() -> std::io::Result<()> {
    let names = ["/dev/tty", "/dev/ptmx"];
    let mut options = std::fs::File::options();
    options.read(true).write(true).custom_flags(libc::O_NOCTTY);
    let terminal = names.iter().find_map(|name| options.open(name).ok());
    let terminal = terminal.ok_or_else(|| std::io::Error::other("no terminal"))?;
    // SAFETY: one byte is read.
    given(i64::from(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, c"#".as_ptr()) }))
}

fn queue() -> std::io::Result<()> {
    let flags = i64::from(libc::O_CREAT | libc::O_RDWR);
    call(libc::SYS_mq_open, &[address(c"wall"), flags, 0o600, 0])
}

/// socket(AF_INET, SOCK_STREAM, 0) by the door of 32-bit programs.
#[cfg(target_arch = "x86_64")]
fn int80() -> std::io::Result<()> {
    let mut result: i64 = 359;
    // SAFETY: the call takes plain numbers; the register that the compiler keeps for itself is restored.
    unsafe {
        std::arch::asm!(
            "xchg {first}, rbx", "int 0x80", "xchg {first}, rbx",
            first = inout(reg) 2i64 => _, inout("rax") result, in("rcx") 1i64, in("rdx") 0i64,
        );
    }
    let error = i32::try_from(-result).unwrap_or(0);
    if result < 0 { Err(std::io::Error::from_raw_os_error(error)) } else { Ok(()) }
}
