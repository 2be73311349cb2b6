//! The input as rows, with the cursor among them.

use ratatui_core::text::{Line, Span};

use crate::row::bold;
use crate::text::{graphemes, is_hidden, width};

const DOT: &str = "·";

pub(super) struct Input {
    pub(super) rows: Vec<Line<'static>>,
    /// Row and column.
    pub(super) cursor: (usize, u16),
}

/// The rows around the cursor, at most so many.
pub(super) fn rows(text: &str, cursor: usize, columns: u16, most: usize) -> Input {
    // The mark, and a column for the cursor behind the last letter.
    let room = usize::from(columns).saturating_sub(3).max(1);
    let mut all = vec![String::new()];
    let (mut used, mut place) = (0, None);
    let mut offset = 0;
    for letter in graphemes(text) {
        let shown = if letter == "\t" { "    " } else { letter };
        // A dot stands for what cannot be seen, and on a screen of hardly any columns for what does not fit.
        let shown = if width(shown) > room || is_hidden(letter) { DOT } else { shown };
        let wide = width(shown);
        if letter != "\n" && used > 0 && used + wide > room {
            all.push(String::new());
            used = 0;
        }
        if offset >= cursor && place.is_none() {
            place = Some((all.len() - 1, used));
        }
        offset += letter.len();
        if letter == "\n" {
            all.push(String::new());
            used = 0;
        } else if let Some(row) = all.last_mut() {
            row.push_str(shown);
            used += wide;
        }
    }
    let (row, column) = place.unwrap_or((all.len() - 1, used));
    let from = (row + 1).saturating_sub(most);
    let shown = all.into_iter().enumerate().skip(from).take(most).map(|(index, line)| {
        let mark = match index {
            0 => "> ",
            _ if index == from => "^ ",
            _ => "  ",
        };
        Line::from(vec![Span::styled(mark, bold()), Span::raw(line)])
    });
    let edge = usize::from(columns.saturating_sub(1));
    Input { rows: shown.collect(), cursor: (row - from, u16::try_from((column + 2).min(edge)).unwrap_or(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, cursor: usize, columns: u16, most: usize) -> (Vec<String>, (usize, u16)) {
        let Input { rows, cursor } = rows(text, cursor, columns, most);
        let plain = |line: &Line| line.spans.iter().map(|span| span.content.as_ref()).collect();
        (rows.iter().map(plain).collect(), cursor)
    }

    #[test]
    fn the_cursor_stands_at_its_letter() {
        for (text, cursor, rows, at) in [
            ("", 0, vec!["> "], (0, 2)),
            ("ab", 1, vec!["> ab"], (0, 3)),
            ("ab", 2, vec!["> ab"], (0, 4)),
            ("abcdefg", 7, vec!["> abcdefg"], (0, 9)),
            ("abcdefgh", 8, vec!["> abcdefg", "  h"], (1, 3)),
            ("abcdefgh", 7, vec!["> abcdefg", "  h"], (1, 2)),
            ("a\nb", 2, vec!["> a", "  b"], (1, 2)),
            ("a\nb", 1, vec!["> a", "  b"], (0, 3)),
            ("a\n", 2, vec!["> a", "  "], (1, 2)),
            ("日本語x", 9, vec!["> 日本語x"], (0, 8)),
            ("日本語日", 12, vec!["> 日本語", "  日"], (1, 4)),
            ("\tx", 1, vec![">     x"], (0, 6)),
            ("a\u{202e}b", 5, vec!["> a·b"], (0, 5)),
            ("a\\b", 3, vec!["> a\\b"], (0, 5)),
        ] {
            assert_eq!(
                shown(text, cursor, 10, 9),
                (rows.iter().map(|row| row.to_string()).collect(), at),
                "{text:?} {cursor}"
            );
        }
    }

    #[test]
    fn the_rows_around_the_cursor_are_shown() {
        let text = "1\n2\n3\n4";
        assert_eq!(shown(text, 7, 10, 2), (vec!["^ 3".into(), "  4".into()], (1, 3)));
        assert_eq!(shown(text, 0, 10, 2), (vec!["> 1".into(), "  2".into()], (0, 2)));
    }
}
