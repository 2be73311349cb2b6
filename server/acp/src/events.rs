//! What happens in the engine, told to the client: which updates, and which of them only once.
//!
//! How an update looks is `render`'s.

use std::collections::VecDeque;

use protocol::{
    Change, Down, Event, EventKind, Item, ItemId, ItemKind, Level, Limit, Notice, Order, SessionChange,
    SessionId, Target, TurnEnd, TurnId, Usage,
};
use serde_json::json;
use tokio::time::Instant;

use crate::face::{Face, end_prompts};
use crate::{errors, render};

/// Rough cost of an update beside its text.
const FLAT_BYTES: usize = 512;

/// Pages of the past, item by item: each is told when there is room for it.
pub(crate) fn apart(downs: Vec<Down>) -> VecDeque<Down> {
    let mut all = VecDeque::with_capacity(downs.len());
    for down in downs {
        match down {
            Down::Past { session, items, last } => {
                let one = |item| Down::Past { session: session.clone(), items: vec![item], last };
                all.extend(items.into_iter().map(one));
            }
            Down::Reply { .. } | Down::Event(_) | Down::Host { .. } | Down::HostCancelled { .. } => {
                all.push_back(down);
            }
        }
    }
    all
}

/// Roughly what it costs to tell.
pub(crate) fn weight(down: &Down) -> usize {
    let text = match down {
        Down::Past { items, .. } => items.iter().map(Item::bytes).sum(),
        Down::Event(Event { kind: EventKind::ItemStarted(item) | EventKind::ItemFinished(item), .. }) => {
            item.bytes()
        }
        Down::Event(Event { kind: EventKind::ItemChanged { change, .. }, .. }) => match change {
            Change::Text(text) => text.len(),
            Change::Output(chunk) => chunk.text.len(),
            Change::Formed { input, .. } => input.0.len(),
            Change::Files(files) => files.iter().map(protocol::FileDiff::bytes).sum(),
            Change::Stage(_) | Change::Plan(_) => 0,
        },
        Down::Host { call: protocol::HostCall::WriteText { text, .. }, .. } => text.len(),
        Down::Event(_) | Down::Reply { .. } | Down::Host { .. } | Down::HostCancelled { .. } => 0,
    };
    FLAT_BYTES + text
}

/// Whether it is a piece of text, behind which more will follow.
pub(crate) fn is_text(down: &Down) -> bool {
    matches!(down, Down::Event(Event { kind: EventKind::ItemChanged { change: Change::Text(_), .. }, .. }))
}

impl Face {
    pub(crate) async fn event(&mut self, event: Event) {
        let Event { session, at_ms, kind, .. } = &event;
        let (session, at_ms) = (session.clone(), *at_ms);
        if let EventKind::SessionChanged(change) = kind {
            // What is told depends on what it was before.
            self.session_changed(&session, change, at_ms);
        }
        if let EventKind::ItemFinished(item) = kind {
            self.item_finished(&session, item);
        }
        self.board.apply(&event);
        match event.kind {
            EventKind::ItemStarted(item) => self.item_started(&session, &item),
            EventKind::ItemChanged { item, change } => self.item_changed(&session, &item, &change),
            EventKind::Asked(ask) => self.asked(&session, *ask),
            EventKind::AskClosed { ask, .. } => {
                // Dropped, the request is taken back from the client.
                if let Some(at) = self.sessions.get_mut(&session) {
                    at.asks.remove(&ask);
                }
            }
            EventKind::UsageChanged(usage) => self.usage_changed(&session, &usage),
            EventKind::Noticed(notice) => self.noticed(&session, &notice),
            EventKind::TurnStarted { turn, .. } => self.turn_started(session, &turn).await,
            EventKind::TurnEnded { turn, end } => self.turn_ended(&session, &turn, &end),
            EventKind::SessionClosed => {
                self.board.sessions.remove(&session);
                if let Some(at) = self.sessions.remove(&session) {
                    end_prompts(at);
                }
            }
            // A background command has ended its call; the model reads what it says later.
            EventKind::TaskChanged(_) | EventKind::TaskOutput { .. } => {}
            EventKind::SessionOpened(_) | EventKind::SessionChanged(_) | EventKind::ItemFinished(_) => {}
        }
    }

    /// Finished items of a session that is being loaded.
    pub(crate) fn past(&self, session: &SessionId, items: &[Item]) {
        let unknown = crate::place::Place::default();
        let place = self.loading.get(session).unwrap_or(&unknown);
        let view = render::View { caps: self.caps, place };
        for item in items {
            self.updates(session, render::past(item, view));
        }
    }

    fn item_started(&mut self, session: &SessionId, item: &Item) {
        let caps = self.caps;
        let Some(at) = self.sessions.get_mut(session) else { return };
        let told = match &item.kind {
            ItemKind::Act(act) => render::announces(act, caps),
            ItemKind::User { .. } => !at.own.remove(&item.id),
            ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::Plan(_) | ItemKind::Compaction { .. } => {
                true
            }
        };
        if told {
            at.announced.insert(item.id.clone());
            let updates = render::started(item, render::View { caps, place: &at.place });
            self.updates(session, updates);
        }
    }

    fn item_changed(&mut self, session: &SessionId, id: &ItemId, change: &Change) {
        let caps = self.caps;
        let Some(item) = self.board.item(session, id) else { return };
        let Some(at) = self.sessions.get_mut(session) else { return };
        let updates = match &item.kind {
            ItemKind::Act(act) if !at.announced.contains(id) => {
                if !render::announces(act, caps) {
                    return;
                }
                at.announced.insert(id.clone());
                vec![render::begun(item, act, render::View { caps, place: &at.place })]
            }
            // Shown from time to time, where it is shown as a whole.
            ItemKind::Act(_) if matches!(change, Change::Output(_)) && !caps.terminal_output => {
                if !at.output(id, Instant::now()) {
                    return;
                }
                render::changed(item, change, render::View { caps, place: &at.place })
            }
            ItemKind::Act(_)
            | ItemKind::User { .. }
            | ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::Plan(_)
            | ItemKind::Compaction { .. } => {
                render::changed(item, change, render::View { caps, place: &at.place })
            }
        };
        self.updates(session, updates);
    }

    /// Commands whose output waits to be shown.
    pub(crate) fn show_live(&mut self) {
        let now = Instant::now();
        let due: Vec<(SessionId, ItemId)> = self
            .sessions
            .iter_mut()
            .flat_map(|(session, at)| at.take_due(now).into_iter().map(|item| (session.clone(), item)))
            .collect();
        for (session, id) in due {
            let (Some(item), Some(at)) = (self.board.item(&session, &id), self.sessions.get(&session)) else {
                continue;
            };
            let none = protocol::Chunk { from: protocol::Pipe::Both, text: String::new() };
            self.updates(&session, render::changed(item, &Change::Output(none), self.view(at)));
        }
    }

    /// Before the board forgets the item. What the client knows of is ended, the rest is told as a whole.
    fn item_finished(&mut self, session: &SessionId, item: &Item) {
        let caps = self.caps;
        let shown = self.board.item(session, &item.id).map(|open| &open.kind);
        let Some(at) = self.sessions.get_mut(session) else { return };
        at.live.remove(&item.id);
        let known = at.announced.remove(&item.id);
        let own = at.own.remove(&item.id);
        let view = render::View { caps, place: &at.place };
        let updates = match &item.kind {
            ItemKind::Act(act) if known => vec![render::last(item, act, view)],
            ItemKind::Plan(_) if known && shown == Some(&item.kind) => Vec::new(),
            // Its text was told as it came.
            ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::User { .. } if known || own => Vec::new(),
            ItemKind::Compaction { .. } if known => Vec::new(),
            ItemKind::Act(_)
            | ItemKind::Plan(_)
            | ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::User { .. }
            | ItemKind::Compaction { .. } => render::past(item, view),
        };
        self.updates(session, updates);
    }

    /// Before the board knows of it.
    fn session_changed(&self, session: &SessionId, change: &SessionChange, at_ms: u64) {
        match change {
            SessionChange::Title(title) => self.update(session, render::title(title, at_ms)),
            SessionChange::Commands(commands) => self.update(session, render::commands(commands)),
            SessionChange::Settings { options, .. } => {
                let (Some(before), Some(at)) = (self.board.sessions.get(session), self.sessions.get(session))
                else {
                    return;
                };
                let mode = render::current_mode(options);
                if let (Some(mode), true, 0) =
                    (mode, mode != render::current_mode(&before.info.options), at.setting.modes)
                {
                    self.update(
                        session,
                        json!({"sessionUpdate": "current_mode_update", "currentModeId": mode}),
                    );
                }
                if *options != before.info.options && at.setting.options == 0 {
                    let options = render::options(options);
                    self.update(
                        session,
                        json!({"sessionUpdate": "config_option_update", "configOptions": options}),
                    );
                }
            }
        }
    }

    pub(crate) fn usage_changed(&mut self, session: &SessionId, usage: &Usage) {
        let Some(at) = self.sessions.get_mut(session) else { return };
        let Some(shown) = render::usage(usage) else { return };
        if at.usage.as_ref() != Some(&shown) {
            at.usage = Some(shown.clone());
            self.update(session, shown);
        }
    }

    /// What a person should know, in the words their client has for it. Without notices a warning between
    /// turns is a message, where it is seen; within a turn it is a thought, so that the answer stays whole.
    pub(crate) fn noticed(&mut self, session: &SessionId, notice: &Notice) {
        if self.caps.notices {
            return self.update(session, render::notice(notice));
        }
        let running = self.board.sessions.get(session).is_some_and(|at| at.info.running.is_some());
        let number = self.sessions.get_mut(session).map_or(0, |at| {
            at.notices += 1;
            at.notices
        });
        let kind = match notice.level {
            Level::Warning | Level::Error if !running => "agent_message_chunk",
            Level::Info | Level::Warning | Level::Error => "agent_thought_chunk",
        };
        let said = match notice.text.as_str() {
            "" => format!("{}\n\n", notice.title),
            text => format!("{}: {text}\n\n", notice.title),
        };
        self.updates(session, render::said(kind, &format!("notice_{number}"), &said));
    }

    async fn turn_started(&mut self, session: SessionId, turn: &TurnId) {
        let prompt = self.sessions.get(&session).and_then(|at| at.prompts.get(turn));
        if prompt.is_some_and(|prompt| prompt.recalled) {
            self.order(session, Order::Cancel(Target::Turn)).await;
        }
    }

    /// The answer to the prompt, behind everything that its turn had to tell.
    fn turn_ended(&mut self, session: &SessionId, turn: &TurnId, end: &TurnEnd) {
        let prompt = self.sessions.get_mut(session).and_then(|at| at.prompts.remove(turn));
        let Some(prompt) = prompt else { return };
        drop(prompt.watch);
        let reason = match end {
            TurnEnd::Done => "end_turn",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Refused(_) => "refusal",
            TurnEnd::Limit(Limit::Tokens) => "max_tokens",
            TurnEnd::Limit(Limit::Requests | Limit::Cost | Limit::Time | Limit::Repeats) => {
                "max_turn_requests"
            }
            TurnEnd::Failed(failure) => {
                // A connection that is ending hears nothing more.
                let _ = prompt.responder.respond_with_error(errors::failed(failure));
                return;
            }
        };
        let _ = prompt.responder.respond(json!({ "stopReason": reason }));
    }
}
