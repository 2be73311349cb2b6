//! Outcomes in the words of the native harness.

use protocol::model::Part;
use protocol::{
    Act, Action, Captured, Decliner, EditFailure, Hits, Outcome, Problem, ReadBody, Reply, RunEnd, StepState,
    Want,
};

/// What one command may put into the conversation.
const OUTPUT_BYTES: usize = 24 * 1024;
/// Lines that may be shown as similar.
const QUOTE_CHARS: usize = 400;

pub(super) fn reply(act: &Act) -> Reply {
    let Some(outcome) = &act.outcome else { return error("the call has no result") };
    match outcome {
        Outcome::Ran { end, output, .. } => ran(act, end, output),
        Outcome::Tasks(tasks) if tasks.is_empty() => ok("There are no background commands."),
        Outcome::Tasks(tasks) => {
            let lines = tasks.iter().map(|task| {
                let end = task.end.as_ref().map_or_else(|| "running".to_string(), end_words);
                format!("{}: {} ({end})", task.id, task.command)
            });
            ok(lines.collect::<Vec<_>>().join("\n"))
        }
        Outcome::Read { body: ReadBody::Lines { text, first, count, total, more }, path, .. } => {
            ok(numbered(text, *first, *count, *total, *more, &path.0))
        }
        Outcome::Read { body: ReadBody::Image { mime, data }, .. } => {
            Reply { parts: vec![Part::Image { mime: mime.clone(), data: data.clone() }], error: false }
        }
        Outcome::Listed { root, paths, total, .. } => {
            let mut lines: Vec<String> = paths
                .iter()
                .map(|entry| format!("{}{}", entry.path, if entry.folder { "/" } else { "" }))
                .collect();
            if (lines.len() as u64) < *total {
                lines.push(format!("({} of {total} shown; narrow the pattern or the folder)", lines.len()));
            }
            ok(if lines.is_empty() { format!("Nothing in {root}.") } else { lines.join("\n") })
        }
        Outcome::Found { files, total, more } => found(act, files, *total, *more),
        Outcome::Edited { files, replaced } => {
            let mut text = String::from("Done.");
            for file in files {
                text += &format!("\n{} ({} lines)", file.path, file.lines);
            }
            if *replaced > 1 {
                text += &format!("\n{replaced} places replaced");
            }
            ok(text)
        }
        Outcome::EditFailed { path, why } => error(edit_failed(&path.0, why, Quoted::by(act))),
        Outcome::Plan(plan) => {
            let done = plan.steps.iter().filter(|step| matches!(step.state, StepState::Done)).count();
            ok(format!("The plan has {} steps, {done} of them done.", plan.steps.len()))
        }
        Outcome::Answered(_) => ok(outcome.text()),
        Outcome::Fetched { url, status, mime, text, more } => {
            let note = if *more { "\n(the rest is left out)" } else { "" };
            let text = format!("{url}: HTTP {status}, {mime}\n\n{text}{note}");
            if (200..300).contains(status) { ok(text) } else { error(text) }
        }
        Outcome::NoSuchTool { near } => {
            error(format!("There is no tool {:?}. The tools are: {}.", act.tool, near.join(", ")))
        }
        Outcome::BadInput(problems) => {
            let list: Vec<String> = problems.iter().map(Problem::to_string).collect();
            error(format!("The call was not run: {}.", list.join("; ")))
        }
        Outcome::Declined { by, why } => error(declined(by, why)),
        Outcome::Interrupted => {
            error("Interrupted. It may have happened in part or as a whole; check before you repeat it.")
        }
        Outcome::Failed { text, .. } => error(text.clone()),
    }
}

fn ok(text: impl Into<String>) -> Reply {
    Reply { parts: vec![Part::Text(text.into())], error: false }
}

fn error(text: impl Into<String>) -> Reply {
    Reply { parts: vec![Part::Text(text.into())], error: true }
}

fn ran(act: &Act, end: &RunEnd, output: &Captured) -> Reply {
    let mut text = shorten(output);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &format!("[{}]", end_words(end));
    if let Some(spill) = &output.spill {
        text += &format!("\n[the whole output is in {spill}]");
    }
    if !act.files.is_empty() {
        let names: Vec<&str> = act.files.iter().map(|file| file.path.0.as_str()).collect();
        text += &format!("\n[the command changed files: {}]", names.join(", "));
    }
    let failed = matches!(end, RunEnd::Exited(code) if *code != 0)
        || matches!(end, RunEnd::Signalled(_) | RunEnd::TimedOut { .. });
    Reply { parts: vec![Part::Text(text)], error: failed }
}

fn end_words(end: &RunEnd) -> String {
    match end {
        RunEnd::StillRunning(task) => format!("running in the background, task_id {task}"),
        RunEnd::Exited(0) => "exit code 0".into(),
        RunEnd::Exited(_) | RunEnd::Signalled(_) | RunEnd::TimedOut { .. } | RunEnd::Stopped => {
            end.words().unwrap_or_default()
        }
    }
}

/// Head and tail of the output within the limit, cut at line ends where there are any.
fn shorten(output: &Captured) -> String {
    let whole = output.text();
    if whole.len() <= OUTPUT_BYTES {
        return whole;
    }
    let half = OUTPUT_BYTES / 2;
    let head = cut_back(&whole, half);
    let tail = cut_ahead(&whole, whole.len() - half);
    let left = output.bytes.saturating_sub((head.len() + tail.len()) as u64);
    format!("{head}\n[... {left} bytes left out ...]\n{tail}")
}

fn cut_back(text: &str, at: usize) -> &str {
    let cut = text.floor_char_boundary(at);
    let head = text.get(..cut).unwrap_or_default();
    match head.rfind('\n') {
        Some(end) if end > at / 2 => head.get(..end).unwrap_or(head),
        _ => head,
    }
}

fn cut_ahead(text: &str, at: usize) -> &str {
    let cut = text.ceil_char_boundary(at);
    let tail = text.get(cut..).unwrap_or_default();
    match tail.find('\n') {
        Some(start) if start < tail.len() / 2 => tail.get(start + 1..).unwrap_or(tail),
        _ => tail,
    }
}

fn numbered(text: &str, first: u64, count: u64, total: u64, more: bool, path: &str) -> String {
    if total == 0 {
        return format!("{path} is empty.");
    }
    if count == 0 {
        return format!("{path} has {total} lines; there is nothing at line {first}.");
    }
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    for (line, number) in text.lines().zip(first..) {
        shown += &format!("{number:>6}\t{line}\n");
    }
    if more {
        shown += &format!(
            "[lines {first} to {} of {total}; go on with offset {}]\n",
            first + count - 1,
            first + count
        );
    }
    shown
}

fn found(act: &Act, files: &[protocol::FoundFile], total: u64, more: bool) -> Reply {
    if files.is_empty() {
        return ok("No matches.");
    }
    let want = match &act.action {
        Some(protocol::Action::Search(search)) => search.want,
        _ => Want::Lines,
    };
    let mut text = String::new();
    for file in files {
        match want {
            Want::Files => text += &format!("{}\n", file.path),
            Want::Counts => text += &format!("{}: {}\n", file.path, file.count),
            Want::Lines => {
                for hit in &file.hits {
                    let mark = if hit.context { '-' } else { ':' };
                    text += &format!("{}{mark}{}{mark}{}\n", file.path, hit.line, hit.text);
                }
            }
        }
    }
    if more {
        text += &format!("[not all of it: {total} matches so far; narrow the search]\n");
    }
    ok(text)
}

/// How an edit says what it means.
#[derive(Clone, Copy, PartialEq)]
enum Quoted {
    /// By a text that stands once.
    Once,
    /// By a text wherever it stands.
    Everywhere,
    /// By lines of a patch, each hunk below the one before.
    InOrder,
}

impl Quoted {
    fn by(act: &Act) -> Self {
        match &act.action {
            Some(Action::Patch { .. }) => Quoted::InOrder,
            Some(Action::Edit { swaps, .. }) if swaps.iter().any(|swap| swap.hits == Hits::All) => {
                Quoted::Everywhere
            }
            _ => Quoted::Once,
        }
    }
}

fn edit_failed(path: &str, why: &EditFailure, quoted: Quoted) -> String {
    match why {
        EditFailure::NotFound { old, near } => {
            let old: String = old.chars().take(QUOTE_CHARS).collect();
            let place = match quoted {
                Quoted::InOrder => "below the anchors and hunks before it",
                Quoted::Once | Quoted::Everywhere => "in the file",
            };
            let mut text =
                format!("{path}: nothing was changed, because this does not stand {place}:\n{old}\n");
            if !near.is_empty() {
                let lines: Vec<String> = near.iter().map(u32::to_string).collect();
                text += &format!("Similar text stands at line {}. ", lines.join(", "));
            }
            text + "Read the file and quote it exactly."
        }
        EditFailure::Ambiguous { lines, .. } => {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let remedy = match quoted {
                Quoted::Once => "Quote more lines around the one you mean, or set replace_all.",
                Quoted::Everywhere => {
                    "They differ from what you quoted and from each other; quote one exactly."
                }
                Quoted::InOrder => {
                    "Quote more lines around the one you mean, or name its function behind @@."
                }
            };
            format!(
                "{path}: nothing was changed, because the text stands at several places (lines {}). {remedy}",
                lines.join(", ")
            )
        }
        EditFailure::NotRead => {
            format!("{path}: nothing was changed. The file exists and you have not read it; read it first.")
        }
        EditFailure::PartlyRead { unseen } => format!(
            "{path}: nothing was changed. You have seen only a part of the file, and this would replace all of it: read \
             from line {unseen} on first, or edit the part you know."
        ),
        EditFailure::Stale => {
            format!("{path}: nothing was changed. The file changed since you read it; read it again.")
        }
        EditFailure::Exists => format!(
            "{path}: nothing was changed. The file exists already; use an update, or read it first to replace it."
        ),
        EditFailure::NoChange
        | EditFailure::EmptyOld
        | EditFailure::NotText
        | EditFailure::Gone
        | EditFailure::BadPatch { .. } => format!("{path}: nothing was changed: {why}."),
    }
}

fn declined(by: &Decliner, why: &str) -> String {
    let aside = if why.is_empty() { String::new() } else { format!(" {why}") };
    match by {
        Decliner::Person => format!(
            "The user declined this.{aside} Do not try the same by other means; ask or go on with something else."
        ),
        Decliner::Policy => format!("Not allowed in this session.{aside}"),
        Decliner::Sandbox => format!("The sandbox refused this.{aside}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_edit_says_what_helps() {
        let missing = EditFailure::NotFound { old: "x".into(), near: vec![3] };
        let twice = EditFailure::Ambiguous { old: "x".into(), lines: vec![1, 9] };
        for (why, quoted, said) in [
            (&missing, Quoted::Once, "does not stand in the file:\nx\nSimilar text stands at line 3."),
            (&missing, Quoted::InOrder, "does not stand below the anchors and hunks before it"),
            (
                &twice,
                Quoted::Once,
                "(lines 1, 9). Quote more lines around the one you mean, or set replace_all.",
            ),
            (&twice, Quoted::Everywhere, "quote one exactly"),
            (&twice, Quoted::InOrder, "behind @@"),
        ] {
            let text = edit_failed("a.txt", why, quoted);
            assert!(text.starts_with("a.txt: nothing was changed") && text.contains(said), "{text}");
        }
    }
}
