//! Prompts: each has exactly one answer, behind everything that its turn had to tell.

use std::time::{Duration, Instant};

use protocol::*;
use serde_json::{Value, json};

use crate::fake::{Fake, snapshot};

fn text(update: &Value) -> &str {
    update["content"]["text"].as_str().unwrap()
}

#[tokio::test]
async fn every_piece_of_text_is_told_once_and_before_the_answer() {
    let mut fake = Fake::open(json!({}), "s").await;
    let id = fake.prompt("s", 1).await;
    fake.start_turn("s", 1);
    let user = ItemKind::User { content: vec![Content::Text("go".into())], by: Some(ClientId(1)) };
    fake.finish("s", 100, Stage::Done, user);
    fake.start_item("s", 1, ItemKind::Thought(String::new()));
    fake.change("s", 1, Change::Text("think".into()));
    fake.finish("s", 1, Stage::Done, ItemKind::Thought("think".into()));
    fake.start_item("s", 2, ItemKind::Message(String::new()));
    let mut told = String::new();
    for n in 0..200 {
        let piece = format!("{n} ");
        told += &piece;
        fake.change("s", 2, Change::Text(piece));
        if n % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(12)).await;
        }
    }
    fake.finish("s", 2, Stage::Done, ItemKind::Message(told.clone()));
    fake.end_turn("s", 1, TurnEnd::Done);
    let thought = fake.update().await;
    assert_eq!((&thought["sessionUpdate"], text(&thought)), (&json!("agent_thought_chunk"), "think"));
    let (mut heard, mut ids) = (String::new(), Vec::new());
    let answer = loop {
        let frame = fake.recv().await;
        if frame.get("id").is_some() {
            break frame;
        }
        let update = &frame["params"]["update"];
        assert_eq!(update["sessionUpdate"], "agent_message_chunk");
        heard += text(update);
        ids.push(update["messageId"].clone());
    };
    assert_eq!(heard, told);
    assert!(ids.iter().all(|id| id == &ids[0]) && ids[0] != thought["messageId"]);
    assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&json!(id), &json!("end_turn")));
}

#[tokio::test]
async fn the_first_piece_goes_out_alone_and_the_next_ones_together() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.start_item("s", 1, ItemKind::Message(String::new()));
    fake.change("s", 1, Change::Text("first".into()));
    assert_eq!(text(&fake.update().await), "first");
    for _ in 0..20 {
        fake.change("s", 1, Change::Text("x".into()));
        tokio::task::yield_now().await;
    }
    assert_eq!(text(&fake.update().await), "x".repeat(20));
}

/// The quickest of several counts, since a busy machine may hold up any of them.
#[tokio::test]
async fn the_first_piece_of_the_next_turn_waits_for_nothing() {
    let mut fake = Fake::open(json!({}), "s").await;
    let mut waits = Vec::new();
    for turn in 1..=8 {
        let id = fake.prompt("s", turn).await;
        fake.start_turn("s", turn);
        let before = Instant::now();
        fake.start_item("s", turn, ItemKind::Message(String::new()));
        fake.change("s", turn, Change::Text("first".into()));
        assert_eq!(text(&fake.update().await), "first");
        waits.push(before.elapsed());
        // The last words and the end are told together.
        fake.change("s", turn, Change::Text(" last".into()));
        fake.finish("s", turn, Stage::Done, ItemKind::Message("first last".into()));
        fake.end_turn("s", turn, TurnEnd::Done);
        assert_eq!(text(&fake.update().await), " last");
        assert_eq!(fake.recv().await["id"], json!(id));
    }
    let quickest = waits.iter().skip(1).min();
    assert!(quickest.is_some_and(|wait| *wait < Duration::from_millis(4)), "{waits:?}");
}

#[tokio::test]
async fn a_message_that_comes_whole_is_told_whole() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.finish("s", 1, Stage::Done, ItemKind::Message("whole".into()));
    assert_eq!(text(&fake.update().await), "whole");
    fake.start_item("s", 2, ItemKind::Message("begun ".into()));
    fake.change("s", 2, Change::Text("and ended".into()));
    fake.finish("s", 2, Stage::Done, ItemKind::Message("begun and ended".into()));
    assert_eq!(text(&fake.update().await), "begun ");
    assert_eq!(text(&fake.update().await), "and ended");
    let other =
        ItemKind::User { content: vec![Content::Text("from elsewhere".into())], by: Some(ClientId(9)) };
    fake.finish("s", 3, Stage::Done, other);
    assert_eq!(fake.update().await["sessionUpdate"], "user_message_chunk");
}

#[tokio::test]
async fn stop_reasons_are_true() {
    let failure = |kind, text: &str| {
        TurnEnd::Failed(Failure {
            kind,
            text: text.into(),
            remedy: Some("do this".into()),
            status: Some(401),
        })
    };
    let rows = [
        (TurnEnd::Done, json!("end_turn"), Value::Null),
        (TurnEnd::Cancelled, json!("cancelled"), Value::Null),
        (TurnEnd::Refused("no".into()), json!("refusal"), Value::Null),
        (TurnEnd::Limit(Limit::Tokens), json!("max_tokens"), Value::Null),
        (TurnEnd::Limit(Limit::Requests), json!("max_turn_requests"), Value::Null),
        (TurnEnd::Limit(Limit::Cost), json!("max_turn_requests"), Value::Null),
        (failure(FailureKind::Auth, "HTTP 401: bad key"), Value::Null, json!(-32000)),
        (failure(FailureKind::Provider, "HTTP 500: down"), Value::Null, json!(-32603)),
    ];
    let mut fake = Fake::open(json!({}), "s").await;
    for (turn, (end, reason, code)) in (1..).zip(rows) {
        let id = fake.prompt("s", turn).await;
        fake.start_turn("s", turn);
        fake.end_turn("s", turn, end.clone());
        let answer = fake.recv().await;
        assert_eq!(answer["id"], id);
        assert_eq!((&answer["result"]["stopReason"], &answer["error"]["code"]), (&reason, &code), "{answer}");
        if let TurnEnd::Failed(failure) = end {
            assert_eq!(answer["error"]["message"], format!("{}; do this", failure.text));
        }
    }
}

#[tokio::test]
async fn a_cancel_right_behind_a_prompt_comes_right_behind_it() {
    let mut fake = Fake::open(json!({}), "s").await;
    let prompt = json!({"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}});
    let cancel = json!({"method": "session/cancel", "params": {"sessionId": "s"}});
    fake.send_raw(format!("{prompt}\n{cancel}\n").as_bytes()).await;
    let (tag, order) = fake.order().await;
    assert!(matches!(order, Order::Prompt { when: When::Queue, .. }), "{order:?}");
    assert_eq!(fake.order().await.1, Order::Cancel(Target::Turn));
    fake.reply(tag, Ok(Done::Prompted { turn: TurnId(1), item: ItemId(1), steered: false }));
    fake.end_turn("s", 1, TurnEnd::Cancelled);
    assert_eq!(fake.recv().await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_second_prompt_is_answered_by_its_own_turn() {
    let mut fake = Fake::open(json!({}), "s").await;
    let first = fake.prompt("s", 1).await;
    let second = fake.prompt("s", 2).await;
    fake.start_turn("s", 1);
    fake.end_turn("s", 1, TurnEnd::Cancelled);
    fake.start_turn("s", 2);
    fake.finish("s", 5, Stage::Done, ItemKind::Message("second".into()));
    fake.end_turn("s", 2, TurnEnd::Done);
    let answer = fake.recv().await;
    assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&json!(first), &json!("cancelled")));
    assert_eq!(text(&fake.update().await), "second");
    assert_eq!(fake.recv().await["id"], second);
    // Turns that nobody here has prompted for are answered to nobody.
    fake.start_turn("s", 3);
    fake.end_turn("s", 3, TurnEnd::Done);
    fake.silence().await;
}

#[tokio::test]
async fn a_prompt_that_is_taken_back_ends_its_own_turn_and_no_other() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.prompt("s", 1).await;
    let second = fake.prompt("s", 2).await;
    fake.start_turn("s", 1);
    fake.notify("$/cancel_request", json!({"requestId": second})).await;
    fake.idle().await;
    fake.end_turn("s", 1, TurnEnd::Done);
    fake.start_turn("s", 2);
    assert_eq!(fake.order().await.1, Order::Cancel(Target::Turn));
    fake.end_turn("s", 2, TurnEnd::Cancelled);
    assert_eq!(fake.recv().await["result"]["stopReason"], "end_turn");
    assert_eq!(fake.recv().await["result"]["stopReason"], "cancelled");
    let third = fake.prompt("s", 3).await;
    fake.start_turn("s", 3);
    fake.silence().await;
    fake.notify("$/cancel_request", json!({"requestId": third})).await;
    assert_eq!(fake.order().await.1, Order::Cancel(Target::Turn));
}

#[tokio::test]
async fn eight_sessions_do_not_mix() {
    let mut fake = Fake::with(json!({})).await;
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    for name in &names {
        fake.new_session(name).await;
    }
    for name in &names {
        fake.prompt(name, 1).await;
        fake.start_turn(name, 1);
        fake.start_item(name, 1, ItemKind::Message(String::new()));
    }
    for round in 0..20 {
        for name in &names {
            fake.change(name, 1, Change::Text(format!("{name}.{round} ")));
        }
        tokio::task::yield_now().await;
    }
    for name in &names {
        fake.end_turn(name, 1, TurnEnd::Done);
    }
    let mut heard: std::collections::BTreeMap<String, String> = Default::default();
    let mut answers = 0;
    while answers < names.len() {
        let frame = fake.recv().await;
        if frame.get("id").is_some() {
            answers += 1;
            continue;
        }
        let session = frame["params"]["sessionId"].as_str().unwrap().to_string();
        *heard.entry(session).or_default() += text(&frame["params"]["update"]);
    }
    for name in &names {
        let whole: String = (0..20).map(|round| format!("{name}.{round} ")).collect();
        assert_eq!(heard[name], whole);
    }
}

#[tokio::test]
async fn blocks_become_content() {
    let mut fake = Fake::open(json!({}), "s").await;
    let prompt = json!([
        {"type": "resource", "resource": {"uri": "file:///a%20b", "text": "body"}},
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
        {"type": "resource_link", "uri": "file:///c%23d%3F.txt", "name": "c#d?.txt"},
        {"type": "hologram"},
    ]);
    fake.request("session/prompt", json!({"sessionId": "s", "prompt": prompt})).await;
    let (_, order) = fake.order().await;
    let Order::Prompt { input, .. } = order else { panic!("{order:?}") };
    assert!(
        matches!(&input[0], Content::Resource { uri, text: Some(text), .. } if uri == "file:///a b" && text == "body")
    );
    assert!(matches!(&input[1], Content::Image { mime, .. } if mime == "image/png"));
    assert!(matches!(&input[2], Content::Link { uri, .. } if uri == "file:///c#d?.txt"));
    assert!(matches!(&input[3], Content::Text(text) if text.contains("hologram")));
}

#[tokio::test]
async fn notices_are_told_as_the_client_can_show_them() {
    let notice =
        |level| EventKind::Noticed(Notice { level, title: "Title".into(), text: "text".into(), retry: None });
    let mut fake = Fake::open(json!({"session": {"notices": {}}}), "s").await;
    fake.event("s", notice(Level::Warning));
    let told =
        json!({"sessionUpdate": "notice", "severity": "warning", "title": "Title", "description": "text"});
    assert_eq!(fake.update().await, told);
    let mut fake = Fake::open(json!({}), "s").await;
    fake.event("s", notice(Level::Warning));
    fake.event("s", notice(Level::Info));
    fake.start_turn("s", 1);
    fake.event("s", notice(Level::Error));
    for kind in ["agent_message_chunk", "agent_thought_chunk", "agent_thought_chunk"] {
        let update = fake.update().await;
        assert_eq!((&update["sessionUpdate"], text(&update)), (&json!(kind), "Title: text\n\n"));
    }
}

#[tokio::test]
async fn loading_an_open_session_ends_what_was_asked_of_it() {
    let mut fake = Fake::open(json!({}), "s").await;
    let prompt = fake.prompt("s", 1).await;
    fake.start_turn("s", 1);
    let load = fake.request("session/load", json!({"sessionId": "s", "cwd": "/"})).await;
    let (tag, _) = fake.command().await;
    fake.event("s", EventKind::SessionClosed);
    fake.reply(tag, Ok(Done::Opened(Box::new(snapshot("s")))));
    let answer = fake.recv().await;
    assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&json!(prompt), &json!("cancelled")));
    assert_eq!(fake.recv().await["id"], load);
}
