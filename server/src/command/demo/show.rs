//! The demo's session, printed as it happens.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use protocol::{
    Act, Action, Answer, Ask, AskId, Board, Change, Event, EventKind, FileDiff, Item, ItemKind, Line,
    Outcome, Snapshot, Stage,
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
}

impl Show {
    pub(super) fn new() -> Self {
        let watched = std::io::stdout().is_terminal();
        let color = watched && std::env::var_os("NO_COLOR").is_none();
        Self { board: Board::default(), color, watched, in_text: false }
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
        let picked = if std::io::stdin().is_terminal() && self.watched { person().await } else { None };
        let at = picked.unwrap_or(0).min(ask.choices.len().saturating_sub(1));
        let choice = ask.choices.get(at).map(|choice| choice.id.clone()).unwrap_or_default();
        let by = if picked.is_some() { "you" } else { "the demo answers" };
        self.line("33", &format!("  {by}: {}", at + 1));
        (ask.id.clone(), Answer::Choice { id: choice, note: None })
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

/// The number a person types; nothing when they do not.
async fn person() -> Option<usize> {
    let (told, tell) = tokio::sync::oneshot::channel();
    // A thread of its own: a read of a terminal cannot be called back.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let _ = told.send(read.ok().and_then(|_| line.trim().parse::<usize>().ok()));
    });
    let picked = tokio::time::timeout(PATIENCE, tell).await.ok()?.ok()??;
    picked.checked_sub(1)
}
