//! The words that every face shows for the same thing: titles, refusals, unified diffs.
//!
//! Pure functions of values. What a harness tells its model is not here.

use crate::*;

impl Act {
    /// One line that says what the call does; a command is shown whole.
    pub fn title(&self) -> String {
        match &self.action {
            Some(action) => action.title(),
            None if self.files.is_empty() => self.tool.clone(),
            None => format!("{} {}", self.tool, join(self.files.iter().map(|file| file.path.0.as_str()))),
        }
    }
}

impl Action {
    /// One line that says what it does; a command is shown whole.
    pub fn title(&self) -> String {
        match self {
            Action::Run { command, .. } => command.clone(),
            Action::Poll { task: Some(task), .. } => format!("Output of background command {task}"),
            Action::Poll { task: None, .. } => "List background commands".into(),
            Action::Stop { task } => format!("Stop background command {task}"),
            Action::Read { path, .. } => format!("Read {path}"),
            Action::Write { path, .. } => format!("Write {path}"),
            Action::Edit { path, .. } => format!("Edit {path}"),
            Action::Patch { files, .. } => {
                format!("Patch {}", join(files.iter().map(|file| file.path.0.as_str())))
            }
            Action::Search(search) => match &search.root {
                Some(root) => format!("Search for {} in {root}", search.pattern),
                None => format!("Search for {}", search.pattern),
            },
            Action::Find { glob, .. } => format!("Find {glob}"),
            Action::List { path, .. } => format!("List {path}"),
            Action::Plan(_) => "Update the plan".into(),
            Action::Question(_) => "Ask the user".into(),
            Action::Fetch { url, .. } => format!("Fetch {url}"),
        }
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NoSession(id) => {
                write!(f, "no session {id}; `/resume` in `interpreter` lists those of its folder")
            }
            Refusal::InUse { session, pid } => {
                write!(f, "session {session} is open in process {pid}; close it there first")
            }
            Refusal::Unknown { what, name, known } if known.is_empty() => {
                write!(f, "unknown {what} {name:?}")
            }
            Refusal::Unknown { what, name, known } => {
                write!(f, "unknown {what} {name:?}; known: {}", known.join(", "))
            }
            Refusal::Invalid { what, why, remedy } => write!(f, "{what}: {why}; {remedy}"),
            Refusal::Busy(turn) => write!(f, "turn {turn} is running; wait for it or cancel it"),
            Refusal::Idle => write!(f, "no turn is running"),
            Refusal::TooLate(_) => write!(f, "the question was already answered"),
            Refusal::NoModel { looked_for, remedy } => {
                write!(f, "no usable model provider; looked for {}; {remedy}", looked_for.join(", "))
            }
            Refusal::Overloaded => write!(f, "too many requests are waiting; try again later"),
            Refusal::Failed(failure) => failure.fmt(f),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(f, "{}; {remedy}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl FileDiff {
    /// The hunks as a unified diff, with `a/` and `b/` names.
    pub fn unified(&self) -> String {
        let name = self.path.0.trim_start_matches('/');
        let (old, new) = match &self.kind {
            FileKind::Add => ("/dev/null".to_string(), format!("b/{name}")),
            FileKind::Delete => (format!("a/{name}"), "/dev/null".to_string()),
            FileKind::Move { from } => (format!("a/{}", from.0.trim_start_matches('/')), format!("b/{name}")),
            FileKind::Update | FileKind::Binary => (format!("a/{name}"), format!("b/{name}")),
        };
        let mut text = format!("--- {old}\n+++ {new}\n");
        for hunk in &self.hunks {
            let gone = hunk.lines.iter().filter(|line| !matches!(line, Line::New(_))).count();
            let kept = hunk.lines.iter().filter(|line| !matches!(line, Line::Gone(_))).count();
            text += &format!("@@ -{},{gone} +{},{kept} @@\n", hunk.old_line, hunk.new_line);
            for line in &hunk.lines {
                text.push(match line {
                    Line::Same(_) => ' ',
                    Line::Gone(_) => '-',
                    Line::New(_) => '+',
                });
                text.push_str(line.text());
                if !line.text().ends_with('\n') {
                    text += "\n\\ No newline at end of file\n";
                }
            }
        }
        if let Some(cut) = &self.cut {
            text += &format!("({cut})\n");
        }
        text
    }
}

impl Outcome {
    /// What came of it, for a person: the output of a command, the reason of a failure.
    pub fn text(&self) -> String {
        match self {
            Outcome::Ran { end, output, .. } => {
                let text = output.text();
                match end.words() {
                    Some(words) if text.is_empty() => words,
                    Some(words) => format!("{}\n({words})", text.trim_end_matches('\n')),
                    None => text,
                }
            }
            Outcome::Tasks(tasks) if tasks.is_empty() => "no background commands".into(),
            Outcome::Tasks(tasks) => tasks
                .iter()
                .map(|task| format!("{}: {}", task.id, task.command))
                .collect::<Vec<_>>()
                .join("\n"),
            Outcome::Read { body: ReadBody::Lines { count, total, .. }, .. } => {
                format!("{count} of {total} lines")
            }
            Outcome::Read { body: ReadBody::Image { mime, .. }, .. } => mime.clone(),
            Outcome::Listed { paths, total, .. } => format!("{} of {total} entries", paths.len()),
            Outcome::Found { files, total, .. } => format!("{total} matches in {} files", files.len()),
            Outcome::Edited { files, .. } => join(files.iter().map(|file| file.path.0.as_str())),
            Outcome::EditFailed { path, why } => format!("{path}: {why}"),
            Outcome::Plan(plan) => format!("{} steps", plan.steps.len()),
            Outcome::Answered(replies) => replies
                .iter()
                .map(|reply| {
                    let mut said = reply.picked.clone();
                    said.extend(reply.text.clone());
                    format!("{}: {}", reply.question, said.join(", "))
                })
                .collect::<Vec<_>>()
                .join("\n"),
            Outcome::Fetched { url, status, text, .. } => {
                format!("{url}: HTTP {status}, {} bytes", text.len())
            }
            Outcome::NoSuchTool { near } => format!("no such tool; there are {}", near.join(", ")),
            Outcome::BadInput(problems) => {
                problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
            }
            Outcome::Declined { by, why } => match by {
                Decliner::Person => format!("declined by the user{}", aside(why)),
                Decliner::Policy => format!("declined by the rules{}", aside(why)),
                Decliner::Sandbox => format!("refused by the sandbox{}", aside(why)),
            },
            Outcome::Interrupted => "interrupted".into(),
            Outcome::Failed { text, .. } => text.clone(),
        }
    }
}

fn aside(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

impl Captured {
    /// Head and tail, with a line between them that says how much is left out.
    pub fn text(&self) -> String {
        if self.omitted == 0 {
            return format!("{}{}", self.head, self.tail);
        }
        format!("{}\n... {} bytes omitted ...\n{}", self.head, self.omitted, self.tail)
    }
}

impl RunEnd {
    /// What a person should know of the end; nothing for exit code 0.
    pub fn words(&self) -> Option<String> {
        match self {
            RunEnd::Exited(0) => None,
            RunEnd::Exited(code) => Some(format!("exit code {code}")),
            RunEnd::Signalled(signal) => Some(format!("killed by signal {signal}")),
            RunEnd::TimedOut { limit_ms } => Some(format!("timed out after {limit_ms} ms")),
            RunEnd::StillRunning(task) => Some(format!("still running as background command {task}")),
            RunEnd::Stopped => Some("stopped".into()),
        }
    }
}

impl std::fmt::Display for EditFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditFailure::NotFound { old, near } => {
                write!(f, "the text to replace is not in the file: {old:?}")?;
                if near.is_empty() { Ok(()) } else { write!(f, "; similar lines at {}", numbers(near)) }
            }
            EditFailure::Ambiguous { lines, .. } => {
                write!(f, "the text to replace stands {} times, at lines {}", lines.len(), numbers(lines))
            }
            EditFailure::NotRead => f.write_str("the file exists and was not read in this session"),
            EditFailure::PartlyRead { unseen } => {
                write!(f, "the file was read only in part; line {unseen} and others were not seen")
            }
            EditFailure::Stale => f.write_str("the file changed since it was read; read it again"),
            EditFailure::NoChange => f.write_str("the edit changes nothing"),
            EditFailure::EmptyOld => f.write_str(
                "the text to replace is empty; give the text to anchor at, or write the whole file",
            ),
            EditFailure::Exists => f.write_str("the file exists already; update it instead of adding it"),
            EditFailure::NotText => f.write_str("the file is not text"),
            EditFailure::Gone => f.write_str("the file does not exist"),
            EditFailure::BadPatch { line, why } => write!(f, "invalid patch at line {line}: {why}"),
        }
    }
}

fn numbers(lines: &[u32]) -> String {
    lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::NotJson { at, why } => write!(f, "the arguments are not JSON at byte {at}: {why}"),
            Problem::Missing(name) => write!(f, "missing argument {name:?}"),
            Problem::Unexpected(name) => write!(f, "unknown argument {name:?}"),
            Problem::Wrong { name, want, got } => write!(f, "argument {name:?} must be {want}, not {got}"),
        }
    }
}
