//! What the face remembers of one open session beside the board: what the client was told, and what it
//! waits for. Dropping it ends the questions that are open.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use agent_client_protocol::Responder;
use protocol::{AskId, ItemId, TurnId};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::place::Place;

/// Live output is replaced this often at most.
const LIVE: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(crate) struct Session {
    pub(crate) place: Place,
    /// Prompts that wait for the end of their turn.
    pub(crate) prompts: HashMap<TurnId, Prompt>,
    /// The client's own prompts, which it need not be told.
    pub(crate) own: BTreeSet<ItemId>,
    /// Open items that the client knows of.
    pub(crate) announced: BTreeSet<ItemId>,
    pub(crate) live: HashMap<ItemId, Live>,
    pub(crate) asks: HashMap<AskId, AbortOnDropHandle<()>>,
    /// The client's own changes under way, of which it hears by their answers.
    pub(crate) setting: Setting,
    /// The last usage that was told.
    pub(crate) usage: Option<Value>,
    /// Notices told as messages.
    pub(crate) notices: u64,
}

/// A prompt that waits for the end of its turn.
pub(crate) struct Prompt {
    pub(crate) responder: Responder,
    /// Waits for the client to take it back.
    pub(crate) watch: AbortOnDropHandle<()>,
    /// It was taken back before its turn came.
    pub(crate) recalled: bool,
}

#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) modes: usize,
    pub(crate) options: usize,
}

/// A command whose output is shown from time to time.
pub(crate) struct Live {
    shown: Instant,
    waits: bool,
}

impl Session {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, ..Self::default() }
    }

    /// There is new output; whether it is shown at once.
    pub(crate) fn output(&mut self, item: &ItemId, now: Instant) -> bool {
        match self.live.get_mut(item) {
            None => {
                self.live.insert(item.clone(), Live { shown: now, waits: false });
                true
            }
            Some(live) if live.shown + LIVE <= now => {
                *live = Live { shown: now, waits: false };
                true
            }
            Some(live) => {
                live.waits = true;
                false
            }
        }
    }

    /// When the next output is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.live.values().filter(|live| live.waits).map(|live| live.shown + LIVE).min()
    }

    /// Items whose output is due, and is taken for shown.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ItemId> {
        let due = self.live.iter_mut().filter(|(_, live)| live.waits && live.shown + LIVE <= now);
        due.map(|(item, live)| {
            *live = Live { shown: now, waits: false };
            item.clone()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_shown_at_once_and_then_four_times_a_second() {
        let (mut session, item, begin) = (Session::default(), ItemId(1), Instant::now());
        let mut shown = 0;
        for ms in 0..1000 {
            let now = begin + Duration::from_millis(ms);
            shown += usize::from(session.output(&item, now)) + session.take_due(now).len();
        }
        assert_eq!(shown, 4);
        assert_eq!(session.due(), Some(begin + 4 * LIVE));
    }
}
