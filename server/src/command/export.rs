//! Items of a session as a text, one after the other: a long session is never held as a whole.

use protocol::{Act, Content, FileDiff, FileKind, Item, ItemKind, Line};

pub(super) trait Export {
    fn begin(&self) -> String {
        String::new()
    }

    fn item(&mut self, item: &Item) -> String;

    fn end(&self) -> String {
        String::new()
    }
}

/// A list of the items as the engine tells them.
#[derive(Default)]
pub(super) struct Json {
    count: u64,
}

impl Export for Json {
    fn begin(&self) -> String {
        "[".into()
    }

    fn item(&mut self, item: &Item) -> String {
        let mark = if self.count == 0 { "\n" } else { ",\n" };
        self.count += 1;
        // What was read from JSON can be written as such.
        format!("{mark}{}", serde_json::to_string(item).unwrap_or_else(|_| "null".into()))
    }

    fn end(&self) -> String {
        "\n]\n".into()
    }
}

pub(super) struct Markdown;

impl Export for Markdown {
    fn item(&mut self, item: &Item) -> String {
        match &item.kind {
            ItemKind::User { content, .. } => format!("## You\n\n{}\n\n", said(content)),
            ItemKind::Message(text) => format!("{}\n\n", text.trim()),
            ItemKind::Thought(text) => {
                let quoted: String = text.trim().lines().map(|line| format!("> {line}\n")).collect();
                format!("{quoted}\n")
            }
            ItemKind::Act(act) => self::act(act),
            // The call that made it is an item of its own.
            ItemKind::Plan(plan) => {
                let steps = plan.steps.iter().map(|step| {
                    let done = if step.state == protocol::StepState::Done { "x" } else { " " };
                    format!("- [{done}] {}\n", step.text.replace('\n', " "))
                });
                steps.collect::<String>() + "\n"
            }
            ItemKind::Compaction { summary, .. } => format!("## Summary\n\n{}\n\n", summary.trim()),
        }
    }
}

fn said(content: &[Content]) -> String {
    let parts = content.iter().map(|part| match part {
        Content::Text(text) => text.trim().to_string(),
        Content::Image { mime, .. } => format!("(an image, {mime})"),
        Content::Link { uri, name, .. } => format!("[{name}]({uri})"),
        Content::Resource { uri, text, .. } => {
            let text = text.as_deref().map(|text| fenced("", text)).unwrap_or_default();
            format!("(from {uri})\n\n{}", text.trim_end())
        }
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

fn act(act: &Act) -> String {
    let mut text = format!("### {}\n\n", act.title().lines().next().unwrap_or_default());
    if let Some(protocol::Action::Run { command, .. }) = &act.action {
        text += &fenced("sh", command);
    }
    for file in &act.files {
        text += &fenced("diff", &diff(file));
    }
    if let Some(outcome) = act.outcome.as_ref().filter(|_| act.files.is_empty() || is_run(act)) {
        let said = outcome.text();
        text += &if said.trim().is_empty() { String::new() } else { fenced("", &said) };
    }
    text
}

fn is_run(act: &Act) -> bool {
    matches!(act.action, Some(protocol::Action::Run { .. }))
}

fn diff(file: &FileDiff) -> String {
    let (old, new) = match &file.kind {
        FileKind::Add => ("/dev/null".to_string(), file.path.0.clone()),
        FileKind::Delete => (file.path.0.clone(), "/dev/null".to_string()),
        FileKind::Move { from } => (from.0.clone(), file.path.0.clone()),
        FileKind::Update | FileKind::Binary => (file.path.0.clone(), file.path.0.clone()),
    };
    let mut text = format!("--- {old}\n+++ {new}\n");
    for hunk in &file.hunks {
        text += &format!("@@ -{} +{} @@\n", hunk.old_line, hunk.new_line);
        for line in &hunk.lines {
            let mark = match line {
                Line::Same(_) => ' ',
                Line::Gone(_) => '-',
                Line::New(_) => '+',
            };
            text += &format!("{mark}{}\n", line.text().trim_end_matches(['\n', '\r']));
        }
    }
    text + file.cut.as_deref().unwrap_or_default()
}

/// In a fence that the text cannot close.
fn fenced(kind: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}\n\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_stands_in_it() {
        assert_eq!(fenced("sh", "ls\n"), "```sh\nls\n```\n\n");
        assert_eq!(fenced("", "````\nx\n````"), "`````\n````\nx\n````\n`````\n\n");
    }
}
