//! What the person does, folded into the state.

use std::time::Instant;

use protocol::{Answer, AskId, Command, Content, Order, Origin, SessionId, Target, When};

use crate::commands::{self, Local};
use crate::composer::Edit;
use crate::keys::Intent;
use crate::picker::{Pick, Picker};
use crate::state::{Awaited, Effect, Leaving, State, Stopping};
use crate::view::diff;

impl State {
    pub(crate) fn step(&mut self, intent: Intent, now: Instant) -> Vec<Effect> {
        if !matches!(intent, Intent::Nothing | Intent::Leave) {
            self.leaving = Leaving::No;
        }
        match intent {
            Intent::Nothing => Vec::new(),
            Intent::Edit(edit) => {
                if matches!(edit, Edit::Letter(_)) {
                    self.typed = Some(now);
                }
                self.input_mut().edit(edit);
                Vec::new()
            }
            Intent::Submit => {
                let text = self.composer.submit();
                self.typed = None;
                self.submit(text)
            }
            Intent::Steer => {
                let text = self.composer.submit();
                if text.trim().is_empty() { Vec::new() } else { self.steer(text) }
            }
            Intent::Complete => self.complete(),
            Intent::Cancel => {
                self.stopping = Stopping::Asked;
                vec![self.order(Order::Cancel(Target::Turn), Awaited::Done)]
            }
            Intent::Clear => {
                self.composer.submit();
                Vec::new()
            }
            Intent::Choose(ask, choice) => self.answer(ask, Answer::Choice { id: choice, note: None }),
            Intent::Reply => {
                let Some(answering) = &mut self.answering else { return Vec::new() };
                let ask = answering.ask.clone();
                let replies = answering.take();
                replies.map(|replies| self.answer(ask, Answer::Answers(replies))).unwrap_or_default()
            }
            Intent::Dismiss => {
                let ask = self.answering.as_ref().map(|answering| answering.ask.clone());
                ask.map(|ask| self.answer(ask, Answer::Dismissed)).unwrap_or_default()
            }
            Intent::Pick => self.pick(),
            Intent::ClosePicker => {
                self.picker = None;
                Vec::new()
            }
            Intent::Step(by) => self.with_picker(|picker| picker.step(by)),
            Intent::Narrow(letter) => self.with_picker(|picker| picker.narrow(letter)),
            Intent::Widen => self.with_picker(Picker::widen),
            Intent::Redraw => vec![Effect::Redraw],
            Intent::AskToLeave => {
                self.leaving = Leaving::Asked;
                Vec::new()
            }
            Intent::Leave => vec![Effect::Leave],
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.picker {
            Some(picker) => {
                text.chars().filter(|letter| !letter.is_control()).for_each(|letter| picker.narrow(letter))
            }
            None => self.input_mut().insert(text),
        }
    }

    /// A line the person sent: a command of ours, or for the engine.
    pub(crate) fn submit(&mut self, text: String) -> Vec<Effect> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match commands::parse(&text, self.commands()) {
            commands::Line::Prompt => self.prompt_or_queue(text),
            commands::Line::Unknown(name) => {
                self.transcript.warn(&format!(
                    "there is no command /{name}; /help shows them, and a space before it makes it a prompt"
                ));
                self.composer.replace(&text);
                Vec::new()
            }
            commands::Line::Ours(local, rest) => self.carry_out(local, rest),
        }
    }

    pub(super) fn prompt_or_queue(&mut self, text: String) -> Vec<Effect> {
        if self.is_busy() {
            self.queue.push_back(text);
            return Vec::new();
        }
        vec![self.prompt(text)]
    }

    pub(super) fn steer(&mut self, text: String) -> Vec<Effect> {
        if !self.is_running() {
            return self.submit(text);
        }
        let input = vec![Content::Text(text.clone())];
        let order = Order::Prompt { input, when: When::Steer, schema: None };
        vec![self.order(order, Awaited::Steer(text))]
    }

    fn carry_out(&mut self, local: Local, rest: &str) -> Vec<Effect> {
        match local {
            Local::Quit => vec![Effect::Leave],
            Local::Help => {
                let text = commands::help(self.commands());
                self.transcript.say(&text);
                Vec::new()
            }
            Local::Diff => {
                self.show_diffs();
                Vec::new()
            }
            Local::Option(id) => self.choose(id, rest),
            Local::New | Local::Resume if self.is_busy() => {
                self.transcript.warn("a turn is running; Esc stops it");
                Vec::new()
            }
            Local::New => vec![self.open(Origin::New)],
            Local::Resume if rest.is_empty() => {
                let list = Command::List { cwd: Some(self.cwd.clone()), cursor: None };
                vec![self.send(list, Awaited::Sessions)]
            }
            Local::Resume => vec![self.open(Origin::Resume(SessionId(rest.to_string())))],
        }
    }

    /// An option's value when one follows, else a picker.
    fn choose(&mut self, id: &str, value: &str) -> Vec<Effect> {
        if !value.is_empty() {
            let order = Order::Configure { option: id.to_string(), value: value.to_string() };
            return vec![self.order(order, Awaited::Done)];
        }
        self.picker = self.option(id).and_then(Picker::option);
        if self.picker.is_none() {
            self.transcript.note("there is nothing to choose from");
        }
        Vec::new()
    }

    fn pick(&mut self) -> Vec<Effect> {
        match self.picker.take().and_then(|picker| picker.picked()) {
            None => Vec::new(),
            Some(Pick::Option { id, value }) => {
                vec![self.order(Order::Configure { option: id, value }, Awaited::Done)]
            }
            Some(Pick::Session(id)) => vec![self.open(Origin::Resume(id))],
        }
    }

    pub(super) fn answer(&mut self, ask: AskId, answer: Answer) -> Vec<Effect> {
        self.answered.insert(ask.clone());
        self.present();
        vec![self.order(Order::Answer { ask, answer }, Awaited::Done)]
    }

    fn show_diffs(&mut self) {
        if self.diffs.is_empty() {
            return self.transcript.note("no file was changed in this session");
        }
        let rows = self.diffs.iter().flat_map(|file| diff::rows(file, diff::LONG)).collect();
        self.transcript.rows(rows);
    }

    /// As far as all commands that begin like the input agree.
    fn complete(&mut self) -> Vec<Effect> {
        let found = commands::matching(self.composer.text(), self.commands());
        let Some(((first, _), others)) = found.split_first() else { return Vec::new() };
        let mut common = first.len();
        for (other, _) in others {
            let same = first.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
            common = common.min(same);
        }
        let end = if others.is_empty() { " " } else { "" };
        let text = format!("/{}{end}", first.get(..common).unwrap_or(first));
        self.composer.replace(&text);
        Vec::new()
    }

    fn with_picker(&mut self, change: impl FnOnce(&mut Picker)) -> Vec<Effect> {
        if let Some(picker) = &mut self.picker {
            change(picker);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use crate::testing::{self, hear, started};
    use protocol::{AskWhat, EventKind, Stage, Up};

    fn orders(effects: Vec<Effect>) -> Vec<Command> {
        let all = effects.into_iter().map(|effect| match effect {
            Effect::Send(Up::Command { command, .. }) => command,
            other => panic!("{other:?}"),
        });
        all.collect()
    }

    fn line(state: &mut State, text: &str) -> Vec<Effect> {
        state.composer.replace(text);
        state.step(Intent::Submit, Instant::now())
    }

    fn taken(state: &mut State) -> Vec<String> {
        state.transcript.take().iter().map(Row::plain).collect()
    }

    #[test]
    fn pickers_come_from_the_engines_options() {
        let mut state = testing::state();
        assert!(line(&mut state, "/model").is_empty());
        state.step(Intent::Step(1), Instant::now());
        let sent = orders(state.step(Intent::Pick, Instant::now()));
        let order = Order::Configure { option: "model".into(), value: "small-1".into() };
        assert_eq!(sent, [Command::Session { session: SessionId("s1".into()), order: order.clone() }]);
        assert_eq!(orders(line(&mut state, "/model small-1")), sent);
        assert_eq!(state.picker, None);
    }

    #[test]
    fn engine_commands_are_prompts_and_typos_are_not() {
        let mut state = testing::state();
        assert_eq!(orders(line(&mut state, "/undo")).len(), 1);
        let mut state = testing::state();
        assert!(line(&mut state, "/undoo").is_empty());
        assert_eq!(state.composer.text(), "/undoo");
        assert!(taken(&mut state)[0].starts_with("! there is no command /undoo"));
    }

    #[test]
    fn a_running_turn_keeps_its_session() {
        let mut state = testing::state();
        hear(&mut state, vec![started()]);
        assert!(line(&mut state, "/new").is_empty());
        assert_eq!(taken(&mut state), ["! a turn is running; Esc stops it"]);
        assert!(line(&mut state, "later").is_empty());
        assert_eq!(state.queue, ["later"]);
    }

    #[test]
    fn an_answer_is_given_once() {
        let mut state = testing::state();
        let item = testing::edited("a.rs", Stage::Waiting);
        let ask = testing::ask(AskWhat::Act);
        hear(
            &mut state,
            vec![started(), EventKind::ItemStarted(Box::new(item)), EventKind::Asked(Box::new(ask.clone()))],
        );
        let effects = state.step(Intent::Choose(ask.id.clone(), "once".into()), Instant::now());
        let answer = Answer::Choice { id: "once".into(), note: None };
        let order = Order::Answer { ask: ask.id, answer };
        assert_eq!(orders(effects), [Command::Session { session: SessionId("s1".into()), order }]);
        assert_eq!(state.ask(), None);
    }

    #[test]
    fn diffs_are_shown_on_demand() {
        let mut state = testing::state();
        line(&mut state, "/diff");
        assert_eq!(taken(&mut state), ["- no file was changed in this session"]);
        hear(&mut state, vec![EventKind::ItemFinished(Box::new(testing::edited("a.rs", Stage::Done)))]);
        taken(&mut state);
        line(&mut state, "/diff");
        assert!(taken(&mut state).contains(&"     + new".to_string()));
    }

    #[test]
    fn commands_are_completed() {
        let mut state = testing::state();
        for (typed, completed) in
            [("/und", "/undo "), ("/", "/"), ("/mo", "/model "), ("/re", "/resume "), ("x", "x")]
        {
            state.composer.replace(typed);
            state.step(Intent::Complete, Instant::now());
            assert_eq!(state.composer.text(), completed, "{typed}");
        }
    }
}
