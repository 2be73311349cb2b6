//! The list of sessions, page by page.

use std::time::{Duration, UNIX_EPOCH};

use super::*;

fn touch(file: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

/// The file of a session.
fn file_of(home: &Home, name: &str) -> PathBuf {
    let ending = format!("-{name}.jsonl");
    let mut files = home.store.files().into_iter();
    files.find(|path| path.to_string_lossy().ends_with(&ending)).unwrap()
}

fn names(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.0.as_str()).collect()
}

/// The title of the only session.
async fn title(home: &Home) -> String {
    home.store.list(None, None).await.unwrap().0[0].title.clone().unwrap_or_default()
}

#[tokio::test]
async fn pages_hold_while_sessions_change() {
    let home = Home::new();
    for number in 0..120u32 {
        let name = format!("s{number:03}");
        home.session(&name, vec![began(0), Record::Title(format!("title {number}"))]).await;
        // Two of each have the same age.
        touch(&file_of(&home, &name), 1_000 + u64::from(number / 2));
    }
    // Of the same age, those whose names come last are first, as their sessions began last.
    let first_names: Vec<String> = (70..120).rev().map(|number| format!("s{number:03}")).collect();
    let (first, next) = home.store.list(None, None).await.unwrap();
    assert_eq!(names(&first), first_names);
    assert_eq!(first[0].title.as_deref(), Some("title 119"));
    assert_eq!((first[0].cwd.0.as_str(), first[0].updated_ms), ("/p", 1_059_000));
    // The one at the border becomes the newest, another goes.
    touch(&file_of(&home, "s070"), 5_000);
    home.store.delete(&SessionId("s069".into())).await.unwrap();
    let (second, next) = home.store.list(None, next.as_deref()).await.unwrap();
    let second_names: Vec<String> = (19..69).rev().map(|number| format!("s{number:03}")).collect();
    assert_eq!(names(&second), second_names);
    let (third, next) = home.store.list(None, next.as_deref()).await.unwrap();
    assert_eq!((third.len(), next), (19, None));
    for cursor in ["", "x", "12", "99999999999999999999999-s"] {
        assert!(home.store.list(None, Some(cursor)).await.is_err(), "{cursor}");
    }
}

#[tokio::test]
async fn a_full_page_is_not_followed_by_an_empty_one() {
    let home = Home::new();
    for number in 0..50 {
        home.session(&format!("s{number}"), vec![began(0)]).await;
    }
    let other = home.store.create(head("other", "/elsewhere")).await.unwrap();
    append(&other, vec![began(0)]).await;
    other.close().await;
    touch(&file_of(&home, "other"), 1);
    let (rows, next) = home.store.list(Some(Path::new("/p")), None).await.unwrap();
    assert_eq!((rows.len(), next), (50, None));
    let (rows, next) = home.store.list(Some(Path::new("/elsewhere")), None).await.unwrap();
    assert_eq!((names(&rows), next), (vec!["other"], None));
    assert_eq!(home.store.list(Some(Path::new("/nowhere")), None).await.unwrap(), (vec![], None));
}

#[tokio::test]
async fn a_title_is_found_in_a_long_session() {
    let long = "x".repeat(200 * 1024);
    let talk = |from: u32| (from..from + 5).map(|at| message(at, 0, &long)).collect::<Vec<_>>();
    let home = Home::new();
    let first = [vec![began(0), Record::Title("first".into())], talk(0), vec![ended(0)]].concat();
    let id = home.session("s", first).await;
    assert_eq!(title(&home).await, "first");
    let (journal, _) = home.store.open(&id).await.unwrap();
    append(&journal, [vec![began(1)], talk(10), vec![Record::Title("renamed".into())]].concat()).await;
    append(&journal, [talk(20), vec![ended(1)]].concat()).await;
    journal.close().await;
    assert_eq!(title(&home).await, "renamed");
    assert_eq!(home.load(&id).await.title.as_deref(), Some("renamed"));
}

#[tokio::test]
async fn a_title_is_found_in_a_long_turn() {
    let home = Home::new();
    let long = "x".repeat(1024 * 1024);
    home.session("s", vec![began(0), Record::Title("begun".into()), message(1, 0, &long)]).await;
    assert_eq!(title(&home).await, "begun");
}

#[tokio::test]
async fn short_turns_do_not_say_the_title_again() {
    let home = Home::new();
    home.session("s", [vec![Record::Title("t".into())], (0..9).map(ended).collect()].concat()).await;
    assert_eq!(lines(&home.file()).len(), 11);
}

#[tokio::test]
async fn what_cannot_be_read_is_a_row_that_says_so() {
    let home = Home::new();
    home.session("good", script()).await;
    let folder = home.file().parent().unwrap().to_path_buf();
    let later =
        r#"{"n":0,"kind":"head","body":{"version":99,"program":"p","session":"x","cwd":"/p","roots":[]}}"#;
    let headless = r#"{"kind":"title","body":"t"}"#;
    for (name, text) in [("empty", ""), ("headless", headless), ("later", later), ("bytes", "\0\0")] {
        std::fs::write(folder.join(format!("20260101T000000-{name}.jsonl")), text).unwrap();
    }
    std::fs::create_dir(folder.join("20260101T000000-folder.jsonl")).unwrap();
    std::fs::write(folder.join("notes.txt"), "no session").unwrap();
    let (rows, _) = home.store.list(None, None).await.unwrap();
    let (mut good, mut bad): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.unreadable.is_none());
    good.sort_by_key(|row| &row.id);
    bad.sort_by_key(|row| &row.id);
    let ids = |rows: &[&SessionRow]| rows.iter().map(|row| row.id.0.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&good), ["good"]);
    assert_eq!(ids(&bad), ["bytes", "empty", "folder", "headless", "later"]);
    assert!(bad[4].unreadable.as_deref().unwrap().contains("later version"));
}
