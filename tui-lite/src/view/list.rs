//! A picker's rows, around the one that is picked.

use ratatui_core::text::Line;

use crate::picker::Picker;
use crate::row::{bold, dim};
use crate::text::cut;

pub(super) fn rows(picker: &Picker, columns: u16, room: usize) -> Vec<Line<'static>> {
    let room = room.max(1);
    let width = usize::from(columns);
    let (rows, at) = picker.shown();
    // A head and a hint, where there is room for more than the choices.
    let frame = if room >= 4 { 2 } else { 0 };
    let most = room - frame;
    let from = at.saturating_sub(most / 2).min(rows.len().saturating_sub(most));
    let mut lines = Vec::new();
    if frame > 0 {
        let filter = if picker.filter.is_empty() { String::new() } else { format!(": {}", picker.filter) };
        let count =
            if rows.len() > most { format!(" ({} of {})", at + 1, rows.len()) } else { String::new() };
        lines.push(Line::styled(cut(&format!("{}{count}{filter}", picker.title), width), bold()));
    }
    for (index, row) in rows.iter().enumerate().skip(from).take(most) {
        let mark = if index == at { '>' } else { ' ' };
        let now = if row.current { "* " } else { "" };
        let about = if row.about.is_empty() { String::new() } else { format!("  {}", row.about) };
        let style = if index == at { bold() } else { dim() };
        lines.push(Line::styled(cut(&format!("{mark} {now}{}{about}", row.name), width), style));
    }
    if rows.is_empty() {
        lines.push(Line::styled(cut("  nothing fits; Backspace takes a letter back", width), dim()));
    }
    if frame > 0 {
        let hint = "Up and down choose, Enter takes it, letters narrow, Esc leaves it";
        lines.push(Line::styled(cut(hint, width), dim()));
    }
    lines
}
