//! A journal read back: the conversation from its last compaction, and what was open when it ended.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use dialect::Frame;
use protocol::{
    Action, CallId, Digest, Entry, EntryKind, FilePath, ItemId, ItemKind, Level, Notice, Outcome, Plan,
    SessionId, Settings, TurnId, Usage,
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
    /// Calls that had begun and got no result.
    pub open_calls: Vec<Begun>,
    /// The turn that did not end.
    pub unfinished: Option<TurnId>,
    pub granted: Vec<String>,
    pub usage: Usage,
    pub plan: Plan,
    pub next: NextIds,
    pub notices: Vec<Notice>,
    pub undo: UndoStack,
    /// What the model saw of files, in order.
    pub outcomes: Vec<Outcome>,
    /// Where the last whole line ends, and how many lines there are.
    pub(super) end: u64,
    pub(super) lines: u64,
    pub(super) torn: bool,
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
pub(super) enum Broken {
    Io(io::Error),
    Sealed(String),
}

pub(super) fn load(id: &SessionId, file: &File) -> Result<Loaded, Broken> {
    let mut lines = BufReader::with_capacity(256 * 1024, file);
    let mut loaded = Loaded::default();
    let (mut line, mut bad) = (Vec::new(), 0u64);
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line).map_err(Broken::Io)?;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            loaded.torn = true;
            break;
        }
        loaded.end += read as u64;
        loaded.lines += 1;
        match line::read(&line, |_| true) {
            Some(Found::Record(record)) => loaded.take(*record),
            Some(Found::Sealed(kind)) => return Err(Broken::Sealed(kind)),
            Some(Found::Bad) => bad += 1,
            Some(Found::Unknown) | None => {}
        }
    }
    loaded.finish(id, bad);
    Ok(loaded)
}

impl Loaded {
    fn take(&mut self, record: Record) {
        match record {
            Record::Head { cwd, roots, .. } => (self.cwd, self.roots) = (cwd, roots),
            Record::Settings(settings) => self.settings = Some(settings),
            Record::Frame(frame) => self.frame = Some(*frame),
            Record::TurnBegan { turn, .. } => {
                self.next.turn = self.next.turn.max(turn.0 + 1);
                self.unfinished = Some(turn);
            }
            Record::Entry(entry) => {
                self.next.entry = self.next.entry.max(entry.id.0 + 1);
                self.entries.push(entry);
            }
            Record::Item(item) => {
                self.next.item = self.next.item.max(item.id.0 + 1);
                match item.kind {
                    ItemKind::Plan(plan) => self.plan = plan,
                    ItemKind::Act(act) => {
                        self.open_calls.retain(|begun| begun.item != item.id);
                        self.outcomes.extend(act.outcome.filter(|outcome| {
                            matches!(outcome, Outcome::Read { .. } | Outcome::Edited { .. })
                        }));
                    }
                    ItemKind::User { .. }
                    | ItemKind::Message(_)
                    | ItemKind::Thought(_)
                    | ItemKind::Compaction { .. } => {}
                }
            }
            Record::Begun { call, item, action, before } => {
                self.next.item = self.next.item.max(item.0 + 1);
                self.open_calls.push(Begun { call, item, action, before });
            }
            Record::Granted { scope } => self.granted.push(scope),
            Record::Compacted { entries, .. } => {
                for entry in &entries {
                    self.next.entry = self.next.entry.max(entry.id.0 + 1);
                }
                self.entries = entries;
            }
            Record::Task(task) => self.next.task = self.next.task.max(task.id.0 + 1),
            Record::Edited { turn, edits } => match self.undo.last_mut().filter(|(last, _)| *last == turn) {
                Some((_, earlier)) => earlier.extend(edits),
                None => self.undo.push((turn, edits)),
            },
            Record::Undone { turn } => self.undo.retain(|(undone, _)| *undone != turn),
            Record::TurnEnded { usage, .. } => {
                self.usage = usage;
                self.unfinished = None;
            }
            Record::Title(title) => self.title = Some(title),
        }
    }

    fn finish(&mut self, id: &SessionId, bad: u64) {
        let answered: HashSet<&CallId> = self
            .entries
            .iter()
            .filter_map(|entry| match &entry.kind {
                EntryKind::Result { call, .. } => Some(call),
                EntryKind::Heard { .. } | EntryKind::Said(_) | EntryKind::Note(_) => None,
            })
            .collect();
        self.open_calls.retain(|begun| !answered.contains(&begun.call));
        if self.unfinished.is_none() {
            self.open_calls.clear();
        }
        if bad > 0 {
            self.notices.push(Notice {
                level: Level::Warning,
                title: "Parts of the session could not be read".into(),
                text: format!("{bad} lines of session {id} are damaged and were passed over"),
                retry: None,
            });
        }
    }
}
