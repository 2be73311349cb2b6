//! For people and pipes: the last message on standard output, what happens meanwhile on standard error.

use protocol::{
    Act, Board, Change, EventKind, Item, ItemKind, Notice, Outcome, SessionId, Stage, StepState, TurnEnd,
};

use crate::run::{Color, Seen, Show, Shown};

/// Lines of output shown of a command.
const OUTPUT_LINES: usize = 10;

pub(crate) struct Plain {
    color: Color,
    seen: Seen,
    last: Option<String>,
    /// The summary of a compaction that was asked for; the answer where the model says nothing else.
    compacted: Option<String>,
}

impl Plain {
    pub(crate) fn new(color: Color, seen: Seen) -> Self {
        Self { color, seen, last: None, compacted: None }
    }

    fn answer(&self) -> Option<&str> {
        self.last.as_deref().or(self.compacted.as_deref())
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.color {
            Color::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Color::Off => text.to_string(),
        }
    }

    fn finished(&mut self, item: &Item) -> String {
        match &item.kind {
            ItemKind::Message(text) if item.stage == Stage::Done => match self.last.replace(text.clone()) {
                // Only the last message goes to standard output; earlier ones are progress.
                Some(earlier) => format!("{}\n", clean(&earlier)),
                None => String::new(),
            },
            ItemKind::Act(act) => {
                let before = self.last.take().map(|text| format!("{}\n", clean(&text))).unwrap_or_default();
                before + &self.act(act, item.stage)
            }
            ItemKind::Plan(plan) => {
                let steps = plan.steps.iter().map(|step| {
                    let mark = match step.state {
                        StepState::Done => "x",
                        StepState::Active => ">",
                        StepState::Pending => " ",
                    };
                    format!("  [{mark}] {}\n", clean(&step.text))
                });
                steps.collect()
            }
            ItemKind::Compaction { summary, .. } => {
                if item.stage == Stage::Done {
                    self.compacted = Some(summary.clone());
                }
                String::new()
            }
            ItemKind::Message(_) | ItemKind::Thought(_) | ItemKind::User { .. } => String::new(),
        }
    }

    fn act(&self, act: &Act, stage: Stage) -> String {
        let (mark, code) = match stage {
            Stage::Done => ("ok", "32"),
            Stage::Declined => ("declined", "33"),
            Stage::Failed | Stage::Cancelled => ("failed", "31"),
            Stage::Forming | Stage::Waiting | Stage::Running => ("...", "0"),
        };
        let mut text = format!("{} {}\n", self.paint(code, &format!("[{mark}]")), clean(&act.title()));
        for file in &act.files {
            let (added, removed) = file.counts();
            text += &format!("  {} +{added} -{removed}\n", clean(&file.path.0));
        }
        let shown = match &act.outcome {
            Some(outcome @ Outcome::Ran { .. }) => outcome.text(),
            Some(outcome) if stage != Stage::Done => outcome.text(),
            Some(_) | None => String::new(),
        };
        let shown = clean(&shown);
        let lines: Vec<&str> = shown.lines().collect();
        if lines.len() > OUTPUT_LINES {
            text += &format!("  ... {} lines\n", lines.len() - OUTPUT_LINES);
        }
        for line in lines.iter().skip(lines.len().saturating_sub(OUTPUT_LINES)) {
            text += &format!("  {}\n", self.paint("2", line));
        }
        text
    }
}

impl Show for Plain {
    fn opened(&mut self, session: &SessionId) -> Shown {
        Shown { out: String::new(), err: format!("session {session}\n") }
    }

    fn event(&mut self, _: &Board, kind: &EventKind) -> Shown {
        let err = match kind {
            EventKind::ItemFinished(item) => self.finished(item),
            EventKind::ItemChanged { change: Change::Stage(_) | Change::Text(_), .. } => String::new(),
            EventKind::Noticed(Notice { title, text, .. }) => {
                format!("{}\n", self.paint("33", &clean(&format!("{title}: {text}"))))
            }
            EventKind::TurnEnded { end: TurnEnd::Done, .. } => {
                let last = self.answer().unwrap_or_default();
                let last = match self.seen {
                    Seen::Exactly => last.to_string(),
                    Seen::ByTerminal => clean(last),
                };
                let out = if last.is_empty() {
                    String::new()
                } else {
                    format!("{}\n", last.trim_end_matches('\n'))
                };
                return Shown { out, err: String::new() };
            }
            EventKind::ItemStarted(_)
            | EventKind::ItemChanged { .. }
            | EventKind::TurnStarted { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::SessionOpened(_)
            | EventKind::SessionChanged(_)
            | EventKind::SessionClosed
            | EventKind::Asked(_)
            | EventKind::AskClosed { .. }
            | EventKind::TaskChanged(_)
            | EventKind::TaskOutput { .. }
            | EventKind::UsageChanged(_) => String::new(),
        };
        Shown { out: String::new(), err }
    }

    fn failed(&mut self, text: &str) -> Shown {
        Shown { out: String::new(), err: format!("{} {}\n", self.paint("31", "error:"), clean(text)) }
    }

    fn last_message(&self) -> Option<&str> {
        self.answer()
    }
}

/// Without control characters, which a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{ItemId, TurnId};

    fn answered(seen: Seen, kinds: Vec<ItemKind>) -> String {
        let mut plain = Plain::new(Color::Off, seen);
        for kind in kinds {
            let item = Item { id: ItemId(1), turn: TurnId(1), stage: Stage::Done, kind };
            plain.event(&Board::default(), &EventKind::ItemFinished(Box::new(item)));
        }
        plain.event(&Board::default(), &EventKind::TurnEnded { turn: TurnId(1), end: TurnEnd::Done }).out
    }

    #[test]
    fn a_terminal_gets_no_control_characters_and_a_pipe_the_exact_text() {
        let said = || vec![ItemKind::Message("a\u{1b}[31mb\u{9b}2J\tc\n".into())];
        assert_eq!(answered(Seen::ByTerminal, said()), "a[31mb2J\tc\n");
        assert_eq!(answered(Seen::Exactly, said()), "a\u{1b}[31mb\u{9b}2J\tc\n");
    }

    #[test]
    fn a_compaction_is_the_answer_where_there_is_no_other() {
        let compaction = || ItemKind::Compaction {
            why: "asked for".into(),
            summary: "all of it".into(),
            before: 9,
            after: Some(1),
        };
        assert_eq!(answered(Seen::Exactly, vec![compaction()]), "all of it\n");
        let kinds = vec![compaction(), ItemKind::Message("said".into())];
        assert_eq!(answered(Seen::Exactly, kinds), "said\n");
    }
}
