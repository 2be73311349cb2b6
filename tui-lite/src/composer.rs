//! The input: text of several lines, a cursor that moves by letters as a person counts them, and what was
//! sent before.

use crate::text::{graphemes, width};

/// A change of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Letter(char),
    NewLine,
    Back,
    Delete,
    BackWord,
    DeleteWord,
    ClearBefore,
    ClearAfter,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    /// A line up, or an earlier prompt above the first.
    Up,
    /// A line down, or a later prompt below the last.
    Down,
}

#[derive(Default)]
pub(crate) struct Composer {
    text: String,
    /// A byte offset on a border between letters.
    at: usize,
    history: Vec<String>,
    /// Where in the history; none is the line being written.
    shown: Option<usize>,
    draft: String,
}

impl Composer {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Byte offset of the cursor.
    pub(crate) fn cursor(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn remember(&mut self, line: &str) {
        let line = plain(line);
        if !line.trim().is_empty() && self.history.last() != Some(&line) {
            self.history.push(line);
        }
    }

    /// Takes the text out.
    pub(crate) fn submit(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.at, self.shown) = (0, None);
        self.remember(&text);
        text
    }

    /// Another text in place of this one.
    pub(crate) fn replace(&mut self, text: &str) {
        self.text.clear();
        (self.at, self.shown) = (0, None);
        self.insert(text);
    }

    /// Typed or pasted text.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = plain(text);
        self.text.insert_str(self.at, &text);
        self.at += text.len();
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Letter(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            Edit::NewLine => self.insert("\n"),
            Edit::Back => self.remove(self.before(), self.at),
            Edit::Delete => self.remove(self.at, self.after()),
            Edit::BackWord => self.remove(self.word_before(), self.at),
            Edit::DeleteWord => self.remove(self.at, self.word_after()),
            Edit::ClearBefore => self.remove(self.line_start(), self.at),
            Edit::ClearAfter => self.remove(self.at, self.line_end()),
            Edit::Left => self.at = self.before(),
            Edit::Right => self.at = self.after(),
            Edit::WordLeft => self.at = self.word_before(),
            Edit::WordRight => self.at = self.word_after(),
            Edit::Home => self.at = self.line_start(),
            Edit::End => self.at = self.line_end(),
            Edit::Up => self.up(),
            Edit::Down => self.down(),
        }
    }

    fn up(&mut self) {
        let start = self.line_start();
        if start > 0 {
            let column = self.column();
            self.at = start - 1;
            return self.seek(column);
        }
        let earlier = match self.shown {
            None => self.history.len().checked_sub(1),
            Some(at) => Some(at.saturating_sub(1)),
        };
        self.travel(earlier);
    }

    fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let column = self.column();
            self.at = end + 1;
            return self.seek(column);
        }
        let later = self.shown.map(|at| at + 1).filter(|at| *at < self.history.len());
        self.travel(later);
    }

    fn column(&self) -> usize {
        width(self.text.get(self.line_start()..self.at).unwrap_or_default())
    }

    /// The place in the cursor's line that is nearest to a column from the left.
    fn seek(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let mut used = 0;
        let mut at = start;
        for letter in graphemes(self.text.get(start..end).unwrap_or_default()) {
            used += width(letter);
            if used > column {
                break;
            }
            at += letter.len();
        }
        self.at = at;
    }

    fn travel(&mut self, to: Option<usize>) {
        if self.history.is_empty() || (to.is_none() && self.shown.is_none()) {
            return;
        }
        if self.shown.is_none() {
            self.draft = std::mem::take(&mut self.text);
        }
        self.shown = to;
        self.text = match to.and_then(|at| self.history.get(at)) {
            Some(line) => line.clone(),
            None => std::mem::take(&mut self.draft),
        };
        self.at = self.text.len();
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn head(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> usize {
        let line = self.head().get(self.line_start()..).unwrap_or_default();
        match graphemes(line).last() {
            Some(last) => self.at - last.len(),
            // At the start of a line, its line end is the letter before.
            None => self.at.saturating_sub(1),
        }
    }

    fn after(&self) -> usize {
        let rest = self.rest();
        let line = rest.find('\n').unwrap_or(rest.len()).max(1).min(rest.len());
        self.at + graphemes(rest.get(..line).unwrap_or(rest)).first().map_or(0, |next| next.len())
    }

    fn line_start(&self) -> usize {
        self.head().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.at + self.rest().find('\n').unwrap_or(self.rest().len())
    }

    fn word_before(&self) -> usize {
        let trimmed = self.head().trim_end();
        let blank = trimmed.char_indices().rfind(|(_, letter)| letter.is_whitespace());
        blank.map_or(0, |(at, blank)| at + blank.len_utf8())
    }

    fn word_after(&self) -> usize {
        let word = self.rest().trim_start();
        let skipped = self.rest().len() - word.len();
        self.at + skipped + word.find(char::is_whitespace).unwrap_or(word.len())
    }
}

/// Text without control characters other than line ends and tabs.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(start: &str, edits: &[Edit]) -> (String, usize) {
        let mut composer = Composer::default();
        composer.insert(start);
        edits.iter().for_each(|edit| composer.edit(*edit));
        (composer.text().to_string(), composer.cursor())
    }

    #[test]
    fn edits_keep_to_letters() {
        use Edit::*;
        for (start, edits, text, at) in [
            ("héllo wörld", vec![Back], "héllo wörl", 12),
            ("héllo wörld", vec![BackWord], "héllo ", 7),
            ("héllo wörld", vec![Home, Right, Delete], "hllo wörld", 1),
            ("héllo wörld", vec![WordLeft, Letter('é')], "héllo éwörld", 9),
            ("héllo wörld", vec![ClearBefore, Back, Left], "", 0),
            ("a b c", vec![Home, DeleteWord], " b c", 0),
            ("a b c", vec![Home, Right, ClearAfter], "a", 1),
            ("one", vec![NewLine, Letter('x'), Home], "one\nx", 4),
            ("one\n", vec![Back, Left], "one", 2),
            ("one\ntwo", vec![Home, Left, Delete], "onetwo", 3),
            ("a👩‍👩‍👧", vec![Back], "a", 1),
            ("e\u{301}x", vec![Left, Left, Delete], "x", 0),
            ("one\u{a0}two", vec![BackWord], "one\u{a0}", 5),
        ] {
            assert_eq!(typed(start, &edits), (text.to_string(), at), "{start:?} {edits:?}");
        }
    }

    #[test]
    fn up_and_down_keep_the_column() {
        use Edit::*;
        for (start, edits, at) in [
            ("abc\nde\nfghi", vec![Up], 6),
            ("abc\nde\nfghi", vec![Up, Up], 2),
            ("日本語\nab", vec![Up], 3),
            ("ab\n日本語", vec![Up, Down], 6),
            ("ab\ncd", vec![Up, Home, Down], 3),
        ] {
            assert_eq!(typed(start, &edits).1, at, "{start:?} {edits:?}");
        }
    }

    #[test]
    fn history_keeps_the_draft() {
        let mut composer = Composer::default();
        for line in ["one", "two"] {
            composer.insert(line);
            composer.submit();
        }
        composer.insert("draft");
        for (edit, shown) in [
            (Edit::Up, "two"),
            (Edit::Up, "one"),
            (Edit::Up, "one"),
            (Edit::Down, "two"),
            (Edit::Down, "draft"),
            (Edit::Down, "draft"),
        ] {
            composer.edit(edit);
            assert_eq!(composer.text(), shown, "{edit:?}");
        }
    }

    #[test]
    fn control_characters_come_in_on_no_way() {
        let mut composer = Composer::default();
        composer.insert("a\u{1b}[31mb\r\nc\u{7}\td");
        assert_eq!(composer.text(), "a[31mb\nc\td");
        composer.submit();
        composer.remember("x\u{1b}[2J");
        composer.edit(Edit::Up);
        assert_eq!(composer.text(), "x[2J");
    }
}
