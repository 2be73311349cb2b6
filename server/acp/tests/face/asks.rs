//! What the engine asks: permissions, questions, the client's buffers.

use protocol::*;
use serde_json::{Value, json};

use crate::fake::{Fake, act, cwd, formed, run};

fn ask(what: AskWhat) -> EventKind {
    let choice = |id: &str, name: &str, grant| Choice { id: id.into(), name: name.into(), grant };
    let choices = match what {
        AskWhat::Act => vec![
            choice("once", "Allow once", Grant::Once),
            choice("always", "Always allow cargo test", Grant::Always { scope: "cargo test".into() }),
            choice("reject", "Reject", Grant::Reject),
        ],
        AskWhat::Questions(_) => vec![],
    };
    let (id, turn, item) = (AskId(1), Some(TurnId(1)), Some(ItemId(1)));
    EventKind::Asked(Box::new(Ask { id, turn, item, what, why: "needs the network".into(), choices }))
}

fn closed() -> EventKind {
    EventKind::AskClosed { ask: AskId(1), answer: Answer::Cancelled, by: None }
}

/// A face that has just asked for permission to run a command; the request's frame.
async fn asking(command: &str) -> (Fake, Value) {
    asking_to(run(command)).await
}

async fn asking_to(action: Action) -> (Fake, Value) {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    fake.change("s", 1, formed(action));
    fake.change("s", 1, Change::Stage(Stage::Waiting));
    fake.event("s", ask(AskWhat::Act));
    fake.update().await;
    fake.update().await;
    let request = fake.recv().await;
    assert_eq!(request["method"], "session/request_permission", "{request}");
    (fake, request)
}

async fn answer(fake: &mut Fake, request: &Value, result: Value) {
    fake.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
}

#[tokio::test]
async fn a_permission_shows_the_whole_command_and_what_each_choice_means() {
    let command = "cargo test --workspace ".repeat(40);
    let (mut fake, request) = asking(&command).await;
    let params = &request["params"];
    assert_eq!((&params["sessionId"], &params["toolCall"]["toolCallId"]), (&json!("s"), &json!("call_1")));
    assert_eq!(
        (&params["toolCall"]["title"], &params["toolCall"]["kind"]),
        (&json!(command), &json!("execute"))
    );
    let content = &params["toolCall"]["content"];
    assert!(content[0]["content"]["text"].as_str().unwrap().contains(&command), "{content}");
    assert_eq!(content[1]["content"]["text"], "needs the network");
    let options = json!([
        {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "always", "name": "Always allow cargo test", "kind": "allow_always"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]);
    assert_eq!(params["options"], options);
    answer(&mut fake, &request, json!({"outcome": {"outcome": "selected", "optionId": "always"}})).await;
    let given = Answer::Choice { id: "always".into(), note: None };
    assert_eq!(fake.order().await.1, Order::Answer { ask: AskId(1), answer: given });
}

#[tokio::test]
async fn a_permission_shows_a_folder_that_is_not_the_sessions() {
    for (folder, shown) in [
        ("sub", Some(format!("in \"{}/sub\"", cwd()))),
        ("/elsewhere", Some("in \"/elsewhere\"".into())),
        (&cwd(), None),
        (".", None),
    ] {
        let mut action = run("./x.sh");
        if let Action::Run { cwd, .. } = &mut action {
            *cwd = Some(FilePath(folder.into()));
        }
        let (_fake, request) = asking_to(action).await;
        let content = request["params"]["toolCall"]["content"].as_array().unwrap();
        let texts: Vec<&str> = content.iter().filter_map(|part| part["content"]["text"].as_str()).collect();
        let mut expected = vec!["```\n./x.sh\n```"];
        expected.extend(shown.as_deref());
        expected.push("needs the network");
        assert_eq!(texts, expected, "{folder}");
    }
}

#[tokio::test]
async fn what_is_no_clear_yes_is_no() {
    let answers = [
        json!({"result": {"outcome": {"outcome": "cancelled"}}}),
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "invented"}}}),
        json!({"result": {"outcome": {"outcome": "selected"}}}),
        json!({"result": {"outcome": {"outcome": "approved", "optionId": "once"}}}),
        json!({"result": null}),
        json!({"error": {"code": -32601, "message": "no"}}),
        json!({"error": "no"}),
    ];
    for said in answers {
        let (mut fake, request) = asking("x").await;
        let mut frame = said.clone();
        frame["id"] = request["id"].clone();
        fake.send(&frame).await;
        let dismissed = Order::Answer { ask: AskId(1), answer: Answer::Dismissed };
        assert_eq!(fake.order().await.1, dismissed, "{said}");
    }
}

#[tokio::test]
async fn a_question_that_is_over_is_taken_back_and_a_late_answer_does_nothing() {
    let (mut fake, request) = asking("x").await;
    fake.notify("session/cancel", json!({"sessionId": "s"})).await;
    assert_eq!(fake.order().await.1, Order::Cancel(Target::Turn));
    fake.event("s", closed());
    let taken_back = fake.recv().await;
    assert_eq!(
        (&taken_back["method"], &taken_back["params"]["requestId"]),
        (&json!("$/cancel_request"), &request["id"])
    );
    answer(&mut fake, &request, json!({"outcome": {"outcome": "selected", "optionId": "once"}})).await;
    fake.idle().await;
    // The next question is asked anew.
    fake.event("s", ask(AskWhat::Act));
    assert_eq!(fake.recv().await["method"], "session/request_permission");
}

fn questions() -> AskWhat {
    let question = |id: &str, options: &[&str], many| Question {
        id: id.into(),
        head: id.to_uppercase(),
        text: format!("Which {id}?"),
        options: options.iter().map(|label| ((*label).to_string(), format!("about {label}"))).collect(),
        many,
        free: options.is_empty(),
    };
    AskWhat::Questions(vec![
        question("one", &["a", "b"], false),
        question("some", &["x", "y"], true),
        question("word", &[], false),
    ])
}

fn reply(question: &str, picked: &[&str], text: Option<&str>) -> QuestionReply {
    QuestionReply {
        question: question.into(),
        picked: picked.iter().map(|label| (*label).to_string()).collect(),
        text: text.map(str::to_string),
    }
}

#[tokio::test]
async fn questions_are_a_form_where_there_are_forms() {
    let mut fake = Fake::open(json!({"elicitation": {"form": {}}}), "s").await;
    fake.event("s", ask(questions()));
    let request = fake.recv().await;
    assert_eq!(request["method"], "elicitation/create");
    let fields = &request["params"]["requestedSchema"]["properties"];
    assert_eq!(
        (&fields["one"]["type"], &fields["some"]["type"], &fields["word"]["type"]),
        (&json!("string"), &json!("array"), &json!("string"))
    );
    let content = json!({"one": "b", "some": ["x", "y"], "word": "free"});
    answer(&mut fake, &request, json!({"action": "accept", "content": content})).await;
    let replies =
        vec![reply("one", &["b"], None), reply("some", &["x", "y"], None), reply("word", &[], Some("free"))];
    assert_eq!(fake.order().await.1, Order::Answer { ask: AskId(1), answer: Answer::Answers(replies) });
    fake.event("s", ask(questions()));
    let request = fake.recv().await;
    answer(&mut fake, &request, json!({"action": "decline"})).await;
    assert_eq!(fake.order().await.1, Order::Answer { ask: AskId(1), answer: Answer::Dismissed });
}

#[tokio::test]
async fn questions_are_choices_where_there_are_no_forms() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.event("s", ask(questions()));
    let request = fake.recv().await;
    assert_eq!(request["method"], "session/request_permission");
    assert_eq!(request["params"]["toolCall"]["title"], "Which one?");
    assert_eq!(request["params"]["options"][1]["name"], "b");
    answer(&mut fake, &request, json!({"outcome": {"outcome": "selected", "optionId": "option_1"}})).await;
    let request = fake.recv().await;
    answer(&mut fake, &request, json!({"outcome": {"outcome": "selected", "optionId": "skip"}})).await;
    let replies = vec![reply("one", &["b"], None)];
    assert_eq!(fake.order().await.1, Order::Answer { ask: AskId(1), answer: Answer::Answers(replies) });
    // What cannot be put as a choice is not put.
    fake.event("s", ask(AskWhat::Questions(vec![])));
    assert_eq!(fake.order().await.1, Order::Answer { ask: AskId(1), answer: Answer::Dismissed });
}

#[tokio::test]
async fn buffers_are_read_and_written_through_the_client() {
    let mut fake = Fake::start();
    let caps = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    fake.ask("initialize", json!({"clientCapabilities": caps})).await;
    assert_eq!(fake.up().await, Up::Offer(HostOffer { files: true }));
    fake.new_session("s").await;
    let host = |tag, call| Down::Host { tag, session: SessionId("s".into()), call };
    let path = FilePath("/a".into());
    fake.outlet.push(host(1, HostCall::ReadText { path: path.clone() }));
    let read = fake.recv().await;
    assert_eq!(
        (&read["method"], &read["params"]),
        (&json!("fs/read_text_file"), &json!({"sessionId": "s", "path": "/a"}))
    );
    answer(&mut fake, &read, json!({"content": "unsaved"})).await;
    assert_eq!(fake.up().await, Up::Host { tag: 1, reply: HostReply::Text("unsaved".into()) });
    fake.outlet.push(host(2, HostCall::WriteText { path: path.clone(), text: "t".into() }));
    let write = fake.recv().await;
    assert_eq!((&write["method"], &write["params"]["content"]), (&json!("fs/write_text_file"), &json!("t")));
    answer(&mut fake, &write, Value::Null).await;
    assert_eq!(fake.up().await, Up::Host { tag: 2, reply: HostReply::Written });
    fake.outlet.push(host(3, HostCall::ReadText { path: path.clone() }));
    let read = fake.recv().await;
    fake.send(&json!({"id": read["id"], "error": {"code": -32002, "message": "not open"}})).await;
    assert_eq!(fake.up().await, Up::Host { tag: 3, reply: HostReply::Failed("not open".into()) });
    // Given up, it is taken back, and its answer is for nobody.
    fake.outlet.push(host(4, HostCall::ReadText { path }));
    let read = fake.recv().await;
    fake.outlet.push(Down::HostCancelled { tag: 4 });
    assert_eq!(fake.recv().await["method"], "$/cancel_request");
    answer(&mut fake, &read, json!({"content": "late"})).await;
    fake.idle().await;
}
