//! What goes into the scrollback: finished things, in order, with a blank line between different ones.
//!
//! A message goes there line by line as it is streamed, and what a person is asked about goes there whole, so
//! that it can be read whatever the size of the screen. It knows no terminal.

use std::collections::HashMap;

use protocol::{FileDiff, Item, ItemId, ItemKind, Level, Notice, Stage};
use ratatui_core::style::{Color, Style};

use crate::markdown::Markdown;
use crate::row::{Row, bold, colored, dim};
use crate::text::{clean, one_line};
use crate::view::item::{self, Diffs};

#[derive(Default)]
pub(crate) struct Transcript {
    waiting: Vec<Row>,
    last: Option<Kind>,
    /// Messages under way.
    said: HashMap<ItemId, Said>,
    /// Whether anything of a session was shown.
    any: bool,
    /// The diffs that were shown with a question.
    shown: HashMap<ItemId, Vec<FileDiff>>,
}

/// What stands together without a blank line between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    User,
    Message,
    Thought,
    Act,
    Plan,
    Note,
}

/// How far a message is in the scrollback.
#[derive(Clone, Default)]
struct Said {
    bytes: usize,
    markdown: Markdown,
}

impl Transcript {
    /// What waits for the scrollback, once.
    pub(crate) fn take(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn greet(&mut self, version: &str, cwd: &str, model: &str) {
        self.begin(Kind::Note);
        let first = format!("Open Interpreter {} in {}", one_line(version), one_line(cwd));
        self.waiting.push(Row::words(first, 0).style(bold()));
        let second = format!("{}; /help shows the commands", one_line(model));
        self.waiting.push(Row::words(second, 0).style(dim()));
    }

    /// Something of ours, in plain lines.
    pub(crate) fn say(&mut self, text: &str) {
        self.begin(Kind::Note);
        self.waiting.extend(clean(text).lines().map(|line| Row::words(line.to_string(), 16)));
    }

    /// A remark of ours.
    pub(crate) fn note(&mut self, text: &str) {
        self.remark("- ", text, dim());
    }

    /// Something that a person should not miss.
    pub(crate) fn warn(&mut self, text: &str) {
        self.remark("! ", text, colored(Color::Yellow));
    }

    pub(crate) fn fail(&mut self, text: &str) {
        self.remark("! ", text, colored(Color::Red));
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        let text = match (notice.title.as_str(), notice.text.as_str()) {
            (title, "") => title.to_string(),
            ("", text) => text.to_string(),
            (title, text) => format!("{title}: {text}"),
        };
        match notice.level {
            Level::Info => self.note(&text),
            Level::Warning => self.warn(&text),
            Level::Error => self.fail(&text),
        }
    }

    pub(crate) fn rows(&mut self, rows: Vec<Row>) {
        self.begin(Kind::Note);
        self.waiting.extend(rows);
    }

    /// The complete lines of a message that grows.
    pub(crate) fn grow(&mut self, id: &ItemId, text: &str) {
        let from = self.said.get(id).map_or(0, |said| said.bytes);
        let Some(end) = text.get(from..).and_then(|rest| rest.rfind('\n')).map(|at| from + at + 1) else {
            return;
        };
        if from == 0 {
            self.begin(Kind::Message);
        }
        let said = self.said.entry(id.clone()).or_default();
        let lines = text.get(from..end).unwrap_or_default();
        self.waiting.extend(said.markdown.lines(lines));
        said.bytes = end;
    }

    /// The last line of a message that grows.
    pub(crate) fn growing(&self, id: &ItemId, text: &str) -> Vec<Row> {
        let said = self.said.get(id).cloned().unwrap_or_default();
        let Said { bytes, mut markdown } = said;
        markdown.lines(text.get(bytes..).unwrap_or_default())
    }

    /// A question about an act: all of what it would do.
    pub(crate) fn ask(&mut self, about: Option<&Item>, cwd: &str) {
        let Some(Item { id, kind: ItemKind::Act(act), .. }) = about else { return };
        self.begin(Kind::Act);
        self.waiting.extend(item::proposal(act, cwd));
        self.shown.insert(id.clone(), act.files.clone());
    }

    /// Whether anything of a session was shown.
    pub(crate) fn has_said(&self) -> bool {
        self.any
    }

    pub(crate) fn finish(&mut self, item: &Item) {
        self.any = true;
        if let ItemKind::Message(text) = &item.kind {
            return self.finish_message(item, text);
        }
        let known = self.shown.remove(&item.id);
        let diffs = match &item.kind {
            ItemKind::Act(act) if known.as_ref() == Some(&act.files) => Diffs::Known,
            _ => Diffs::Short,
        };
        let rows = item::finished(item, diffs);
        if rows.is_empty() {
            return;
        }
        self.begin(match &item.kind {
            ItemKind::User { .. } => Kind::User,
            ItemKind::Message(_) => Kind::Message,
            ItemKind::Thought(_) => Kind::Thought,
            ItemKind::Act(_) => Kind::Act,
            ItemKind::Plan(_) => Kind::Plan,
            ItemKind::Compaction { .. } => Kind::Note,
        });
        self.waiting.extend(rows);
    }

    fn finish_message(&mut self, item: &Item, text: &str) {
        let said = self.said.remove(&item.id);
        let begun = said.is_some();
        if item.stage == Stage::Failed {
            // Its stream broke: it is said again, and what stands there is marked.
            if begun {
                self.note("the answer broke off here");
            }
            return;
        }
        let Said { bytes, mut markdown } = said.unwrap_or_default();
        let rest = text.get(bytes..).unwrap_or_default();
        if rest.trim().is_empty() {
            return;
        }
        if !begun {
            self.begin(Kind::Message);
        }
        self.waiting.extend(markdown.lines(rest));
    }

    fn remark(&mut self, mark: &str, text: &str, style: Style) {
        self.begin(Kind::Note);
        for (index, line) in clean(text).lines().enumerate() {
            let mark = if index == 0 { mark } else { "  " };
            self.waiting.push(Row::words(format!("{mark}{line}"), 2).style(style));
        }
    }

    fn begin(&mut self, kind: Kind) {
        let apart = match self.last {
            None => false,
            Some(last) => last != kind || matches!(kind, Kind::User | Kind::Message | Kind::Plan),
        };
        if apart {
            self.waiting.push(Row::blank());
        }
        self.last = Some(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn taken(transcript: &mut Transcript) -> Vec<String> {
        transcript.take().iter().map(Row::plain).collect()
    }

    fn message(text: &str, stage: Stage) -> Item {
        testing::item(ItemKind::Message(text.into()), stage)
    }

    #[test]
    fn a_message_comes_line_by_line_and_once() {
        let mut transcript = Transcript::default();
        let id = ItemId(7);
        transcript.grow(&id, "one");
        assert!(taken(&mut transcript).is_empty());
        transcript.grow(&id, "one\n```\ntw");
        assert_eq!(taken(&mut transcript), ["one", "```"]);
        assert_eq!(transcript.growing(&id, "one\n```\n# tw")[0].plain(), "# tw");
        transcript.finish(&message("one\n```\n# two\n```\n# end", Stage::Done));
        assert_eq!(taken(&mut transcript), ["# two", "```", "end"]);
        transcript.finish(&message("whole\n", Stage::Done));
        assert_eq!(taken(&mut transcript), ["", "whole"]);
    }

    #[test]
    fn a_broken_message_is_marked_where_it_was_seen() {
        let mut transcript = Transcript::default();
        transcript.grow(&ItemId(7), "half\nof");
        transcript.finish(&message("half\nof", Stage::Failed));
        assert_eq!(taken(&mut transcript), ["half", "", "- the answer broke off here"]);
        transcript.finish(&message("unseen", Stage::Failed));
        assert!(taken(&mut transcript).is_empty());
    }

    #[test]
    fn what_was_asked_about_is_not_shown_twice() {
        let mut transcript = Transcript::default();
        let item = testing::edited("a.rs", Stage::Waiting);
        transcript.ask(Some(&item), "/work");
        let asked = taken(&mut transcript);
        assert_eq!(asked, ["[?] Edit a.rs", "     a.rs (changed, +1 -1)", "     - old", "     + new"]);
        transcript.finish(&testing::edited("a.rs", Stage::Done));
        assert_eq!(taken(&mut transcript), ["[ok] Edit a.rs"]);
        transcript.finish(&testing::edited("a.rs", Stage::Done));
        assert_eq!(taken(&mut transcript).len(), 4);
    }

    #[test]
    fn different_things_stand_apart() {
        let mut transcript = Transcript::default();
        transcript.finish(&testing::ran("a", 0, ""));
        transcript.finish(&testing::ran("b", 0, ""));
        transcript.note("x\u{1b}[2J");
        assert_eq!(taken(&mut transcript), ["[ok] a", "[ok] b", "", "- x"]);
    }
}
