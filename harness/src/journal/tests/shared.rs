//! Two who want one session, bytes that several share, and what is in the folder when.

use super::*;
use crate::journal::store::StoreError;

#[tokio::test]
async fn one_process_at_a_time() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let (journal, _) = home.store.open(&id).await.unwrap();
    let other = Store::new(home.dir.path());
    let refused = other.open(&id).await.err().expect("a refusal");
    assert!(matches!(refused, StoreError::InUse { pid, .. } if pid == std::process::id()), "{refused}");
    let refused = other.delete(&id).await.expect_err("a refusal");
    assert!(matches!(Refusal::from(refused), Refusal::InUse { .. }));
    // Reading is free, and the one who has it goes on.
    assert_eq!(home.items(&id).await.concat().len(), 10);
    append(&journal, vec![message(90, 9, "on")]).await;
    journal.close().await;
    assert!(!home.file().with_extension("pid").exists(), "the hint stays behind");
    let (journal, _) = other.open(&id).await.unwrap();
    journal.close().await;
}

#[tokio::test]
async fn a_hint_of_a_dead_process_holds_nothing() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    std::fs::write(home.file().with_extension("pid"), "999999").unwrap();
    home.load(&id).await;
    assert!(!home.file().with_extension("pid").exists());
}

#[tokio::test]
async fn an_unused_session_leaves_nothing() {
    let home = Home::new();
    let journal = home.store.create(head("s", "/p")).await.unwrap();
    append(&journal, vec![Record::Settings(settings("a")), Record::Settings(settings("b"))]).await;
    journal.sync().await.unwrap();
    journal.close().await;
    assert_eq!(std::fs::read_dir(home.dir.path()).unwrap().count(), 0);
    assert!(home.store.open(&SessionId("s".into())).await.is_err());
}

#[tokio::test]
async fn opening_is_no_change() {
    let home = Home::new();
    let id = home.session("s", script()).await;
    let before = std::fs::read(home.file()).unwrap();
    for (model, lines) in [("m", 0), ("other", 1), ("other", 0)] {
        let had = std::fs::read(home.file()).unwrap().len();
        let (journal, _) = home.store.open(&id).await.unwrap();
        append(&journal, vec![Record::Settings(settings(model))]).await;
        journal.close().await;
        let now = std::fs::read(home.file()).unwrap();
        assert_eq!(now[had..].iter().filter(|byte| **byte == b'\n').count(), lines);
        assert!(now.starts_with(&before));
    }
    assert_eq!(home.load(&id).await.settings, Some(settings("other")));
}

#[cfg(unix)]
#[tokio::test]
async fn only_ours_to_read() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.session("s", script()).await;
    home.store.put_blob(b"bytes").await.unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let mut folders = vec![home.dir.path().join("sessions")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            assert_eq!(mode(&path), 0o600, "{path:?}");
        }
    }
    assert_eq!(files, 2);
}

#[tokio::test]
async fn a_line_is_in_the_file_when_it_is_answered() {
    let home = Home::new();
    let journal = home.store.create(head("s", "/p")).await.unwrap();
    for number in 0..20 {
        append(&journal, vec![message(number, 0, "text")]).await;
        assert_eq!(lines(&home.file()).len(), number as usize + 2);
    }
    let also = journal.clone();
    journal.close().await;
    assert!(also.append(message(99, 0, "late")).await.is_err());
    assert!(Journal::memory().append(message(1, 0, "text")).await.is_ok());
}

#[tokio::test]
async fn many_sessions_at_once_stay_apart() {
    let home = Home::new();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = home.store.clone();
        tasks.spawn(async move {
            let name = format!("s{number}");
            let journal = store.create(head(&name, "/p")).await.unwrap();
            for at in 0..50 {
                append(&journal, vec![message(at, number, &name)]).await;
                if at % 10 == 0 {
                    journal.sync().await.unwrap();
                }
            }
            journal.close().await;
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for number in 0..16 {
        let items = home.items(&SessionId(format!("s{number}"))).await.concat();
        let wanted: Vec<Record> = (0..50).map(|at| message(at, number, &format!("s{number}"))).collect();
        assert_eq!(items.into_iter().map(Record::Item).collect::<Vec<_>>(), wanted);
    }
}

#[tokio::test]
async fn pages_of_a_replay() {
    let home = Home::new();
    let id = home.session("s", (0..450).map(|at| message(at, 0, "text")).collect()).await;
    let pages: Vec<usize> = home.items(&id).await.iter().map(Vec::len).collect();
    assert_eq!(pages, [200, 200, 50]);
    let home = Home::new();
    let long = "x".repeat(400 * 1024);
    let id = home.session("s", (0..7).map(|at| message(at, 0, &long)).collect()).await;
    let pages: Vec<usize> = home.items(&id).await.iter().map(Vec::len).collect();
    assert_eq!(pages, [3, 3, 1]);
}

#[tokio::test]
async fn the_same_bytes_kept_at_once() {
    let home = Home::new();
    let bytes = vec![7u8; 300_000];
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..24 {
        let (store, bytes) = (home.store.clone(), bytes.clone());
        tasks.spawn(async move { store.put_blob(&bytes).await.unwrap() });
    }
    while let Some(digest) = tasks.join_next().await {
        assert_eq!(home.store.blob(&digest.unwrap()).await.as_deref(), Some(&bytes[..]));
    }
    let digest = files::digest(&bytes);
    let blob = home.dir.path().join("sessions/blobs").join(&digest.0[..2]).join(&digest.0);
    assert_eq!(std::fs::read_dir(blob.parent().unwrap()).unwrap().count(), 1, "drafts stay behind");
    // Bytes that are not what they were are none; kept again they are.
    std::fs::write(&blob, b"other").unwrap();
    assert_eq!(home.store.blob(&digest).await, None);
    home.store.put_blob(&bytes).await.unwrap();
    assert_eq!(home.store.blob(&digest).await, Some(bytes));
}

#[tokio::test]
async fn what_is_deleted_is_gone_and_what_is_shared_stays() {
    let home = Home::new();
    let mut digests = Vec::new();
    for text in ["only one", "both", "before a command", "of neither"] {
        digests.push(home.store.put_blob(text.as_bytes()).await.unwrap());
    }
    let [one, both, command, _] = &digests[..] else { panic!("{digests:?}") };
    let begun = begun("c", 1, &[("/p/a", Some(&command.0))]);
    let first = home.session("one", vec![began(0), edited(0, &one.0, &both.0), begun]).await;
    home.session("two", vec![began(0), edited(0, &both.0, "00")]).await;
    home.store.delete(&first).await.unwrap();
    assert!(matches!(home.store.open(&first).await, Err(StoreError::NoSession(_))));
    assert!(matches!(home.store.delete(&first).await, Err(StoreError::NoSession(_))));
    let mut kept = Vec::new();
    for digest in &digests {
        kept.push(home.store.blob(digest).await.is_some());
    }
    assert_eq!(kept, [false, true, false, true]);
}

#[tokio::test]
async fn names_that_are_no_sessions() {
    let home = Home::new();
    home.session("0192-ab", script()).await;
    for name in ["", "ab", "../0192-ab", "0192-ab.jsonl", "*", "/etc/passwd", "0192-AB"] {
        let opened = home.store.open(&SessionId(name.into())).await;
        assert!(matches!(opened, Err(StoreError::NoSession(_))), "{name}");
    }
}
