//! Sessions: opening, loading, listing, settings, closing.

use protocol::*;
use serde_json::{Value, json};

use crate::fake::{Fake, act, cwd, options, ran, run, settings, snapshot};

#[tokio::test]
async fn a_new_session_has_its_pickers_and_then_its_commands() {
    let mut fake = Fake::with(json!({})).await;
    let params = json!({"cwd": cwd(), "additionalDirectories": ["/tmp"], "mcpServers": [{"name": "db", "command": "x"}]});
    fake.request("session/new", params).await;
    let (tag, command) = fake.command().await;
    let Command::Open(open) = command else { panic!("{command:?}") };
    assert_eq!((open.roots, open.keep), (vec![FilePath("/tmp".into())], Keep::Journal));
    fake.reply(tag, Ok(Done::Opened(Box::new(snapshot("s")))));
    let answer = fake.recv().await;
    let result = &answer["result"];
    assert_eq!(result["modes"]["currentModeId"], "read-only");
    let categories: Vec<_> =
        result["configOptions"].as_array().unwrap().iter().map(|o| o["category"].clone()).collect();
    assert_eq!(json!(categories), json!(["mode", "model", "_provider", "thought_level", "_harness"]));
    let commands = fake.update().await;
    assert_eq!(
        commands["availableCommands"][0],
        json!({"name": "undo", "description": "Undo", "input": {"hint": "what"}})
    );
    let notice = fake.update().await;
    assert_eq!(notice["sessionUpdate"], "agent_message_chunk");
    assert!(notice["content"]["text"].as_str().unwrap().contains("db"), "{notice}");
}

#[tokio::test]
async fn refusals_have_their_codes() {
    let mut fake = Fake::with(json!({})).await;
    for params in [json!({"cwd": "a/b"}), json!({"mcpServers": []}), json!({"cwd": 5})] {
        assert_eq!(fake.ask_code("session/new", params).await, -32602);
    }
    assert_eq!(fake.ask_code("session/list", json!({"cwd": "a"})).await, -32602);
    assert_eq!(fake.ask_code("session/prompt", json!({"sessionId": "s", "prompt": []})).await, -32602);
    assert_eq!(fake.ask_code("session/load", json!({"cwd": cwd()})).await, -32602);
    fake.idle().await;

    let no_model = Refusal::NoModel { looked_for: vec!["A_KEY".into()], remedy: "set A_KEY".into() };
    let unknown =
        |what: &str| Refusal::Unknown { what: what.into(), name: "x".into(), known: vec!["a".into()] };
    let gone = Refusal::NoSession(SessionId("gone".into()));
    let prompt = json!({"sessionId": "gone", "prompt": [{"type": "text", "text": "x"}]});
    let rows = [
        ("session/new", json!({"cwd": cwd()}), no_model, -32000, "set A_KEY"),
        ("session/prompt", prompt, gone.clone(), -32002, "gone"),
        ("session/load", json!({"sessionId": "gone", "cwd": cwd()}), gone.clone(), -32002, "gone"),
        ("session/close", json!({"sessionId": "gone"}), gone.clone(), -32002, "gone"),
        ("session/delete", json!({"sessionId": "gone"}), gone, -32002, "gone"),
        ("session/set_mode", json!({"sessionId": "s", "modeId": "x"}), unknown("mode"), -32602, "known: a"),
        (
            "session/set_config_option",
            json!({"sessionId": "s", "configId": "nope", "value": "x"}),
            unknown("option"),
            -32602,
            "known: a",
        ),
    ];
    for (method, params, refusal, code, words) in rows {
        fake.request(method, params).await;
        let (tag, _) = fake.command().await;
        fake.reply(tag, Err(refusal));
        let answer = fake.recv().await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{method}: {answer}");
        let data = if code == -32002 { json!({"sessionId": "gone"}) } else { Value::Null };
        assert_eq!(answer["error"]["data"], data);
    }
}

#[tokio::test]
async fn authenticate_succeeds_when_a_provider_is_usable() {
    let mut fake = Fake::with(json!({})).await;
    assert_eq!(fake.ask("authenticate", json!({"methodId": "api-key"})).await["result"], json!({}));
    let refused = fake.ask("authenticate", json!({"methodId": "sk-pasted"})).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert!(!refused.to_string().contains("pasted"), "{refused}");
    let mut fake = Fake::usable(Err("no key; set A_KEY".into()));
    let methods = fake.ask("initialize", json!({})).await["result"]["authMethods"].clone();
    for method in methods.as_array().unwrap() {
        let answer = fake.ask("authenticate", json!({"methodId": method["id"]})).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["message"]),
            (&json!(-32000), &json!("no key; set A_KEY"))
        );
    }
}

#[tokio::test]
async fn everything_advertised_is_taken() {
    let mut fake = Fake::start();
    let answer = fake.ask("initialize", json!({})).await;
    let Some(Up::Offer(_)) = fake.port.next().await else { panic!("no offer") };
    let caps = &answer["result"]["agentCapabilities"];
    let mut methods = vec!["session/new", "session/prompt", "session/set_mode", "session/set_config_option"];
    assert_eq!(caps["loadSession"], true);
    methods.push("session/load");
    let session = caps["sessionCapabilities"].as_object().unwrap().clone();
    for (capability, method) in [
        ("list", "session/list"),
        ("resume", "session/resume"),
        ("close", "session/close"),
        ("delete", "session/delete"),
        ("title", "session/set_title"),
        ("options", "session/options"),
    ] {
        assert!(session.contains_key(capability), "{capability}");
        methods.push(method);
    }
    assert_eq!(session.len(), 8, "additionalDirectories and systemPrompt are fields");
    assert_eq!(answer["result"]["_meta"]["steering"]["supported"], true);
    methods.push("_session/steering");
    for method in methods {
        let params = json!({"sessionId": "s", "cwd": cwd(), "modeId": "m", "configId": "c", "value": "v", "title": "t",
            "prompt": [{"type": "text", "text": "x"}]});
        fake.request(method, params).await;
        let (tag, _) = fake.command().await;
        fake.reply(tag, Err(Refusal::Overloaded));
        assert_eq!(fake.recv().await["error"]["code"], -32603, "{method}");
    }
}

#[tokio::test]
async fn a_title_is_set_and_options_are_told_before_a_session() {
    let mut fake = Fake::open(json!({}), "s").await;
    assert_eq!(fake.ask_code("session/set_title", json!({"sessionId": "s", "title": " "})).await, -32602);
    fake.request("session/set_title", json!({"sessionId": "s", "title": " T "})).await;
    let (tag, order) = fake.order().await;
    assert_eq!(order, Order::Rename { title: "T".into() });
    fake.reply(tag, Ok(Done::Ok));
    assert_eq!(fake.recv().await["result"], json!({"title": "T"}));
    fake.request("session/options", json!({"cwd": cwd()})).await;
    let (tag, command) = fake.command().await;
    assert_eq!(command, Command::Options { cwd: FilePath(cwd()) });
    fake.reply(tag, Ok(Done::Options(options("auto"))));
    let answer = fake.recv().await["result"].clone();
    assert_eq!(answer["modes"]["currentModeId"], "auto");
    let own = fake.ask("session/options", json!({"cwd": cwd(), "sessionId": "s"})).await["result"].clone();
    assert!(answer["configOptions"].is_array() && own["configOptions"].is_array(), "{own}");
}

#[tokio::test]
async fn a_system_prompt_is_added_or_put_in_place() {
    let mut fake = Fake::with(json!({})).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    for (mode, wanted) in [("append", SystemMode::Append), ("override", SystemMode::Override)] {
        let system = json!({"mode": mode, "content": [text("a"), text("b")]});
        fake.request("session/new", json!({"cwd": cwd(), "mcpServers": [], "systemPrompt": system})).await;
        let (tag, Command::Open(open)) = fake.command().await else { panic!("no open") };
        assert_eq!(open.system, Some(SystemPrompt { mode: wanted, text: "a\n\nb".into() }));
        fake.reply(tag, Err(Refusal::Overloaded));
        fake.recv().await;
    }
    for system in [json!({"mode": "odd", "content": [text("a")]}), json!({"mode": "append", "content": []})] {
        let params = json!({"cwd": cwd(), "mcpServers": [], "systemPrompt": system});
        assert_eq!(fake.ask_code("session/new", params).await, -32602);
    }
}

#[tokio::test]
async fn steering_joins_the_running_turn_or_asks_for_a_prompt() {
    let mut fake = Fake::open(json!({}), "s").await;
    let words = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "also this"}]});
    let replies = [
        (
            Ok(Done::Prompted { turn: TurnId(1), item: ItemId(7), steered: true }),
            json!({"outcome": "injected"}),
        ),
        (Err(Refusal::Idle), json!({"outcome": "promptRequired", "reason": "noRunningTurn"})),
    ];
    for (reply, told) in replies {
        fake.request("_session/steering", words.clone()).await;
        let (tag, order) = fake.order().await;
        assert!(matches!(order, Order::Prompt { when: When::Steer, .. }), "{order:?}");
        fake.reply(tag, reply);
        assert_eq!(fake.recv().await["result"], told);
    }
}

#[tokio::test]
async fn loading_tells_the_past_by_the_same_words_before_its_answer() {
    let mut fake = Fake::with(json!({"_meta": {"terminal_output": true}})).await;
    let id = fake.request("session/load", json!({"sessionId": "s", "cwd": cwd(), "mcpServers": []})).await;
    let (tag, command) = fake.command().await;
    let Command::Open(open) = command else { panic!("{command:?}") };
    assert_eq!((open.from, open.past), (Origin::Resume(SessionId("s".into())), Past::All));
    let item = |id, stage, kind| Item { id: ItemId(id), turn: TurnId(1), stage, kind };
    let mut call = act("shell", Verb::Run);
    (call.action, call.outcome) = (Some(run("ls")), Some(ran("a\n", RunEnd::Exited(2))));
    let mut plan_call = act("plan", Verb::Plan);
    plan_call.outcome = Some(Outcome::Plan(Plan::default()));
    let link =
        Content::Link { uri: "file:///a b".into(), name: "a b".into(), mime: None, lines: Some((2, 3)) };
    let items = vec![
        item(1, Stage::Done, ItemKind::User { content: vec![Content::Text("hi".into()), link], by: None }),
        item(2, Stage::Done, ItemKind::Thought("hm".into())),
        item(3, Stage::Done, ItemKind::Message("ok".into())),
        item(4, Stage::Done, ItemKind::Act(plan_call)),
        item(5, Stage::Failed, ItemKind::Act(call)),
    ];
    let session = SessionId("s".into());
    fake.outlet.push(Down::Past { session: session.clone(), items, last: false });
    fake.outlet.push(Down::Past { session, items: vec![], last: true });
    let mut known = snapshot("s");
    known.usage.window = Some((10, 100));
    fake.reply(tag, Ok(Done::Opened(Box::new(known))));
    let mut seen = Vec::new();
    let answer = loop {
        let frame = fake.recv().await;
        match frame.get("id") {
            Some(_) => break frame,
            None => seen.push(frame["params"]["update"].clone()),
        }
    };
    let kinds: Vec<_> = seen.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect();
    let user = "user_message_chunk";
    assert_eq!(kinds, [user, user, "agent_thought_chunk", "agent_message_chunk", "tool_call"]);
    assert_eq!(seen[1]["content"]["uri"], "file:///a%20b#L2:3");
    assert_eq!(
        (&seen[4]["status"], &seen[4]["title"], &seen[4]["kind"]),
        (&json!("failed"), &json!("ls"), &json!("execute"))
    );
    assert_eq!(
        seen[4]["content"][0]["content"]["text"],
        "```\na\n\n(exit code 2)\n```".replace("\n\n", "\n")
    );
    assert_eq!(
        (&answer["id"], &answer["result"]["modes"]["currentModeId"]),
        (&json!(id), &json!("read-only"))
    );
    assert!(answer["result"].get("sessionId").is_none());
    assert_eq!(fake.update().await["sessionUpdate"], "available_commands_update");
    assert_eq!(fake.update().await, json!({"sessionUpdate": "usage_update", "used": 10, "size": 100}));
}

#[tokio::test]
async fn resuming_tells_nothing_of_the_past() {
    let mut fake = Fake::with(json!({})).await;
    fake.request("session/resume", json!({"sessionId": "s"})).await;
    let (tag, command) = fake.command().await;
    let Command::Open(open) = command else { panic!("{command:?}") };
    assert_eq!((open.past, open.cwd.0.as_str()), (Past::Nothing, ""));
    fake.reply(tag, Ok(Done::Opened(Box::new(snapshot("s")))));
    assert!(fake.recv().await["result"]["configOptions"].is_array());
}

#[tokio::test]
async fn lists_are_pages_of_what_can_be_loaded() {
    let mut fake = Fake::with(json!({})).await;
    fake.request("session/list", json!({"cwd": "/a", "cursor": "c"})).await;
    let (tag, command) = fake.command().await;
    assert_eq!(command, Command::List { cwd: Some(FilePath("/a".into())), cursor: Some("c".into()) });
    let row = |id: &str, unreadable: Option<&str>| SessionRow {
        id: SessionId(id.into()),
        cwd: FilePath("/a".into()),
        title: Some("T".into()),
        updated_ms: 0,
        unreadable: unreadable.map(str::to_string),
    };
    let page = vec![row("1", None), row("2", Some("broken"))];
    fake.reply(tag, Ok(Done::Sessions { page, next: Some("d".into()) }));
    let answer = fake.recv().await;
    let session = json!({"sessionId": "1", "cwd": "/a", "updatedAt": "1970-01-01T00:00:00Z", "title": "T"});
    assert_eq!(answer["result"], json!({"sessions": [session], "nextCursor": "d"}));
}

fn changed(mode: &str) -> EventKind {
    let change = SessionChange::Settings { settings: settings(mode), options: options(mode) };
    EventKind::SessionChanged(change)
}

#[tokio::test]
async fn modes_and_options_stay_in_step() {
    let mut fake = Fake::open(json!({}), "s").await;
    // Set as a mode: the options follow.
    let id = fake.request("session/set_mode", json!({"sessionId": "s", "modeId": "plan"})).await;
    let (tag, order) = fake.order().await;
    assert_eq!(order, Order::Configure { option: "mode".into(), value: "plan".into() });
    fake.event("s", changed("plan"));
    fake.reply(tag, Ok(Done::Ok));
    let update = fake.update().await;
    assert_eq!(
        (&update["sessionUpdate"], &update["configOptions"][0]["currentValue"]),
        (&json!("config_option_update"), &json!("plan"))
    );
    assert_eq!(fake.recv().await["id"], id);
    // Set as an option: the mode follows, the answer has the whole list.
    fake.request("session/set_config_option", json!({"sessionId": "s", "configId": "mode", "value": "auto"}))
        .await;
    let (tag, _) = fake.order().await;
    fake.event("s", changed("auto"));
    fake.reply(tag, Ok(Done::Ok));
    assert_eq!(fake.update().await, json!({"sessionUpdate": "current_mode_update", "currentModeId": "auto"}));
    let answer = fake.recv().await;
    assert_eq!(answer["result"]["configOptions"].as_array().unwrap().len(), 5);
    assert_eq!(answer["result"]["configOptions"][0]["currentValue"], "auto");
    // Changed by others: both are told. Not changed: nothing is.
    fake.event("s", changed("plan"));
    fake.event("s", changed("plan"));
    assert_eq!(fake.update().await["sessionUpdate"], "current_mode_update");
    assert_eq!(fake.update().await["sessionUpdate"], "config_option_update");
    fake.silence().await;
}

#[tokio::test]
async fn closing_answers_what_was_queued() {
    let mut fake = Fake::open(json!({}), "s").await;
    let first = fake.prompt("s", 1).await;
    let second = fake.prompt("s", 2).await;
    fake.start_turn("s", 1);
    let close = fake.request("session/close", json!({"sessionId": "s"})).await;
    let (tag, order) = fake.order().await;
    assert_eq!(order, Order::Close);
    fake.end_turn("s", 1, TurnEnd::Cancelled);
    fake.event("s", EventKind::SessionClosed);
    fake.reply(tag, Ok(Done::Ok));
    for id in [first, second] {
        let answer = fake.recv().await;
        assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&json!(id), &json!("cancelled")));
    }
    assert_eq!(fake.recv().await["id"], close);
    // What is still said of it goes nowhere.
    fake.start_item("s", 9, ItemKind::Message("late".into()));
    fake.silence().await;
}

#[tokio::test]
async fn titles_commands_and_usage_are_told_when_they_change() {
    let mut fake = Fake::open(json!({}), "s").await;
    fake.event("s", EventKind::SessionChanged(SessionChange::Title("T".into())));
    let title =
        json!({"sessionUpdate": "session_info_update", "title": "T", "updatedAt": "2026-11-30T23:59:59Z"});
    assert_eq!(fake.update().await, title);
    fake.event("s", EventKind::SessionChanged(SessionChange::Commands(vec![])));
    assert_eq!(fake.update().await["availableCommands"], json!([]));
    let usage = Usage { window: Some((5, 100)), cost: Some((0.5, "USD".into())), ..Usage::default() };
    fake.event("s", EventKind::UsageChanged(usage.clone()));
    fake.event("s", EventKind::UsageChanged(usage));
    fake.event("s", EventKind::UsageChanged(Usage::default()));
    assert_eq!(fake.update().await["cost"], json!({"amount": 0.5, "currency": "USD"}));
    fake.silence().await;
}

#[tokio::test]
async fn a_call_that_never_formed_is_in_the_past_too() {
    let mut fake = Fake::open(json!({"_meta": {"terminal_output": true}}), "s").await;
    fake.start_item("s", 1, ItemKind::Act(act("shell", Verb::Run)));
    let mut wrong = act("shell", Verb::Run);
    (wrong.input, wrong.outcome) =
        (Json("{".into()), Some(Outcome::BadInput(vec![Problem::Missing("command".into())])));
    fake.finish("s", 1, Stage::Failed, ItemKind::Act(wrong));
    let call = fake.update().await;
    assert_eq!(
        (&call["sessionUpdate"], &call["status"], &call["rawInput"]),
        (&json!("tool_call"), &json!("failed"), &json!("{"))
    );
}
