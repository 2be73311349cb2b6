//! Text of others made harmless, and letters as a person counts them.
//!
//! What models, files and commands say never reaches the terminal without one of the two functions here:
//! [`clean`] leaves out what a terminal would obey, [`exact`] shows it, for what a person has to approve.

use ratatui_core::style::Style;
use ratatui_core::text::Span;
use unicode_width::UnicodeWidthStr;

/// What a tab is shown as.
const TAB: &str = "    ";

/// Text without control sequences; line ends stay, and a lone carriage return begins its line anew.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut returned = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\u{2028}' | '\u{2029}' => {
                returned = false;
                out.push('\n');
            }
            '\r' => returned = true,
            '\u{8}' => {
                if !out.ends_with('\n') {
                    out.pop();
                }
            }
            '\u{1b}' => skip_escape(&mut letters),
            '\u{9b}' => skip_control(&mut letters),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut letters),
            '\t' => {
                overwrite(&mut out, &mut returned);
                out.push_str(TAB);
            }
            other if other.is_control() || turns_text(other) => {}
            other => {
                overwrite(&mut out, &mut returned);
                out.push(other);
            }
        }
    }
    out
}

/// Text with everything in it to be seen: what cannot be seen is written as its number.
pub(crate) fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push('\n'),
            '\t' => out.push_str(TAB),
            other if other.is_control() || turns_text(other) || is_unseen(other) => {
                out.extend(other.escape_unicode());
            }
            other => out.push(other),
        }
    }
    out
}

/// One line of a text for a place that has one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_string()
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Letters as a person counts them; line ends and tabs stand alone.
pub(crate) fn graphemes(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.find(char::is_control).unwrap_or(rest.len());
        let (mut head, tail) = rest.split_at(plain);
        let lengths: Vec<usize> =
            Span::raw(head).styled_graphemes(Style::new()).map(|letter| letter.symbol.len()).collect();
        for length in lengths {
            let (letter, after) = head.split_at(length);
            all.push(letter);
            head = after;
        }
        let control = tail.chars().next().map_or(0, char::len_utf8);
        let (letter, after) = tail.split_at(control);
        if !letter.is_empty() {
            all.push(letter);
        }
        rest = after;
    }
    all
}

/// As much of a text as there are columns for.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in graphemes(text) {
        used += width(letter);
        if used > room.saturating_sub(3) {
            break;
        }
        out.push_str(letter);
    }
    out.push_str("...");
    cut_hard(&out, room)
}

fn cut_hard(text: &str, room: usize) -> String {
    let mut used = 0;
    graphemes(text)
        .into_iter()
        .take_while(|letter| {
            used += width(letter);
            used <= room
        })
        .collect()
}

/// After a carriage return the next letter writes over the line.
fn overwrite(out: &mut String, returned: &mut bool) {
    if std::mem::take(returned) {
        out.truncate(out.rfind('\n').map_or(0, |at| at + 1));
    }
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(letters: &mut Letters) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            skip_control(letters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            letters.next();
            skip_string(letters);
        }
        _ => {
            while letters.next_if(|letter| matches!(letter, ' '..='/')).is_some() {}
            letters.next_if(|letter| matches!(letter, '0'..='~'));
        }
    }
}

/// Parameters and the final letter of a control sequence.
fn skip_control(letters: &mut Letters) {
    while letters.next_if(|letter| matches!(letter, ' '..='?')).is_some() {}
    letters.next_if(|letter| matches!(letter, '@'..='~'));
}

/// A control string to its end mark, or to the end of the line when it has none.
fn skip_string(letters: &mut Letters) {
    while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
        match letter {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                letters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Whether a letter cannot be seen, or changes how others are.
pub(crate) fn is_hidden(letter: &str) -> bool {
    letter.chars().any(|letter| turns_text(letter) || is_unseen(letter))
}

/// Letters that make a text look like another one by turning its direction.
fn turns_text(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_is_obeyed() {
        for (text, shown) in [
            ("a\u{1b}[31mred\u{1b}[0m\u{7}\tb\r\nc", "ared    b\nc"),
            ("x\u{9b}2Jy", "xy"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]52;c;AAAA\u{1b}\\c", "abc"),
            ("a\u{1b}]0;no end\nb", "a\nb"),
            ("a\u{1b}(Bb\u{1b}cc\u{1b}", "abc"),
            ("10%\r50%\r100%\r\ndone", "100%\ndone"),
            ("50%\r", "50%"),
            ("N\u{8}NA\u{8}A", "NA"),
            ("a\u{202e}b\u{2066}c", "abc"),
            ("\u{1b}[", ""),
            ("\u{1b}[31\nx", "\nx"),
        ] {
            assert_eq!(clean(text), shown, "{text:?}");
        }
    }

    #[test]
    fn what_is_approved_is_shown_as_it_is() {
        assert_eq!(exact("rm\u{1b}[2K x\u{202e}y\r\nz\t1"), "rm\\u{1b}[2K x\\u{202e}y\\u{d}\nz    1");
        assert_eq!(exact("a\u{200b}b"), "a\\u{200b}b");
        assert_eq!(exact("naïve 日本 👩‍👩‍👧"), "naïve 日本 👩‍👩‍👧");
    }

    #[test]
    fn letters_are_those_of_a_person() {
        assert_eq!(graphemes("e\u{301}a\n\t👩‍👩‍👧日"), ["e\u{301}", "a", "\n", "\t", "👩‍👩‍👧", "日"]);
        assert_eq!(cut("日本語テキスト", 8), "日本...");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdef", 2), "..");
    }
}
