//! For people and pipes: the last message on standard output, what happens meanwhile on standard error.

use protocol::{
    Act, Board, Change, EventKind, Item, ItemKind, Notice, Outcome, SessionId, Stage, StepState, TurnEnd,
};

use crate::run::{Color, Show, Shown};

/// Lines of output shown of a command.
const OUTPUT_LINES: usize = 10;

pub(crate) struct Plain {
    color: Color,
    last: Option<String>,
}

impl Plain {
    pub(crate) fn new(color: Color) -> Self {
        Self { color, last: None }
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
            ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::User { .. }
            | ItemKind::Compaction { .. } => String::new(),
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
            text += &format!("  {} +{added} -{removed}\n", file.path);
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
                let last = self.last.clone().unwrap_or_default();
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
        self.last.as_deref()
    }
}

/// Without control characters, which a terminal would obey.
fn clean(text: &str) -> String {
    text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}
