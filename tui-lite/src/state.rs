//! What the chat knows: the board, the input, a picker, and lines that wait for the scrollback.

use protocol::{
    Ask, Board, Down, Event, EventKind, FileDiff, Item, ItemKind, Level, SessionId, SlashCommand, Snapshot,
    Stage, TurnEnd,
};
use ratatui::style::Color;
use ratatui::text::Line;

use crate::chat::Chat;
use crate::composer::Composer;
use crate::lines::{self, clean, colored, dim};

/// A list to pick from.
pub(crate) enum Picker {
    Option { id: String, choices: Vec<(String, String)>, at: usize },
    Sessions { rows: Vec<(SessionId, String)>, at: usize },
}

/// An answer of the engine that is waited for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    Sessions(u64),
}

pub(crate) struct State {
    pub(crate) session: SessionId,
    pub(crate) board: Board,
    pub(crate) composer: Composer,
    pub(crate) picker: Option<Picker>,
    pub(crate) wants: Wants,
    /// Ctrl-C was pressed once with nothing to stop.
    pub(crate) leaving: bool,
    cwd: String,
    waiting: Vec<Line<'static>>,
    diffs: Vec<FileDiff>,
}

impl State {
    pub(crate) fn new(snapshot: Snapshot, chat: &Chat) -> Self {
        let session = snapshot.info.id.clone();
        let mut board = Board::default();
        board.sessions.insert(session.clone(), snapshot);
        Self {
            session,
            board,
            composer: Composer::default(),
            picker: None,
            wants: Wants::Nothing,
            leaving: false,
            cwd: chat.cwd.0.clone(),
            waiting: Vec::new(),
            diffs: Vec::new(),
        }
    }

    pub(crate) fn greet(&mut self, version: &str) {
        self.waiting.push(Line::styled(format!("Open Interpreter {version} in {}", self.cwd), lines::bold()));
        self.waiting.push(Line::styled("/help shows the commands", dim()));
    }

    pub(crate) fn turn_to(&mut self, snapshot: Snapshot) {
        self.session = snapshot.info.id.clone();
        self.board = Board::default();
        self.board.sessions.insert(self.session.clone(), snapshot);
        self.diffs.clear();
        self.note("another session");
    }

    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.board.sessions.get(&self.session)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.snapshot().is_some_and(|at| at.info.running.is_some())
    }

    pub(crate) fn ask(&self) -> Option<&Ask> {
        self.snapshot()?.asks.first()
    }

    pub(crate) fn commands(&self) -> Vec<SlashCommand> {
        self.snapshot().map(|at| at.info.commands.clone()).unwrap_or_default()
    }

    /// Lines for the scrollback, once.
    pub(crate) fn take_lines(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.waiting.extend(text.lines().map(|line| Line::raw(clean(line))));
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.waiting.push(Line::styled(format!("- {}", clean(text)), dim()));
    }

    pub(crate) fn hear(&mut self, down: Down) {
        match down {
            Down::Event(event) => self.event(&event),
            Down::Past { session, items, .. } if session == self.session || self.snapshot().is_none() => {
                items.iter().for_each(|item| self.finished(item));
            }
            Down::Past { items, .. } => items.iter().for_each(|item| self.finished(item)),
            Down::Reply { reply: Err(refusal), .. } => {
                let text = format!("- {}", clean(&refusal.to_string()));
                self.waiting.push(Line::styled(text, colored(Color::Red)));
            }
            Down::Reply { tag, reply: Ok(protocol::Done::Sessions { page, .. }) }
                if self.wants == Wants::Sessions(tag) =>
            {
                self.wants = Wants::Nothing;
                let rows = page.into_iter().filter(|row| row.unreadable.is_none() && row.id != self.session);
                let rows: Vec<_> = rows
                    .map(|row| {
                        let title = row.title.unwrap_or_else(|| "untitled".into());
                        (row.id, format!("{}  {title}", protocol::time::rfc3339(row.updated_ms)))
                    })
                    .collect();
                if rows.is_empty() {
                    self.note("there is no earlier session of this folder");
                } else {
                    self.picker = Some(Picker::Sessions { rows, at: 0 });
                }
            }
            Down::Reply { .. } | Down::Host { .. } | Down::HostCancelled { .. } => {}
        }
    }

    fn event(&mut self, event: &Event) {
        self.board.apply(event);
        if event.session != self.session {
            return;
        }
        match &event.kind {
            EventKind::ItemFinished(item) => self.finished(item),
            EventKind::Noticed(notice) => {
                let color = if notice.level == Level::Info { Color::Blue } else { Color::Yellow };
                let text = format!("! {}: {}", clean(&notice.title), clean(&notice.text));
                self.waiting.push(Line::styled(text, colored(color)));
            }
            EventKind::TurnEnded { end, .. } => self.ended(end),
            EventKind::TaskChanged(task) => {
                let end =
                    task.end.as_ref().and_then(protocol::RunEnd::words).unwrap_or_else(|| "ended".into());
                self.note(&format!("background command {}: {end}", task.id));
            }
            EventKind::SessionOpened(_)
            | EventKind::SessionChanged(_)
            | EventKind::SessionClosed
            | EventKind::TurnStarted { .. }
            | EventKind::ItemStarted(_)
            | EventKind::ItemChanged { .. }
            | EventKind::Asked(_)
            | EventKind::AskClosed { .. }
            | EventKind::TaskOutput { .. }
            | EventKind::UsageChanged(_) => {}
        }
    }

    fn finished(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::User { content, .. } => {
                for part in content {
                    if let protocol::Content::Text(text) = part {
                        self.composer.remember(text);
                    }
                }
            }
            ItemKind::Act(act) if item.stage == Stage::Done || !act.files.is_empty() => {
                self.diffs.extend(act.files.iter().cloned());
            }
            // A message whose stream broke is said again.
            ItemKind::Message(_) if item.stage == Stage::Failed => return,
            ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::Act(_)
            | ItemKind::Plan(_)
            | ItemKind::Compaction { .. } => {}
        }
        self.waiting.extend(lines::item(item));
    }

    fn ended(&mut self, end: &TurnEnd) {
        let (text, color) = match end {
            TurnEnd::Done => return,
            TurnEnd::Cancelled => ("stopped".to_string(), Color::Yellow),
            TurnEnd::Refused(why) => (format!("the model refused: {why}"), Color::Red),
            TurnEnd::Limit(_) => {
                ("the turn reached its limit; send another prompt to go on".into(), Color::Yellow)
            }
            TurnEnd::Failed(failure) => (format!("failed: {failure}"), Color::Red),
        };
        self.waiting.push(Line::styled(format!("! {}", clean(&text)), colored(color)));
    }

    pub(crate) fn show_diffs(&mut self) {
        if self.diffs.is_empty() {
            return self.note("nothing was changed in this session");
        }
        for file in self.diffs.clone() {
            self.say(&file.unified());
        }
    }

    pub(crate) fn open_options(&mut self, id: &str) {
        let options = self.snapshot().map(|at| at.info.options.clone()).unwrap_or_default();
        let Some(option) = options.into_iter().find(|option| option.id == id) else {
            return self.note("there is nothing to choose");
        };
        let at = option.choices.iter().position(|choice| choice.value == option.value).unwrap_or(0);
        let choices = option.choices.into_iter().map(|choice| {
            let about = choice.about.map(|about| format!(" - {about}")).unwrap_or_default();
            (choice.value, format!("{}{about}", choice.name))
        });
        self.picker = Some(Picker::Option { id: option.id, choices: choices.collect(), at });
    }

    pub(crate) fn move_picker(&mut self, by: i32) {
        let (at, count) = match &mut self.picker {
            Some(Picker::Option { choices, at, .. }) => (at, choices.len()),
            Some(Picker::Sessions { rows, at }) => (at, rows.len()),
            None => return,
        };
        *at = at.saturating_add_signed(by as isize).min(count.saturating_sub(1));
    }
}
