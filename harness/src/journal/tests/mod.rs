//! The journal through its door: what is written is read back, whatever happened between.

mod cut;
mod full;
mod kinds;
mod large;
mod list;
mod shared;

use std::path::{Path, PathBuf};

use dialect::Frame;
use protocol::model::{ModelCall, Part, Spoken, Stop};
use protocol::*;

use super::{Journal, Loaded, Record, Store, VERSION};
use crate::undo::UndoEdit;

/// A home of its own, with the store in it.
struct Home {
    dir: tempfile::TempDir,
    store: Store,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: Store::new(dir.path()), dir }
    }

    /// The only session's file.
    fn file(&self) -> PathBuf {
        let files = self.store.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// A closed session of these records.
    async fn session(&self, name: &str, records: Vec<Record>) -> SessionId {
        let journal = self.store.create(head(name, "/p")).await.unwrap();
        append(&journal, records).await;
        journal.close().await;
        SessionId(name.into())
    }

    async fn load(&self, id: &SessionId) -> Loaded {
        let (journal, loaded) = self.store.open(id).await.unwrap();
        journal.close().await;
        loaded
    }

    /// The pages of a replay.
    async fn items(&self, id: &SessionId) -> Vec<Vec<Item>> {
        let (to, pages) = std::sync::mpsc::channel();
        self.store.items(id, move |page| to.send(page).unwrap()).await.unwrap();
        pages.iter().collect()
    }
}

async fn append(journal: &Journal, records: Vec<Record>) {
    for record in records {
        journal.append(record).await.unwrap();
    }
}

/// The lines of a file, each of which has to be JSON and whole.
fn lines(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn line");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn head(name: &str, cwd: &str) -> Record {
    Record::Head {
        version: VERSION,
        program: "open-interpreter/test".into(),
        session: SessionId(name.into()),
        cwd: FilePath(cwd.into()),
        roots: vec![FilePath("/q".into())],
    }
}

fn settings(model: &str) -> Settings {
    Settings {
        provider: "mock".into(),
        model: model.into(),
        effort: None,
        harness: "native".into(),
        harness_why: None,
        mode: "workspace-write".into(),
        approval: Approval::OnRequest,
        sandbox: Sandbox::WorkspaceWrite,
        network: Network::Off,
    }
}

fn began(turn: u32) -> Record {
    Record::TurnBegan { turn: TurnId(turn), cause: Cause::Prompt }
}

fn ended(turn: u32) -> Record {
    Record::TurnEnded { turn: TurnId(turn), end: TurnEnd::Done, usage: Usage::default() }
}

fn heard(id: u32, item: u32, text: &str) -> Record {
    let content = vec![Content::Text(text.into())];
    Record::Entry(Entry { id: EntryId(id), kind: EntryKind::Heard { item: ItemId(item), content } })
}

fn said(id: u32, text: &str, calls: &[&str]) -> Record {
    let mut parts = vec![Part::Text(text.into())];
    parts.extend(calls.iter().map(|call| {
        Part::Call(ModelCall {
            id: CallId(call.to_string()),
            name: "shell".into(),
            input: Json(r#"{"command":"echo \"ü\""}"#.into()),
            spoken: Spoken::Native,
        })
    }));
    let by = SaidBy::Model { provider: "mock".into(), model: "m".into() };
    Record::Entry(Entry { id: EntryId(id), kind: EntryKind::Said(Said { by, parts, stop: Stop::Calls }) })
}

fn result(id: u32, call: &str, text: &str) -> Record {
    let reply = Reply { parts: vec![Part::Text(text.into())], error: false };
    Record::Entry(Entry { id: EntryId(id), kind: EntryKind::Result { call: CallId(call.into()), reply } })
}

fn note(id: u32, why: NoteWhy) -> Entry {
    Entry { id: EntryId(id), kind: EntryKind::Note(Note { why, parts: vec![] }) }
}

fn item(id: u32, turn: u32, kind: ItemKind) -> Record {
    Record::Item(Item { id: ItemId(id), turn: TurnId(turn), stage: Stage::Done, kind })
}

fn user(id: u32, turn: u32, text: &str) -> Record {
    item(id, turn, ItemKind::User { content: vec![Content::Text(text.into())], by: Some(ClientId(7)) })
}

fn message(id: u32, turn: u32, text: &str) -> Record {
    item(id, turn, ItemKind::Message(text.into()))
}

fn act(id: u32, turn: u32, call: &str, outcome: Outcome) -> Record {
    let act = Act {
        call: CallId(call.into()),
        tool: "shell".into(),
        verb: Verb::Run,
        input: Json("{}".into()),
        action: Some(run()),
        files: vec![],
        live: String::new(),
        outcome: Some(outcome),
    };
    item(id, turn, ItemKind::Act(act))
}

fn ran(end: RunEnd, text: &str) -> Outcome {
    let output = Captured { head: text.into(), bytes: text.len() as u64, ..Captured::default() };
    Outcome::Ran { end, output, wall_ms: 3, cwd: FilePath("/p".into()) }
}

fn run() -> Action {
    Action::Run {
        command: "echo ü".into(),
        cwd: None,
        time: RunTime { limit_ms: 1_000, at_limit: AtLimit::Kill },
        why: None,
        unsandboxed: None,
    }
}

fn begun(call: &str, item: u32, before: &[(&str, Option<&str>)]) -> Record {
    let before = before
        .iter()
        .map(|(path, digest)| (FilePath((*path).into()), digest.map(|digest| Digest(digest.into()))));
    Record::Begun { call: CallId(call.into()), item: ItemId(item), action: run(), before: before.collect() }
}

fn edited(turn: u32, before: &str, after: &str) -> Record {
    let edit = UndoEdit {
        path: FilePath("/p/a.txt".into()),
        from: None,
        before: Some(Digest(before.into())),
        after: Some(Digest(after.into())),
    };
    Record::Edited { turn: TurnId(turn), edits: vec![edit] }
}

fn frame() -> Record {
    let instructions = vec![(FilePath("/p/AGENTS.md".into()), "Be brief.\n".into())];
    let (cwd, roots) = ("/p".into(), vec!["/p".into(), "/q".into()]);
    Record::Frame(Box::new(Frame { cwd, roots, instructions, ..Frame::default() }))
}

/// Three turns: parallel calls and an edit, a compaction, and a command that was cut off.
fn script() -> Vec<Record> {
    [first_turn(), compaction(), cut_turn()].concat()
}

fn first_turn() -> Vec<Record> {
    let now = FileNow {
        path: FilePath("/p/a.txt".into()),
        digest: Digest("bb".into()),
        lines: 1,
        bytes: 2,
        whole: true,
    };
    vec![
        Record::Settings(settings("m")),
        frame(),
        began(0),
        Record::Title("Fix the ü bug".into()),
        user(0, 0, "fix it"),
        heard(0, 0, "fix it"),
        Record::Entry(note(1, NoteWhy::Mode)),
        said(2, "I look.", &["c1", "c2"]),
        message(1, 0, "I look."),
        begun("c1", 2, &[]),
        act(2, 0, "c1", ran(RunEnd::Exited(0), "ü\n")),
        result(3, "c1", "ü\n"),
        begun("c2", 3, &[("/p/a.txt", Some("aa"))]),
        edited(0, "aa", "bb"),
        act(3, 0, "c2", Outcome::Edited { files: vec![now], replaced: 1 }),
        result(4, "c2", "edited"),
        Record::Granted { scope: "run:cargo test".into() },
        item(4, 0, ItemKind::Plan(Plan::default())),
        said(5, "Done.", &[]),
        message(5, 0, "Done."),
        ended(0),
    ]
}

fn compaction() -> Vec<Record> {
    let kind = ItemKind::Compaction { why: "asked".into(), summary: "s".into(), before: 9, after: Some(1) };
    vec![
        began(1),
        user(6, 1, "/compact"),
        item(7, 1, kind),
        Record::Compacted { item: ItemId(7), entries: vec![note(6, NoteWhy::Summary)] },
        Record::Used(Usage::default()),
        ended(1),
    ]
}

fn cut_turn() -> Vec<Record> {
    let task = Task {
        id: TaskId(2),
        item: ItemId(9),
        command: "sleep".into(),
        end: Some(RunEnd::Stopped),
        spill: None,
    };
    vec![
        began(2),
        user(8, 2, "again"),
        heard(7, 8, "again"),
        said(8, "", &["c1"]),
        begun("c1", 9, &[]),
        act(9, 2, "c1", ran(RunEnd::StillRunning(TaskId(4)), "")),
        result(9, "c1", "left in the background"),
        Record::Task(task),
        Record::Undone { turn: TurnId(0) },
        edited(2, "bb", "cc"),
        said(10, "", &["c3", "c4"]),
        begun("c3", 10, &[("/p/b.txt", None)]),
    ]
}
