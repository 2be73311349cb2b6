//! What the engine says, folded into the state.

use std::time::Instant;

use protocol::{
    Change, Done, Down, Event, EventKind, Item, ItemKind, Limit, Order, Refusal, RunEnd, Snapshot, Task,
    TurnEnd,
};

use crate::picker::Picker;
use crate::state::{Awaited, Effect, Leaving, State, Stopping};
use crate::text::one_line;
use crate::view::item;

impl State {
    pub(crate) fn hear(&mut self, down: Down, now: Instant) -> Vec<Effect> {
        match down {
            Down::Event(event) => self.event(&event, now),
            Down::Past { session, items, .. } => {
                if session == self.session {
                    items.iter().for_each(|item| self.finished(item));
                } else {
                    self.arriving.extend(items);
                }
                Vec::new()
            }
            Down::Reply { tag, reply } => {
                let awaited = self.awaited.remove(&tag).unwrap_or(Awaited::Done);
                match reply {
                    Ok(done) => self.replied(awaited, done),
                    Err(refusal) => self.refused(tag, awaited, &refusal),
                }
            }
            // This face offers no files to the engine.
            Down::Host { .. } | Down::HostCancelled { .. } => Vec::new(),
        }
    }

    fn replied(&mut self, awaited: Awaited, done: Done) -> Vec<Effect> {
        match (awaited, done) {
            (Awaited::Sessions, Done::Sessions { page, .. }) => {
                self.picker = Picker::sessions(page, &self.session);
                if self.picker.is_none() {
                    self.transcript.note("there is no earlier session of this folder");
                }
                Vec::new()
            }
            (Awaited::Opened, Done::Opened(snapshot)) => vec![self.turn_to(*snapshot)],
            (Awaited::Steer(text), Done::Prompted { steered: true, .. }) => {
                self.transcript.note(&format!("handed to the running turn: {}", one_line(&text)));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn refused(&mut self, tag: u64, awaited: Awaited, refusal: &Refusal) -> Vec<Effect> {
        match awaited {
            Awaited::Prompt(text) => {
                if self.sent == Some(tag) {
                    self.sent = None;
                }
                // What was to follow it has nothing to follow.
                let waiting = std::mem::take(&mut self.queue);
                self.give_back([text].into_iter().chain(waiting).collect());
            }
            // The turn ended meanwhile, so it is a prompt of its own.
            Awaited::Steer(text) if *refusal == Refusal::Idle => return self.prompt_or_queue(text),
            Awaited::Steer(text) => self.give_back(vec![text]),
            Awaited::Opened => self.arriving.clear(),
            Awaited::Sessions | Awaited::Done => {}
        }
        if !matches!(refusal, Refusal::TooLate(_)) {
            self.transcript.fail(&refusal.to_string());
        }
        Vec::new()
    }

    /// Another session in place of this one, which is closed.
    fn turn_to(&mut self, snapshot: Snapshot) -> Effect {
        let close = self.order(Order::Close, Awaited::Done);
        self.session = snapshot.info.id.clone();
        self.board.sessions = [(self.session.clone(), snapshot)].into();
        self.diffs.clear();
        self.queue.clear();
        self.answered.clear();
        (self.front, self.answering, self.sent, self.since) = (None, None, None, None);
        let title = self.snapshot().and_then(|at| at.info.title.as_deref().map(one_line));
        self.transcript.note(&match title {
            Some(title) => format!("session: {title}"),
            None => "a new session".to_string(),
        });
        let past = std::mem::take(&mut self.arriving);
        past.iter().for_each(|item| self.finished(item));
        self.present();
        close
    }

    fn event(&mut self, event: &Event, now: Instant) -> Vec<Effect> {
        if event.session != self.session {
            return Vec::new();
        }
        self.board.apply(event);
        let mut effects = Vec::new();
        match &event.kind {
            EventKind::ItemFinished(item) => self.finished(item),
            EventKind::ItemChanged { item, change: Change::Text(_) } => {
                if let Some(Item { kind: ItemKind::Message(text), .. }) = self.board.item(&self.session, item)
                {
                    self.transcript.grow(item, text);
                }
            }
            EventKind::Noticed(notice) => self.transcript.notice(notice),
            EventKind::TurnStarted { .. } => {
                (self.sent, self.since, self.stopping) = (None, Some(now), Stopping::No);
            }
            EventKind::TurnEnded { end, .. } => effects = self.ended(end),
            EventKind::TaskChanged(task) => self.task(task),
            EventKind::SessionClosed => {
                self.transcript
                    .warn("this session was closed; /new begins another, /resume goes on with one");
            }
            EventKind::SessionOpened(_)
            | EventKind::SessionChanged(_)
            | EventKind::ItemStarted(_)
            | EventKind::ItemChanged { .. }
            | EventKind::Asked(_)
            | EventKind::AskClosed { .. }
            | EventKind::TaskOutput { .. }
            | EventKind::UsageChanged(_) => {}
        }
        self.present();
        effects
    }

    fn finished(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::User { content, .. } => {
                for part in content {
                    if let protocol::Content::Text(text) = part {
                        self.composer.remember(text);
                    }
                }
            }
            ItemKind::Act(act) if item::is_true(act, item.stage) => {
                self.diffs.extend(act.files.iter().cloned());
            }
            ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::Act(_)
            | ItemKind::Plan(_)
            | ItemKind::Compaction { .. } => {}
        }
        self.transcript.finish(item);
    }

    fn ended(&mut self, end: &TurnEnd) -> Vec<Effect> {
        (self.since, self.stopping, self.leaving) = (None, Stopping::No, Leaving::No);
        match end {
            TurnEnd::Done => {}
            TurnEnd::Cancelled => self.transcript.warn("stopped"),
            TurnEnd::Refused(why) => self.transcript.fail(&format!("the model refused: {why}")),
            TurnEnd::Limit(limit) => {
                let what = match limit {
                    Limit::Tokens => "tokens of an answer",
                    Limit::Requests => "requests of a turn",
                    Limit::Cost => "cost",
                    Limit::Time => "time",
                    Limit::Repeats => "repeated calls",
                };
                self.transcript.warn(&format!("the limit of {what} is reached; another prompt goes on"));
            }
            TurnEnd::Failed(failure) => self.transcript.fail(&format!("failed: {failure}")),
        }
        if matches!(end, TurnEnd::Done) {
            let next = self.queue.pop_front();
            return next.map(|text| self.prompt(text)).into_iter().collect();
        }
        // What was to follow may no longer be wanted as it is.
        let waiting = std::mem::take(&mut self.queue).into();
        self.give_back(waiting);
        Vec::new()
    }

    /// Prompts that were not taken come back into the input, before what is being typed.
    fn give_back(&mut self, mut texts: Vec<String>) {
        if texts.is_empty() {
            return;
        }
        if !self.composer.is_empty() {
            texts.push(self.composer.text().to_string());
        }
        self.composer.replace(&texts.join("\n"));
    }

    fn task(&mut self, task: &Task) {
        let command = one_line(&task.command);
        self.transcript.note(&match &task.end {
            None => format!("background command {} runs: {command}", task.id),
            Some(end) => {
                let words = RunEnd::words(end).unwrap_or_else(|| "exit code 0".into());
                format!("background command {} ended, {words}: {command}", task.id)
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use crate::testing::{self, ended, hear, started};
    use protocol::{Command, Content, Failure, FailureKind, SessionId, Up};

    fn taken(state: &mut State) -> Vec<String> {
        state.transcript.take().iter().map(Row::plain).collect()
    }

    fn reply(state: &mut State, tag: u64, reply: Result<Done, Refusal>) -> Vec<Effect> {
        state.hear(Down::Reply { tag, reply }, Instant::now())
    }

    fn tag(effects: &[Effect]) -> u64 {
        match effects {
            [Effect::Send(Up::Command { tag, .. })] => *tag,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_queued_prompt_follows_its_turn() {
        let mut state = testing::state();
        hear(&mut state, vec![started()]);
        assert!(state.prompt_or_queue("next".into()).is_empty());
        let effects = state.hear(testing::event(ended(TurnEnd::Done)), Instant::now());
        let [Effect::Send(Up::Command { command: Command::Session { order, .. }, .. })] = effects.as_slice()
        else {
            panic!("{effects:?}")
        };
        assert!(matches!(order, Order::Prompt { input, .. } if *input == [Content::Text("next".into())]));
        assert!(state.queue.is_empty() && state.is_busy());
    }

    #[test]
    fn a_stopped_turn_gives_its_queue_back() {
        let mut state = testing::state();
        hear(&mut state, vec![started()]);
        state.prompt_or_queue("one".into());
        state.composer.insert("half");
        hear(&mut state, vec![ended(TurnEnd::Cancelled)]);
        assert_eq!(state.composer.text(), "one\nhalf");
        assert_eq!(taken(&mut state), ["! stopped"]);
    }

    #[test]
    fn a_refused_prompt_is_not_lost() {
        let mut state = testing::state();
        let tag = tag(&state.prompt_or_queue("hello".into()));
        assert!(state.is_busy());
        reply(&mut state, tag, Err(Refusal::Overloaded));
        assert!(!state.is_busy());
        assert_eq!(state.composer.text(), "hello");
        assert_eq!(taken(&mut state), ["! too many requests are waiting; try again later"]);
    }

    #[test]
    fn steering_too_late_is_a_prompt() {
        let mut state = testing::state();
        hear(&mut state, vec![started()]);
        let tag = tag(&state.steer("faster".into()));
        hear(&mut state, vec![ended(TurnEnd::Done)]);
        let effects = reply(&mut state, tag, Err(Refusal::Idle));
        assert_eq!(effects.len(), 1);
        assert!(state.is_busy());
    }

    #[test]
    fn another_session_comes_with_its_past_and_closes_this_one() {
        let mut state = testing::state();
        let tag = tag(&[state.open(protocol::Origin::Resume(SessionId("s2".into())))]);
        let past = vec![testing::ran("ls", 0, "")];
        state.hear(Down::Past { session: SessionId("s2".into()), items: past, last: true }, Instant::now());
        assert!(taken(&mut state).is_empty());
        let mut snapshot = testing::snapshot();
        snapshot.info.id = SessionId("s2".into());
        snapshot.info.title = Some("fix it".into());
        let effects = reply(&mut state, tag, Ok(Done::Opened(Box::new(snapshot))));
        let closed = matches!(&effects[..], [Effect::Send(Up::Command {
            command: Command::Session { session, order: Order::Close }, ..
        })] if session.0 == "s1");
        assert!(closed, "{effects:?}");
        assert_eq!(taken(&mut state), ["- session: fix it", "", "[ok] ls"]);
    }

    #[test]
    fn a_session_that_does_not_open_leaves_this_one() {
        let mut state = testing::state();
        let tag = tag(&[state.open(protocol::Origin::New)]);
        assert!(reply(&mut state, tag, Err(Refusal::Overloaded)).is_empty());
        assert_eq!(state.session.0, "s1");
    }

    #[test]
    fn ends_are_told_in_words() {
        let failure = Failure {
            kind: FailureKind::Auth,
            text: "the key was refused".into(),
            remedy: Some("set another".into()),
            status: Some(401),
        };
        for (end, shown) in [
            (TurnEnd::Refused("no".into()), "! the model refused: no"),
            (
                TurnEnd::Limit(Limit::Requests),
                "! the limit of requests of a turn is reached; another prompt goes on",
            ),
            (TurnEnd::Failed(failure), "! failed: the key was refused; set another"),
        ] {
            let mut state = testing::state();
            hear(&mut state, vec![started(), ended(end)]);
            assert_eq!(taken(&mut state), [shown]);
        }
    }

    #[test]
    fn only_what_happened_is_a_change() {
        let mut state = testing::state();
        let finished = |stage| EventKind::ItemFinished(Box::new(testing::edited("a.rs", stage)));
        hear(&mut state, vec![finished(protocol::Stage::Declined), finished(protocol::Stage::Done)]);
        assert_eq!(state.diffs.len(), 1);
    }
}
