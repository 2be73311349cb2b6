//! Items as lines: under way for the bottom of the screen, finished for the scrollback.

use protocol::{Act, Action, Content, Item, ItemKind, Outcome, Plan, Stage, StepState, Verb};
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use super::diff;
use crate::markdown::Markdown;
use crate::row::{Row, bold, colored, dim};
use crate::text::{clean, exact, one_line};

/// Lines of output shown of a finished command, and of one that runs.
const OUTPUT: usize = 12;
const LIVE: usize = 6;
/// Lines of a title; a command that is longer is shown whole when it is asked about.
const TITLE: usize = 6;

const INDENT: &str = "     ";

/// How much of a call's diffs is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Diffs {
    Short,
    /// They were shown when they were asked about.
    Known,
}

/// A finished item; nothing for those that are seen elsewhere.
pub(crate) fn finished(item: &Item, diffs: Diffs) -> Vec<Row> {
    match &item.kind {
        ItemKind::User { content, .. } => user(content),
        ItemKind::Message(text) => Markdown::default().lines(text),
        ItemKind::Thought(text) => thought(text.lines().map(one_line).find(|line| !line.is_empty())),
        ItemKind::Act(act) if act.verb == Verb::Plan && item.stage == Stage::Done => Vec::new(),
        ItemKind::Act(act) => finished_act(act, item.stage, diffs),
        ItemKind::Plan(made) => plan(made),
        ItemKind::Compaction { before, after, .. } => vec![compaction(item.stage, *before, *after)],
    }
}

/// An item under way.
pub(crate) fn open(item: &Item) -> Vec<Row> {
    match &item.kind {
        ItemKind::Thought(text) => thought(text.lines().rev().map(one_line).find(|line| !line.is_empty())),
        ItemKind::Act(act) => {
            let mut rows = title(act, item.stage, TITLE);
            rows.extend(tail(&act.live, LIVE));
            if act.live.is_empty() {
                rows.extend(act.files.iter().flat_map(|file| diff::rows(file, diff::SHORT)));
            }
            rows
        }
        ItemKind::Compaction { .. } => vec![Row::words("Compacting the conversation ...", 0).style(dim())],
        // A message grows into the scrollback, the plan has a place of its own.
        ItemKind::Message(_) | ItemKind::Plan(_) | ItemKind::User { .. } => Vec::new(),
    }
}

/// All that a person decides on: the whole command, the whole diff.
pub(crate) fn proposal(act: &Act, cwd: &str) -> Vec<Row> {
    let mut rows = title(act, Stage::Waiting, usize::MAX);
    if let Some(Action::Run { cwd: at, why, .. }) = &act.action {
        if let Some(at) = at.as_ref().filter(|at| at.0 != cwd) {
            rows.push(Row::letters(format!("{INDENT}in {}", exact(&at.0)), 5).style(dim()));
        }
        let why = why.as_deref().map(one_line).filter(|why| !why.is_empty());
        rows.extend(why.map(|why| Row::words(format!("{INDENT}{why}"), 5).style(dim())));
    }
    rows.extend(act.files.iter().flat_map(|file| diff::rows(file, diff::LONG)));
    rows
}

/// A plan with its marks.
pub(crate) fn plan(plan: &Plan) -> Vec<Row> {
    let steps = plan.steps.iter().map(|step| {
        let (mark, style) = match step.state {
            StepState::Done => ('x', dim()),
            StepState::Active => ('>', bold()),
            StepState::Pending => (' ', Style::new()),
        };
        Row::words(format!("  [{mark}] {}", one_line(&step.text)), 6).style(style)
    });
    steps.collect()
}

fn user(content: &[Content]) -> Vec<Row> {
    let mut rows = Vec::new();
    for part in content {
        let text = match part {
            Content::Text(text) => clean(text),
            Content::Image { mime, .. } => format!("[{}]", one_line(mime)),
            Content::Link { name, .. } => format!("[{}]", one_line(name)),
            Content::Resource { uri, .. } => format!("[{}]", one_line(uri)),
        };
        rows.extend(text.lines().map(|line| Row::words(format!("> {line}"), 2).style(bold())));
    }
    rows
}

fn thought(line: Option<String>) -> Vec<Row> {
    // The marks of bold words mean nothing in dim ones.
    line.map(|line| Row::words(format!("~ {}", line.replace("**", "")), 2).style(dim())).into_iter().collect()
}

fn compaction(stage: Stage, before: u64, after: Option<u64>) -> Row {
    let text = match (stage, after) {
        (Stage::Done, Some(after)) => {
            format!(
                "The conversation was compacted to a summary: {} KB, now {} KB.",
                before / 1024,
                after / 1024
            )
        }
        (Stage::Done, None) => "The conversation was compacted to a summary.".into(),
        _ => "The conversation was not compacted.".into(),
    };
    Row::words(text, 0).style(dim())
}

fn finished_act(act: &Act, stage: Stage, diffs: Diffs) -> Vec<Row> {
    let mut rows = title(act, stage, TITLE);
    match &act.outcome {
        Some(outcome @ Outcome::Ran { .. }) => rows.extend(tail(&outcome.text(), OUTPUT)),
        Some(Outcome::Edited { .. }) | None => {}
        Some(outcome) => aside(&mut rows, &outcome.text()),
    }
    if is_true(act, stage) && diffs == Diffs::Short {
        rows.extend(act.files.iter().flat_map(|file| diff::rows(file, diff::SHORT)));
    }
    rows
}

/// Whether the files of an act are what happened, not what was proposed.
pub(crate) fn is_true(act: &Act, stage: Stage) -> bool {
    stage == Stage::Done || matches!(act.outcome, Some(Outcome::Ran { .. }))
}

/// What came of a call: behind its title when it is a line, else below.
fn aside(rows: &mut Vec<Row>, text: &str) {
    let text = clean(text);
    match rows.as_mut_slice() {
        [row] if text.lines().count() == 1 => {
            row.line.push_span(Span::styled(format!(" - {}", text.trim()), dim()));
        }
        _ => rows.extend(tail(&text, OUTPUT)),
    }
}

fn title(act: &Act, stage: Stage, most: usize) -> Vec<Row> {
    let (mark, style) = match stage {
        Stage::Done => ("ok", colored(Color::Green)),
        Stage::Failed => ("failed", colored(Color::Red)),
        Stage::Declined => ("declined", colored(Color::Yellow)),
        Stage::Cancelled => ("stopped", colored(Color::Yellow)),
        Stage::Waiting => ("?", colored(Color::Yellow)),
        Stage::Forming | Stage::Running => ("...", Style::new()),
    };
    let text = exact(&act.title());
    let count = text.lines().count();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_string();
    let mark = Span::styled(format!("[{mark}] "), style);
    let mut rows = vec![Row::words(Line::from(vec![mark, Span::raw(first)]), INDENT.len())];
    rows.extend(lines.take(most.saturating_sub(1)).map(|line| Row::letters(format!("{INDENT}{line}"), 5)));
    if count > most {
        rows.push(Row::whole(format!("{INDENT}... {} more lines", count - most)).style(dim()));
    }
    rows
}

/// The last lines of an output.
fn tail(text: &str, most: usize) -> Vec<Row> {
    let text = clean(text);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let above = lines.len().saturating_sub(most);
    let note = (above > 0).then(|| Row::whole(format!("{INDENT}... {above} lines above")).style(dim()));
    let last = lines.into_iter().skip(above);
    note.into_iter().chain(last.map(|line| Row::letters(format!("{INDENT}{line}"), 5).style(dim()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use protocol::{Decliner, FilePath};

    fn shown(rows: Vec<Row>) -> Vec<String> {
        rows.iter().map(Row::plain).collect()
    }

    #[test]
    fn commands_show_how_they_ended() {
        let lines: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let item = testing::ran("make", 2, &lines);
        let rows = shown(finished(&item, Diffs::Short));
        assert_eq!(rows.first().unwrap(), "[failed] make");
        assert_eq!(rows[1], "     ... 9 lines above");
        assert_eq!(rows.last().unwrap(), "     (exit code 2)");
        assert_eq!(shown(finished(&testing::ran("true", 0, ""), Diffs::Short)), ["[ok] true"]);
    }

    #[test]
    fn commands_cannot_hide() {
        let item = testing::ran("ls\u{1b}[8m; rm -rf ~\u{202e}", 0, "\u{1b}]0;x\u{7}out");
        assert_eq!(
            shown(finished(&item, Diffs::Short)),
            ["[ok] ls\\u{1b}[8m; rm -rf ~\\u{202e}", "     out"]
        );
    }

    #[test]
    fn edits_show_what_they_did_and_not_what_they_would_have() {
        let mut item = testing::edited("a.rs", Stage::Done);
        assert_eq!(
            shown(finished(&item, Diffs::Short)),
            ["[ok] Edit a.rs", "     a.rs (changed, +1 -1)", "     - old", "     + new"]
        );
        assert_eq!(shown(finished(&item, Diffs::Known)), ["[ok] Edit a.rs"]);
        item.stage = Stage::Declined;
        let ItemKind::Act(act) = &mut item.kind else { unreachable!() };
        act.outcome = Some(Outcome::Declined { by: Decliner::Person, why: String::new() });
        assert_eq!(shown(finished(&item, Diffs::Short)), ["[declined] Edit a.rs - declined by the user"]);
    }

    #[test]
    fn a_proposal_is_whole() {
        let command: String = (1..=30).map(|n| format!("echo {n}\n")).collect();
        let ItemKind::Act(mut act) = testing::ran(&command, 0, "").kind else { unreachable!() };
        if let Some(Action::Run { cwd, why, .. }) = &mut act.action {
            *cwd = Some(FilePath("/elsewhere".into()));
            *why = Some("to count".into());
        }
        let rows = shown(proposal(&act, "/work"));
        assert_eq!(rows.len(), 32);
        assert_eq!(rows[0], "[?] echo 1");
        assert_eq!(rows[29..], ["     echo 30", "     in /elsewhere", "     to count"]);
    }

    #[test]
    fn thoughts_are_short() {
        let item = testing::item(ItemKind::Thought("\n**First**\nsecond\n".into()), Stage::Done);
        assert_eq!(shown(finished(&item, Diffs::Short)), ["~ First"]);
        assert_eq!(shown(open(&item)), ["~ second"]);
    }
}
