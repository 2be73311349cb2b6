//! Searching, finding and listing.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use protocol::{Cap, FilePath, IoWhy, Outcome, Search, Want};

use crate::folder::Folder;

fn query(pattern: &str) -> Search {
    Search {
        pattern: pattern.into(),
        literal: false,
        root: None,
        include: vec![],
        ignore_case: false,
        multiline: false,
        ignored: false,
        around: (0, 0),
        want: Want::Lines,
        cap: Cap::default(),
    }
}

fn search(folder: &Folder, query: &Search) -> Outcome {
    files::search(query, &folder.roots, &[], &AtomicBool::new(false))
}

#[test]
fn hidden_places_are_not_looked_into_by_any_name() {
    let folder = Folder::of(&[("keys/id", "PRIVATE\n"), ("keys/sub/id", "PRIVATE\n"), ("open", "PRIVATE\n")]);
    folder.link("keys", "k");
    folder.link("keys/id", "l");
    let hidden = [folder.path("keys").canonicalize().unwrap()];
    for root in [".", "k", "l", "keys", "keys/sub", "k/id"] {
        let query = Search { root: Some(FilePath(root.into())), ..query("PRIVATE") };
        let outcome = files::search(&query, &folder.roots, &hidden, &AtomicBool::new(false));
        let Outcome::Found { files, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(files.len(), usize::from(root == "."), "{root}: {files:?}");
    }
}

/// `file:line:column:text` of each hit, context with `-`; what is more.
fn found(folder: &Folder, query: &Search) -> (Vec<String>, bool) {
    let Outcome::Found { files, more, .. } = search(folder, query) else { panic!("{query:?}") };
    let mut lines = Vec::new();
    for file in files {
        let name = name(folder, &file.path);
        if file.hits.is_empty() {
            lines.push(format!("{name}={}", file.count));
        }
        for hit in file.hits {
            let mark = if hit.context { '-' } else { ':' };
            lines.push(format!("{name}{mark}{}{mark}{}{mark}{}", hit.line, hit.column, hit.text));
        }
    }
    (lines, more)
}

fn name(folder: &Folder, path: &FilePath) -> String {
    path.as_path().strip_prefix(folder.path("")).unwrap().to_str().unwrap().to_string()
}

fn sample() -> Folder {
    Folder::new(&[
        (".gitignore", b"skip\n*.log\n"),
        (".hidden/h.txt", b"needle hidden\n"),
        (".git/config", b"needle\n"),
        ("a.rs", b"one\ntwo needle\nthree\nneedle needle\n"),
        ("b.txt", b"Needle\r\nend needle\r\n"),
        ("bin", b"needle\0"),
        ("latin", b"\xfcber needle\n"),
        ("skip/s.rs", b"needle\n"),
        ("x.log", b"needle\n"),
    ])
}

#[test]
fn lines() {
    let folder = sample();
    let all = [
        ".hidden/h.txt:1:1:needle hidden",
        "a.rs:2:5:two needle",
        "a.rs:4:1:needle needle",
        "b.txt:2:5:end needle",
        "latin:1:6:über needle",
    ];
    assert_eq!(found(&folder, &query("needle")), (all.map(String::from).to_vec(), false));
    let with = |change: &dyn Fn(&mut Search)| {
        let mut query = query("needle");
        change(&mut query);
        found(&folder, &query).0
    };
    assert_eq!(with(&|query| query.root = Some(FilePath("a.rs".into()))), all[1..3]);
    assert_eq!(with(&|query| query.include = vec!["*.rs".into()]), all[1..3]);
    assert_eq!(with(&|query| query.include = vec!["*.{rs,txt}".into(), "!.hidden/**".into()]), all[1..4]);
    let ends = [all[1], "a.rs:4:8:needle needle", all[3], all[4]];
    assert_eq!(with(&|query| query.pattern = "needle$".into()), ends);
    assert_eq!(with(&|query| query.ignore_case = true).len(), 6);
    assert_eq!(with(&|query| query.ignored = true).len(), 7);
}

#[test]
fn context_counts_and_files() {
    let folder = Folder::of(&[("a", "1\nx\n3\n4\n5\nx\n"), ("b", "x\nx\n")]);
    let mut query = query("x");
    query.around = (1, 1);
    query.root = Some(FilePath("a".into()));
    assert_eq!(found(&folder, &query).0, ["a-1-1-1", "a:2:1:x", "a-3-1-3", "a-5-1-5", "a:6:1:x"]);
    query.root = None;
    query.want = Want::Counts;
    assert_eq!(found(&folder, &query).0, ["a=2", "b=2"]);
    query.want = Want::Files;
    assert_eq!(found(&folder, &query).0, ["a=1", "b=1"]);
}

#[test]
fn caps_are_kept_and_said() {
    let folder = Folder::of(&[("a", "x\nx\n"), ("b", "x\n"), ("c", "y\n")]);
    let capped = |want, lines, bytes| {
        let (lines, more) = found(&folder, &Search { want, cap: Cap { lines, bytes }, ..query("x") });
        (lines.len(), more)
    };
    for (lines, told) in [(1, (1, true)), (2, (2, true)), (3, (3, false)), (9, (3, false))] {
        assert_eq!(capped(Want::Lines, Some(lines), None), told, "{lines} lines");
    }
    for want in [Want::Files, Want::Counts] {
        assert_eq!(capped(want, Some(1), None), (1, true));
        assert_eq!(capped(want, Some(2), None), (2, false));
    }
    assert_eq!(capped(Want::Lines, None, Some(20)), (0, true));
}

#[test]
fn literals_and_several_lines() {
    let folder = Folder::of(&[("a", "f(x)\nfn one() {\n}\n")]);
    let mut text = query("f(x)");
    text.literal = true;
    assert_eq!(found(&folder, &text).0, ["a:1:1:f(x)"]);
    let mut several = query(r"one\(\) \{\n\}");
    assert!(matches!(search(&folder, &several), Outcome::BadInput(_)));
    several.multiline = true;
    assert_eq!(found(&folder, &several).0.len(), 2);
}

/// E29: of a long line, what stands around the match.
#[test]
fn a_long_line() {
    let line = format!("{}needle{}", "a".repeat(500_000), "é".repeat(250_000));
    let folder = Folder::of(&[("min.js", &line)]);
    let (lines, _) = found(&folder, &query("needle"));
    assert!(
        lines[0].len() < 600 && lines[0].contains("aaneedleé") && lines[0].contains("[499800 bytes]"),
        "{}",
        lines[0]
    );
}

#[test]
fn bad_input_is_explained() {
    let folder = sample();
    for (query, want) in [
        (query("(ne"), "unclosed group"),
        (Search { include: vec!["[".into()], ..query("x") }, "glob"),
        (Search { root: Some(FilePath("nowhere".into())), ..query("x") }, "no such file or folder"),
    ] {
        let outcome = search(&folder, &query);
        assert!(outcome.text().contains(want), "{}", outcome.text());
    }
}

#[test]
fn a_link_that_is_named_is_followed() {
    let folder = Folder::of(&[("real/a", "x\n")]);
    folder.link("real", "folder");
    folder.link("real/a", "file");
    for (root, hit) in [("folder", "folder/a:1:1:x"), ("file", "file:1:1:x")] {
        assert_eq!(found(&folder, &Search { root: Some(FilePath(root.into())), ..query("x") }).0, [hit]);
    }
    assert_eq!(found(&folder, &query("x")).0, ["real/a:1:1:x"]);
}

fn listed(folder: &Folder, outcome: Outcome) -> (Vec<String>, u64, u64) {
    let Outcome::Listed { paths, total, ignored, .. } = outcome else { panic!("{outcome:?}") };
    let name = |info: &protocol::PathInfo| name(folder, &info.path) + if info.folder { "/" } else { "" };
    (paths.iter().map(name).collect(), total, ignored)
}

#[test]
fn finding_files() {
    let folder = sample();
    let now = SystemTime::now();
    for (age, name) in [(3, "a.rs"), (1, "b.txt"), (2, ".hidden/h.txt")] {
        let file = std::fs::File::options().write(true).open(folder.path(name)).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let find = |glob: &str, ignored, lines| {
        let cap = Cap { lines, bytes: None };
        listed(&folder, files::find(glob, None, ignored, cap, &folder.roots, &AtomicBool::new(false)))
    };
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(find("*.{rs,txt}", false, None), (names(&["b.txt", ".hidden/h.txt", "a.rs"]), 3, 0));
    assert_eq!(find("*.{rs,txt}", false, Some(1)), (names(&["b.txt"]), 3, 0));
    assert_eq!(find("skip/*.rs", false, None), (vec![], 0, 1));
    assert_eq!(find("skip/*.rs", true, None), (names(&["skip/s.rs"]), 1, 0));
    assert_eq!(find(&folder.path("*.rs").display().to_string(), false, None).1, 1);
    let stopped = files::find("*", None, false, Cap::default(), &folder.roots, &AtomicBool::new(true));
    assert_eq!(listed(&folder, stopped).1, 0);
}

#[test]
fn listing_folders() {
    let folder = sample();
    let list = |path: &str, depth, ignored| {
        files::list(
            &FilePath(path.into()),
            depth,
            ignored,
            Cap::default(),
            &folder.roots,
            &AtomicBool::new(false),
        )
    };
    let top = [".gitignore", ".hidden/", "a.rs", "b.txt", "bin", "latin"].map(String::from).to_vec();
    assert_eq!(listed(&folder, list(".", 1, false)), (top.clone(), 6, 2));
    let (deep, ..) = listed(&folder, list(".", 2, false));
    assert_eq!((deep[2].as_str(), deep.len()), (".hidden/h.txt", 7));
    assert_eq!(listed(&folder, list(".", 1, true)).1, 8);
    for (path, why) in [("a.rs", IoWhy::NotAFile), ("nowhere", IoWhy::NotFound)] {
        assert!(matches!(list(path, 1, false), Outcome::Failed { why: told, .. } if told == why));
    }
}
