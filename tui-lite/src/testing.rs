//! Sessions, items and events for the tests of this crate.

use std::time::Instant;

use protocol::*;

use crate::state::State;
use crate::{Chat, Start};

pub(crate) fn chat() -> Chat {
    Chat {
        cwd: FilePath("/work".into()),
        roots: vec![],
        prompt: None,
        start: Start::New,
        options: vec![],
        version: "1.2.3".into(),
    }
}

pub(crate) fn state() -> State {
    State::new(snapshot(), &chat())
}

pub(crate) fn snapshot() -> Snapshot {
    let choice = |value: &str, about: Option<&str>| OptionChoice {
        value: value.into(),
        name: value.to_uppercase(),
        about: about.map(str::to_string),
        group: None,
    };
    let option = |id: &str, kind, value: &str, choices| ConfigOption {
        id: id.into(),
        name: id.into(),
        kind,
        value: value.into(),
        choices,
    };
    Snapshot::new(SessionInfo {
        id: SessionId("s1".into()),
        cwd: FilePath("/work".into()),
        roots: vec![],
        title: None,
        settings: Settings {
            provider: "p".into(),
            model: "large-1".into(),
            effort: None,
            harness: "native".into(),
            harness_why: None,
            mode: "workspace-write".into(),
            approval: Approval::OnRequest,
            sandbox: Sandbox::WorkspaceWrite,
            network: Network::Off,
        },
        options: vec![
            option(
                "mode",
                OptionKind::Mode,
                "workspace-write",
                vec![
                    choice("plan", Some("only looks")),
                    choice("workspace-write", None),
                    choice("auto", None),
                ],
            ),
            option(
                "model",
                OptionKind::Model,
                "large-1",
                vec![choice("large-1", None), choice("small-1", Some("quick"))],
            ),
            option("harness", OptionKind::Harness, "native", vec![choice("native", None)]),
        ],
        commands: vec![SlashCommand { name: "undo".into(), about: "Take back".into(), hint: None }],
        running: None,
    })
}

pub(crate) fn event(kind: EventKind) -> Down {
    Down::Event(Event { session: SessionId("s1".into()), seq: 1, at_ms: 0, kind })
}

/// Lets a state hear of things, one after the other.
pub(crate) fn hear(state: &mut State, kinds: Vec<EventKind>) {
    let now = Instant::now();
    kinds.into_iter().for_each(|kind| {
        state.hear(event(kind), now);
    });
}

pub(crate) fn started() -> EventKind {
    EventKind::TurnStarted { turn: TurnId(1), cause: Cause::Prompt }
}

pub(crate) fn ended(end: TurnEnd) -> EventKind {
    EventKind::TurnEnded { turn: TurnId(1), end }
}

pub(crate) fn item(kind: ItemKind, stage: Stage) -> Item {
    Item { id: ItemId(7), turn: TurnId(1), stage, kind }
}

pub(crate) fn act(action: Action, verb: Verb, outcome: Option<Outcome>) -> Act {
    Act {
        call: CallId("c".into()),
        tool: "tool".into(),
        verb,
        input: Json("{}".into()),
        action: Some(action),
        files: vec![],
        live: String::new(),
        outcome,
    }
}

pub(crate) fn run(command: &str) -> Action {
    Action::Run {
        command: command.into(),
        cwd: None,
        time: RunTime { limit_ms: 1, at_limit: AtLimit::Kill },
        why: None,
        unsandboxed: None,
    }
}

pub(crate) fn ran(command: &str, code: i32, output: &str) -> Item {
    let outcome = Outcome::Ran {
        end: RunEnd::Exited(code),
        output: Captured { head: output.into(), ..Captured::default() },
        wall_ms: 1,
        cwd: FilePath("/work".into()),
    };
    let stage = if code == 0 { Stage::Done } else { Stage::Failed };
    item(ItemKind::Act(act(run(command), Verb::Run, Some(outcome))), stage)
}

pub(crate) fn diff(path: &str) -> FileDiff {
    let lines = vec![Line::Gone("old\n".into()), Line::New("new\n".into())];
    let hunks = vec![Hunk { old_line: 1, new_line: 1, lines }];
    FileDiff { path: FilePath(path.into()), kind: FileKind::Update, hunks, cut: None }
}

pub(crate) fn edited(path: &str, stage: Stage) -> Item {
    let rule = EditRule { must_be_read: false, match_by: MatchBy::Exact };
    let action = Action::Edit { path: FilePath(path.into()), swaps: vec![], rule };
    let outcome = (stage == Stage::Done).then(|| Outcome::Edited { files: vec![], replaced: 1 });
    let mut made = act(action, Verb::Edit, outcome);
    made.files = vec![diff(path)];
    item(ItemKind::Act(made), stage)
}

pub(crate) fn ask(what: AskWhat) -> Ask {
    let choice = |id: &str, name: &str, grant| Choice { id: id.into(), name: name.into(), grant };
    let choices = match what {
        AskWhat::Questions(_) => vec![],
        AskWhat::Act => vec![
            choice("once", "Allow once", Grant::Once),
            choice("always", "Always allow edits of a.rs", Grant::Always { scope: "edit".into() }),
            choice("reject", "Reject", Grant::Reject),
        ],
    };
    Ask {
        id: AskId(3),
        turn: Some(TurnId(1)),
        item: Some(ItemId(7)),
        what,
        why: "the project is not trusted".into(),
        choices,
    }
}

pub(crate) fn question(id: &str, many: bool, free: bool) -> Question {
    Question {
        id: id.into(),
        head: format!("Head {id}"),
        text: format!("What of {id}?"),
        options: vec![("red".into(), "warm".into()), ("blue".into(), "cold".into())],
        many,
        free,
    }
}
