//! The last lines of the screen: what is under way, a question or a picker, the status, the input.

use protocol::{Ask, AskWhat, Item, ItemKind, Snapshot, Stage};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use unicode_width::UnicodeWidthStr;

use crate::lines::{self, bold, clean, colored, dim};
use crate::markdown;
use crate::state::{Picker, State};

/// Lines of the input shown at once.
const INPUT: usize = 4;

/// Draws; gives where the cursor stands.
pub(crate) fn draw(state: &State, area: Rect, buffer: &mut Buffer) -> (u16, u16) {
    let (input, row, column) = input(state, area.width);
    let height = usize::from(area.height);
    let bottom = input.len().min(height.saturating_sub(1)).max(1);
    let room = height.saturating_sub(bottom + 1);
    let above = above(state, room, area.width);
    let mut all: Vec<Line> = Vec::with_capacity(height);
    all.extend(std::iter::repeat_n(Line::default(), room.saturating_sub(above.len())));
    all.extend(above);
    all.push(status(state));
    let top = all.len();
    all.extend(input.into_iter().take(bottom));
    all.truncate(height);
    Paragraph::new(all).render(area, buffer);
    let y = area.y + u16::try_from(top + row.min(bottom.saturating_sub(1))).unwrap_or(0);
    (area.x + column.min(area.width.saturating_sub(1)), y.min(area.bottom().saturating_sub(1)))
}

/// What is above the status line, its last lines when there is not room for all.
fn above(state: &State, room: usize, width: u16) -> Vec<Line<'static>> {
    let lines = match (&state.picker, state.ask(), state.snapshot()) {
        (Some(picker), ..) => return self::picker(picker, room),
        (None, Some(ask), Some(at)) => asked(ask, at),
        (None, _, Some(at)) => at.open_items.last().map(open).unwrap_or_default(),
        (None, _, None) => Vec::new(),
    };
    let mut wrapped = wrap(lines, width);
    let skip = wrapped.len().saturating_sub(room);
    wrapped.drain(..skip);
    wrapped
}

/// An item under way.
fn open(item: &Item) -> Vec<Line<'static>> {
    match &item.kind {
        ItemKind::Message(text) => markdown::lines(text),
        ItemKind::Thought(text) => {
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            vec![Line::styled(format!("~ {}", clean(last)), dim())]
        }
        ItemKind::Act(act) => {
            let mut shown = lines::act(act, item.stage);
            shown.extend(lines::tail(&act.live, 6));
            if item.stage != Stage::Done {
                shown.extend(act.files.iter().flat_map(lines::diff));
            }
            shown
        }
        ItemKind::Plan(plan) => lines::plan(plan),
        ItemKind::Compaction { .. } => vec![Line::styled("Compacting the conversation ...", dim())],
        ItemKind::User { .. } => Vec::new(),
    }
}

fn asked(ask: &Ask, at: &Snapshot) -> Vec<Line<'static>> {
    let item = at.open_items.iter().find(|item| Some(&item.id) == ask.item.as_ref());
    let mut shown = item.map(open).unwrap_or_default();
    match &ask.what {
        AskWhat::Act => {
            shown.push(Line::styled(format!("May it? {}", clean(&ask.why)), colored(Color::Yellow)));
            let keys = ask.choices.iter().map(|choice| {
                let key = match choice.grant {
                    protocol::Grant::Once => "y",
                    protocol::Grant::Session { .. } | protocol::Grant::Always { .. } => "a",
                    protocol::Grant::Reject | protocol::Grant::RejectAlways { .. } => "n",
                };
                format!("[{key}] {}", clean(&choice.name))
            });
            let keys: Vec<String> = keys.chain(["[Esc] Stop".to_string()]).collect();
            shown.push(Line::styled(keys.join("  "), bold()));
        }
        AskWhat::Questions(questions) => {
            for question in questions {
                shown.push(Line::styled(
                    format!("{}: {}", clean(&question.head), clean(&question.text)),
                    bold(),
                ));
                shown.extend(question.options.iter().enumerate().map(|(at, (label, about))| {
                    Line::raw(format!("  {} {} {}", at + 1, clean(label), clean(about)))
                }));
            }
            let how = if questions.len() > 1 {
                "a line each, numbers or words; Alt-Enter is a new line"
            } else {
                "a number or words"
            };
            shown.push(Line::styled(format!("Answer with {how}, then Enter. Esc stops."), dim()));
        }
    }
    shown
}

fn picker(picker: &Picker, room: usize) -> Vec<Line<'static>> {
    let (names, at): (Vec<&str>, usize) = match picker {
        Picker::Option { choices, at, .. } => (choices.iter().map(|(_, name)| name.as_str()).collect(), *at),
        Picker::Sessions { rows, at } => (rows.iter().map(|(_, name)| name.as_str()).collect(), *at),
    };
    let room = room.max(2) - 1;
    let from = at.saturating_sub(room.saturating_sub(1));
    let mut shown: Vec<Line> = names
        .iter()
        .enumerate()
        .skip(from)
        .take(room)
        .map(|(index, name)| {
            let (mark, style) = if index == at { ("> ", bold()) } else { ("  ", dim()) };
            Line::styled(format!("{mark}{}", clean(name)), style)
        })
        .collect();
    shown.push(Line::styled("Up and down choose, Enter takes it, Esc leaves it.", dim()));
    shown
}

fn status(state: &State) -> Line<'static> {
    let Some(at) = state.snapshot() else { return Line::default() };
    let settings = &at.info.settings;
    let mut parts = vec![settings.model.clone(), settings.mode.clone()];
    if let Some((used, size)) = at.usage.window {
        parts.push(format!("{}% of the window", used.saturating_mul(100) / size.max(1)));
    } else if at.usage.session.output > 0 {
        parts.push(format!("{} in, {} out", at.usage.session.input, at.usage.session.output));
    }
    // First, so that a narrow screen keeps it.
    if state.leaving {
        parts.insert(0, "Ctrl-C again leaves".into());
    } else if at.info.running.is_some() {
        parts.insert(0, "working; Esc stops".into());
    }
    Line::styled(format!("-- {} ", parts.join(" | ")), dim())
}

/// The lines of the input, and the cursor's row and column in them.
fn input(state: &State, width: u16) -> (Vec<Line<'static>>, usize, u16) {
    let room = usize::from(width).saturating_sub(3).max(1);
    let (text, cursor) = (state.composer.text(), state.composer.cursor());
    let mut rows: Vec<String> = vec![String::new()];
    let (mut row, mut column) = (0, 0);
    for (at, letter) in text.char_indices() {
        if at == cursor {
            (row, column) = (rows.len() - 1, rows.last().map_or(0, |line| line.width()));
        }
        let wide = letter.to_string().width();
        if letter == '\n' || rows.last().is_some_and(|line| line.width() + wide > room) {
            rows.push(String::new());
        }
        if let (Some(line), false) = (rows.last_mut(), letter == '\n') {
            line.push(letter);
        }
    }
    if cursor >= text.len() {
        (row, column) = (rows.len() - 1, rows.last().map_or(0, |line| line.width()));
    }
    let from = row.saturating_sub(INPUT - 1);
    let shown = rows.into_iter().enumerate().skip(from).take(INPUT).map(|(at, line)| {
        let mark = if at == 0 { "> " } else { "  " };
        Line::from(vec![Span::styled(mark, bold()), Span::raw(line)])
    });
    (shown.collect(), row - from, u16::try_from(column + 2).unwrap_or(0))
}

/// Lines as they break at this width.
pub(crate) fn wrap(lines: Vec<Line<'static>>, width: u16) -> Vec<Line<'static>> {
    let room = usize::from(width.max(1));
    let mut out = Vec::new();
    for line in lines {
        let mut row: Vec<Span> = Vec::new();
        let mut used = 0;
        for span in line.spans {
            let mut piece = String::new();
            for letter in span.content.chars() {
                let wide = letter.to_string().width();
                if used + wide > room {
                    row.push(Span::styled(std::mem::take(&mut piece), span.style));
                    out.push(Line::from(std::mem::take(&mut row)).style(line.style));
                    used = 0;
                }
                piece.push(letter);
                used += wide;
            }
            if !piece.is_empty() {
                row.push(Span::styled(piece, span.style));
            }
        }
        out.push(Line::from(row).style(line.style));
    }
    out
}
