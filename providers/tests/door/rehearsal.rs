//! The scripted model, in process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::FailureKind;
use protocol::model::ModelEvent;
use providers::script::Script;
use providers::{Heard, Model, Provider, Wire};
use serde_json::{Value, json};

use crate::loopback::{ask, folded, request};

fn model(script: Value) -> Model {
    let mut script = Script::parse(&script.to_string()).unwrap();
    script.work = "/w".into();
    let provider = Provider::new("here", Wire::Rehearsal, "");
    Model::new(Provider { script: Some(Arc::new(script)), ..provider })
}

#[tokio::test]
async fn turn_by_turn_to_the_end() {
    let model = model(json!({"turns": [
        {"reasoning": "hm yes", "say": "in @@WORK@@ now", "calls": [{"tool": "shell", "args": {"command": "ls @@WORK@@"}}],
         "usage": {"in": 3, "out": 4}},
        {"words": 2, "finish": "length"},
        {"say": "no", "finish": "refusal"},
        {"finish": "content_filter"},
    ]}));
    let should = [
        json!({"thought": "hm yes", "sealed": ["hm yes", null], "text": "in /w now", "used": [3, 0, 4, 0],
            "calls": [["(made up)", "bash", "{\"command\":\"ls /w\"}"]], "stop": "calls"}),
        json!({"text": "word0 word1 ", "stop": "length"}),
        json!({"text": "no", "stop": {"refusal": "no"}}),
        json!({"stop": "filter"}),
    ];
    for should in should {
        let (heard, said) = ask(&model, &request()).await;
        assert_eq!((folded(&heard), said), (should, Ok(())));
    }
    let (heard, said) = ask(&model.clone(), &request()).await;
    let failure = said.expect_err("a failure");
    assert_eq!((heard.len(), failure.kind), (0, FailureKind::Format));
    assert!(failure.text.contains("4 turns, and request 5"), "{failure:?}");
}

#[tokio::test]
async fn word_by_word_at_its_pace() {
    let model = model(json!({"turns": [{"say": "a b c", "delay_ms": 20}], "pace_ms": 10}));
    let started = Instant::now();
    let (heard, _) = ask(&model, &request()).await;
    assert!(started.elapsed() >= Duration::from_millis(50));
    let texts = heard.iter().filter(|one| matches!(one, Heard::Event(ModelEvent::Text(_))));
    assert_eq!(texts.count(), 3);
}

#[tokio::test]
async fn what_it_cannot_play_it_says() {
    let raw = model(json!({"turns": [], "after_last": {"body": "data: x"}}));
    let bare = Model::new(Provider::new("here", Wire::Rehearsal, ""));
    for (model, part) in [(raw, "an HTTP answer"), (bare, "has no script")] {
        let (heard, said) = ask(&model, &request()).await;
        let failure = said.expect_err("a failure");
        assert!(heard.is_empty() && failure.text.contains(part) && failure.remedy.is_some(), "{failure:?}");
    }
}

#[tokio::test]
async fn it_lists_itself() {
    assert_eq!(model(json!({"turns": []})).list().await, Ok(vec!["here".to_string()]));
}
