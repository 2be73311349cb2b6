//! Attempts: how many, how far apart, who is told, and what hangs up.

use std::time::{Duration, Instant};

use protocol::FailureKind;
use protocol::model::ModelEvent;
use providers::{Heard, Model, Provider, Secret, Wire};
use serde_json::json;

use crate::loopback::{Loopback, ask, folded, request, turn};

fn whole() -> serde_json::Value {
    json!({"events": [{"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}, "[DONE]"]})
}

#[tokio::test]
async fn each_retry_is_told_before_its_wait() {
    let refused = json!({"status": 503, "body": "busy"});
    let server = Loopback::play(vec![turn(&refused), turn(&refused), turn(&whole())]).await;
    let (heard, said) = ask(&Model::new(server.provider(Wire::Chat)), &request()).await;
    assert_eq!(said, Ok(()));
    let retries: Vec<_> = heard
        .iter()
        .filter_map(|one| match one {
            Heard::Again { retry, why } => Some((retry.clone(), why.clone())),
            Heard::Event(_) => None,
        })
        .collect();
    let asked = server.asked();
    assert_eq!((retries.len(), asked.len()), (2, 3));
    for (at, (retry, why)) in retries.iter().enumerate() {
        assert_eq!((retry.attempt, retry.of), (at as u32 + 1, 4));
        assert_eq!((why.status, why.kind), (Some(503), FailureKind::Provider));
        let waited = asked[at + 1].at - asked[at].at;
        assert!(waited >= Duration::from_millis(retry.wait_ms), "{waited:?} {retry:?}");
    }
    assert!(retries[1].0.wait_ms >= 2 * 200, "{retries:?}");
}

#[tokio::test]
async fn the_server_says_how_long_to_wait() {
    let busy = json!({"status": 429, "headers": {"retry-after": "0.3"}, "body": ""});
    let server = Loopback::play(vec![turn(&busy), turn(&whole())]).await;
    let (_, said) = ask(&Model::new(server.provider(Wire::Chat)), &request()).await;
    let asked = server.asked();
    assert!(said.is_ok() && asked[1].at - asked[0].at >= Duration::from_millis(300));
}

#[tokio::test]
async fn no_retries_where_none_are_wanted() {
    for answer in [json!({"status": 500, "body": "no"}), json!({"body": ""})] {
        let server = Loopback::play(vec![turn(&answer)]).await;
        let provider =
            Provider { request_max_retries: 0, stream_max_retries: 0, ..server.provider(Wire::Responses) };
        let (heard, said) = ask(&Model::new(provider), &request()).await;
        let failure = said.expect_err("a failure");
        assert!(heard.is_empty() && !failure.text.contains("retr"), "{failure:?}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn silence_is_a_failure() {
    let begun = json!({"events": [{"choices": [{"delta": {"content": "x"}}]}], "end": "hang"});
    for answer in [begun, json!({"delay_ms": 60_000, "body": ""})] {
        let server = Loopback::play(vec![turn(&answer)]).await;
        let provider = Provider {
            request_max_retries: 1,
            stream_max_retries: 1,
            stream_idle_timeout_ms: 60,
            ..server.provider(Wire::Chat)
        };
        let (_, said) = ask(&Model::new(provider), &request()).await;
        let failure = said.expect_err("a failure");
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(failure.text.contains("nothing came for 60 ms (after 1 retry)"), "{failure:?}");
        assert!(failure.remedy.is_some_and(|remedy| remedy.contains("stream_idle_timeout_ms")));
        assert_eq!(server.asked().len(), 2);
    }
}

#[tokio::test]
async fn keep_alives_are_no_silence() {
    let slow = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let body = ": ping\n\n@@SLOW@@@@CUT@@".repeat(6) + slow;
    let server = Loopback::play(vec![turn(&json!({ "body": body }))]).await;
    let provider = Provider { stream_idle_timeout_ms: 400, ..server.provider(Wire::Chat) };
    let started = Instant::now();
    let (heard, said) = ask(&Model::new(provider), &request()).await;
    assert_eq!((folded(&heard), said), (json!({"text": "x", "stop": "end"}), Ok(())));
    assert!(started.elapsed() > Duration::from_millis(500), "it was slow in all");
}

#[tokio::test]
async fn events_are_told_as_they_come() {
    let answer = json!({"events": [{"choices": [{"delta": {"content": "x"}}]}], "end": "hang", "gzip": true});
    let server = Loopback::play(vec![turn(&answer)]).await;
    let model = Model::new(server.provider(Wire::Chat));
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let saying = tokio::spawn(async move { model.say(&request(), sender).await });
    let first = receiver.recv().await;
    assert_eq!(first, Some(Heard::Event(ModelEvent::Text("x".into()))));
    assert!(!saying.is_finished());
    // Dropped, it hangs up at once.
    saying.abort();
    let hung_up = tokio::time::timeout(Duration::from_secs(2), server.hung_up()).await;
    assert!(hung_up.is_ok());
}

#[tokio::test]
async fn nobody_listens() {
    let server = Loopback::play(vec![turn(&whole())]).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    drop(receiver);
    let said = Model::new(server.provider(Wire::Chat)).say(&request(), sender).await;
    assert_eq!(said.map_err(|failure| failure.kind), Err(FailureKind::Internal));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn no_server_there() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut provider = Provider::new("gone", Wire::Chat, &format!("http://127.0.0.1:{port}/v1"));
    provider.request_max_retries = 1;
    let (heard, said) = ask(&Model::new(provider), &request()).await;
    let failure = said.expect_err("a failure");
    assert_eq!((heard.len(), failure.kind), (1, FailureKind::Network));
    assert!(failure.text.contains(&format!("http://127.0.0.1:{port}/v1: ")), "{failure:?}");
    assert!(failure.remedy.is_some_and(|remedy| remedy.contains("the server of gone")));
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_sent() {
    let server = Loopback::play(vec![turn(&whole())]).await;
    let here = || server.provider(Wire::Chat);
    let key = Provider { key: Some(Secret::new("sk-\u{200b}planted".into())), ..here() };
    let value = Provider { headers: vec![("X-Team".into(), "sk-\nplanted".into())], ..here() };
    let name = Provider { headers: vec![("X Team".into(), "a".into())], ..here() };
    let url = Provider { base_url: "no address".into(), ..here() };
    for (provider, part) in [
        (key, "the key of here"),
        (value, "the header X-Team of here"),
        (name, "\"X Team\" is no name of a header"),
        (url, "no address"),
    ] {
        let (heard, said) = ask(&Model::new(provider), &request()).await;
        let failure = said.expect_err("a failure");
        assert_eq!(failure.kind, FailureKind::Format);
        assert!(failure.text.contains(part) && failure.remedy.is_some(), "{failure:?}");
        assert!(heard.is_empty() && !failure.to_string().contains("planted"));
    }
    assert!(server.asked().is_empty());
}

/// Arguments of 4 MiB in 64-byte deltas: the time grows with the bytes, not with their square.
#[tokio::test]
async fn large_arguments_in_small_deltas() {
    let delta = |arguments: &str, rest: serde_json::Value| {
        let mut call = json!({"index": 0, "function": {"arguments": arguments}});
        call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"choices": [{"delta": {"tool_calls": [call]}}]})
    };
    let part = delta(&"y".repeat(64), json!({}));
    let mut events = vec![delta("", json!({"id": "a", "function": {"name": "f", "arguments": "{\"n\":\""}}))];
    events.extend(std::iter::repeat_n(part, 65_536));
    events.push(delta("\"}", json!({})));
    events.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    let server = Loopback::play(vec![turn(&json!({ "events": events }))]).await;
    let started = Instant::now();
    let (heard, said) = ask(&Model::new(server.provider(Wire::Chat)), &request()).await;
    let calls = folded(&heard)["calls"].clone();
    assert!(said.is_ok() && calls[0][2].as_str().is_some_and(|text| text.len() == 4_194_304 + 8));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
