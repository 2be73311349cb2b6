//! The bottom of the screen as a terminal shows it.

use std::time::Instant;

use protocol::{AskWhat, Change, EventKind, ItemId, ItemKind, Plan, Rank, Stage, Step, StepState};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use ratatui_core::text::Text;

use super::frame;
use crate::picker::Picker;
use crate::state::State;
use crate::testing::{self, hear, started};

/// What is on a screen of this size, without spaces at the ends.
fn screen(state: &State, columns: u16, rows: u16) -> Vec<String> {
    let now = state.since.unwrap_or_else(Instant::now);
    let shown = frame(state, columns, usize::from(rows), now);
    assert!(shown.rows.len() <= usize::from(rows), "{} rows of {rows}", shown.rows.len());
    assert!(shown.rows.iter().all(|row| row.width() <= usize::from(columns)), "{:?}", shown.rows);
    assert!(shown.cursor.0 < shown.rows.len() && shown.cursor.1 < columns, "{:?}", shown.cursor);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|area| area.render_widget(Text::from(shown.rows.clone()), area.area())).unwrap();
    let buffer = terminal.backend().buffer();
    // The blank above is there where there is room for it.
    let apart = u16::from(rows >= 12);
    let lines = (apart..shown.rows.len() as u16).map(|y| {
        let line: String = (0..columns).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_string()
    });
    lines.collect()
}

#[test]
fn an_idle_chat() {
    let mut state = testing::state();
    assert_eq!(screen(&state, 80, 23), ["-- large-1 | workspace-write", ">"]);
    state.composer.insert("/re");
    assert_eq!(
        screen(&state, 40, 9),
        ["  /resume       Go on with an earlier...", "-- large-1 | workspace-write", "> /re",]
    );
    state.composer.replace("one\ntwo\nthree\nfour");
    assert_eq!(screen(&state, 40, 9), ["-- large-1 | workspace-write", "^ two", "  three", "  four"]);
}

#[test]
fn a_command_under_way() {
    let mut state = testing::state();
    let mut item = testing::ran("make test", 0, "");
    item.stage = Stage::Running;
    let ItemKind::Act(act) = &mut item.kind else { unreachable!() };
    act.outcome = None;
    act.live = (1..=30).map(|n| format!("case {n}\n")).collect();
    hear(&mut state, vec![started(), EventKind::ItemStarted(Box::new(item))]);
    state.queue.push_back("and then\nthis".into());
    assert_eq!(
        screen(&state, 60, 23),
        [
            "[...] make test",
            "     ... 24 lines above",
            "     case 25",
            "     case 26",
            "     case 27",
            "     case 28",
            "     case 29",
            "     case 30",
            "queued: and then",
            "-- large-1 | workspace-write | working 0s; Esc stops",
            ">",
        ]
    );
    assert_eq!(
        screen(&state, 40, 5),
        ["     case 29", "     case 30", "queued: and then", "-- large-1 | working 0s; Esc stops", ">",]
    );
}

#[test]
fn a_message_that_grows() {
    let mut state = testing::state();
    let item = testing::item(ItemKind::Message(String::new()), Stage::Running);
    let text = |text: &str| EventKind::ItemChanged { item: ItemId(7), change: Change::Text(text.into()) };
    hear(
        &mut state,
        vec![
            started(),
            EventKind::ItemStarted(Box::new(item)),
            text("done\n- a **list** that is"),
            text(" long"),
        ],
    );
    assert_eq!(state.transcript.take().len(), 1);
    assert_eq!(screen(&state, 16, 9)[..2], ["- a list that is", "  long"]);
}

#[test]
fn a_plan_under_way() {
    let mut state = testing::state();
    let step = |text: &str, state| Step { text: text.into(), state, rank: Rank::Medium };
    let mut steps: Vec<Step> = (1..=8).map(|n| step(&format!("step {n}"), StepState::Pending)).collect();
    steps.iter_mut().take(4).for_each(|step| step.state = StepState::Done);
    steps[4].state = StepState::Active;
    let item = testing::item(ItemKind::Plan(Plan::default()), Stage::Running);
    let change = Change::Plan(Plan { steps, note: None });
    hear(
        &mut state,
        vec![
            started(),
            EventKind::ItemStarted(Box::new(item)),
            EventKind::ItemChanged { item: ItemId(7), change },
        ],
    );
    assert_eq!(
        screen(&state, 80, 23)[..7],
        [
            "plan, 4 of 8 done",
            "  [x] step 3",
            "  [x] step 4",
            "  [>] step 5",
            "  [ ] step 6",
            "  [ ] step 7",
            "  [ ] step 8",
        ]
    );
}

#[test]
fn a_permission() {
    let mut state = testing::state();
    let item = testing::edited("a.rs", Stage::Waiting);
    let ask = testing::ask(AskWhat::Act);
    hear(
        &mut state,
        vec![started(), EventKind::ItemStarted(Box::new(item)), EventKind::Asked(Box::new(ask))],
    );
    let above: Vec<String> = state.transcript.take().iter().map(crate::row::Row::plain).collect();
    assert_eq!(above.last().unwrap(), "     + new");
    let question = [
        "May it? Edit a.rs",
        "the project is not trusted",
        "[y] Allow once",
        "[a] Always allow edits of a.rs",
        "[n] Reject",
        "[Esc] Stop the turn",
    ];
    for (columns, rows) in [(80, 23), (40, 9)] {
        let shown = screen(&state, columns, rows);
        assert_eq!(shown[..6], question);
        assert!(shown[6].ends_with("| waits for you"), "{shown:?}");
    }
    // The keys are the last to go.
    assert_eq!(screen(&state, 40, 5)[..3], question[3..]);
}

#[test]
fn questions() {
    let mut state = testing::state();
    let questions = vec![testing::question("paint", false, true), testing::question("b", true, false)];
    hear(
        &mut state,
        vec![started(), EventKind::Asked(Box::new(testing::ask(AskWhat::Questions(questions))))],
    );
    state.composer.insert("a draft");
    assert_eq!(
        screen(&state, 80, 23)[..4],
        [
            "(1 of 2) Head paint: What of paint?",
            "  1 red - warm",
            "  2 blue - cold",
            "Type a number or an answer, then Enter. Ctrl-D gives none, Esc stops the turn.",
        ]
    );
    assert_eq!(screen(&state, 80, 23).last().unwrap(), ">");
}

#[test]
fn a_list_narrowed() {
    let mut state = testing::state();
    state.picker = Picker::option(&testing::snapshot().info.options[0]);
    assert_eq!(
        screen(&state, 70, 23),
        [
            "mode",
            "  PLAN  only looks",
            "> * WORKSPACE-WRITE",
            "  AUTO",
            "Up and down choose, Enter takes it, letters narrow, Esc leaves it",
            "-- large-1 | workspace-write",
            ">",
        ]
    );
    assert_eq!(screen(&state, 40, 4)[..2], ["  PLAN  only looks", "> * WORKSPACE-WRITE"]);
    "zz".chars().for_each(|letter| state.picker.as_mut().unwrap().narrow(letter));
    assert_eq!(screen(&state, 70, 23)[..2], ["mode: zz", "  nothing fits; Backspace takes a letter back"]);
}

#[test]
fn no_size_breaks_it() {
    let mut state = testing::state();
    let item = testing::edited("a/long/path/of/日本語/a.rs", Stage::Waiting);
    hear(
        &mut state,
        vec![
            started(),
            EventKind::ItemStarted(Box::new(item)),
            EventKind::Asked(Box::new(testing::ask(AskWhat::Act))),
        ],
    );
    state.composer.insert("日本語 👩‍👩‍👧 long text\nof lines\n\tand tabs");
    for columns in [3, 4, 5, 7, 12, 40, 200] {
        for rows in [2, 3, 4, 5, 9, 60] {
            screen(&state, columns, rows);
        }
    }
}
