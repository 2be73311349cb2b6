//! A question to the person. What it is about stands in the scrollback as a whole; here is the question, the
//! keys, and as much of the subject as there is room for.

use protocol::{Ask, AskWhat};
use ratatui_core::style::Color;
use ratatui_core::text::Line;

use super::{is_asked, last, open};
use crate::answering::{self, Answering};
use crate::row::{Row, bold, colored, dim, fold};
use crate::state::State;
use crate::text::{clean, exact, one_line};

pub(super) fn rows(state: &State, ask: &Ask, columns: u16, room: usize) -> Vec<Line<'static>> {
    let asked = fold(&question(state, ask), columns);
    let left = room.saturating_sub(asked.len());
    let under_way = state.snapshot().map(|at| {
        // The subject is right above, in the scrollback.
        let others = at.open_items.iter().filter(|item| !is_asked(state, item)).cloned().collect();
        open(state, &protocol::Snapshot { open_items: others, ..at.clone() })
    });
    let mut rows = last(fold(&under_way.unwrap_or_default(), columns), left);
    // The keys stand at the end: they are what must be seen.
    rows.extend(last(asked, room));
    rows
}

fn question(state: &State, ask: &Ask) -> Vec<Row> {
    match (&ask.what, &state.answering) {
        (AskWhat::Questions(_), Some(answering)) => questions(answering),
        (AskWhat::Questions(_), None) => Vec::new(),
        (AskWhat::Act, _) => permission(state, ask),
    }
}

fn permission(state: &State, ask: &Ask) -> Vec<Row> {
    let subject = state.about(ask).and_then(|item| match &item.kind {
        protocol::ItemKind::Act(act) => Some(one_line(&exact(&act.title()))),
        _ => None,
    });
    let why = one_line(&ask.why);
    let text = match subject {
        Some(subject) => format!("May it? {subject}"),
        None => "May it?".to_string(),
    };
    let mut rows = vec![Row::letters(text, 8).style(colored(Color::Yellow))];
    if !why.is_empty() {
        rows.push(Row::words(why, 0).style(dim()));
    }
    let keys = answering::keys(&ask.choices).into_iter().map(|(key, choice)| {
        Row::words(format!("[{key}] {}", exact(&choice.name).replace('\n', " ")), 4).style(bold())
    });
    rows.extend(keys);
    let armed = match (state.composer.is_empty(), state.is_writing()) {
        (true, _) => "[Esc] Stop the turn",
        (false, false) => "[Esc] Stop the turn (pause before a key)",
        (false, true) => "[Esc] Stop the turn (send or empty the input before a key)",
    };
    rows.push(Row::words(armed, 6).style(bold()));
    rows
}

fn questions(answering: &Answering) -> Vec<Row> {
    let Some((question, number, count)) = answering.question() else { return Vec::new() };
    let place = if count > 1 { format!("({number} of {count}) ") } else { String::new() };
    let head = one_line(&question.head);
    let head = if head.is_empty() { String::new() } else { format!("{head}: ") };
    let mut rows: Vec<Row> = clean(&format!("{place}{head}{}", question.text))
        .lines()
        .map(|line| Row::words(line.to_string(), 0).style(bold()))
        .collect();
    rows.extend(question.options.iter().enumerate().map(|(index, (label, about))| {
        let about = one_line(about);
        let about = if about.is_empty() { String::new() } else { format!(" - {about}") };
        Row::words(format!("  {} {}{about}", index + 1, one_line(label)), 4)
    }));
    if let Some(wrong) = &answering.wrong {
        rows.push(Row::words(format!("! {}", one_line(wrong)), 2).style(colored(Color::Yellow)));
    }
    let how = match (question.options.is_empty(), question.many, question.free) {
        (true, ..) => "Type an answer",
        (false, true, true) => "Type numbers or an answer",
        (false, true, false) => "Type numbers",
        (false, false, true) => "Type a number or an answer",
        (false, false, false) => "Type a number",
    };
    rows.push(
        Row::words(format!("{how}, then Enter. Ctrl-D gives none, Esc stops the turn."), 0).style(dim()),
    );
    rows
}
