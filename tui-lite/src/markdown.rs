//! Markdown as it reads best in a terminal, line by line, so that a stream is shown as it comes.
//!
//! Headings, code and bold words are styled, lists and quotations hang; all else, tables included, stands as
//! it was written. The only memory from line to line is an open code block.

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use crate::row::{Row, bold, colored, dim};
use crate::text::clean;

/// Where in a text we are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Markdown {
    /// The mark that opened the code block, which closes it too.
    fence: Option<String>,
}

impl Markdown {
    /// The next line, without its line end.
    pub(crate) fn line(&mut self, line: &str) -> Row {
        let line = clean(line);
        if let Some(open) = &self.fence {
            let mark = line.trim();
            let letter = open.chars().next().unwrap_or('`');
            if mark.starts_with(open.as_str()) && mark.chars().all(|next| next == letter) {
                self.fence = None;
                return Row::whole(line).style(dim());
            }
            return Row::whole(line).style(colored(Color::Cyan));
        }
        if let Some(mark) = fence(&line) {
            self.fence = Some(mark);
            return Row::whole(line).style(dim());
        }
        block(&line)
    }

    /// A whole text, or the rest of one.
    pub(crate) fn lines(&mut self, text: &str) -> Vec<Row> {
        text.lines().map(|line| self.line(line)).collect()
    }
}

fn fence(line: &str) -> Option<String> {
    let line = line.trim_start();
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let count = line.chars().take_while(|next| *next == letter).count();
    // Three letters and more on one line are inline code when they are closed there.
    let info = line.trim_start_matches(letter);
    (count >= 3 && !info.contains('`')).then(|| letter.to_string().repeat(count))
}

fn block(line: &str) -> Row {
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    if let Some(heading) = heading(body) {
        return Row::words(heading.to_string(), 0).style(bold());
    }
    if body.starts_with('|') {
        return Row::letters(line.to_string(), 0);
    }
    Row::words(Line::from(spans(line)), indent + marker(body))
}

fn heading(body: &str) -> Option<&str> {
    let text = body.trim_start_matches('#');
    let depth = body.len() - text.len();
    let text = text.strip_prefix(' ').filter(|_| (1..=6).contains(&depth))?;
    Some(text.trim().trim_end_matches('#').trim_end())
}

/// Columns of a list's or a quotation's mark.
fn marker(body: &str) -> usize {
    let mark = body.split(' ').next().unwrap_or_default();
    let number = mark.trim_end_matches(['.', ')']);
    let numbered = number.len() + 1 == mark.len()
        && (1..=9).contains(&number.len())
        && number.chars().all(|digit| digit.is_ascii_digit());
    let marked = (numbered || matches!(mark, "-" | "*" | "+" | ">")) && body.len() > mark.len();
    if marked { mark.len() + 1 } else { 0 }
}

/// Inline code and bold words. The quotes of code stay, so that it is told apart without colour.
fn spans(line: &str) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some((marked, shown, style)) = emphasis(rest) {
            if !plain.is_empty() {
                spans.push(Span::raw(std::mem::take(&mut plain)));
            }
            spans.push(Span::styled(shown.to_string(), style));
            rest = rest.get(marked..).unwrap_or_default();
            continue;
        }
        // An open mark is text, all of it.
        let run = rest.len() - rest.trim_start_matches(letter).len();
        let step = if matches!(letter, '`' | '*') { run } else { letter.len_utf8() };
        plain.push_str(rest.get(..step).unwrap_or_default());
        rest = rest.get(step..).unwrap_or_default();
    }
    if !plain.is_empty() {
        spans.push(Span::raw(plain));
    }
    spans
}

/// What begins here: the bytes it takes, what is shown of it, and how.
fn emphasis(text: &str) -> Option<(usize, &str, Style)> {
    if text.starts_with('`') {
        let end = code_end(text)?;
        return Some((end, text.get(..end)?, colored(Color::Cyan)));
    }
    let inner = text.strip_prefix("**")?;
    let end = inner.find("**")?;
    let words = inner.get(..end)?;
    let tight = !words.is_empty() && !words.starts_with([' ', '*']) && !words.ends_with(' ');
    tight.then_some((end + 4, words, bold()))
}

/// Where the code that begins with a run of quotes ends: behind the next run of the same length.
fn code_end(text: &str) -> Option<usize> {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let count = run(text);
    let mut from = count;
    loop {
        let at = from + text.get(from..)?.find('`')?;
        let found = run(text.get(at..)?);
        from = at + found;
        if found == count {
            return Some(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Flow;

    fn plain(text: &str) -> Vec<String> {
        Markdown::default().lines(text).iter().map(Row::plain).collect()
    }

    #[test]
    fn the_words_stay() {
        let fenced = "```rust\nlet a = \"**\";\n# no heading\n```\n# Head";
        for (text, shown) in [
            ("# Head\na **b** `c` d", vec!["Head", "a b `c` d"]),
            ("## Two ##\n####### seven\n#no", vec!["Two", "####### seven", "#no"]),
            (fenced, vec!["```rust", "let a = \"**\";", "# no heading", "```", "Head"]),
            ("````md\n```\nx\n```\n`````\n**y**", vec!["````md", "```", "x", "```", "`````", "y"]),
            ("~~~\n```\n~~~\n**y**", vec!["~~~", "```", "~~~", "y"]),
            ("one ` two **three**", vec!["one ` two three"]),
            ("2 ** 3 and **b", vec!["2 ** 3 and **b"]),
            ("``a ` b`` c", vec!["``a ` b`` c"]),
            ("```inline``` here\n**b**", vec!["```inline``` here", "b"]),
            ("| a | **b** |\n|---|---|", vec!["| a | **b** |", "|---|---|"]),
            ("a\u{1b}[31m\r\nb", vec!["a", "b"]),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn styles_stand_where_they_should() {
        let row = Markdown::default().line("a **b** `c`");
        let spans = [
            Span::raw("a "),
            Span::styled("b", bold()),
            Span::raw(" "),
            Span::styled("`c`", colored(Color::Cyan)),
        ];
        assert_eq!(row.line.spans, spans);
    }

    #[test]
    fn what_is_a_list_hangs() {
        for (line, flow) in [
            ("- a", Flow::Words(2)),
            ("  * a", Flow::Words(4)),
            ("12. a", Flow::Words(4)),
            ("> a", Flow::Words(2)),
            ("1.5 litres", Flow::Words(0)),
            ("-5 degrees", Flow::Words(0)),
            ("| a |", Flow::Letters(0)),
            ("text", Flow::Words(0)),
        ] {
            assert_eq!(Markdown::default().line(line).flow, flow, "{line}");
        }
    }
}
