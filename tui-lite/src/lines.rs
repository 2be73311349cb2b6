//! Items as lines, with styles that say nothing alone: each colour stands beside a word or a sign.

use protocol::{Act, FileDiff, FileKind, Item, ItemKind, Line as DiffLine, Outcome, Plan, Stage, StepState};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::markdown;

/// Lines of output shown of a finished command, and of a diff.
const OUTPUT: usize = 12;
const DIFF: usize = 80;

pub(crate) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(crate) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(crate) fn colored(color: Color) -> Style {
    if std::env::var_os("NO_COLOR").is_some() { Style::new() } else { Style::new().fg(color) }
}

/// A whole item for the scrollback.
pub(crate) fn item(item: &Item) -> Vec<Line<'static>> {
    match &item.kind {
        ItemKind::User { content, .. } => user(content),
        ItemKind::Message(text) => {
            let mut lines = markdown::lines(text);
            lines.push(Line::default());
            lines
        }
        ItemKind::Thought(text) => {
            let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            vec![Line::styled(format!("~ {}", clean(first)), dim())]
        }
        ItemKind::Act(made) => act(made, item.stage),
        ItemKind::Plan(made) => plan(made),
        ItemKind::Compaction { .. } => {
            vec![Line::styled("The conversation was compacted to a summary.", dim())]
        }
    }
}

fn user(content: &[protocol::Content]) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for part in content {
        let text = match part {
            protocol::Content::Text(text) => clean(text),
            protocol::Content::Image { mime, .. } => format!("[{mime}]"),
            protocol::Content::Link { name, .. } => format!("[{}]", clean(name)),
            protocol::Content::Resource { uri, .. } => format!("[{}]", clean(uri)),
        };
        lines.extend(text.lines().map(|line| Line::styled(format!("> {line}"), bold())));
    }
    lines.push(Line::default());
    lines
}

/// A call with what came of it.
pub(crate) fn act(act: &Act, stage: Stage) -> Vec<Line<'static>> {
    let (mark, style) = match stage {
        Stage::Done => ("ok", colored(Color::Green)),
        Stage::Failed => ("failed", colored(Color::Red)),
        Stage::Declined => ("declined", colored(Color::Yellow)),
        Stage::Cancelled => ("stopped", colored(Color::Yellow)),
        Stage::Forming | Stage::Waiting | Stage::Running => ("...", Style::new()),
    };
    let title = clean(&act.title());
    let mut titles = title.lines();
    let first = titles.next().unwrap_or_default().to_string();
    let mut lines = vec![Line::from(vec![Span::styled(format!("[{mark}] "), style), Span::raw(first)])];
    lines.extend(titles.map(|line| Line::raw(format!("     {line}"))));
    let shown = match &act.outcome {
        Some(outcome @ Outcome::Ran { .. }) => Some(outcome.text()),
        Some(Outcome::Edited { .. }) => None,
        Some(outcome) if stage == Stage::Done => Some(outcome.text()),
        Some(outcome) => Some(outcome.text()),
        None => None,
    };
    lines.extend(tail(&shown.unwrap_or_default(), OUTPUT));
    if matches!(stage, Stage::Done | Stage::Failed) {
        lines.extend(act.files.iter().flat_map(diff));
    }
    lines
}

/// The last lines of a text, indented.
pub(crate) fn tail(text: &str, most: usize) -> Vec<Line<'static>> {
    let text = clean(text);
    let all: Vec<&str> = text.lines().collect();
    let mut lines = Vec::new();
    if all.len() > most {
        lines.push(Line::styled(format!("     ... {} lines above", all.len() - most), dim()));
    }
    lines.extend(
        all.iter()
            .skip(all.len().saturating_sub(most))
            .map(|line| Line::styled(format!("     {line}"), dim())),
    );
    lines
}

pub(crate) fn diff(file: &FileDiff) -> Vec<Line<'static>> {
    let (added, removed) = file.counts();
    let what = match &file.kind {
        FileKind::Add => "new",
        FileKind::Delete => "deleted",
        FileKind::Move { .. } => "moved",
        FileKind::Update => "changed",
        FileKind::Binary => "binary",
    };
    let mut lines =
        vec![Line::styled(format!("     {} ({what}, +{added} -{removed})", clean(&file.path.0)), bold())];
    for hunk in &file.hunks {
        for line in &hunk.lines {
            let (sign, style) = match line {
                DiffLine::Same(_) => (' ', dim()),
                DiffLine::Gone(_) => ('-', colored(Color::Red)),
                DiffLine::New(_) => ('+', colored(Color::Green)),
            };
            lines.push(Line::styled(
                format!("     {sign} {}", clean(line.text().trim_end_matches('\n'))),
                style,
            ));
        }
    }
    if let Some(cut) = &file.cut {
        lines.push(Line::styled(format!("     ({cut})"), dim()));
    }
    if lines.len() > DIFF {
        let more = lines.len() - DIFF;
        lines.truncate(DIFF);
        lines.push(Line::styled(format!("     ... {more} more lines; /diff shows them"), dim()));
    }
    lines
}

pub(crate) fn plan(plan: &Plan) -> Vec<Line<'static>> {
    let steps = plan.steps.iter().map(|step| {
        let mark = match step.state {
            StepState::Done => 'x',
            StepState::Active => '>',
            StepState::Pending => ' ',
        };
        Line::raw(format!("  [{mark}] {}", clean(&step.text)))
    });
    steps.collect()
}

/// Text of others without what a terminal would obey; a tab is four spaces.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\t' => out.push_str("    "),
            '\n' => out.push('\n'),
            // A colour sequence is left out as a whole.
            '\u{1b}' => {
                if letters.next_if_eq(&'[').is_some() {
                    while letters.next_if(|letter| !letter.is_ascii_alphabetic()).is_some() {}
                    letters.next();
                }
            }
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_is_obeyed() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\u{7}\tb\r\nc\u{9b}2J"), "ared    b\nc2J");
    }
}
