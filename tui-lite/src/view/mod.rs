//! The bottom of the screen: what is under way, a question or a list, the status, the input. Pure: state to
//! lines.

mod ask;
pub(crate) mod diff;
mod input;
pub(crate) mod item;
mod list;
mod status;

use std::time::Instant;

use protocol::{Item, ItemKind, Snapshot, StepState};
use ratatui_core::text::Line;

use crate::commands;
use crate::row::{Row, bold, dim, fold};
use crate::state::State;
use crate::text::{clean, cut, one_line};

/// Rows of the screen, and where the cursor stands in them.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) rows: Vec<Line<'static>>,
    pub(crate) cursor: (usize, u16),
}

/// From this many rows on there is one to spare for a blank between the transcript and us.
const ROOMY: usize = 12;
/// Commands shown while one is typed, and steps of a plan.
const HINTS: usize = 6;
const STEPS: usize = 6;

/// At most this many rows; never fewer than two.
pub(crate) fn frame(state: &State, columns: u16, most: usize, now: Instant) -> Frame {
    let most = most.max(2);
    let shown = state.input();
    let input = input::rows(shown.text(), shown.cursor(), columns, (most / 3).clamp(1, 8));
    let apart = usize::from(most >= ROOMY);
    let room = most.saturating_sub(input.rows.len() + 1 + apart);
    let mut rows = vec![Line::default(); apart];
    rows.extend(above(state, columns, room));
    rows.push(status::row(state, columns, now));
    let (row, column) = input.cursor;
    let cursor = (rows.len() + row, column);
    rows.extend(input.rows);
    Frame { rows, cursor }
}

/// What is above the status line.
fn above(state: &State, columns: u16, room: usize) -> Vec<Line<'static>> {
    if let Some(picker) = &state.picker {
        return list::rows(picker, columns, room);
    }
    let Some(at) = state.snapshot() else { return Vec::new() };
    if let Some(ask) = state.ask() {
        return ask::rows(state, ask, columns, room);
    }
    let below = below(state, at, columns, room);
    let left = room.saturating_sub(below.len());
    let mut rows = last(fold(&open(state, at), columns), left);
    let left = room.saturating_sub(rows.len());
    rows.extend(last(below, left));
    rows
}

/// Items under way: what they say so far.
fn open(state: &State, at: &Snapshot) -> Vec<Row> {
    at.open_items
        .iter()
        .flat_map(|item| match &item.kind {
            ItemKind::Message(text) => state.transcript.growing(&item.id, text),
            _ => item::open(item),
        })
        .collect()
}

/// What stands right above the status line: the plan, prompts that wait, commands that fit.
fn below(state: &State, at: &Snapshot, columns: u16, room: usize) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    if at.open_items.iter().any(|item| matches!(item.kind, ItemKind::Plan(_))) {
        rows.extend(plan(at, columns, STEPS.min(room / 2)));
    }
    let room = usize::from(columns);
    for text in &state.queue {
        rows.push(Line::styled(cut(&format!("queued: {}", one_line(text)), room), dim()));
    }
    let commands = state.commands();
    let hints = commands::matching(state.composer.text(), commands);
    rows.extend(
        hints
            .iter()
            .take(HINTS)
            .map(|(name, about)| Line::styled(cut(&clean(&format!("  /{name:<12} {about}")), room), dim())),
    );
    if hints.len() > HINTS {
        rows.push(Line::styled(format!("  ... {} more; /help shows all", hints.len() - HINTS), dim()));
    }
    rows
}

/// The plan, or the part of it around the step under way.
fn plan(at: &Snapshot, columns: u16, most: usize) -> Vec<Line<'static>> {
    let steps = &at.plan.steps;
    let active = steps.iter().position(|step| step.state != StepState::Done).unwrap_or(steps.len());
    let from = active.saturating_sub(1).min(steps.len().saturating_sub(most));
    let done = steps.iter().filter(|step| step.state == StepState::Done).count();
    let mut rows = vec![Line::styled(format!("plan, {done} of {} done", steps.len()), bold())];
    let shown = item::plan(&at.plan).into_iter().skip(from).take(most);
    rows.extend(shown.map(|row| {
        let text: String = row.line.spans.iter().map(|span| span.content.as_ref()).collect();
        Line::styled(cut(&text, usize::from(columns)), row.line.style)
    }));
    rows
}

/// The last rows there is room for.
fn last(mut rows: Vec<Line<'static>>, room: usize) -> Vec<Line<'static>> {
    rows.drain(..rows.len().saturating_sub(room));
    rows
}

/// Whether the question in front is about this item.
fn is_asked(state: &State, item: &Item) -> bool {
    state.ask().is_some_and(|ask| ask.item.as_ref() == Some(&item.id))
}

#[cfg(test)]
mod tests;
