//! The demo's session, printed as it happens.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::{
    Act, Action, Answer, Ask, AskId, Board, Change, Choice, Event, EventKind, FileDiff, Grant, Item,
    ItemKind, Line, Outcome, Snapshot, Stage,
};

/// How long a person has to answer before the demo answers itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints, and folds events into what is open.
pub(super) struct Show {
    board: Board,
    color: bool,
    watched: bool,
    /// Whether the cursor stands behind streamed text.
    in_text: bool,
    /// Whether the person refused; what the script says after that is not shown.
    rejected: bool,
}

impl Show {
    pub(super) fn new() -> Self {
        let watched = std::io::stdout().is_terminal();
        let color = watched && std::env::var_os("NO_COLOR").is_none();
        Self { board: Board::default(), color, watched, in_text: false, rejected: false }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    pub(super) fn intro(&mut self, work: &Path) {
        self.line(
            "2",
            "The model of this demo is scripted: its words and calls are fixed. Everything else is real:",
        );
        self.line("2", "the engine, the sandbox, the edit, the tests. No key and no network are used.");
        self.line("2", &format!("Scratch repository: {}", work.display()));
        self.line("0", "");
        self.line("1", &format!("> {}", super::project::PROMPT));
        self.line("0", "");
    }

    pub(super) fn outro(&mut self, passed: bool) {
        self.line("0", "");
        if passed {
            self.line("32", "The project's tests pass. The scratch repository is removed.");
        } else {
            self.line("31", "The project's tests fail. The scratch repository is removed.");
        }
        self.next();
    }

    pub(super) fn was_rejected(&self) -> bool {
        self.rejected
    }

    pub(super) fn outro_rejected(&mut self) {
        self.line("33", "You refused the edit: price.sh is as it was, and its tests still fail.");
        self.line(
            "2",
            "A real model would hear of it and look for another way; the words of this one are fixed.",
        );
        self.line("2", "The demo ends here. The scratch repository is removed.");
        self.next();
    }

    fn next(&mut self) {
        self.line(
            "2",
            "Next: export OPENAI_API_KEY=..., or `interpreter --oss` with Ollama; then `interpreter`.",
        );
    }

    pub(super) fn opened(&mut self, snapshot: Snapshot) {
        self.board.sessions.insert(snapshot.info.id.clone(), snapshot);
    }

    /// Shows an event; a question is answered.
    pub(super) async fn event(&mut self, event: &Event) -> Option<(AskId, Answer)> {
        self.board.apply(event);
        if self.rejected {
            return None;
        }
        match &event.kind {
            EventKind::ItemChanged { item, change } => {
                let open = self.board.item(&event.session, item).cloned();
                self.changed(open.as_ref(), change);
                None
            }
            EventKind::ItemFinished(item) => {
                self.finished(item);
                None
            }
            EventKind::Asked(ask) => {
                let item = ask.item.as_ref().and_then(|item| self.board.item(&event.session, item)).cloned();
                Some(self.ask(ask, item.as_ref()).await)
            }
            EventKind::Noticed(notice) => {
                self.line("33", &format!("{}: {}", notice.title, notice.text));
                None
            }
            EventKind::ItemStarted(_)
            | EventKind::SessionOpened(_)
            | EventKind::SessionChanged(_)
            | EventKind::SessionClosed
            | EventKind::TurnStarted { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::AskClosed { .. }
            | EventKind::TaskChanged(_)
            | EventKind::TaskOutput { .. }
            | EventKind::UsageChanged(_) => None,
        }
    }

    fn changed(&mut self, item: Option<&Item>, change: &Change) {
        match (item.map(|item| &item.kind), change) {
            (Some(ItemKind::Message(_)), Change::Text(more)) => {
                self.print(more);
                self.in_text = true;
            }
            (Some(ItemKind::Act(act)), Change::Stage(Stage::Running)) => {
                if let Some(Action::Run { command, .. }) = &act.action {
                    self.line("36", &format!("$ {command}"));
                }
            }
            _ => {}
        }
    }

    fn finished(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Message(_) => self.line("0", ""),
            ItemKind::Act(act) => self.act(act, item.stage),
            ItemKind::Thought(_)
            | ItemKind::User { .. }
            | ItemKind::Plan(_)
            | ItemKind::Compaction { .. } => {}
        }
    }

    fn act(&mut self, act: &Act, stage: Stage) {
        match (&act.outcome, stage) {
            (Some(outcome @ Outcome::Ran { .. }), stage) => {
                let color = if stage == Stage::Done { "0" } else { "31" };
                for line in outcome.text().lines() {
                    self.line(color, &format!("  {line}"));
                }
            }
            (Some(Outcome::Edited { .. }), _) => self.line("32", &format!("{} - done", act.title())),
            (Some(outcome), Stage::Done) => self.line("2", &format!("{} - {}", act.title(), outcome.text())),
            (Some(outcome), _) => self.line("31", &format!("{} - {}", act.title(), outcome.text())),
            (None, _) => {}
        }
        self.line("0", "");
    }

    async fn ask(&mut self, ask: &Ask, item: Option<&Item>) -> (AskId, Answer) {
        if let Some(Item { kind: ItemKind::Act(act), .. }) = item {
            self.line("1", &act.title());
            for file in &act.files {
                self.diff(file);
            }
        }
        let names: Vec<String> = ask
            .choices
            .iter()
            .enumerate()
            .map(|(at, choice)| format!("{} {}", at + 1, choice.name))
            .collect();
        self.line("33", &format!("May it? ({})", ask.why));
        self.line("33", &format!("  {}", names.join("   ")));
        let (choice, why) = self.choose(&ask.choices).await;
        self.rejected = choice.is_some_and(|choice| choice.grant == Grant::Reject);
        let name = choice.map(|choice| choice.name.clone()).unwrap_or_default();
        self.line("33", &format!("  {why}: {name}"));
        self.line("0", "");
        let id = choice.map(|choice| choice.id.clone()).unwrap_or_default();
        (ask.id.clone(), Answer::Choice { id, note: None })
    }

    /// What is chosen, and by whom.
    async fn choose<'a>(&mut self, choices: &'a [Choice]) -> (Option<&'a Choice>, &'static str) {
        if !std::io::stdin().is_terminal() || !self.watched {
            return (choices.first(), "nobody is at a terminal, the demo answers");
        }
        let numbers: Vec<String> = (1..=choices.len()).map(|number| number.to_string()).collect();
        let typeable = format!("  type {}, then Enter", numbers.join(" or "));
        let until = Instant::now() + PATIENCE;
        loop {
            self.line("33", &typeable);
            match typed(until).await {
                Typed::Line(line) => {
                    if let Some(choice) = chosen(&line, choices) {
                        return (Some(choice), "you");
                    }
                    self.line("33", &format!("  {:?} is none of these", line.trim()));
                }
                Typed::End => {
                    let reject = choices.iter().find(|choice| choice.grant == Grant::Reject);
                    return (reject, "the input ended, the demo answers");
                }
                Typed::Nothing => {
                    return (choices.first(), "nothing was typed for a minute, the demo answers");
                }
            }
        }
    }

    fn diff(&mut self, file: &FileDiff) {
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let (sign, color) = match line {
                Line::Same(_) => (' ', "2"),
                Line::Gone(_) => ('-', "31"),
                Line::New(_) => ('+', "32"),
            };
            self.line(color, &format!("  {sign} {}", line.text().trim_end_matches('\n')));
        }
    }

    fn line(&mut self, code: &str, text: &str) {
        if std::mem::take(&mut self.in_text) {
            self.print("\n");
        }
        let painted =
            if self.color && code != "0" { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() };
        self.print(&format!("{painted}\n"));
    }

    fn print(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A demo that nobody can see still says by its exit code how it went.
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}

/// What came from the keyboard.
enum Typed {
    Line(String),
    End,
    Nothing,
}

async fn typed(until: Instant) -> Typed {
    let (told, tell) = tokio::sync::oneshot::channel();
    // A thread of its own: a read of a terminal cannot be called back.
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line);
        let typed = match read {
            Ok(0) | Err(_) => Typed::End,
            Ok(_) => Typed::Line(String::from_utf8_lossy(&line).into_owned()),
        };
        let _ = told.send(typed);
    });
    match tokio::time::timeout_at(until.into(), tell).await {
        Ok(typed) => typed.unwrap_or(Typed::End),
        Err(_) => Typed::Nothing,
    }
}

/// The choice whose number a line is.
fn chosen<'a>(line: &str, choices: &'a [Choice]) -> Option<&'a Choice> {
    let number = line.trim().parse::<usize>().ok()?;
    choices.get(number.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_of_the_list_is_an_answer() {
        let choice = |id: &str, grant| Choice { id: id.into(), name: id.into(), grant };
        let choices = [choice("once", Grant::Once), choice("reject", Grant::Reject)];
        for (line, id) in [
            ("1\n", Some("once")),
            (" 2 \n", Some("reject")),
            ("\n", None),
            ("0\n", None),
            ("3\n", None),
            ("-1\n", None),
            ("no\n", None),
        ] {
            assert_eq!(chosen(line, &choices).map(|choice| choice.id.as_str()), id, "{line:?}");
        }
    }
}
