//! The input: text of several lines, a cursor, and what was sent before.

/// A change of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Letter(char),
    NewLine,
    Back,
    Delete,
    BackWord,
    ClearBefore,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Earlier,
    Later,
}

#[derive(Default)]
pub(crate) struct Composer {
    text: String,
    /// A byte offset on a character border.
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
        if !line.trim().is_empty() && self.history.last().map(String::as_str) != Some(line) {
            self.history.push(line.to_string());
        }
    }

    /// Takes the text out.
    pub(crate) fn submit(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.at, self.shown) = (0, None);
        self.remember(&text);
        text
    }

    /// Pasted text; control characters other than line ends and tabs are left out.
    pub(crate) fn insert(&mut self, text: &str) {
        let text: String = text
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .chars()
            .filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control())
            .collect();
        self.text.insert_str(self.at, &text);
        self.at += text.len();
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Letter(letter) => self.insert(&letter.to_string()),
            Edit::NewLine => self.insert("\n"),
            Edit::Back => self.remove(self.before(), self.at),
            Edit::Delete => self.remove(self.at, self.after()),
            Edit::BackWord => self.remove(self.word_before(), self.at),
            Edit::ClearBefore => self.remove(self.line_start(), self.at),
            Edit::Left => self.at = self.before(),
            Edit::Right => self.at = self.after(),
            Edit::WordLeft => self.at = self.word_before(),
            Edit::WordRight => self.at = self.word_after(),
            Edit::Home => self.at = self.line_start(),
            Edit::End => {
                self.at += self
                    .text
                    .get(self.at..)
                    .and_then(|rest| rest.find('\n'))
                    .unwrap_or(self.text.len() - self.at)
            }
            Edit::Earlier => self.travel(Some(self.shown.unwrap_or(self.history.len()).saturating_sub(1))),
            Edit::Later => {
                let next = self.shown.map(|at| at + 1).filter(|at| *at < self.history.len());
                self.travel(next);
            }
        }
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

    fn before(&self) -> usize {
        self.text.get(..self.at).and_then(|head| head.char_indices().next_back()).map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.at + next.map_or(0, char::len_utf8)
    }

    fn line_start(&self) -> usize {
        self.text.get(..self.at).and_then(|head| head.rfind('\n')).map_or(0, |at| at + 1)
    }

    fn word_before(&self) -> usize {
        let head = self.text.get(..self.at).unwrap_or_default();
        let trimmed = head.trim_end();
        trimmed.rfind(char::is_whitespace).map_or(0, |at| at + 1)
    }

    fn word_after(&self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let skipped = rest.len() - rest.trim_start().len();
        let word = rest.trim_start().find(char::is_whitespace).unwrap_or(rest.trim_start().len());
        self.at + skipped + word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(edits: &[Edit]) -> (String, usize) {
        let mut composer = Composer::default();
        composer.insert("héllo wörld");
        edits.iter().for_each(|edit| composer.edit(*edit));
        (composer.text().to_string(), composer.cursor())
    }

    #[test]
    fn edits_keep_to_characters() {
        assert_eq!(typed(&[Edit::Back]), ("héllo wörl".into(), 12));
        assert_eq!(typed(&[Edit::BackWord]), ("héllo ".into(), 7));
        assert_eq!(typed(&[Edit::Home, Edit::Right, Edit::Delete]), ("hllo wörld".into(), 1));
        assert_eq!(typed(&[Edit::WordLeft, Edit::Letter('é')]), ("héllo éwörld".into(), 9));
        assert_eq!(typed(&[Edit::ClearBefore, Edit::Back, Edit::Left]), (String::new(), 0));
        assert_eq!(typed(&[Edit::NewLine, Edit::Letter('x'), Edit::Home]).1, 14);
    }

    #[test]
    fn history_keeps_the_draft() {
        let mut composer = Composer::default();
        for line in ["one", "two"] {
            composer.insert(line);
            composer.submit();
        }
        composer.insert("draft");
        composer.edit(Edit::Earlier);
        composer.edit(Edit::Earlier);
        composer.edit(Edit::Earlier);
        assert_eq!(composer.text(), "one");
        composer.edit(Edit::Later);
        composer.edit(Edit::Later);
        assert_eq!(composer.text(), "draft");
    }

    #[test]
    fn pasted_control_characters_are_left_out() {
        let mut composer = Composer::default();
        composer.insert("a\u{1b}[31mb\r\nc\u{7}");
        assert_eq!(composer.text(), "a[31mb\nc");
    }
}
