//! Starting and ending: output, input, exit codes, and trees that must not outlive their command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

mod ground;

use std::time::{Duration, Instant};

use ground::{Ground, Mode, finish};
use protocol::RunEnd;
use sandbox::{Level, Piece, Wall};

/// Every way to run on this machine: behind both walls, and with full access.
async fn ways() -> Vec<(Wall, Mode)> {
    let mut found = vec![(Wall::probe(ground::probe()).await, Mode::Full)];
    for level in [Level::Full, Level::Landlock] {
        found.extend(ground::wall(level).await.map(|wall| (wall, Mode::Write)));
    }
    found
}

/// Processes whose command line holds the mark.
fn alive(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

/// Waits until none is left.
async fn gone(mark: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        if alive(mark).is_empty() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// A number of seconds that nobody else sleeps.
fn seconds(salt: usize) -> String {
    format!("{}.{salt}", 900_000 + std::process::id())
}

/// Left the session, with a clean environment, and orphaned twice.
fn daemon(nap: &str) -> String {
    format!("(setsid env -i sh -c 'PATH=/usr/bin:/bin; (setsid sleep {nap} >/dev/null 2>&1 &)' &)")
}

#[tokio::test]
async fn output_codes_and_input() {
    let ground = Ground::new();
    for (wall, mode) in ways().await {
        let signalled = match (wall.level, mode) {
            (Level::Full, Mode::Write) => RunEnd::Exited(128 + 15),
            _ => RunEnd::Signalled(15),
        };
        let cases = [
            ("echo out; echo err >&2; exit 3", RunEnd::Exited(3), "out\n", "err\n"),
            ("cat; echo $?", RunEnd::Exited(0), "0\n", ""),
            ("kill -TERM $$", signalled, "", ""),
            ("sh -c 'kill -9 $$' 2>/dev/null; echo $?", RunEnd::Exited(0), "137\n", ""),
            ("trap 'echo trapped; exit 7' TERM; kill 0; sleep 5", RunEnd::Exited(7), "trapped\n", ""),
            ("pwd | grep -c work", RunEnd::Exited(0), "1\n", ""),
            ("ulimit -c", RunEnd::Exited(0), "0\n", ""),
            ("yes | head -1", RunEnd::Exited(0), "y\n", ""),
        ];
        for (line, end, out, err) in cases {
            let ran = ground.run(&wall, line, mode).await;
            let told = (ran.end, ran.out.as_str(), ran.err.as_str());
            assert_eq!(told, (end, out, err), "{line} at {} {mode:?}", wall.level);
        }
        let mut spec = ground.spec("", mode);
        spec.argv = vec!["no-such-program".into()];
        let ran = finish(sandbox::start(&wall, spec).unwrap()).await;
        assert_eq!(ran.end, RunEnd::Exited(127));
        assert!(ran.err.contains("no-such-program"), "{}", ran.err);
    }
}

#[tokio::test]
async fn bytes_pass_as_they_are() {
    let ground = Ground::new();
    for (wall, mode) in ways().await {
        let line = "printf '\\377\\376\\000\\303\\050\\355\\240\\200end'";
        let mut running = sandbox::start(&wall, ground.spec(line, mode)).unwrap();
        let mut out = Vec::new();
        while let Some(piece) = running.next().await {
            if let Piece::Out(bytes) = piece {
                out.extend(bytes);
            }
        }
        assert_eq!(out, b"\xff\xfe\x00\xc3\x28\xed\xa0\x80end");
    }
}

#[tokio::test]
async fn a_child_that_holds_the_output_is_not_waited_for() {
    let ground = Ground::new();
    for (number, (wall, mode)) in ways().await.into_iter().enumerate() {
        let started = Instant::now();
        let nap = seconds(10 + number);
        let ran = ground.run(&wall, &format!("sleep {nap} & echo started"), mode).await;
        assert_eq!((ran.end, ran.out.as_str()), (RunEnd::Exited(0), "started\n"));
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert!(gone(&nap).await, "{:?}", alive(&nap));
    }
}

#[tokio::test]
async fn what_reads_the_last_output_may_finish() {
    let ground = Ground::new();
    for (wall, mode) in ways().await {
        let ran = ground.run(&wall, "(cat f; sleep 0.05; echo late) & exit 0", mode).await;
        assert_eq!(ran.out, "flate\n", "at {} {mode:?}", wall.level);
    }
}

#[tokio::test]
async fn a_daemon_ends_with_its_command() {
    let ground = Ground::new();
    for (number, (wall, mode)) in ways().await.into_iter().enumerate() {
        let nap = seconds(20 + number);
        let line = format!("{}; until pgrep -f {nap} >/dev/null; do :; done; echo up", daemon(&nap));
        let ran = ground.run(&wall, &line, mode).await;
        assert_eq!((ran.end, ran.out.as_str()), (RunEnd::Exited(0), "up\n"), "{}", ran.err);
        assert!(gone(&nap).await, "{} {mode:?}: {:?}", wall.level, alive(&nap));
    }
}

#[tokio::test]
async fn stopping_asks_first_and_ends_everything() {
    let ground = Ground::new();
    for (number, (wall, mode)) in ways().await.into_iter().enumerate() {
        let nap = seconds(30 + number);
        let note = ground.work.join(format!("note-{number}"));
        let line = format!(
            "trap 'echo asked > {}; exit' TERM; {}; echo ready; while :; do sleep 0.01; done",
            note.display(),
            daemon(&nap)
        );
        let mut running = sandbox::start(&wall, ground.spec(&line, mode)).unwrap();
        assert_eq!(running.next().await, Some(Piece::Out(b"ready\n".to_vec())));
        let asked = Instant::now();
        running.stop().await;
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        assert!(gone(&nap).await, "{} {mode:?}: {:?}", wall.level, alive(&nap));
        assert_eq!(std::fs::read_to_string(&note).unwrap_or_default(), "asked\n", "{} {mode:?}", wall.level);
        assert_eq!(running.next().await, None);
    }
}

#[tokio::test]
async fn what_does_not_hear_is_killed() {
    let ground = Ground::new();
    for (number, (wall, mode)) in ways().await.into_iter().enumerate() {
        let nap = seconds(40 + number);
        let line = format!("trap '' TERM; echo ready; sh -c 'trap \"\" TERM; while :; do sleep {nap}; done'");
        let mut running = sandbox::start(&wall, ground.spec(&line, mode)).unwrap();
        assert_eq!(running.next().await, Some(Piece::Out(b"ready\n".to_vec())));
        let asked = Instant::now();
        running.stop().await;
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        assert!(gone(&nap).await, "{} {mode:?}: {:?}", wall.level, alive(&nap));
    }
}

#[tokio::test]
async fn dropped_it_is_gone() {
    let ground = Ground::new();
    for (number, (wall, mode)) in ways().await.into_iter().enumerate() {
        let nap = seconds(50 + number);
        let line = format!("{}; trap '' TERM HUP; echo ready; sleep {nap}", daemon(&nap));
        let mut running = sandbox::start(&wall, ground.spec(&line, mode)).unwrap();
        assert_eq!(running.next().await, Some(Piece::Out(b"ready\n".to_vec())));
        drop(running);
        assert!(gone(&nap).await, "{} {mode:?}: {:?}", wall.level, alive(&nap));
    }
}

/// The thread that starts a command may end before it.
#[tokio::test]
async fn the_starting_thread_may_end() {
    let ground = Ground::new();
    for (wall, mode) in ways().await {
        let spec = ground.spec("sleep 0.2; echo done", mode);
        let handle = tokio::runtime::Handle::current();
        let thread = std::thread::spawn(move || {
            let _runtime = handle.enter();
            sandbox::start(&wall, spec).unwrap()
        });
        let ran = finish(thread.join().unwrap()).await;
        assert_eq!((ran.end, ran.out.as_str()), (RunEnd::Exited(0), "done\n"), "{mode:?}");
    }
}

/// A slow reader holds the command up, not the memory.
#[tokio::test]
async fn endless_output_waits_for_its_reader() {
    let ground = Ground::new();
    for (wall, mode) in ways().await {
        let counted = ground.work.join("counted");
        let line = format!(
            "i=0; while :; do echo 0123456789012345678901234567890123456789; i=$((i+1)); echo $i > {}; done",
            counted.display()
        );
        let mut running = sandbox::start(&wall, ground.spec(&line, mode)).unwrap();
        assert!(matches!(running.next().await, Some(Piece::Out(_))));
        let count = || std::fs::read_to_string(&counted).unwrap_or_default();
        let mut last = (count(), Instant::now());
        let until = Instant::now() + Duration::from_secs(10);
        while last.1.elapsed() < Duration::from_millis(500) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(Instant::now() < until, "it never waits: {}", last.0);
            if count() != last.0 {
                last = (count(), Instant::now());
            }
        }
        let piece = running.next().await;
        let Some(Piece::Out(bytes)) = piece else { panic!("{piece:?}") };
        assert!(bytes.len() <= 64 * 1024, "{}", bytes.len());
        running.stop().await;
    }
}

#[tokio::test]
async fn an_open_file_is_not_inherited() {
    use std::os::fd::AsRawFd;
    let ground = Ground::new();
    let secret = std::fs::File::open(ground.root().join("home/.ssh/id")).unwrap();
    // SAFETY: a descriptor of ours, made inheritable as a careless library would.
    unsafe { libc::fcntl(secret.as_raw_fd(), libc::F_SETFD, 0) };
    for (wall, mode) in ways().await {
        let ran = ground.run(&wall, "$P descriptors", mode).await;
        assert_eq!(ran.end, RunEnd::Exited(1), "{} {mode:?}: {}", wall.level, ran.err);
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let ground = Ground::new();
    let none = Wall::none("it was not tested");
    let refused = sandbox::start(&none, ground.spec("true", Mode::Write)).err().unwrap();
    assert!(refused.why.contains("it was not tested") && !refused.remedy.is_empty(), "{refused}");
    let ran = ground.run(&none, "echo free", Mode::Full).await;
    assert_eq!((ran.end, ran.out.as_str()), (RunEnd::Exited(0), "free\n"));
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let mut empty = ground.spec("true", Mode::Write);
    empty.argv.clear();
    let mut missing = ground.spec("true", Mode::Write);
    missing.cwd = ground.root().join("missing");
    let mut unseen = ground.spec("true", Mode::Write);
    unseen.cwd = ground.root().join("home/.ssh");
    let nul = ground.spec("a\0b", Mode::Write);
    for (spec, word) in [(empty, "empty"), (missing, "missing"), (unseen, "cannot be seen"), (nul, "NUL")] {
        let refused = sandbox::start(&wall, spec).err().unwrap();
        assert!(refused.why.contains(word) && !refused.remedy.is_empty(), "{refused}");
    }
}

/// The helper's own libraries must not come from the workspace: it stands outside of the walls when it loads.
#[tokio::test]
async fn a_library_of_the_workspace_stays_out_of_the_helper() {
    let ground = Ground::new();
    for name in ["libc.so.6", "libgcc_s.so.1"] {
        std::fs::write(ground.work.join(name), "no library").unwrap();
    }
    for (wall, mode) in ways().await {
        let mut spec = ground.spec("", mode);
        let path = ground.work.display().to_string();
        spec.env.retain(|(name, _)| name != "LD_LIBRARY_PATH");
        spec.env.push(("LD_LIBRARY_PATH".into(), path.clone()));
        spec.argv = vec!["env".into()];
        // The command itself is given it, and fails by it: so the loader names the command.
        let ran = finish(sandbox::start(&wall, spec).unwrap()).await;
        assert!(
            ran.err.starts_with("env: ") && ran.err.contains(&path),
            "{mode:?} {:?} {}",
            ran.end,
            ran.err
        );
    }
}
