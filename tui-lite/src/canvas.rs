//! What is on the screen and which bytes bring it there. Pure: rows in, bytes out.
//!
//! Finished rows are written once and belong to the terminal's scrollback from then on. The rows below them are
//! written anew where they changed. There is no alternate screen and no question to the terminal, so a slow line
//! or a terminal that answers nothing does no harm.

use std::collections::VecDeque;
use std::fmt::Write;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;

use crate::row::{Flow, Row};
use crate::view::Frame;

/// Lines kept to be written again after a resize.
const KEPT: usize = 400;

/// A terminal that knows it shows everything in between at once.
const SYNC: &str = "\x1b[?2026h";
const END_SYNC: &str = "\x1b[?2026l";
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

/// Whether the terminal breaks lines anew when it gets narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reflow {
    Known,
    Unknown,
}

pub(crate) struct Canvas {
    columns: u16,
    rows: u16,
    colours: Colours,
    reflow: Reflow,
    /// Our rows as they are on the screen, and the widths of them.
    live: Vec<String>,
    widths: Vec<usize>,
    /// The row of them where the cursor stands, and its column.
    at: usize,
    column: u16,
    /// The last finished rows, and how many rows of the screen all of them took.
    kept: VecDeque<Row>,
    printed: usize,
}

impl Canvas {
    pub(crate) fn new(columns: u16, rows: u16, colours: Colours, reflow: Reflow) -> Self {
        Self {
            columns: columns.max(1),
            rows: rows.max(1),
            colours,
            reflow,
            live: Vec::new(),
            widths: Vec::new(),
            at: 0,
            column: 0,
            kept: VecDeque::new(),
            printed: 0,
        }
    }

    pub(crate) fn columns(&self) -> u16 {
        self.columns
    }

    /// Rows that a frame may have.
    pub(crate) fn room(&self) -> usize {
        usize::from(self.rows.saturating_sub(1)).max(2)
    }

    /// Finished rows above, a frame below.
    pub(crate) fn paint(&mut self, finished: Vec<Row>, frame: &Frame) -> String {
        let fresh: Vec<String> = frame.rows.iter().map(|row| self.bytes(row)).collect();
        let cursor = (frame.cursor.0.min(fresh.len().saturating_sub(1)), frame.cursor.1);
        if finished.is_empty() && fresh == self.live && cursor == (self.at, self.column) {
            return String::new();
        }
        let mut out = format!("{SYNC}{HIDE}");
        rise(&mut out, self.at);
        let last = if finished.is_empty() {
            self.repaint(&mut out, &fresh)
        } else {
            out.push_str("\x1b[J");
            self.print(&mut out, &finished);
            self.keep(finished);
            out.push_str(&fresh.join("\r\n"));
            fresh.len().saturating_sub(1)
        };
        rise(&mut out, last.saturating_sub(cursor.0));
        sink(&mut out, cursor.0.saturating_sub(last));
        right(&mut out, cursor.1);
        out.push_str(SHOW);
        out.push_str(END_SYNC);
        self.widths = frame.rows.iter().map(Line::width).collect();
        (self.live, self.at, self.column) = (fresh, cursor.0, cursor.1);
        out
    }

    /// Another size, or a screen that others wrote on: what is on it is written anew.
    pub(crate) fn resized(&mut self, columns: u16, rows: u16) -> String {
        let (columns, rows) = (columns.max(1), rows.max(1));
        let mut out = format!("{SYNC}{HIDE}");
        let full = self.printed + self.live.len() >= usize::from(self.rows);
        let from = if full {
            // Not all of it at once: some terminals would keep a copy of a screen that is cleared.
            out.push_str("\x1b[H\x1b[2K\x1b[2;1H\x1b[J\x1b[H");
            self.first_kept(self.columns, self.rows).min(self.first_kept(columns, rows))
        } else {
            rise(&mut out, self.climb(columns).min(usize::from(rows) - 1));
            out.push_str("\x1b[J");
            0
        };
        (self.columns, self.rows) = (columns, rows);
        let again: Vec<Row> = self.kept.iter().skip(from).cloned().collect();
        self.print(&mut out, &again);
        self.printed = self.kept.iter().map(|row| height(row, columns)).sum();
        self.live.clear();
        self.widths.clear();
        (self.at, self.column) = (0, 0);
        out.push_str(END_SYNC);
        out
    }

    /// Our rows gone and the cursor where they began.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        rise(&mut out, self.at);
        out.push_str("\x1b[J");
        out.push_str(SHOW);
        self.live.clear();
        self.at = 0;
        out
    }

    /// The rows that differ; gives the row where the cursor is then.
    fn repaint(&self, out: &mut String, fresh: &[String]) -> usize {
        let mut y = 0;
        for (index, row) in fresh.iter().enumerate() {
            if self.live.get(index) == Some(row) {
                continue;
            }
            // Rows that are not there yet have to be made, which may scroll.
            let known = index.min(self.live.len().saturating_sub(1)).max(y);
            sink(out, known - y);
            y = known;
            while y < index {
                out.push_str("\r\n");
                y += 1;
            }
            out.push_str("\r\x1b[2K");
            out.push_str(row);
        }
        if fresh.len() < self.live.len() {
            let below = fresh.len();
            rise(out, y.saturating_sub(below));
            sink(out, below.saturating_sub(y));
            out.push_str("\r\x1b[J");
            y = below;
        }
        y
    }

    fn print(&self, out: &mut String, rows: &[Row]) {
        for row in rows {
            if row.flow == Flow::Whole {
                out.push_str(&self.bytes(&row.line));
                out.push_str("\r\n");
                continue;
            }
            for line in row.fold(self.columns) {
                out.push_str(&self.bytes(&line));
                out.push_str("\r\n");
            }
        }
    }

    fn keep(&mut self, rows: Vec<Row>) {
        self.printed += rows.iter().map(|row| height(row, self.columns)).sum::<usize>();
        self.kept.extend(rows);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
    }

    /// The first kept line that stands on a full screen of this size.
    fn first_kept(&self, columns: u16, rows: u16) -> usize {
        let room = usize::from(rows).saturating_sub(self.live.len());
        let mut used = 0;
        for (index, row) in self.kept.iter().enumerate().rev() {
            if used >= room {
                return index + 1;
            }
            used += height(row, columns);
        }
        0
    }

    /// Rows from the cursor up to the first of ours.
    fn climb(&self, columns: u16) -> usize {
        let breaks = self.reflow == Reflow::Known && columns < self.columns;
        let split = |width: usize| if breaks { width.div_ceil(usize::from(columns)).max(1) } else { 1 };
        let live: usize = self.widths.iter().take(self.at).map(|width| split(*width)).sum();
        let kept = self.kept.iter().map(|row| match row.flow {
            Flow::Whole => height(row, if breaks { columns } else { self.columns }),
            _ => row.fold(self.columns).iter().map(|line| split(line.width())).sum(),
        });
        live + kept.sum::<usize>()
    }

    fn bytes(&self, line: &Line) -> String {
        let mut out = String::new();
        for span in &line.spans {
            let codes = self.codes(line.style.patch(span.style));
            // The views leave nothing of the kind; were it so, it would end here.
            let text = span.content.chars().filter(|letter| !letter.is_control());
            if codes.is_empty() {
                out.extend(text);
            } else {
                // A String takes everything.
                let _ = write!(out, "\x1b[{codes}m");
                out.extend(text);
                out.push_str("\x1b[0m");
            }
        }
        out
    }

    fn codes(&self, style: Style) -> String {
        let mut codes: Vec<&str> = Vec::new();
        if style.add_modifier.contains(Modifier::BOLD) {
            codes.push("1");
        }
        if style.add_modifier.contains(Modifier::DIM) {
            codes.push("2");
        }
        let colour = match style.fg {
            Some(Color::Red) => Some("31"),
            Some(Color::Green) => Some("32"),
            Some(Color::Yellow) => Some("33"),
            Some(Color::Cyan) => Some("36"),
            _ => None,
        };
        codes.extend(colour.filter(|_| self.colours == Colours::On));
        codes.join(";")
    }
}

/// Rows that a finished line takes.
fn height(row: &Row, columns: u16) -> usize {
    match row.flow {
        Flow::Whole => row.line.width().div_ceil(usize::from(columns.max(1))).max(1),
        Flow::Words(_) | Flow::Letters(_) => row.fold(columns).len(),
    }
}

/// To the first column, so many rows up.
fn rise(out: &mut String, rows: usize) {
    out.push('\r');
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

fn sink(out: &mut String, rows: usize) {
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}B");
    }
}

fn right(out: &mut String, columns: u16) {
    out.push('\r');
    if columns > 0 {
        let _ = write!(out, "\x1b[{columns}C");
    }
}

#[cfg(test)]
mod tests;
