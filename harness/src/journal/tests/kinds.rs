//! Lines of every kind, of later versions, and of none.

use super::super::line::{self, Found, KINDS};
use super::*;

#[test]
fn every_kind_is_read_as_it_was_written() {
    let mut kinds = std::collections::BTreeSet::new();
    for record in [vec![head("s", "/p")], script()].concat() {
        let record = record.kept();
        let bytes = line::write(3, 5, &record).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let kind = value["kind"].as_str().unwrap().to_string();
        assert_eq!((value["n"].as_u64(), value["at"].as_u64()), (Some(3), Some(5)));
        assert_eq!(value["must"] == true, record.must(), "{kind}");
        match line::read(&bytes, |wanted| wanted == kind) {
            (Some(3), Found::Record(read)) => assert_eq!(*read, record),
            _ => panic!("{kind} is not read"),
        }
        assert!(matches!(line::read(&bytes, |wanted| wanted != kind), (Some(3), Found::Passed)), "{kind}");
        kinds.insert(kind);
    }
    let mut all = KINDS.to_vec();
    all.sort_unstable();
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// A session with this line in its middle.
async fn with(text: &str) -> (Home, SessionId) {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let before = std::fs::read_to_string(home.file()).unwrap();
    let cut = before.match_indices('\n').nth(5).unwrap().0 + 1;
    std::fs::write(home.file(), format!("{}{text}\n{}", &before[..cut], &before[cut..])).unwrap();
    (home, id)
}

#[tokio::test]
async fn what_is_not_known_stays_in_the_file() {
    let cases = [
        (r#"{"n":6,"at":1,"kind":"future","body":{"x":[1]}}"#, 0),
        (r#"{"n":6,"at":1,"kind":"future","must":false,"body":null,"more":1}"#, 0),
        (r#"{"at":1,"kind":"granted","body":{"scope":"edit","more":1},"more":{}}"#, 0),
        (r#"{"kind":"granted","body":{"scope":7}}"#, 1),
        (r#"{"kind":"granted"}"#, 1),
        ("[]", 1),
        ("", 1),
        (r#"{"n":6,"at":1,"kind":"entry","must":true,"body":{"id":3,"ki"#, 1),
        ("\0\0\0\0", 1),
        ("\u{feff}{}", 1),
    ];
    for (text, notices) in cases {
        let (home, id) = with(text).await;
        let (journal, loaded) = home.store.open(&id).await.unwrap();
        append(&journal, vec![message(90, 9, "on")]).await;
        journal.close().await;
        assert_eq!(loaded.notices.len(), notices, "{text}");
        assert_eq!(loaded.entries.len(), 5, "{text}");
        let now = std::fs::read_to_string(home.file()).unwrap();
        assert!(now.contains(&format!("\n{text}\n")), "{text}");
        assert_eq!(home.load(&id).await.notices.len(), notices, "{text}");
    }
}

#[tokio::test]
async fn numbers_are_not_used_again() {
    let (home, id) = with(r#"{"n":900,"at":1,"kind":"future","body":1}"#).await;
    let (journal, _) = home.store.open(&id).await.unwrap();
    append(&journal, vec![message(90, 9, "on")]).await;
    journal.close().await;
    assert!(lines(&home.file()).last().unwrap()["n"].as_u64().unwrap() > 900);
}

#[tokio::test]
async fn a_later_version_is_shown_and_not_gone_on_with() {
    let cases = [
        r#"{"n":6,"at":1,"kind":"future","must":true,"body":{"x":[1]}}"#,
        r#"{"n":6,"at":1,"kind":"entry","must":true,"body":{"id":3,"kind":{"sung":"la"}}}"#,
        r#"{"n":6,"at":1,"kind":"head","body":{"version":99,"program":"p","session":"s","cwd":"/p","roots":[]}}"#,
    ];
    for text in cases {
        let (home, id) = with(text).await;
        let before = std::fs::read(home.file()).unwrap();
        let error = home.store.open(&id).await.err().expect("an error");
        assert!(error.to_string().contains("later version"), "{error}");
        assert!(matches!(Refusal::from(error), Refusal::Failed(_)));
        assert_eq!(home.items(&id).await.concat().len(), 10, "{text}");
        assert_eq!(std::fs::read(home.file()).unwrap(), before);
    }
}

#[tokio::test]
async fn outputs_are_kept_in_part() {
    let home = Home::new();
    let long = "line\n".repeat(20_000);
    let read = Outcome::Read {
        path: FilePath("/p/a".into()),
        digest: Digest("aa".into()),
        seen: Seen::First,
        body: ReadBody::Lines { text: long.clone(), first: 1, count: 20_000, total: 20_000, more: false },
    };
    let records =
        vec![act(1, 0, "c1", ran(RunEnd::Exited(0), &long)), act(2, 0, "c2", read), result(1, "c1", &long)];
    let id = home.session("s", records).await;
    let outcomes = home.items(&id).await.concat().into_iter().map(|item| match item.kind {
        ItemKind::Act(act) => act.outcome.unwrap(),
        other => panic!("{other:?}"),
    });
    let outcomes: Vec<Outcome> = outcomes.collect();
    let Outcome::Ran { output, .. } = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(output.head.len() + output.tail.len(), 32 * 1024);
    assert_eq!(output.omitted, 100_000 - 32 * 1024);
    let Outcome::Read { body: ReadBody::Lines { text, count, more: true, .. }, .. } = &outcomes[1] else {
        panic!("{outcomes:?}")
    };
    assert_eq!((text.len(), *count), (32 * 1024, 6_554));
    // What the model saw is kept as a whole; of files it is known again how they were, not what they said.
    let loaded = home.load(&id).await;
    let EntryKind::Result { reply, .. } = &loaded.entries[0].kind else { panic!("{:?}", loaded.entries) };
    assert_eq!(reply.parts, [Part::Text(long)]);
    let [Outcome::Read { digest, body: ReadBody::Lines { text, .. }, .. }] = &loaded.outcomes[..] else {
        panic!("{:?}", loaded.outcomes)
    };
    assert_eq!((digest.0.as_str(), text.as_str()), ("aa", ""));
}
