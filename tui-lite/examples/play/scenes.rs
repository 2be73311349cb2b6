//! What happens in a turn, by the first word of the prompt.

use protocol::*;

use crate::fake::Stage as Engine;

const TEXT: &str = "# A heading

Some **bold** words, some `inline code`, and a paragraph that is long enough to be broken between its words.

- one item of a list that is so long that it goes on in the next row, where it hangs
- another
  1. with a list inside

```rust
fn main() {
    println!(\"a line of code that is longer than a screen of eighty columns can show in one row, \\n\");
}
```

| name | count |
|---|---|
| apples | 3 |

> a quotation
";

pub async fn play(engine: &Engine, input: &[Content]) -> TurnEnd {
    let [Content::Text(text)] = input else { return TurnEnd::Done };
    match text.split_whitespace().next().unwrap_or_default() {
        "say" => engine.say(TEXT).await,
        "edit" => edit(engine).await,
        "run" => run(engine).await,
        "ask" => ask(engine).await,
        "plan" => plan(engine).await,
        "evil" => evil(engine).await,
        "panic" => panic!("the engine broke"),
        "fail" => {
            return TurnEnd::Failed(Failure {
                kind: FailureKind::Auth,
                text: "the provider refused the key".into(),
                remedy: Some("set another with `interpreter login`".into()),
                status: Some(401),
            });
        }
        _ => engine.say(&format!("You said: {text}")).await,
    }
    let last = Tokens { input: 12_000, output: 800, ..Tokens::default() };
    let usage = Usage { last, turn: last, session: last, window: Some((12_800, 128_000)), cost: None };
    engine.tell(EventKind::UsageChanged(usage));
    TurnEnd::Done
}

fn act(tool: &str, verb: Verb, action: Action) -> Act {
    Act {
        call: CallId(tool.into()),
        tool: tool.into(),
        verb,
        input: Json("{}".into()),
        action: Some(action),
        files: vec![],
        live: String::new(),
        outcome: None,
    }
}

fn command(line: &str) -> Action {
    let time = RunTime { limit_ms: 60_000, at_limit: AtLimit::Kill };
    Action::Run { command: line.into(), cwd: None, time, why: None, unsandboxed: None }
}

fn finish(engine: &Engine, mut item: Item, stage: Stage, outcome: Outcome) {
    item.stage = stage;
    if let ItemKind::Act(act) = &mut item.kind {
        act.outcome = Some(outcome);
    }
    engine.tell(EventKind::ItemFinished(Box::new(item)));
}

fn ran(output: &str, code: i32) -> Outcome {
    let output = Captured { head: output.into(), ..Captured::default() };
    Outcome::Ran { end: RunEnd::Exited(code), output, wall_ms: 1, cwd: FilePath("/work".into()) }
}

async fn edit(engine: &Engine) {
    let thought = ItemKind::Thought("**Looking** for the greeting\nand more".into());
    let thought = engine.item(Stage::Done, thought);
    engine.tell(EventKind::ItemStarted(Box::new(thought.clone())));
    engine.pause(200).await;
    engine.tell(EventKind::ItemFinished(Box::new(thought)));
    let rule = EditRule { must_be_read: true, match_by: MatchBy::Exact };
    let path = FilePath("src/greet.rs".into());
    let mut made = act("edit", Verb::Edit, Action::Edit { path: path.clone(), swaps: vec![], rule });
    let lines = vec![
        Line::Same("fn greet(name: &str) -> String {\n".into()),
        Line::Gone("    format!(\"Helo {name}\")\n".into()),
        Line::New("    format!(\"Hello {name}\")\n".into()),
        Line::Same("}\n".into()),
    ];
    let hunks = vec![Hunk { old_line: 3, new_line: 3, lines }];
    made.files = vec![FileDiff { path, kind: FileKind::Update, hunks, cut: None }];
    let item = engine.item(Stage::Waiting, ItemKind::Act(made));
    engine.tell(EventKind::ItemStarted(Box::new(item.clone())));
    let choice = |id: &str, name: &str, grant| Choice { id: id.into(), name: name.into(), grant };
    let choices = vec![
        choice("once", "Allow once", Grant::Once),
        choice("always", "Always allow edits in this project", Grant::Always { scope: "edit".into() }),
        choice("reject", "Reject", Grant::Reject),
    ];
    match engine.ask(&item.id, AskWhat::Act, choices).await {
        Answer::Choice { id, .. } if id != "reject" => {
            finish(engine, item, Stage::Done, Outcome::Edited { files: vec![], replaced: 1 });
            engine.say("The greeting is right now.").await;
        }
        _ => {
            let outcome = Outcome::Declined { by: Decliner::Person, why: String::new() };
            finish(engine, item, Stage::Declined, outcome);
        }
    }
}

async fn run(engine: &Engine) {
    let item = engine.item(Stage::Running, ItemKind::Act(act("shell", Verb::Run, command("make test"))));
    engine.tell(EventKind::ItemStarted(Box::new(item.clone())));
    let mut all = String::new();
    for n in 1..=40 {
        let text = format!("\u{1b}[32mcase {n}\u{1b}[0m of 40 ... ok\n");
        all.push_str(&text);
        let change = Change::Output(Chunk { from: Pipe::Both, text });
        engine.tell(EventKind::ItemChanged { item: item.id.clone(), change });
        engine.pause(50).await;
    }
    finish(engine, item, Stage::Failed, ran(&all, 2));
}

async fn ask(engine: &Engine) {
    let question = |id: &str, text: &str, many, free| Question {
        id: id.into(),
        head: String::new(),
        text: text.into(),
        options: vec![("SQLite".into(), "one file".into()), ("Postgres".into(), "a server".into())],
        many,
        free,
    };
    let questions =
        vec![question("db", "Which database?", false, true), question("ci", "Test with which?", true, false)];
    let asked = act("ask", Verb::Ask, Action::Question(questions.clone()));
    let item = engine.item(Stage::Waiting, ItemKind::Act(asked));
    engine.tell(EventKind::ItemStarted(Box::new(item.clone())));
    match engine.ask(&item.id, AskWhat::Questions(questions), vec![]).await {
        Answer::Answers(replies) => finish(engine, item, Stage::Done, Outcome::Answered(replies)),
        _ => {
            let outcome = Outcome::Declined { by: Decliner::Person, why: "not answered".into() };
            finish(engine, item, Stage::Declined, outcome);
        }
    }
}

async fn plan(engine: &Engine) {
    let step = |n: usize, done: usize| Step {
        text: format!("Step {n} of the work"),
        state: match n {
            n if n <= done => StepState::Done,
            n if n == done + 1 => StepState::Active,
            _ => StepState::Pending,
        },
        rank: Rank::Medium,
    };
    let plan = |done| Plan { steps: (1..=8).map(|n| step(n, done)).collect(), note: None };
    let mut item = engine.item(Stage::Running, ItemKind::Plan(plan(0)));
    engine.tell(EventKind::ItemStarted(Box::new(item.clone())));
    for done in 1..=8 {
        let one = engine.item(Stage::Running, ItemKind::Act(act("shell", Verb::Run, command("true"))));
        engine.tell(EventKind::ItemStarted(Box::new(one.clone())));
        engine.pause(400).await;
        finish(engine, one, Stage::Done, ran("", 0));
        let change = Change::Plan(plan(done));
        engine.tell(EventKind::ItemChanged { item: item.id.clone(), change });
    }
    (item.stage, item.kind) = (Stage::Done, ItemKind::Plan(plan(8)));
    engine.tell(EventKind::ItemFinished(Box::new(item)));
}

async fn evil(engine: &Engine) {
    engine.say("a\u{1b}[2J\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}turned\u{9b}5A\n").await;
    let line = "ls\u{1b}[8m; rm -rf ~\u{1b}[0m\u{202e}";
    let item = engine.item(Stage::Running, ItemKind::Act(act("shell", Verb::Run, command(line))));
    engine.tell(EventKind::ItemStarted(Box::new(item.clone())));
    finish(engine, item, Stage::Done, ran("10%\r50%\r100%\n\u{1b}[?1049h\u{1b}cdone\n", 0));
}

pub fn sessions() -> Vec<SessionRow> {
    let row = |n: u64| SessionRow {
        id: SessionId(format!("old-{n}")),
        cwd: FilePath("/work".into()),
        title: Some(format!("Earlier work {n}")),
        updated_ms: 1_796_083_199_000 - n * 86_400_000,
        unreadable: None,
    };
    (1..=30).map(row).collect()
}

pub fn past() -> Vec<Item> {
    let item = |n, kind| Item { id: ItemId(n), turn: TurnId(0), stage: Stage::Done, kind };
    vec![
        item(1, ItemKind::User { content: vec![Content::Text("earlier prompt".into())], by: None }),
        item(2, ItemKind::Message("An **earlier** answer.\n".into())),
    ]
}
