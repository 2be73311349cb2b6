//! How long a large session takes. Run by name: `cargo test -p harness fifty -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

#[tokio::test]
#[ignore = "prints figures"]
async fn fifty_megabytes() {
    let home = Home::new();
    let text = "a line of what a command wrote, and what the model read of it\n".repeat(300);
    let journal = home.store.create(head("s", "/p")).await.unwrap();
    let writing = Instant::now();
    for at in 0..1_300u32 {
        let call = format!("c{at}");
        let records = vec![
            said(2 * at, "I look.", &[&call]),
            begun(&call, at, &[]),
            act(at, 0, &call, ran(RunEnd::Exited(0), &text)),
            result(2 * at + 1, &call, &text),
        ];
        append(&journal, records).await;
    }
    journal.close().await;
    let megabytes = std::fs::metadata(home.file()).unwrap().len() / 1_000_000;
    println!("{megabytes} MB written in {:?}", writing.elapsed());
    let loading = Instant::now();
    let loaded = home.load(&SessionId("s".into())).await;
    println!("resumed in {:?}", loading.elapsed());
    assert_eq!(loaded.entries.len(), 2_600);
    let replaying = Instant::now();
    let pages = home.items(&SessionId("s".into())).await;
    println!("replayed in {:?}, {} pages", replaying.elapsed(), pages.len());
    assert_eq!(pages.concat().len(), 1_300);
}
