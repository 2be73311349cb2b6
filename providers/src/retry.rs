//! How long to wait before another attempt.

use std::time::Duration;

use crate::failure::Again;

const FIRST_MS: u64 = 200;
const LONGEST_MS: u64 = 30_000;

/// The wait before attempt `attempt + 1`; none when there shall be no other.
pub(crate) fn wait(again: Again, attempt: u32) -> Option<Duration> {
    match again {
        Again::Never => None,
        Again::After { ms } => Some(Duration::from_millis(ms)),
        Again::Backoff => {
            let base = FIRST_MS.saturating_mul(1 << attempt.min(10)).min(LONGEST_MS);
            Some(Duration::from_millis(base + jitter(base / 4)))
        }
    }
}

/// Some part of `span`, different from one process and moment to the next.
fn jitter(span: u64) -> u64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    u64::from(now ^ std::process::id().rotate_left(16)) % span.max(1)
}
