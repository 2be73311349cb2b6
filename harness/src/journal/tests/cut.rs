//! A journal cut at any byte, as a crash may leave it.

use super::super::load::load;
use super::super::pair_up;
use super::*;

/// What the model is asked with after a resume is valid.
fn assert_pairs(loaded: &Loaded, at: usize) {
    let mut entries = loaded.entries.clone();
    let mut next = loaded.next.entry;
    pair_up(&mut entries, |_| Reply { parts: vec![], error: true }, &mut next);
    let mut waiting: Vec<&CallId> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for entry in &entries {
        assert!(ids.insert(&entry.id), "cut at {at}: entry {} twice", entry.id);
        if let EntryKind::Result { call, .. } = &entry.kind {
            assert!(!waiting.is_empty(), "cut at {at}: a result without its call");
            assert_eq!(waiting.remove(0), call, "cut at {at}");
            continue;
        }
        assert!(waiting.is_empty(), "cut at {at}: no result for {waiting:?}");
        if let EntryKind::Said(said) = &entry.kind {
            let calls = said.parts.iter().filter_map(|part| match part {
                Part::Call(call) => Some(&call.id),
                _ => None,
            });
            waiting = calls.collect();
        }
    }
    assert!(waiting.is_empty(), "cut at {at}: no result for {waiting:?}");
}

#[tokio::test]
async fn at_every_byte() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let file = std::fs::File::options().read(true).write(true).open(home.file()).unwrap();
    let whole = std::fs::read(home.file()).unwrap();
    for at in (0..whole.len()).rev() {
        file.set_len(at as u64).unwrap();
        let again = std::fs::File::open(home.file()).unwrap();
        let loaded = load(&id, &again).unwrap_or_else(|error| panic!("cut at {at}: {error:?}"));
        let good = whole[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        assert_eq!((loaded.end, loaded.torn), (good as u64, at - good), "cut at {at}");
        assert_eq!(loaded.lines, whole[..good].iter().filter(|byte| **byte == b'\n').count() as u64);
        assert_eq!(loaded.notices.len(), usize::from(at != good), "cut at {at}");
        assert_pairs(&loaded, at);
    }
}

#[tokio::test]
async fn at_every_line_it_goes_on() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let whole = std::fs::read(home.file()).unwrap();
    let ends: Vec<usize> = (1..=whole.len()).filter(|at| whole[at - 1] == b'\n').collect();
    for (line, end) in ends.iter().enumerate() {
        for extra in [0, 1, 17] {
            let cut = (end + extra).min(whole.len());
            std::fs::write(home.file(), &whole[..cut]).unwrap();
            let (journal, loaded) = home.store.open(&id).await.unwrap();
            let entry = loaded.next.entry;
            append(&journal, vec![began(loaded.next.turn), heard(entry, loaded.next.item, "on")]).await;
            journal.sync().await.unwrap();
            journal.close().await;
            let written = lines(&home.file());
            assert_eq!(written.len(), line + 3);
            let numbers: Vec<u64> = written.iter().map(|line| line["n"].as_u64().unwrap()).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
            let again = home.load(&id).await;
            assert_eq!(again.entries.len(), loaded.entries.len() + 1);
            assert_eq!(again.next.entry, entry + 1);
            assert!(again.notices.is_empty());
        }
    }
}

#[tokio::test]
async fn what_a_whole_one_says() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let loaded = home.load(&id).await;
    assert_eq!((loaded.cwd.0.as_str(), loaded.roots.len()), ("/p", 1));
    assert_eq!(loaded.settings, Some(settings("m")));
    assert_eq!(loaded.title.as_deref(), Some("Fix the ü bug"));
    assert_eq!(loaded.frame.map(Box::new).map(Record::Frame), Some(frame()));
    let entries: Vec<u32> = loaded.entries.iter().map(|entry| entry.id.0).collect();
    assert_eq!(entries, [6, 7, 8, 9, 10]);
    assert_eq!(loaded.unfinished, Some(TurnId(2)));
    // c1 has its result; that an earlier turn had a call of the same id is nothing to it.
    let open: Vec<&str> = loaded.open_calls.iter().map(|begun| begun.call.0.as_str()).collect();
    assert_eq!(open, ["c3"]);
    assert_eq!(loaded.open_calls[0].before, [(FilePath("/p/b.txt".into()), None)]);
    assert_eq!(loaded.granted, ["run:cargo test"]);
    let next = loaded.next;
    assert_eq!((next.turn, next.item, next.entry, next.task), (3, 11, 11, 5));
    assert_eq!(loaded.undo.iter().map(|(turn, _)| turn.0).collect::<Vec<_>>(), [2]);
    assert_eq!(loaded.outcomes.len(), 1);
    assert!(loaded.notices.is_empty());
    let items: Vec<Item> = home.items(&id).await.concat();
    assert_eq!(items.iter().map(|item| item.id.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // Connections of an earlier process mean nothing.
    assert!(items.iter().all(|item| !matches!(item.kind, ItemKind::User { by: Some(_), .. })));
}

#[tokio::test]
async fn a_call_whose_id_came_before_is_open_all_the_same() {
    let home = Home::new();
    let id = home.session("s", [script(), vec![said(11, "", &["c1"]), begun("c1", 11, &[])]].concat()).await;
    let open: Vec<u32> = home.load(&id).await.open_calls.iter().map(|begun| begun.item.0).collect();
    assert_eq!(open, [10, 11]);
}

#[tokio::test]
async fn a_call_with_its_result_is_not_open_even_if_its_item_is_lost() {
    let home = Home::new();
    let id = home.session("s", [script(), vec![result(11, "c3", "late")]].concat()).await;
    assert!(home.load(&id).await.open_calls.is_empty());
}

#[tokio::test]
async fn a_long_torn_line_does_not_stay_behind_short_ones() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let mut text = std::fs::read_to_string(home.file()).unwrap();
    text += &"x".repeat(10_000);
    std::fs::write(home.file(), text).unwrap();
    let (journal, loaded) = home.store.open(&id).await.unwrap();
    assert_eq!(loaded.torn, 10_000);
    append(&journal, vec![message(90, 9, "on")]).await;
    journal.close().await;
    assert_eq!(lines(&home.file()).len(), script().len() + 2);
}

#[tokio::test]
async fn a_lost_first_line_leaves_the_rest() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let text = std::fs::read_to_string(home.file()).unwrap();
    std::fs::write(home.file(), text.replacen("{\"n\":0", "\0\0\0\0\0\0", 1)).unwrap();
    let loaded = home.load(&id).await;
    assert_eq!(loaded.cwd.0, "/p");
    assert_eq!(loaded.roots, [FilePath("/q".into())]);
    assert_eq!(loaded.entries.len(), 5);
    assert!(loaded.notices[0].text.starts_with("1 lines"), "{:?}", loaded.notices);
}

#[tokio::test]
async fn nothing_that_can_be_read_is_no_session() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    for text in ["", "{\"n\":0,\"kin", "\n\n", "\0\0\0\n"] {
        std::fs::write(home.file(), text).unwrap();
        let error = home.store.open(&id).await.err().expect("an error").to_string();
        assert!(error.contains("no line that can be read"), "{error}");
        assert_eq!(std::fs::read_to_string(home.file()).unwrap(), text);
    }
}
