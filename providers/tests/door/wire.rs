//! What servers send, and what is heard of it: one file a wire under `cases/`, one row a case.
//!
//! `answers` are played in order; `heard` is the last attempt, whole; `requests` is how many there were;
//! `failure` is the kind and a part of the text that a person reads.

use std::time::{Duration, Instant};

use crate::loopback::{Loopback, ask, folded, request, turn};
use providers::{Model, Secret};
use serde_json::{Value, json};

#[tokio::test]
async fn chat() {
    play("chat").await;
}

#[tokio::test]
async fn responses() {
    play("responses").await;
}

#[tokio::test]
async fn refusals() {
    play("refusals").await;
}

async fn play(file: &str) {
    let path = format!("{}/tests/door/cases/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(cases.len() > 9);
    let mut playing = tokio::task::JoinSet::new();
    for case in cases {
        playing.spawn(one(case));
    }
    let faults: Vec<String> = playing.join_all().await.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with a case.
async fn one(case: Value) -> Option<String> {
    let known = ["about", "wire", "answers", "heard", "requests", "failure"];
    let odd: Vec<&String> = case.as_object()?.keys().filter(|key| !known.contains(&key.as_str())).collect();
    assert!(odd.is_empty(), "{odd:?}");
    let answers = case["answers"].as_array().unwrap().iter().map(turn).collect();
    let server = Loopback::play(answers).await;
    let mut provider = server.provider(case["wire"].as_str().unwrap_or("chat").parse().unwrap());
    (provider.request_max_retries, provider.stream_max_retries) = (2, 3);
    provider.stream_idle_timeout_ms = 3_000;
    provider.key = Some(Secret::new("sk-planted".into()));
    let started = Instant::now();
    let (heard, said) = ask(&Model::new(provider), &request()).await;
    let failure = said.as_ref().err().map(|failure| json!([failure.kind, failure.to_string()]));
    let is = json!({"heard": folded(&heard), "requests": server.asked().len(), "failure": failure});
    let should = json!({
        "heard": case.get("heard").cloned().unwrap_or(json!({})),
        "requests": case["requests"].as_u64().unwrap_or(1),
        "failure": case["failure"],
    });
    let same_failure = match (&is["failure"], &should["failure"]) {
        (Value::Null, Value::Null) => true,
        (is, should) => is[0] == should[0] && is[1].as_str()?.contains(should[1].as_str()?),
    };
    let fine = same_failure
        && is["heard"] == should["heard"]
        && is["requests"] == should["requests"]
        && started.elapsed() < Duration::from_millis(2_800)
        && !format!("{heard:?}{said:?}").contains("sk-planted");
    (!fine).then(|| {
        format!("{}\n  is     {is}\n  should {should}\n  after {:?}", case["about"], started.elapsed())
    })
}
