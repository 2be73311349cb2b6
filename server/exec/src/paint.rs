//! Text for a terminal: colours, and strangers' text made harmless.

use std::fmt::Write;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colour,
    Plain,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Terminal,
    /// A file or a program: it gets the text as it is.
    Program,
}

/// What a piece of text is, and so how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Strong,
    Good,
    Bad,
    Warning,
}

impl Paint {
    /// The text in this tone; unchanged without colours.
    pub fn tone(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Paint::Plain, _) => return text.to_string(),
            (Paint::Colour, Tone::Quiet) => "2",
            (Paint::Colour, Tone::Strong) => "1",
            (Paint::Colour, Tone::Good) => "32",
            (Paint::Colour, Tone::Bad) => "31",
            (Paint::Colour, Tone::Warning) => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The text without anything that a terminal would obey; line ends and tabs stay.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => out.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\u{1b}' => skip_escape(&mut letters),
            control if control.is_control() || is_reordering(control) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A colour sequence means nothing here and is dropped whole; anything else loses its escape only.
fn skip_escape(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if letters.peek() != Some(&'[') {
        return;
    }
    letters.next();
    while let Some(letter) = letters.peek() {
        if !matches!(letter, '0'..='9' | ';' | ':' | '?' | '<' | '=' | '>' | ' ') {
            break;
        }
        letters.next();
    }
    if letters.peek().is_some_and(|last| ('@'..='~').contains(last)) {
        letters.next();
    }
}

/// Marks that show text in another order than it runs in.
fn is_reordering(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The last `count` lines, with a line that says how many are left out.
pub fn tail(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(count);
    let mut shown = Vec::with_capacity(count + 1);
    if left_out > 0 {
        shown.push(format!("... {left_out} lines above"));
    }
    shown.extend(lines.into_iter().skip(left_out).map(str::to_string));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_would_obey_is_left() {
        let table = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "]0;title\\u{7}x"),
            ("a\r\nb\rc", "a\nb\\u{d}c"),
            ("x\u{202e}y", "x\\u{202e}y"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("end\u{1b}[", "end"),
        ];
        for (text, shown) in table {
            assert_eq!(clean(text), shown, "{text:?}");
        }
    }

    #[test]
    fn the_tail_says_what_it_leaves_out() {
        assert_eq!(tail("a\nb\nc\n", 2), ["... 1 lines above", "b", "c"]);
        assert_eq!(tail("a\n", 2), ["a"]);
    }
}
