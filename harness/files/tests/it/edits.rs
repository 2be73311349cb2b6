//! The reported failures of edits (E01 to E25), each with neighbours.

use protocol::{Action, EditFailure, EditRule, FilePath, Hits, IoWhy, MatchBy, Outcome, Swap};

use crate::folder::{Folder, RULE};

fn why(outcome: Outcome) -> EditFailure {
    match outcome {
        Outcome::EditFailed { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

/// E01, E04, E05, E23: bytes before, edit, bytes after.
#[test]
fn bytes_that_are_not_touched_stay() {
    type Case = (&'static str, &'static [u8], &'static str, &'static str, &'static [u8]);
    let cases: &[Case] = &[
        (
            "CRLF",
            b"def f():\r\n    x = 1\r\n    return x\r\n",
            "    x = 1\n    return x",
            "    x = 2\n    y = 3\n    return x",
            b"def f():\r\n    x = 2\r\n    y = 3\r\n    return x\r\n",
        ),
        ("mark", b"\xef\xbb\xbfv = 1;\n", "v = 1;", "v = 2;", b"\xef\xbb\xbfv = 2;\n"),
        (
            "single bytes",
            b"// \xa9 \xfc \x99\nreturn 0;\n",
            "return 0;",
            "return 1;",
            b"// \xa9 \xfc \x99\nreturn 1;\n",
        ),
        ("letters of it", b"a \xfc\n", "a ü", "b ü é", b"b \xfc \xe9\n"),
        ("stray bytes", "naïve é\n".as_bytes(), "naïve", "naive", "naive é\n".as_bytes()),
        ("no final newline", b"one\nlast", "last", "LAST", b"one\nLAST"),
        ("final newline", b"one\nlast\n", "last", "LAST", b"one\nLAST\n"),
        ("UTF-16", b"\xff\xfea\0\r\0\n\0b\0", "b", "c", b"\xff\xfea\0\r\0\n\0c\0"),
        ("old Macintosh", b"a\rb\rc\r", "b\nc", "B\nC\nD", b"a\rB\rC\rD\r"),
    ];
    for (name, before, old, new, after) in cases {
        let folder = Folder::new(&[("f", before)]);
        folder.edit("f", old, new).unwrap();
        assert_eq!(folder.bytes("f"), *after, "{name}");
    }
}

#[test]
fn what_the_encoding_cannot_hold_is_refused() {
    let folder = Folder::new(&[("f", b"\xa9 a\n")]);
    let outcome = folder.edit("f", "a", "漢").unwrap_err();
    assert!(outcome.text().contains("encoding has no '漢' (it is Windows-1252)"), "{}", outcome.text());
    assert_eq!(folder.bytes("f"), b"\xa9 a\n");
}

/// E08: an empty old text never touches what is there.
#[test]
fn nothing_to_replace() {
    let folder = Folder::of(&[("big.txt", "1\n2\n3\n"), ("empty.txt", "")]);
    for hits in [Hits::One, Hits::All] {
        let swaps = vec![Swap { old: String::new(), new: "X".into(), hits }];
        let action = Action::Edit { path: FilePath("big.txt".into()), swaps, rule: RULE };
        assert_eq!(why(folder.read("big.txt").run(&action).unwrap_err()), EditFailure::EmptyOld);
    }
    folder.edit("empty.txt", "", "now filled\n").unwrap();
    folder.edit("new.txt", "", "made\n").unwrap();
    let texts = ["big.txt", "empty.txt", "new.txt"].map(|name| folder.text(name));
    assert_eq!(texts, ["1\n2\n3\n", "now filled\n", "made\n"]);
    assert_eq!(why(folder.edit("none.txt", "a", "b").unwrap_err()), EditFailure::Gone);
}

/// E09, E10: an exact place wins, and quotes are written as they are given.
#[test]
fn quotes() {
    let folder = Folder::of(&[
        ("m.py", "a = \"hello\"\nb = “hello”\n"),
        ("d.py", "x = 1\nx = 1\n"),
        ("q.txt", "'%s'\n"),
    ]);
    folder.edit("m.py", "\"hello\"", "\"world\"").unwrap();
    assert_eq!(folder.text("m.py"), "a = \"world\"\nb = “hello”\n");
    assert!(matches!(why(folder.edit("d.py", "x = 1", "x = 2").unwrap_err()), EditFailure::Ambiguous { .. }));
    folder.edit("q.txt", "'%s'", "‘%s’").unwrap();
    folder.write("w.txt", "l’apostrophe “double” ‘single’\n").unwrap();
    assert_eq!(
        (folder.text("q.txt").as_str(), folder.text("w.txt").as_str()),
        ("‘%s’\n", "l’apostrophe “double” ‘single’\n")
    );
}

/// E21, and who may write over what.
#[test]
fn what_the_model_does_not_know_is_not_written_over() {
    let folder =
        Folder::of(&[("n.txt", "model saw this\nand this\n"), ("other.txt", "x\n"), ("empty.txt", "")]);
    assert_eq!(why(folder.write("other.txt", "y\n").unwrap_err()), EditFailure::NotRead);
    folder.write("empty.txt", "y\n").unwrap();
    folder.read("n.txt");
    folder.put("n.txt", b"model saw this\nand this\nuser line\n");
    assert_eq!(why(folder.write("n.txt", "mine\n").unwrap_err()), EditFailure::Stale);
    folder.edit("n.txt", "model saw this", "MODEL SAW THIS").unwrap();
    assert_eq!(folder.text("n.txt"), "MODEL SAW THIS\nand this\nuser line\n");
    // What was written is known.
    folder.write("n.txt", "whole\n").unwrap();
    assert_eq!(folder.text("n.txt"), "whole\n");
    assert_eq!(why(folder.write("n.txt", "whole\n").unwrap_err()), EditFailure::NoChange);
}

#[test]
fn a_part_is_not_the_whole() {
    let folder = Folder::of(&[("f", "1\n2\n3\n"), ("g", "1\n")]);
    let partly = |outcome: Outcome| assert_eq!(why(outcome), EditFailure::PartlyRead { unseen: 2 });
    folder.read_part("f", 2);
    partly(folder.write("f", "mine\n").unwrap_err());
    partly(folder.patch("*** Begin Patch\n*** Add File: f\n+mine\n*** End Patch").unwrap_err());
    let over = "*** Begin Patch\n*** Update File: g\n*** Move to: f\n*** End Patch";
    partly(folder.read("g").patch(over).unwrap_err());
    folder.edit("f", "1\n", "one\n").unwrap();
    assert_eq!(folder.text("f"), "one\n2\n3\n");
}

#[test]
fn a_rule_may_ask_for_reading_before_an_edit() {
    let folder = Folder::of(&[("f", "a\n")]);
    let rule = EditRule { must_be_read: true, match_by: MatchBy::Exact };
    let swaps = vec![Swap { old: "a".into(), new: "b".into(), hits: Hits::One }];
    let action = Action::Edit { path: FilePath("f".into()), swaps, rule };
    assert_eq!(why(folder.run(&action).unwrap_err()), EditFailure::NotRead);
    folder.read("f").run(&action).unwrap();
    assert_eq!(folder.text("f"), "b\n");
}

#[test]
fn several_swaps_see_each_what_the_one_before_left() {
    let folder = Folder::of(&[("f", "a b\n")]);
    let swap = |old: &str, new: &str, hits| Swap { old: old.into(), new: new.into(), hits };
    let run = |swaps: Vec<Swap>| folder.run(&Action::Edit { path: FilePath("f".into()), swaps, rule: RULE });
    folder.read("f");
    let planned = run(vec![swap("a", "b", Hits::One), swap("b", "c", Hits::All)]).unwrap();
    assert_eq!((folder.text("f").as_str(), planned.replaced), ("c c\n", 3));
    assert!(run(vec![swap("c c", "d", Hits::One), swap("gone", "e", Hits::One)]).is_err());
    assert_eq!(folder.text("f"), "c c\n");
    assert_eq!(
        why(run(vec![swap("c c", "d", Hits::One), swap("d", "c c", Hits::One)]).unwrap_err()),
        EditFailure::NoChange
    );
}

#[test]
fn binary_files_are_left_alone() {
    let folder = Folder::new(&[("f", b"a\0b")]);
    assert_eq!(why(folder.edit("f", "a", "b").unwrap_err()), EditFailure::NotText);
    assert_eq!(why(folder.read("f").write("f", "text").unwrap_err()), EditFailure::NotText);
    assert_eq!(folder.bytes("f"), b"a\0b");
}

/// E18, E27: through links, and through a name that only looks the same.
#[test]
fn names_and_links() {
    let folder = Folder::of(&[("real/AGENTS.md", "one\n"), ("Shot 9.22\u{202f}PM.txt", "x\n")]);
    folder.link("real/AGENTS.md", "link.md");
    folder.link("link.md", "chain.md");
    folder.edit("link.md", "one", "ONE").unwrap();
    folder.read("chain.md").write("chain.md", "ONE\nTWO\n").unwrap();
    folder.edit("Shot 9.22 PM.txt", "x", "y").unwrap();
    let tree = folder.tree();
    assert_eq!((tree["link.md"].as_str(), tree["chain.md"].as_str()), ("-> real/AGENTS.md", "-> link.md"));
    assert_eq!(
        (tree["real/AGENTS.md"].as_str(), tree["Shot 9.22\u{202f}PM.txt"].as_str(), tree.len()),
        ("ONE\nTWO\n", "y\n", 4)
    );
}

#[test]
fn only_edits_can_be_planned() {
    let outcome = Folder::of(&[]).plan(&Action::Stop { task: protocol::TaskId(1) }).unwrap_err();
    assert!(matches!(outcome, Outcome::Failed { why: IoWhy::Internal, .. }));
}
