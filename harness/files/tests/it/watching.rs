//! What commands change.

use files::Watch;
use protocol::FileKind;

use crate::folder::Folder;

fn watched(folder: &Folder) -> Watch {
    let mut watch = Watch::new(vec![folder.path("")]);
    watch.before();
    watch
}

/// Name, kind, lines added and removed, what is not shown.
fn told(watch: &mut Watch) -> Vec<(String, FileKind, (usize, usize), Option<String>)> {
    let edits = watch.after();
    let name = |edit: &files::FileEdit| edit.place.real.file_name().unwrap().to_str().unwrap().to_string();
    edits
        .iter()
        .map(|edit| (name(edit), edit.diff.kind.clone(), edit.diff.counts(), edit.diff.cut.clone()))
        .collect()
}

#[test]
fn changes_of_a_command() {
    let folder = Folder::of(&[
        (".gitignore", "skip\n"),
        ("same", "1\n"),
        ("changed", "1\n"),
        ("gone", "1\n"),
        ("mode", "1\n"),
    ]);
    let mut watch = watched(&folder);
    folder.put("changed", b"2\n");
    folder.put("new", b"1\n");
    folder.put("skip", b"1\n");
    folder.put("same", b"1\n");
    folder.set_mode("mode", 0o755);
    std::fs::remove_file(folder.path("gone")).unwrap();
    let old = if cfg!(unix) { "mode 644 became 755" } else { "" };
    assert_eq!(
        told(&mut watch),
        [
            ("changed".to_string(), FileKind::Update, (1, 1), None),
            ("gone".to_string(), FileKind::Delete, (0, 1), None),
            ("mode".to_string(), FileKind::Update, (0, 0), Some(old.to_string())),
            ("new".to_string(), FileKind::Add, (1, 0), None),
        ]
    );
    watch.before();
    assert!(watch.after().is_empty());
}

#[test]
fn a_change_within_the_same_tick_and_size_is_seen() {
    let folder = Folder::of(&[("f", "0\n")]);
    let mut watch = watched(&folder);
    for round in 1..20 {
        folder.put("f", format!("{}\n", round % 10).as_bytes());
        assert_eq!(told(&mut watch).len(), 1, "round {round}");
        watch.before();
    }
}

#[test]
fn an_edit_between_commands_is_not_the_commands() {
    let folder = Folder::of(&[("f", "1\n")]);
    let mut watch = watched(&folder);
    assert!(watch.after().is_empty());
    folder.put("f", b"2\n");
    watch.before();
    assert!(watch.after().is_empty());
}

#[test]
fn large_and_binary_files_are_told_without_hunks() {
    let large = vec![b'x'; 2 * 1024 * 1024];
    let folder = Folder::new(&[("binary", b"\0a"), ("large", &large)]);
    let mut watch = watched(&folder);
    folder.put("binary", b"\0b");
    folder.put("large", b"small\n");
    folder.put("new-large", &large);
    let edits = watch.after();
    assert_eq!(edits.len(), 3);
    for edit in &edits {
        assert!(edit.diff.hunks.is_empty() && edit.diff.cut.is_some(), "{:?}", edit.diff);
        // What was not kept cannot be taken back, and is not taken away either.
        let now = std::fs::read(&edit.place.real).ok();
        assert_eq!(files::undo(edit, now.as_deref()).unwrap_err(), files::Overlap, "{:?}", edit.diff.path);
    }
}

#[test]
fn a_change_of_a_command_can_be_taken_back() {
    let folder = Folder::of(&[("changed", "1\n"), ("gone", "1\n")]);
    let before = folder.tree();
    let mut watch = watched(&folder);
    folder.put("changed", b"2\n");
    folder.put("new", b"1\n");
    std::fs::remove_file(folder.path("gone")).unwrap();
    let back: Vec<_> = watch
        .after()
        .iter()
        .map(|edit| files::undo(edit, std::fs::read(&edit.place.real).ok().as_deref()).unwrap())
        .collect();
    files::commit(&back).unwrap();
    assert_eq!(folder.tree(), before);
}

#[test]
fn many_changes_are_told_briefly() {
    let folder = Folder::of(&[]);
    let mut watch = watched(&folder);
    for n in 0..300 {
        folder.put(&format!("f{n:03}"), b"1\n");
    }
    let told = told(&mut watch);
    let compared = told.iter().filter(|(.., cut)| cut.is_none()).count();
    assert_eq!((told.len(), compared), (300, 200));
}

/// What looks cost in a large repository, on the clock and of the processors; run by name.
#[test]
#[ignore = "makes 50,000 files"]
fn a_large_repository() {
    let folder = Folder::of(&[]);
    for n in 0..50_000 {
        let text = format!("fn f{n}() {{}}\n").repeat(40);
        folder.put(&format!("d{}/e{}/f{n}.rs", n % 50, n % 7), text.as_bytes());
    }
    let mut watch = Watch::new(vec![folder.path("")]);
    for round in 0..12 {
        let (before, ()) = cost(|| watch.before());
        folder.put("d1/e1/f1.rs", format!("{round}\n").as_bytes());
        let (after, told) = cost(|| watch.after());
        eprintln!("before {before}, after {after}, told {:?}", told[0].diff.cut);
    }
}

fn cost<T>(run: impl FnOnce() -> T) -> (String, T) {
    let (started, spent) = (std::time::Instant::now(), processor_ms());
    let made = run();
    (format!("{:?} ({} ms of processors)", started.elapsed(), processor_ms() - spent), made)
}

/// Time that this process had processors, in units of 10 ms.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}
