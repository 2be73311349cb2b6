//! A journal read back: the conversation from its last compaction, and what was open when it ended.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use dialect::Frame;
use protocol::{
    Action, CallId, Digest, Entry, EntryKind, FilePath, Item, ItemId, ItemKind, Level, Notice, Outcome, Plan,
    ReadBody, RunEnd, SessionId, Settings, TaskId, TurnId, Usage,
};

use super::line::{self, Found};
use super::record::Record;
use crate::undo::UndoStack;

/// A session as its journal left it.
#[derive(Default)]
pub struct Loaded {
    pub cwd: FilePath,
    pub roots: Vec<FilePath>,
    pub settings: Option<Settings>,
    pub frame: Option<Frame>,
    pub title: Option<String>,
    pub entries: Vec<Entry>,
    /// Calls of the turn that did not end which had begun and got no result.
    pub open_calls: Vec<Begun>,
    /// The turn that did not end.
    pub unfinished: Option<TurnId>,
    pub granted: Vec<String>,
    pub usage: Usage,
    pub plan: Plan,
    pub next: NextIds,
    pub notices: Vec<Notice>,
    pub undo: UndoStack,
    /// Which files the model saw and how they were, in order; their text is left out.
    pub outcomes: Vec<Outcome>,
    /// Where the last whole line ends.
    pub(super) end: u64,
    /// The number of the next line.
    pub(super) lines: u64,
    /// Bytes behind the last whole line.
    pub(super) torn: usize,
    /// Whether there was one record.
    pub(super) any: bool,
}

/// A call that had begun.
pub struct Begun {
    pub call: CallId,
    pub item: ItemId,
    pub action: Action,
    pub before: Vec<(FilePath, Option<Digest>)>,
}

/// Where the counters go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextIds {
    pub turn: u32,
    pub item: u32,
    pub ask: u32,
    pub entry: u32,
    pub task: u32,
}

/// Why a file gives no session.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    Sealed(String),
}

/// Reads the whole file; damage becomes notices.
pub(super) fn load(id: &SessionId, file: &File) -> Result<Loaded, Broken> {
    let mut lines = BufReader::with_capacity(256 * 1024, file);
    let mut loaded = Loaded::default();
    let (mut line, mut bad) = (Vec::new(), 0u64);
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line).map_err(Broken::Io)?;
        if line.last() != Some(&b'\n') {
            loaded.torn = read;
            break;
        }
        loaded.end += read as u64;
        let (n, found) = line::read(&line, |_| true);
        // A line that was lost, or came from elsewhere, leaves a gap: no number is used twice.
        loaded.lines = (loaded.lines + 1).max(n.map_or(0, |n| n.saturating_add(1)));
        match found {
            Found::Record(record) => loaded.take(*record),
            Found::Sealed(why) => return Err(Broken::Sealed(why)),
            Found::Bad => bad += 1,
            Found::Unknown | Found::Passed => {}
        }
    }
    loaded.finish(id, bad);
    Ok(loaded)
}

impl Loaded {
    fn take(&mut self, record: Record) {
        self.any = true;
        match record {
            Record::Head { cwd, roots, .. } => (self.cwd, self.roots) = (cwd, roots),
            Record::Settings(settings) => self.settings = Some(settings),
            Record::Frame(frame) => self.frame = Some(*frame),
            Record::TurnBegan { turn, .. } => {
                self.next.saw_turn(&turn);
                self.open_calls.clear();
                self.unfinished = Some(turn);
            }
            Record::Entry(entry) => {
                self.next.saw_entry(&entry);
                if let EntryKind::Result { call, .. } = &entry.kind {
                    self.open_calls.retain(|begun| begun.call != *call);
                }
                self.entries.push(entry);
            }
            Record::Item(item) => self.take_item(item),
            Record::Begun { call, item, action, before } => {
                self.next.saw_item(&item);
                self.open_calls.push(Begun { call, item, action, before });
            }
            Record::Granted { scope } => self.granted.push(scope),
            Record::Compacted { item, entries } => {
                self.next.saw_item(&item);
                entries.iter().for_each(|entry| self.next.saw_entry(entry));
                self.entries = entries;
            }
            Record::Task(task) => self.next.saw_task(&task.id),
            Record::Edited { turn, edits } => match self.undo.last_mut().filter(|(last, _)| *last == turn) {
                Some((_, earlier)) => earlier.extend(edits),
                None => self.undo.push((turn, edits)),
            },
            Record::Undone { turn } => self.undo.retain(|(undone, _)| *undone != turn),
            Record::Used(usage) => self.usage = usage,
            Record::TurnEnded { turn, usage, .. } => {
                self.next.saw_turn(&turn);
                self.usage = usage;
                self.open_calls.clear();
                self.unfinished = None;
            }
            Record::Title(title) => self.title = Some(title),
        }
    }

    fn take_item(&mut self, item: Item) {
        self.next.saw_item(&item.id);
        self.next.saw_turn(&item.turn);
        match item.kind {
            ItemKind::Plan(plan) => self.plan = plan,
            ItemKind::Act(act) => {
                self.open_calls.retain(|begun| begun.item != item.id);
                self.outcomes.extend(act.outcome.and_then(|outcome| self.next.seen(outcome)));
            }
            ItemKind::User { .. }
            | ItemKind::Message(_)
            | ItemKind::Thought(_)
            | ItemKind::Compaction { .. } => {}
        }
    }

    fn finish(&mut self, id: &SessionId, bad: u64) {
        if self.unfinished.is_none() {
            self.open_calls.clear();
        }
        // Without its first line a session still knows where it was.
        if let Some(frame) = self.frame.as_ref().filter(|_| self.cwd.0.is_empty()) {
            self.cwd = FilePath(frame.cwd.clone());
            let roots = frame.roots.iter().filter(|root| **root != frame.cwd);
            self.roots = roots.cloned().map(FilePath).collect();
        }
        if bad > 0 {
            self.warn(format!("{bad} lines of session {id} are damaged and were passed over"));
        }
        if self.torn > 0 {
            let torn = self.torn;
            self.warn(format!("the last line of session {id} was cut off; its {torn} bytes were dropped"));
        }
    }

    fn warn(&mut self, text: String) {
        let title = "Parts of the session could not be read".into();
        self.notices.push(Notice { level: Level::Warning, title, text, retry: None });
    }
}

impl NextIds {
    fn saw_turn(&mut self, id: &TurnId) {
        self.turn = self.turn.max(id.0.saturating_add(1));
    }

    fn saw_item(&mut self, id: &ItemId) {
        self.item = self.item.max(id.0.saturating_add(1));
    }

    fn saw_task(&mut self, id: &TaskId) {
        self.task = self.task.max(id.0.saturating_add(1));
    }

    fn saw_entry(&mut self, entry: &Entry) {
        self.entry = self.entry.max(entry.id.0.saturating_add(1));
        if let EntryKind::Heard { item, .. } = &entry.kind {
            self.saw_item(item);
        }
    }

    /// Counts what an outcome names; gives back what it says of the files that the model saw.
    fn seen(&mut self, outcome: Outcome) -> Option<Outcome> {
        match outcome {
            Outcome::Ran { end: RunEnd::StillRunning(task), .. } => {
                // The model knows it by this number, even if it ended with its process.
                self.saw_task(&task);
                None
            }
            Outcome::Tasks(tasks) => {
                tasks.iter().for_each(|task| self.saw_task(&task.id));
                None
            }
            Outcome::Read { path, digest, seen, mut body } => {
                match &mut body {
                    ReadBody::Lines { text, .. } => text.clear(),
                    ReadBody::Image { data, .. } => data.0.clear(),
                }
                Some(Outcome::Read { path, digest, seen, body })
            }
            Outcome::Edited { .. } => Some(outcome),
            Outcome::Ran { .. }
            | Outcome::Listed { .. }
            | Outcome::Found { .. }
            | Outcome::EditFailed { .. }
            | Outcome::Plan(_)
            | Outcome::Answered(_)
            | Outcome::Fetched { .. }
            | Outcome::NoSuchTool { .. }
            | Outcome::BadInput(_)
            | Outcome::Declined { .. }
            | Outcome::Interrupted
            | Outcome::Failed { .. } => None,
        }
    }
}
