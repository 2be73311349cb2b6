//! Markdown as it reads best in a terminal: headings, code and emphasis styled, all else as it stands.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use crate::lines::{bold, clean, colored};

pub(crate) fn lines(text: &str) -> Vec<Line<'static>> {
    let text = clean(text);
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            lines.push(Line::styled(line.to_string(), crate::lines::dim()));
        } else if fenced {
            lines.push(Line::styled(line.to_string(), colored(Color::Cyan)));
        } else if line.starts_with('#') {
            lines.push(Line::styled(line.trim_start_matches('#').trim_start().to_string(), bold()));
        } else {
            lines.push(Line::from(spans(line)));
        }
    }
    lines
}

/// Inline code and bold words.
fn spans(line: &str) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some((mark, at)) = next_mark(rest) {
        let (head, tail) = rest.split_at(at);
        let inner = tail.get(mark.len()..).unwrap_or_default();
        let Some(end) = inner.find(mark).filter(|end| *end > 0) else { break };
        if !head.is_empty() {
            spans.push(Span::raw(head.to_string()));
        }
        let style = if mark == "`" { colored(Color::Cyan) } else { bold() };
        let shown = inner.get(..end).unwrap_or_default();
        // The quotes of code stay, so that it is told apart without colour.
        let shown = if mark == "`" { format!("`{shown}`") } else { shown.to_string() };
        spans.push(Span::styled(shown, style));
        rest = inner.get(end + mark.len()..).unwrap_or_default();
    }
    if !rest.is_empty() {
        spans.push(Span::styled(rest.to_string(), Style::new()));
    }
    spans
}

fn next_mark(text: &str) -> Option<(&'static str, usize)> {
    let found = ["`", "**"].into_iter().filter_map(|mark| text.find(mark).map(|at| (mark, at)));
    found.min_by_key(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<String> {
        lines(text)
            .iter()
            .map(|line| line.spans.iter().map(|span| span.content.to_string()).collect())
            .collect()
    }

    #[test]
    fn the_words_stay() {
        assert_eq!(plain("# Head\na **b** `c` d"), ["Head", "a b `c` d"]);
        assert_eq!(plain("```rust\nlet a = \"**\";\n```"), ["```rust", "let a = \"**\";", "```"]);
        assert_eq!(plain("one ` two"), ["one ` two"]);
    }
}
