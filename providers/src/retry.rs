//! How often an attempt is made again, and how long is waited before it.

use protocol::{Failure, Retry};

use crate::failure::{Again, Trouble};
use crate::provider::Provider;

const FIRST_MS: u64 = 200;
const LONGEST_MS: u64 = 30_000;

/// How far a failed attempt had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No answer, or a refusal.
    Request,
    /// An answer that broke off.
    Stream,
}

/// Attempts so far, of requests that were refused and of streams that broke: each has its own bound.
pub(crate) struct Tries {
    requests: Count,
    streams: Count,
}

struct Count {
    made: u32,
    of: u32,
}

impl Tries {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            requests: Count { made: 0, of: provider.request_max_retries },
            streams: Count { made: 0, of: provider.stream_max_retries },
        }
    }

    /// The next attempt, counted from 1 within its kind; none when there shall be no other.
    pub(crate) fn next(&mut self, phase: Phase, again: Again) -> Option<Retry> {
        let count = match phase {
            Phase::Request => &mut self.requests,
            Phase::Stream => &mut self.streams,
        };
        let wait_ms = match again {
            _ if count.made >= count.of => return None,
            Again::Never | Again::TooLate { .. } => return None,
            Again::After { ms } => ms,
            Again::Backoff => backoff_ms(count.made),
        };
        count.made += 1;
        Some(Retry { attempt: count.made, of: count.of, wait_ms })
    }

    /// The last failure, which says how often it was tried again.
    pub(crate) fn given_up(&self, trouble: Trouble) -> Failure {
        let mut failure = trouble.failure;
        if let Again::TooLate { ms } = trouble.again {
            failure.text += &format!("; the server asks to wait for {} s", ms / 1000);
        }
        match self.requests.made + self.streams.made {
            0 => {}
            1 => failure.text += " (after 1 retry)",
            retries => failure.text += &format!(" (after {retries} retries)"),
        }
        failure
    }
}

fn backoff_ms(made: u32) -> u64 {
    let base = FIRST_MS.saturating_mul(1 << made.min(10)).min(LONGEST_MS);
    base + jitter(base / 4)
}

/// Some part of `span`, different from one process and moment to the next.
fn jitter(span: u64) -> u64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    u64::from(now ^ std::process::id().rotate_left(16)) % span.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Wire;

    #[test]
    fn waits_grow_and_end() {
        let provider = Provider {
            request_max_retries: 3,
            stream_max_retries: 1,
            ..Provider::new("p", Wire::Chat, "http://x")
        };
        let mut tries = Tries::new(&provider);
        for (attempt, from_ms, to_ms) in [(1, 200, 250), (2, 400, 500), (3, 800, 1000)] {
            let retry = tries.next(Phase::Request, Again::Backoff).expect("another attempt");
            assert_eq!((retry.attempt, retry.of), (attempt, 3));
            assert!((from_ms..to_ms).contains(&retry.wait_ms), "{retry:?}");
        }
        assert_eq!(tries.next(Phase::Request, Again::Backoff), None);
        let after = tries.next(Phase::Stream, Again::After { ms: 7 });
        assert_eq!(after, Some(Retry { attempt: 1, of: 1, wait_ms: 7 }));
        assert_eq!(tries.next(Phase::Stream, Again::After { ms: 7 }), None);
        let failure = tries.given_up(Trouble::unheard());
        assert_eq!(failure.text, "nobody listens any more (after 4 retries)");
        assert_eq!(Tries::new(&provider).next(Phase::Request, Again::Never), None);
    }
}
