//! Bytes as clients send them: nothing ends the connection, nothing is left without its answer.

use std::time::{Duration, Instant};

use protocol::*;
use serde_json::{Value, json};

use crate::fake::{Fake, cwd, snapshot};

#[tokio::test]
async fn nothing_that_is_sent_ends_the_connection() {
    let mut fake = Fake::with(json!({})).await;
    let rows: &[(&[u8], Value, i64)] = &[
        (b"Welcome to my shell\n", Value::Null, -32700),
        (b"{bad json sk-secret\n", Value::Null, -32700),
        (b"\xff\xfe\n", Value::Null, -32700),
        (b"[{\"id\":1,\"method\":\"session/list\"},{\"id\":2,\"method\":\"x\"}]\n", Value::Null, -32600),
        (b"\n\r\n{\"id\":1,\"method\":\"nope\"}\r\n", json!(1), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"nope\",\"params\":null}\n", json!("a"), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"nope\"}\n", json!(0), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"nope\"}\n", json!(-1), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"nope\"}\n", json!(1.5), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"nope\"}\n", Value::Null, -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/new\",\"params\":null}\n", json!(7), -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"session/prompt\",\"params\":[]}\n", json!(8), -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"x\",\"result\":{},\"params\":{}}\n", json!(9), -32601),
    ];
    for (bytes, id, code) in rows {
        fake.send_raw(bytes).await;
        let answer = fake.recv().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (id, &json!(code)), "{answer}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    fake.send_raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"params\":{}}\n").await;
    fake.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"stranger\",\"result\":{}}\n").await;
    fake.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}\n").await;
    fake.silence().await;
    fake.new_session("s").await;
}

#[tokio::test]
async fn an_id_that_is_too_large_for_a_number_comes_back_as_it_was() {
    let mut fake = Fake::with(json!({})).await;
    fake.send_raw(b"{\"id\":123456789012345678901234567890,\"method\":\"nope\"}\n").await;
    fake.end_input();
    let rest = fake.rest().await;
    assert!(rest[0].contains("\"id\":123456789012345678901234567890,"), "{rest:?}");
}

#[tokio::test]
async fn initialize_is_answered_first_whatever_is_sent_behind_it() {
    let mut fake = Fake::start();
    let early = fake.ask("session/new", json!({"cwd": cwd()})).await;
    assert_eq!(early["error"]["code"], -32600);
    let first = json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "1"}});
    let second = json!({"id": 2, "method": "session/new", "params": {"cwd": cwd()}});
    fake.send_raw(format!("{first}\n{second}\n").as_bytes()).await;
    assert!(matches!(fake.up().await, Up::Offer(HostOffer { files: false })));
    let (tag, command) = fake.command().await;
    let Command::Open(open) = command else { panic!("{command:?}") };
    assert_eq!((open.from, open.cwd.0, open.past), (Origin::New, cwd(), Past::Nothing));
    fake.reply(tag, Ok(Done::Opened(Box::new(snapshot("s")))));
    let answer = fake.recv().await;
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(1), &json!(1)));
    assert_eq!(answer["result"]["agentInfo"]["version"], "1.2.3");
    assert!(!answer["result"]["authMethods"].as_array().unwrap().is_empty());
    assert_eq!(fake.recv().await["id"], 2);
}

#[tokio::test]
async fn every_version_gets_ours() {
    for version in [json!(1), json!("1"), json!(2), json!(99), Value::Null] {
        let mut fake = Fake::start();
        let answer = fake.ask("initialize", json!({"protocolVersion": version})).await;
        assert_eq!(answer["result"]["protocolVersion"], 1);
        let again = fake.ask("initialize", json!({"protocolVersion": 1})).await;
        assert_eq!(again["result"]["protocolVersion"], 1);
    }
}

#[tokio::test]
async fn the_end_of_the_input_ends_everything_soon() {
    let mut fake = Fake::open(json!({}), "s").await;
    let id = fake.prompt("s", 1).await;
    fake.start_turn("s", 1);
    fake.silence().await;
    let began = Instant::now();
    fake.end_input();
    let (_, order) = fake.order().await;
    assert_eq!(order, Order::Cancel(Target::Turn));
    (&mut fake.face).await.unwrap().unwrap();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(300), "{took:?}");
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": "cancelled"}});
    assert_eq!(fake.rest().await, [answer.to_string()]);
    assert!(fake.port.next().await.is_none());
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let mut fake = Fake::with(json!({})).await;
    // The last line has no end.
    fake.send_raw(b"{\"id\":1,\"method\":\"session/list\"}").await;
    fake.end_input();
    let (tag, _) = fake.command().await;
    fake.reply(tag, Ok(Done::Sessions { page: vec![], next: None }));
    let answer = fake.recv().await;
    assert_eq!((&answer["id"], &answer["result"]["sessions"]), (&json!(1), &json!([])));
}

#[tokio::test]
async fn an_engine_that_is_gone_leaves_no_prompt_without_an_answer() {
    let mut fake = Fake::open(json!({}), "s").await;
    let id = fake.prompt("s", 1).await;
    fake.start_turn("s", 1);
    fake.silence().await;
    let (_, spare) = link::pair();
    fake.outlet = spare.outlet();
    fake.port = spare;
    let answer = fake.recv().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)));
    assert!(fake.face.await.unwrap().is_err());
}

#[tokio::test]
async fn a_client_that_does_not_read_costs_little() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.start_item("s", 1, ItemKind::Message(String::new()));
    let text = "x".repeat(32 * 1024);
    let mut taken = 0;
    loop {
        let room = fake.outlet.clone();
        if tokio::time::timeout(Duration::from_millis(200), room.room()).await.is_err() {
            break;
        }
        fake.change("s", 1, Change::Text(text.clone()));
        taken += text.len();
        assert!(taken < 24 * 1024 * 1024, "nothing holds the engine back");
    }
    // It is heard all the while.
    fake.notify("session/cancel", json!({"sessionId": "s"})).await;
    assert_eq!(fake.order().await.1, Order::Cancel(Target::Turn));
    // And hears everything once it reads.
    let mut read = 0;
    while read < taken {
        read += fake.update().await["content"]["text"].as_str().unwrap().len();
    }
    assert_eq!(read, taken);
}

#[tokio::test]
async fn mutated_frames_neither_end_it_nor_make_it_talk() {
    let mut fake = Fake::with(json!({})).await;
    let secret = "sk-planted-secret";
    let frames = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s",
            "prompt": [{"type": "text", "text": secret}]}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "relative",
            "mcpServers": [{"name": "m", "command": "c", "args": [], "env": [{"name": "K", "value": secret}]}]}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "authenticate", "params": {"methodId": "x", "key": secret}}),
    ];
    let mut state = 0x2545_f491_u32;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    for round in 0..600 {
        let mut bytes = frames[round % frames.len()].to_string().into_bytes();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\"{}[],:\\0"[random(9)]),
            }
        }
        bytes.retain(|byte| *byte != b'\n');
        bytes.push(b'\n');
        fake.send_raw(&bytes).await;
        fake.send_raw(format!("{{\"id\":\"ping{round}\",\"method\":\"nope\"}}\n").as_bytes()).await;
        loop {
            // The engine refuses what comes through.
            tokio::select! {
                up = fake.port.next() => {
                    let Some(Up::Command { tag, .. }) = up else { panic!("{up:?}") };
                    fake.reply(tag, Err(Refusal::NoSession(SessionId("s".into()))));
                    continue;
                }
                () = async {} => {}
            }
            let Ok(answer) = tokio::time::timeout(Duration::from_millis(20), fake.recv()).await else {
                continue;
            };
            assert!(!answer.to_string().contains("planted"), "{answer}");
            if answer["id"] == format!("ping{round}") {
                break;
            }
        }
    }
}
