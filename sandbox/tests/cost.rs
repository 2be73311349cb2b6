//! What the wall costs: a command's start through it, beside bubblewrap alone with the same mounts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

mod ground;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ground::{Ground, Mode, finish};
use sandbox::{Level, Spec, Wall};

/// Other work on the machine only makes rounds longer, so the best of many are compared, and no more are run
/// than it takes.
const ROUNDS: u32 = 400;
const AT_LEAST: u32 = 40;
const MOST: f64 = 1.5;

fn spec(ground: &Ground, argv: &[&str]) -> Spec {
    let mut spec = ground.spec("", Mode::Write);
    // Hidden files are given by numbers that only a new start has.
    spec.policy.hidden.clear();
    spec.argv = argv.iter().map(|word| word.to_string()).collect();
    spec
}

/// What bubblewrap is told, up to the command, read from one that runs.
async fn bare(wall: &Wall, ground: &Ground) -> Command {
    let mut running = sandbox::start(wall, spec(ground, &["sh", "-c", "echo; sleep 60"])).unwrap();
    running.next().await;
    let words = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
    running.stop().await;
    let words = String::from_utf8(words).unwrap();
    // Alone, bubblewrap looks after the namespace itself; here our keeper does.
    let mut words = words.split('\0').filter(|word| *word != "--as-pid-1");
    let mut command = Command::new(words.next().unwrap());
    command.args(words.take_while(|word| *word != "--")).args(["--", "/bin/true"]);
    command.stdin(Stdio::null());
    command
}

#[tokio::test]
#[ignore = "a measurement: to be run alone, with --ignored"]
async fn at_most_half_more_than_bubblewrap() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    let mut bare = bare(&wall, &ground).await;
    let mut best = [Duration::MAX; 2];
    let ratio = |best: [Duration; 2]| best[1].as_secs_f64() / best[0].as_secs_f64();
    for round in 0..ROUNDS {
        let started = Instant::now();
        assert!(bare.status().unwrap().success());
        best[0] = best[0].min(started.elapsed());
        let spec = spec(&ground, &["/bin/true"]);
        let started = Instant::now();
        assert!(finish(sandbox::start(&wall, spec).unwrap()).await.succeeded());
        best[1] = best[1].min(started.elapsed());
        if round >= AT_LEAST && ratio(best) <= MOST {
            break;
        }
    }
    println!("bubblewrap {:?}, the wall {:?}: {:.2}", best[0], best[1], ratio(best));
    assert!(ratio(best) <= MOST, "{best:?}");
}
