//! The one fold of events into how a session stands: for the actor, for every face, for tests.

use crate::*;

/// The events so far, folded: how each session stands. One fold for the actor (it makes `Snapshot`s of
/// it), for every face (`render(&Board, &Event)` after `apply`), and for tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    pub sessions: std::collections::BTreeMap<SessionId, Snapshot>,
}
impl Board {
    /// Unknown sessions and items are ignored: a follower may join late.
    pub fn apply(&mut self, event: &Event) {
        if let EventKind::SessionOpened(info) = &event.kind {
            self.sessions.insert(event.session.clone(), Snapshot::new((**info).clone()));
        }
        let Some(at) = self.sessions.get_mut(&event.session) else { return };
        at.seq = event.seq;
        match &event.kind {
            EventKind::SessionOpened(_)
            | EventKind::SessionClosed
            | EventKind::Noticed(_)
            | EventKind::TaskOutput { .. } => {}
            EventKind::SessionChanged(change) => match change {
                SessionChange::Title(title) => at.info.title = Some(title.clone()),
                SessionChange::Settings { settings, options } => {
                    (at.info.settings, at.info.options) = (settings.clone(), options.clone())
                }
                SessionChange::Commands(commands) => at.info.commands = commands.clone(),
            },
            EventKind::TurnStarted { turn, .. } => at.info.running = Some(turn.clone()),
            EventKind::TurnEnded { .. } => at.info.running = None,
            EventKind::ItemStarted(item) => at.open_items.push((**item).clone()),
            EventKind::ItemFinished(item) => {
                at.open_items.retain(|open| open.id != item.id);
                if let ItemKind::Plan(plan) = &item.kind {
                    at.plan = plan.clone()
                }
            }
            EventKind::ItemChanged { item, change } => {
                if let Change::Plan(plan) = change {
                    at.plan = plan.clone()
                }
                if let Some(open) = at.open_items.iter_mut().find(|open| open.id == *item) {
                    open.change(change)
                }
            }
            EventKind::Asked(ask) => at.asks.push((**ask).clone()),
            EventKind::AskClosed { ask, .. } => at.asks.retain(|open| open.id != *ask),
            EventKind::TaskChanged(task) => {
                at.tasks.retain(|known| known.id != task.id);
                if task.end.is_none() {
                    at.tasks.push(task.clone())
                }
            }
            EventKind::UsageChanged(usage) => at.usage = usage.clone(),
        }
    }
    pub fn item(&self, session: &SessionId, item: &ItemId) -> Option<&Item> {
        self.sessions.get(session)?.open_items.iter().find(|open| open.id == *item)
    }
}
impl Snapshot {
    pub fn new(info: SessionInfo) -> Self {
        Self {
            info,
            seq: 0,
            open_items: vec![],
            asks: vec![],
            tasks: vec![],
            plan: Plan::default(),
            usage: Usage::default(),
        }
    }
}
/// What a late follower sees of a running command.
pub const LIVE_BYTES: usize = 16 * 1024;
impl Item {
    /// One change; a change that does not fit the kind is nothing.
    pub fn change(&mut self, change: &Change) {
        match (change, &mut self.kind) {
            (Change::Stage(stage), _) => self.stage = *stage,
            (
                Change::Text(more),
                ItemKind::Message(text)
                | ItemKind::Thought(text)
                | ItemKind::Compaction { summary: text, .. },
            ) => text.push_str(more),
            (Change::Plan(new), ItemKind::Plan(plan)) => *plan = new.clone(),
            (Change::Formed { input, action }, ItemKind::Act(act)) => {
                (act.input, act.action) = (input.clone(), Some((**action).clone()))
            }
            (Change::Files(files), ItemKind::Act(act)) => act.files = files.clone(),
            (Change::Output(chunk), ItemKind::Act(act)) => {
                act.live.push_str(&chunk.text);
                let cut = act.live.len().saturating_sub(LIVE_BYTES);
                act.live.drain(..act.live.ceil_char_boundary(cut));
            }
            (
                Change::Output(_)
                | Change::Text(_)
                | Change::Plan(_)
                | Change::Formed { .. }
                | Change::Files(_),
                _,
            ) => {}
        }
    }
}
