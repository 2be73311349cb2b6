//! The processes of one command, found by a mark in their environment, also those that left its session.

/// The variable that marks them.
pub(crate) const MARK: &str = "INTERPRETER_COMMAND";

/// A mark that no other command has.
pub(crate) fn mark() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COMMANDS: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    format!("{}-{}-{now:x}", std::process::id(), COMMANDS.fetch_add(1, Ordering::Relaxed))
}

/// Sends a signal to the group that `pid` leads.
#[cfg(unix)]
pub(crate) fn signal_group(pid: u32, signal: i32) {
    let Ok(pid) = i32::try_from(pid) else { return };
    if pid > 1 {
        // SAFETY: plain numbers; a group that is gone is an error to ignore.
        unsafe { libc::kill(-pid, signal) };
    }
}

/// Sends a signal to every process with the mark.
#[cfg(unix)]
pub(crate) fn signal_marked(mark: &str, signal: i32) {
    for pid in marked(mark) {
        // SAFETY: as above.
        unsafe { libc::kill(pid, signal) };
    }
}

#[cfg(not(unix))]
pub(crate) fn signal_group(_: u32, _: i32) {}

#[cfg(not(unix))]
pub(crate) fn signal_marked(_: &str, _: i32) {}

#[cfg(target_os = "linux")]
fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids =
        entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
    pids.filter(|pid: &i32| {
        let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        env.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn marked(_: &str) -> Vec<i32> {
    Vec::new()
}
