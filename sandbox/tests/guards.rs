//! What is left behind, and what commands find of the places that need care.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

mod ground;

use ground::{Ground, Mode, picture};
use sandbox::Level;

#[tokio::test]
async fn no_litter() {
    for level in [Level::Full, Level::Landlock] {
        let Some(wall) = ground::wall(level).await else { continue };
        let ground = Ground::new();
        let before = picture(&ground.work);
        for mode in [Mode::ReadOnly, Mode::Write, Mode::WriteOnline] {
            let ran = ground.run(&wall, "echo 1 > $TMPDIR/x; echo $TMPDIR", mode).await;
            assert!(ran.succeeded(), "{}", ran.err);
            let temp = std::path::PathBuf::from(ran.out.trim());
            assert!(temp == std::path::Path::new("/tmp") || !temp.exists(), "{}", temp.display());
        }
        assert_eq!(before, picture(&ground.work), "{level}");
        assert!(!std::path::Path::new("/tmp/x").exists());
    }
}

#[tokio::test]
async fn new_hooks_are_found_after_the_command() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    let before = sandbox::Guarded::look(std::slice::from_ref(&ground.work));
    let line = "git init -q sub && mkdir -p sub/.git/hooks .claude && echo x > sub/.git/hooks/pre-commit";
    let ran = ground.run(&wall, line, Mode::Write).await;
    assert!(ran.succeeded(), "{}", ran.err);
    let new: Vec<_> = before.again().1.into_iter().map(|added| added.path).collect();
    for name in ["sub/.git/hooks", "sub/.git/config", ".claude"] {
        assert!(new.contains(&ground.work.join(name)), "{name}: {new:?}");
    }
}

/// Git itself must go on working between pinned folders.
#[tokio::test]
async fn a_repository_can_be_worked_with() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    let line = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
        GIT_COMMITTER_EMAIL=a@b; git add f a/f && git commit -qm one; git checkout -qb side; echo 2 > f; \
        git commit -qam two; git mv f g; git commit -qm three; git checkout -q -; git merge -q side; \
        git stash list; git gc -q; git tag t; git log --oneline | wc -l; git status --porcelain -uno";
    let ran = ground.run(&wall, line, Mode::Write).await;
    assert_eq!((ran.out.as_str(), ran.succeeded()), ("3\n", true), "{}", ran.err);
}

#[tokio::test]
async fn whole_places_as_roots() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    for (root, line) in [
        ("/", "echo 1 > $O/new && ! test -d /proc/$V && ! $P tcp $TCP && ! grep -q key $HOME/.ssh/id"),
        ("/tmp", "! echo 1 > $O/other"),
    ] {
        let mut spec = ground.spec(line, Mode::Write);
        spec.policy.roots = vec![root.into()];
        let ran = ground::finish(sandbox::start(&wall, spec).unwrap()).await;
        assert!(ran.succeeded(), "{root}: {:?} {}", ran.end, ran.err);
    }
    assert!(ground.outside().join("new").exists());
}

#[tokio::test]
async fn names_that_are_hard_to_write() {
    for level in [Level::Full, Level::Landlock] {
        let Some(wall) = ground::wall(level).await else { continue };
        let ground = Ground::new();
        let folder = ground.root().join("a b\"c'd$e\nf\u{e9}");
        std::fs::create_dir_all(folder.join(".git/hooks")).unwrap();
        let mut spec = ground.spec("echo 1 > x && ! echo 1 > $O/x", Mode::Write);
        spec.policy.guarded = sandbox::Guarded::look(std::slice::from_ref(&folder)).paths;
        spec.policy.roots = vec![folder.clone()];
        spec.cwd = folder.clone();
        let ran = ground::finish(sandbox::start(&wall, spec).unwrap()).await;
        assert!(ran.succeeded(), "{level}: {:?} {}", ran.end, ran.err);
        assert!(folder.join("x").exists());
    }
}

/// What is guarded may be gone before bubblewrap looks.
#[tokio::test]
async fn a_hook_that_goes_away_does_not_stop_the_command() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    for _ in 0..5 {
        let hooks = ground.work.join("short/.git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        let running = sandbox::start(&wall, ground.spec("echo once", Mode::Write)).unwrap();
        std::fs::remove_dir_all(ground.work.join("short")).unwrap();
        let ran = ground::finish(running).await;
        assert_eq!((ran.succeeded(), ran.out.as_str()), (true, "once\n"), "{}", ran.err);
    }
}

/// Programs that start others in unusual ways.
#[tokio::test]
async fn tracers_and_workers_run() {
    let Some(wall) = ground::wall(Level::Full).await else { return };
    let ground = Ground::new();
    let pool = "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'";
    let tools = [("strace", "strace -o /dev/null true"), ("python3", pool)];
    for (tool, line) in tools {
        if !ground.run(&wall, &format!("command -v {tool}"), Mode::Write).await.succeeded() {
            assert!(std::env::var_os("TESTS_LEAVE_NOTHING_OUT").is_none(), "{tool} is not installed");
            eprintln!("skipped: {tool} is not installed");
            continue;
        }
        let ran = ground.run(&wall, line, Mode::Write).await;
        assert!(ran.succeeded(), "{tool}: {:?} {}", ran.end, ran.err);
    }
}
