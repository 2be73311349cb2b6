//! A disk that is full for a while. A limit on the size of a file stands for it, in a process of its own:
//! it cuts writes in their middle as a full disk does, and can be lifted.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use super::*;

const CHILD: &str = "OPEN_INTERPRETER_TEST_FULL_DISK";
/// Bytes that a file of the child may have.
const LIMIT: u64 = 40_000;

fn limit(size: &str) {
    let pid = std::process::id().to_string();
    let done = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={size}:unlimited")]).status();
    assert!(done.expect("prlimit, of util-linux").success());
}

#[test]
fn a_full_disk_loses_nothing_that_can_be_held() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            fills_up_and_frees().await;
            holds_only_so_much().await;
        });
        return;
    }
    let name = "journal::tests::full::a_full_disk_loses_nothing_that_can_be_held";
    let child = Command::new("prlimit")
        .arg(format!("--fsize={LIMIT}:unlimited"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .output()
        .expect("prlimit, of util-linux");
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{}: {said}", child.status);
}

async fn fills_up_and_frees() {
    let home = Home::new();
    let text = "x".repeat(1_000);
    let journal = home.store.create(head("s", "/p")).await.unwrap();
    let mut refused = 0u32;
    for at in 0..60 {
        if let Err(full) = journal.append(message(at, 0, &text)).await {
            refused += 1;
            assert!(full.to_string().contains(".jsonl: File too large"), "{full}");
            assert!(journal.sync().await.is_err());
        }
        // Whoever reads it meanwhile sees whole lines.
        assert_eq!(lines(&home.file()).len(), (at + 2 - refused) as usize);
    }
    assert!((15..30).contains(&refused), "{refused}");
    limit("unlimited");
    journal.sync().await.unwrap();
    append(&journal, vec![message(60, 0, "after")]).await;
    journal.close().await;
    let items = home.items(&SessionId("s".into())).await.concat();
    assert_eq!(items.iter().map(|item| item.id.0).collect::<Vec<_>>(), (0..=60).collect::<Vec<_>>());
    assert!(home.load(&SessionId("s".into())).await.notices.is_empty());
    limit(&LIMIT.to_string());
}

/// Past what is held in memory lines are lost; the file is whole, and their numbers are not used again.
async fn holds_only_so_much() {
    let home = Home::new();
    let text = "x".repeat(3_000_000);
    let journal = home.store.create(head("s", "/p")).await.unwrap();
    append(&journal, vec![message(0, 0, "small")]).await;
    for at in 1..9 {
        assert!(journal.append(message(at, 0, &text)).await.is_err());
    }
    limit("unlimited");
    append(&journal, vec![message(9, 0, "after")]).await;
    // One line alone may be as long as it likes.
    append(&journal, vec![message(10, 0, &text.repeat(7))]).await;
    journal.close().await;
    let items = home.items(&SessionId("s".into())).await.concat();
    assert_eq!(items.iter().map(|item| item.id.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 9, 10]);
    let numbers: Vec<u64> = lines(&home.file()).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 10, 11]);
}
