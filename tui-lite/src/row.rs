//! Lines and how they break at the edge of the screen, and the few styles there are.
//!
//! A style says nothing alone: each colour stands beside a word or a sign.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::text::{graphemes, width};

/// A line before it is broken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) line: Line<'static>,
    pub(crate) flow: Flow,
}

/// How a line that is too long goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Between words; the next row begins at this column.
    Words(usize),
    /// Anywhere; the next row begins at this column.
    Letters(usize),
    /// The terminal breaks it, so that it is copied as one line.
    Whole,
}

impl Row {
    pub(crate) fn words(line: impl Into<Line<'static>>, hang: usize) -> Self {
        Self { line: line.into(), flow: Flow::Words(hang) }
    }

    pub(crate) fn letters(line: impl Into<Line<'static>>, hang: usize) -> Self {
        Self { line: line.into(), flow: Flow::Letters(hang) }
    }

    pub(crate) fn whole(line: impl Into<Line<'static>>) -> Self {
        Self { line: line.into(), flow: Flow::Whole }
    }

    pub(crate) fn blank() -> Self {
        Self::whole(Line::default())
    }

    /// One style for all of it.
    pub(crate) fn style(mut self, style: Style) -> Self {
        self.line.style = style;
        self
    }

    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.line.spans.iter().map(|span| span.content.as_ref()).collect()
    }

    /// The rows of the screen at this width.
    pub(crate) fn fold(&self, columns: u16) -> Vec<Line<'static>> {
        let room = usize::from(columns.max(1));
        if self.line.width() <= room {
            return vec![self.line.clone()];
        }
        let (hang, by_words) = match self.flow {
            Flow::Words(hang) => (hang, true),
            Flow::Letters(hang) => (hang, false),
            Flow::Whole => (0, false),
        };
        let hang = hang.min(room / 2);
        let letters = letters(&self.line);
        let mut rows = Vec::new();
        let mut from = 0;
        while from < letters.len() {
            let indent = if rows.is_empty() { 0 } else { hang };
            let (to, next) = break_at(&letters, from, room - indent, by_words);
            rows.push(join(&letters, from, to, indent, self.line.style));
            from = next;
        }
        rows
    }
}

/// All rows of all lines.
pub(crate) fn fold(rows: &[Row], columns: u16) -> Vec<Line<'static>> {
    rows.iter().flat_map(|row| row.fold(columns)).collect()
}

pub(crate) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(crate) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(crate) fn colored(color: Color) -> Style {
    Style::new().fg(color)
}

struct Letter {
    text: String,
    wide: usize,
    style: Style,
}

fn letters(line: &Line) -> Vec<Letter> {
    let spans = line.spans.iter().flat_map(|span| {
        let all = graphemes(&span.content).into_iter();
        all.map(|text| Letter { text: text.to_string(), wide: width(text), style: span.style })
    });
    spans.collect()
}

/// Where the row that begins at `from` ends, and where the next begins.
fn break_at(letters: &[Letter], from: usize, room: usize, by_words: bool) -> (usize, usize) {
    let (mut used, mut to, mut space) = (0, from, None);
    for letter in letters.iter().skip(from) {
        if used + letter.wide > room && to > from {
            break;
        }
        if by_words && letter.text == " " && used > 0 {
            space = Some(to);
        }
        used += letter.wide;
        to += 1;
    }
    if to >= letters.len() || !by_words {
        return (to, to);
    }
    let blank = |at: &usize| letters.get(*at).is_some_and(|letter| letter.text == " ");
    let end = if blank(&to) { Some(to) } else { space };
    // Leading spaces are an indent, no place to break.
    let worded = |end: &usize| letters.iter().take(*end).skip(from).any(|letter| letter.text != " ");
    match end.filter(worded) {
        Some(end) => {
            let next = (end..letters.len()).find(|at| !blank(at)).unwrap_or(letters.len());
            (end, next)
        }
        None => (to, to),
    }
}

fn join(letters: &[Letter], from: usize, to: usize, indent: usize, style: Style) -> Line<'static> {
    let mut spans: Vec<Span> = Vec::new();
    if indent > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    let mut piece = String::new();
    let mut last = Style::new();
    for letter in letters.iter().take(to).skip(from) {
        if letter.style != last && !piece.is_empty() {
            spans.push(Span::styled(std::mem::take(&mut piece), last));
        }
        last = letter.style;
        piece.push_str(&letter.text);
    }
    if !piece.is_empty() {
        spans.push(Span::styled(piece, last));
    }
    Line::from(spans).style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(row: Row, columns: u16) -> Vec<String> {
        row.fold(columns)
            .iter()
            .map(|line| line.spans.iter().map(|span| span.content.as_ref()).collect())
            .collect()
    }

    #[test]
    fn lines_break_where_their_kind_says() {
        for (row, columns, shown) in [
            (Row::words("one two three", 0), 8, vec!["one two", "three"]),
            (Row::words("- one two three", 2), 9, vec!["- one two", "  three"]),
            (Row::words("unbreakable", 0), 4, vec!["unbr", "eaka", "ble"]),
            (Row::words("ab unbreakable", 0), 6, vec!["ab", "unbrea", "kable"]),
            (Row::words("日本語 テスト", 0), 6, vec!["日本語", "テスト"]),
            (Row::words("    indented words", 4), 12, vec!["    indented", "    words"]),
            (Row::letters("  one two", 2), 6, vec!["  one ", "  two"]),
            (Row::letters("日本", 0), 3, vec!["日", "本"]),
            (Row::whole(""), 5, vec![""]),
            (Row::words("日本", 0), 1, vec!["日", "本"]),
        ] {
            assert_eq!(folded(row.clone(), columns), shown, "{row:?} at {columns}");
        }
    }

    #[test]
    fn styles_go_with_their_letters() {
        let line = Line::from(vec![Span::raw("one "), Span::styled("two three", bold())]);
        let rows = Row::words(line, 0).fold(7);
        assert_eq!(rows[0].spans, [Span::raw("one "), Span::styled("two", bold())]);
        assert_eq!(rows[1].spans, [Span::styled("three", bold())]);
    }
}
