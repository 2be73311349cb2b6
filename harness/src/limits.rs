//! Every bound of the engine in one place.

use std::time::Duration;

/// Commands waiting for one session.
pub(crate) const ORDERS: usize = 64;
/// What a turn may have proposed and the actor not yet recorded.
pub(crate) const PROPOSALS: usize = 256;
/// Orders that wait while their session is being opened.
pub(crate) const PARKED: usize = 16;
/// Prompts that wait behind the running turn.
pub(crate) const QUEUED_PROMPTS: usize = 16;
/// Texts that wait to be pulled into the running turn.
pub(crate) const STEERING: usize = 16;
/// Background commands of one session.
pub(crate) const TASKS: usize = 16;
/// How long a cancelled turn may take to end by itself.
pub(crate) const CANCEL: Duration = Duration::from_millis(1_500);
/// How long an editor may take to answer for a buffer.
pub(crate) const HOST: Duration = Duration::from_secs(10);
/// Live output of a command is told this often at most.
pub(crate) const LIVE_PERIOD: Duration = Duration::from_millis(100);
/// Head and tail kept of a command's output, each.
pub(crate) const KEPT_BYTES: usize = 512 * 1024;
/// Characters of a title made from a prompt.
pub(crate) const TITLE_CHARS: usize = 60;
/// Bytes of a page that a fetch reads.
pub(crate) const FETCH_BYTES: usize = 4 * 1024 * 1024;
/// Redirects in a row that a fetch follows.
pub(crate) const FETCH_HOPS: usize = 10;
/// Characters of a command in the name of a choice.
pub(crate) const CHOICE_CHARS: usize = 120;
