//! The chat where the terminal can do nothing but print: lines in, lines out.

use std::io::{BufRead, Write};
use std::time::Instant;

use protocol::{Ask, AskWhat};
use tokio::sync::mpsc;

use crate::answering;
use crate::keys::Intent;
use crate::row::Row;
use crate::signals::Signals;
use crate::state::{Effect, State};
use crate::talk::Talk;
use crate::text::{exact, one_line};

/// Lines typed ahead.
const TYPED: usize = 64;

pub(crate) async fn run(talk: &mut Talk, state: &mut State, prompt: Option<String>) -> Result<(), String> {
    let mut typed = lines();
    let mut signals = Signals::new();
    let mut asked = Told::default();
    let mut effects = prompt.map(|prompt| state.submit(prompt)).unwrap_or_default();
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(up) => talk.send(up).await?,
                Effect::Redraw => {}
                Effect::Leave => {
                    state.farewell();
                    return print(state.transcript.take());
                }
            }
        }
        if let Some(text) = asked.news(state) {
            state.transcript.say(&text);
        }
        print(state.transcript.take())?;
        effects = tokio::select! {
            biased;
            () = signals.next() => interrupt(state),
            line = typed.recv() => match line {
                Some(line) => read(state, &line),
                None => vec![Effect::Leave],
            },
            downs = talk.take() => {
                let now = Instant::now();
                downs?.into_iter().flat_map(|down| state.hear(down, now)).collect()
            }
        };
    }
}

/// Ctrl-C stops the turn; without one it leaves.
fn interrupt(state: &mut State) -> Vec<Effect> {
    let intent = if state.is_busy() { Intent::Cancel } else { Intent::Leave };
    state.step(intent, Instant::now())
}

/// What a line means, by what was asked last.
fn read(state: &mut State, line: &str) -> Vec<Effect> {
    let now = Instant::now();
    if state.picker.is_some() {
        return pick(state, line.trim());
    }
    let Some(ask) = state.ask().cloned() else {
        state.composer.replace(line);
        return state.step(Intent::Submit, now);
    };
    match ask.what {
        AskWhat::Act => {
            let keys = answering::keys(&ask.choices);
            let typed = line.trim().to_lowercase();
            let chosen = keys.into_iter().find(|(key, _)| typed == key.to_string());
            let Some((_, choice)) = chosen else {
                state.transcript.warn(&keys_of(&ask));
                return Vec::new();
            };
            state.step(Intent::Choose(ask.id.clone(), choice.id.clone()), now)
        }
        AskWhat::Questions(_) => {
            state.input_mut().replace(line);
            let effects = state.step(Intent::Reply, now);
            if let Some(wrong) = state.answering.as_ref().and_then(|answering| answering.wrong.clone()) {
                state.transcript.warn(&wrong);
            }
            effects
        }
    }
}

fn pick(state: &mut State, line: &str) -> Vec<Effect> {
    let count = state.picker.as_ref().map_or(0, |picker| picker.shown().0.len());
    let number = line.parse::<usize>().ok().filter(|number| (1..=count).contains(number));
    let Some(number) = number else {
        state.transcript.note("nothing is changed");
        return state.step(Intent::ClosePicker, Instant::now());
    };
    let at = state.picker.as_ref().map_or(0, |picker| picker.shown().1);
    let by = i32::try_from(number - 1).unwrap_or(0) - i32::try_from(at).unwrap_or(0);
    state.step(Intent::Step(by), Instant::now());
    state.step(Intent::Pick, Instant::now())
}

/// What the person was told of a question or a list, so that it is told once.
#[derive(Default)]
struct Told(Option<String>);

impl Told {
    fn news(&mut self, state: &State) -> Option<String> {
        let now = waiting(state);
        if now == self.0 {
            return None;
        }
        self.0.clone_from(&now);
        now
    }
}

fn waiting(state: &State) -> Option<String> {
    if let Some(picker) = &state.picker {
        let rows = picker.shown().0.into_iter().enumerate().map(|(index, row)| {
            let mark = if row.current { " (now)" } else { "" };
            format!("{:>3} {} {}{mark}", index + 1, row.name, row.about)
        });
        let head = format!("{}: type a number, anything else leaves it", picker.title);
        return Some([head].into_iter().chain(rows).collect::<Vec<_>>().join("\n"));
    }
    let ask = state.ask()?;
    if ask.what == AskWhat::Act {
        return Some(format!("May it? {}\n{}", one_line(&ask.why), keys_of(ask)));
    }
    let (question, number, count) = state.answering.as_ref()?.question()?;
    let options = question.options.iter().enumerate();
    let options = options.map(|(index, (label, about))| format!("{:>3} {label} {about}", index + 1));
    let head = format!("({number} of {count}) {}", question.text);
    let tail = if question.options.is_empty() { "Type an answer." } else { "Type a number or an answer." };
    Some([head].into_iter().chain(options).chain([tail.to_string()]).collect::<Vec<_>>().join("\n"))
}

fn keys_of(ask: &Ask) -> String {
    let keys = answering::keys(&ask.choices).into_iter();
    let keys = keys.map(|(key, choice)| format!("[{key}] {}", exact(&choice.name)));
    format!("{}  then Enter; Ctrl-C stops the turn", keys.collect::<Vec<_>>().join("  "))
}

fn print(rows: Vec<Row>) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let mut write = || {
        for row in &rows {
            let text: String = row.line.spans.iter().map(|span| span.content.as_ref()).collect();
            writeln!(out, "{text}")?;
        }
        out.flush()
    };
    write().map_err(|error| format!("the terminal: {error}"))
}

/// Lines, read by a thread of their own, since a read of a terminal cannot be called back.
fn lines() -> mpsc::Receiver<String> {
    let (told, lines) = mpsc::channel(TYPED);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if told.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, hear, started};
    use protocol::{EventKind, Stage};

    fn asked(what: AskWhat) -> State {
        let mut state = testing::state();
        hear(
            &mut state,
            vec![
                started(),
                EventKind::ItemStarted(Box::new(testing::edited("a.rs", Stage::Waiting))),
                EventKind::Asked(Box::new(testing::ask(what))),
            ],
        );
        state
    }

    #[test]
    fn a_question_is_told_once_and_answered_by_a_line() {
        let mut state = asked(AskWhat::Act);
        let mut told = Told::default();
        assert!(told.news(&state).unwrap().contains("[a] Always allow edits of a.rs"));
        assert_eq!(told.news(&state), None);
        assert!(read(&mut state, "perhaps").is_empty());
        assert_eq!(read(&mut state, "y").len(), 1);
        assert_eq!(state.ask(), None);
    }

    #[test]
    fn each_question_is_told() {
        let questions = vec![testing::question("a", false, true), testing::question("b", false, true)];
        let mut state = asked(AskWhat::Questions(questions));
        let mut told = Told::default();
        assert!(told.news(&state).unwrap().starts_with("(1 of 2) What of a?"));
        assert!(read(&mut state, "1").is_empty());
        assert!(told.news(&state).unwrap().starts_with("(2 of 2) What of b?"));
        assert_eq!(read(&mut state, "words").len(), 1);
    }

    #[test]
    fn lists_are_picked_from_by_number() {
        let mut state = testing::state();
        read(&mut state, "/permissions");
        assert!(Told::default().news(&state).unwrap().contains("  2 WORKSPACE-WRITE  (now)"));
        assert_eq!(read(&mut state, "1").len(), 1);
        read(&mut state, "/permissions");
        assert!(read(&mut state, "9").is_empty());
        assert!(state.picker.is_none());
    }
}
