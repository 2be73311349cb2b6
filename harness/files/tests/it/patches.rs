//! The measured cases of Codex 0.171's patches, without its faults, and neighbours of them.

use protocol::{EditFailure, FileKind, Outcome};

use crate::folder::Folder;

/// Files by name; text that begins with `-> ` is a link.
type Files = &'static [(&'static str, &'static str)];

enum Want {
    /// The files afterwards.
    Files(Files),
    /// Refused with these words, and no file is different.
    Refused(&'static str),
}
use Want::{Files as After, Refused};

const ABC: Files = &[("a.txt", "one\ntwo\nthree\n")];
const TWO: Files = &[("a.txt", "one\nTWO\nthree\n")];

/// Number, what it shows, files before, patch without its outer lines (or whole, if it begins with `!`), result.
#[rustfmt::skip]
const CASES: &[(u32, &str, Files, &str, Want)] = &[
    (1, "simple update", ABC, "*** Update File: a.txt\n@@\n one\n-two\n+TWO\n", After(TWO)),
    (2, "CRLF file, LF patch", &[("a.txt", "one\r\ntwo\r\nthree\r\n")], "*** Update File: a.txt\n@@\n-two\n+TWO\n", After(&[("a.txt", "one\r\nTWO\r\nthree\r\n")])),
    (3, "LF file, CRLF patch", ABC, "!*** Begin Patch\r\n*** Update File: a.txt\r\n@@\r\n one\r\n-two\r\n+TWO\r\n*** End Patch\r\n", After(TWO)),
    (4, "mixed line ends", &[("a.txt", "one\r\ntwo\nthree\r\n")], "*** Update File: a.txt\n@@\n two\n-three\n+THREE\n", After(&[("a.txt", "one\r\ntwo\nTHREE\r\n")])),
    (5, "no final newline, last line: kept so", &[("a.txt", "one\ntwo")], "*** Update File: a.txt\n@@\n-two\n+TWO\n", After(&[("a.txt", "one\nTWO")])),
    (6, "no final newline, first line", &[("a.txt", "one\ntwo")], "*** Update File: a.txt\n@@\n-one\n+ONE\n", After(&[("a.txt", "ONE\ntwo")])),
    (7, "add over a file never read: refused", ABC, "*** Add File: a.txt\n+new\n", Refused("exists already")),
    (8, "add with folders", &[], "*** Add File: x/y/z.txt\n+new\n", After(&[("x/y/z.txt", "new\n")])),
    (9, "add an empty file", &[], "*** Add File: e.txt\n", After(&[("e.txt", "")])),
    (10, "added line without +", &[], "*** Add File: a.txt\nhello\n", Refused("must begin with '+'")),
    (11, "delete", ABC, "*** Delete File: a.txt\n", After(&[])),
    (12, "delete what is not there", &[], "*** Delete File: a.txt\n", Refused("does not exist")),
    (13, "delete a folder", &[("d/x", "1\n")], "*** Delete File: d\n", Refused("folder")),
    (14, "update what is not there", &[], "*** Update File: a.txt\n@@\n-a\n+b\n", Refused("does not exist")),
    (15, "move alone", ABC, "*** Update File: a.txt\n*** Move to: d/b.txt\n", After(&[("d/b.txt", "one\ntwo\nthree\n")])),
    (16, "move and edit", ABC, "*** Update File: a.txt\n*** Move to: d/b.txt\n@@\n-two\n+TWO\n", After(&[("d/b.txt", "one\nTWO\nthree\n")])),
    (17, "move over a file never read: refused", &[("a.txt", "one\n"), ("b.txt", "old\n")], "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+1\n", Refused("exists already")),
    (18, "move onto itself: an update", ABC, "*** Update File: a.txt\n*** Move to: ./a.txt\n@@\n-two\n+TWO\n", After(TWO)),
    (19, "two chunks with the same lines", &[("a.txt", "x\ny\nx\ny\n")], "*** Update File: a.txt\n@@\n x\n-y\n+1\n@@\n x\n-y\n+2\n", After(&[("a.txt", "x\n1\nx\n2\n")])),
    (20, "chunks out of order", ABC, "*** Update File: a.txt\n@@\n-three\n+3\n@@\n-one\n+1\n", Refused("\"one\"")),
    (21, "anchor", &[("a.txt", "def f():\n  pass\ndef g():\n  pass\n")], "*** Update File: a.txt\n@@ def g():\n-  pass\n+  return 1\n", After(&[("a.txt", "def f():\n  pass\ndef g():\n  return 1\n")])),
    (22, "anchor not found", ABC, "*** Update File: a.txt\n@@ def nope():\n-two\n+TWO\n", Refused("\"def nope():\"")),
    (23, "nested anchors", &[("a.txt", "class A\n def f\n  pass\nclass B\n def f\n  pass\n")], "*** Update File: a.txt\n@@ class B\n@@  def f\n-  pass\n+  go\n", After(&[("a.txt", "class A\n def f\n  pass\nclass B\n def f\n  go\n")])),
    (24, "unified diff header", ABC, "*** Update File: a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", After(TWO)),
    (25, "first chunk without @@", ABC, "*** Update File: a.txt\n one\n-two\n+TWO\n", After(TWO)),
    (26, "space at line ends of the file", &[("a.txt", "one  \ntwo\t\nthree\n")], "*** Update File: a.txt\n@@\n one\n-two\n+TWO\n", After(&[("a.txt", "one  \nTWO\nthree\n")])),
    (27, "other indentation", &[("a.txt", "    one\n    two\n")], "*** Update File: a.txt\n@@\n one\n-two\n+TWO\n", After(&[("a.txt", "    one\nTWO\n")])),
    (28, "dashes, quotes and spaces of the file", &[("a.txt", "a – b\n“q” it’s\nx\u{a0}y\n")], "*** Update File: a.txt\n@@\n a - b\n-\"q\" it's\n+Q\n x y\n", After(&[("a.txt", "a – b\nQ\nx\u{a0}y\n")])),
    (29, "accents apart", &[("a.txt", "cafe\u{301}\n")], "*** Update File: a.txt\n@@\n-caf\u{e9}\n+tea\n", After(&[("a.txt", "tea\n")])),
    (30, "end of file", &[("a.txt", "x\ny\nx\n")], "*** Update File: a.txt\n@@\n-x\n+END\n*** End of File\n", After(&[("a.txt", "x\ny\nEND\n")])),
    (31, "only new lines", ABC, "*** Update File: a.txt\n@@\n+four\n*** End of File\n", After(&[("a.txt", "one\ntwo\nthree\nfour\n")])),
    (32, "empty chunk", ABC, "*** Update File: a.txt\n@@\n", Refused("no lines")),
    (33, "empty update", ABC, "*** Update File: a.txt\n", Refused("no change")),
    (34, "empty patch", ABC, "", Refused("changes no file")),
    (35, "no end", ABC, "!*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n", Refused("last line must be '*** End Patch'")),
    (36, "no beginning", ABC, "!*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n", Refused("first line must be '*** Begin Patch'")),
    (37, "heredoc", ABC, "!<<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\nEOF\n", After(TWO)),
    (38, "Markdown fence", ABC, "!```patch\n*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n```\n", After(TWO)),
    (39, "blank lines around", ABC, "!\n\n*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n\n\n", After(TWO)),
    (40, "indented markers", ABC, "!  *** Begin Patch\n  *** Update File: a.txt\n@@\n-two\n+TWO\n  *** End Patch\n", After(TWO)),
    (41, "unknown section", ABC, "*** Rename File: a.txt\n", Refused("*** Add File:")),
    (42, "absolute path", ABC, "*** Update File: @/a.txt\n@@\n-two\n+TWO\n", After(TWO)),
    (44, "link to a file", &[("real.txt", "one\ntwo\n"), ("l.txt", "-> real.txt")], "*** Update File: l.txt\n@@\n-two\n+TWO\n", After(&[("l.txt", "-> real.txt"), ("real.txt", "one\nTWO\n")])),
    (45, "delete a link", &[("real.txt", "one\n"), ("l.txt", "-> real.txt")], "*** Delete File: l.txt\n", After(&[("real.txt", "one\n")])),
    (46, "the second of two fails: neither is done", ABC, "*** Add File: n.txt\n+x\n*** Update File: a.txt\n@@\n-nope\n+x\n", Refused("\"nope\"")),
    (47, "the same file twice", ABC, "*** Update File: a.txt\n@@\n-one\n+ONE\n*** Update File: a.txt\n@@\n-two\n+TWO\n", After(&[("a.txt", "ONE\nTWO\nthree\n")])),
    (48, "empty line as context", &[("a.txt", "one\n\nthree\n")], "*** Update File: a.txt\n@@\n one\n\n-three\n+3\n", After(&[("a.txt", "one\n\n3\n")])),
    (49, "context without its space", ABC, "*** Update File: a.txt\n@@\none\n-two\n+TWO\n", Refused("\"one\" must begin with ' '")),
    (51, "mark", &[("a.txt", "\u{feff}one\ntwo\n")], "*** Update File: a.txt\n@@\n-one\n+ONE\n", After(&[("a.txt", "\u{feff}ONE\ntwo\n")])),
    (53, "update an empty file", &[("a.txt", "")], "*** Update File: a.txt\n@@\n+hello\n", After(&[("a.txt", "hello\n")])),
    (54, "delete all lines", &[("a.txt", "one\n")], "*** Update File: a.txt\n@@\n-one\n", After(&[("a.txt", "")])),
    (55, "plain text", ABC, "*** Update File: a.txt\n@@\n-two\n+TWO\n", After(TWO)),
    (56, "environment", ABC, "*** Environment ID: x\n*** Update File: a.txt\n@@\n-two\n+TWO\n", After(TWO)),
    // Neighbours.
    (101, "JSON around", ABC, "!{\"input\": \"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-two\\n+TWO\\n*** End Patch\"}", After(TWO)),
    (102, "numbers choose among equals", &[("a.txt", "x\n1\nx\n2\nx\n")], "*** Update File: a.txt\n@@ -3,1 +3,1 @@ fn decoration\n-x\n+y\n", After(&[("a.txt", "x\n1\ny\n2\nx\n")])),
    (103, "new lines go below their anchor", ABC, "*** Update File: a.txt\n@@ one\n+1.5\n", After(&[("a.txt", "one\n1.5\ntwo\nthree\n")])),
    (104, "a forgiving match must be the only one", &[("a.txt", "x \ny\nx\t\n")], "*** Update File: a.txt\n@@\n-x\n+z\n", Refused("lines 1, 3")),
    (105, "add over an empty file", &[("a.txt", "")], "*** Add File: a.txt\n+new\n", After(&[("a.txt", "new\n")])),
    (106, "two files change places", &[("a", "1\n"), ("b", "2\n")], "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a\n*** Update File: t\n*** Move to: b\n", After(&[("a", "2\n"), ("b", "1\n")])),
    (107, "moved on", &[("a", "1\n")], "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c\n@@\n-1\n+2\n", After(&[("c", "2\n")])),
    (108, "moved, and another put in its place", &[("a", "1\n")], "*** Update File: a\n*** Move to: b\n*** Add File: a\n+new\n", After(&[("a", "new\n"), ("b", "1\n")])),
    (109, "moved, then deleted", &[("a", "1\n"), ("k", "k\n")], "*** Update File: a\n*** Move to: b\n*** Delete File: b\n", After(&[("k", "k\n")])),
    (110, "nothing different", ABC, "*** Update File: a.txt\n@@\n-two\n+two\n", Refused("changes nothing")),
    (111, "moved there and back", ABC, "*** Update File: a.txt\n*** Move to: b\n@@\n-two\n+TWO\n*** Update File: b\n*** Move to: a.txt\n", After(TWO)),
    (112, "a file makes way for a folder", &[("a", "1\n")], "*** Delete File: a\n*** Add File: b/c\n+2\n", After(&[("b/c", "2\n")])),
    (113, "stars behind the markers", ABC, "!*** Begin Patch ***\n*** Update File: a.txt ***\n@@\n-two\n+TWO\n*** End Patch ***", After(TWO)),
];

fn folder(files: Files) -> Folder {
    let folder = Folder::of(&[]);
    for (name, text) in files {
        match text.strip_prefix("-> ") {
            Some(target) => folder.link(target, name),
            None => folder.put(name, text.as_bytes()),
        }
    }
    folder
}

#[test]
fn cases() {
    for (number, name, before, patch, want) in CASES {
        let folder = folder(before);
        let text = match patch.strip_prefix('!') {
            Some(whole) => whole.to_string(),
            None => format!("*** Begin Patch\n{patch}*** End Patch\n"),
        };
        let text = text.replace("@/", &format!("{}/", folder.path("").display()));
        let made = folder.patch(&text);
        let tree: Vec<(String, String)> = folder.tree().into_iter().collect();
        let files = |files: Files| -> Vec<(String, String)> {
            let mut files: Vec<_> =
                files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
            files.sort();
            files
        };
        match (want, made) {
            (After(after), Ok(_)) => assert_eq!(tree, files(after), "{number} {name}"),
            (Refused(words), Err(outcome)) => {
                assert!(outcome.text().contains(words), "{number} {name}: {}", outcome.text());
                assert_eq!(tree, files(before), "{number} {name}");
            }
            (After(_), Err(outcome)) => panic!("{number} {name}: {}", outcome.text()),
            (Refused(_), Ok(planned)) => panic!("{number} {name}: {:?}", planned.edits),
        }
    }
}

#[test]
fn case_43_a_path_that_leads_out_is_told() {
    let folder = Folder::of(&[]);
    let files = files::patch::parse("*** Begin Patch\n*** Add File: ../esc.txt\n+x\n*** End Patch").unwrap();
    let planned = folder.plan(&protocol::Action::Patch { files, rule: crate::folder::RULE }).unwrap();
    assert!(!planned.edits[0].place.inside);
}

#[test]
fn case_50_bytes_that_are_not_utf8_stay() {
    let folder = Folder::new(&[("a.txt", b"one\xff\ntwo\n")]);
    folder.patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch").unwrap();
    assert_eq!(folder.bytes("a.txt"), b"one\xff\nTWO\n");
}

#[test]
fn case_52_the_mode_stays() {
    let folder = Folder::of(&[("a", "one\n"), ("b", "two\n")]);
    folder.set_mode("a", 0o755);
    folder.set_mode("b", 0o750);
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Update File: b\n*** Move to: c\n@@\n-two\n+2\n*** End Patch";
    folder.patch(patch).unwrap();
    assert_eq!((folder.text("a").as_str(), folder.mode("a")), ("1\n", 0o755));
    assert_eq!((folder.text("c").as_str(), folder.mode("c")), ("2\n", 0o750));
}

#[test]
fn over_a_file_that_was_read() {
    let folder = Folder::of(&[("a.txt", "one\r\ntwo\r\n"), ("b.txt", "old\n")]);
    let add = "*** Begin Patch\n*** Add File: a.txt\n+one\n+2\n*** End Patch";
    let planned = folder.read("a.txt").patch(add).unwrap();
    assert_eq!(folder.text("a.txt"), "one\r\n2\r\n");
    assert_eq!(
        (planned.edits[0].diff.kind.clone(), planned.edits[0].diff.counts()),
        (FileKind::Update, (1, 1))
    );
    let shift = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch";
    let planned = folder.read("b.txt").patch(shift).unwrap();
    assert_eq!(
        folder.tree().into_iter().collect::<Vec<_>>(),
        [("b.txt".to_string(), "one\r\n2\r\n".to_string())]
    );
    // Told as what it is: one file gone, another replaced; so that both can be taken back.
    let kinds: Vec<_> = planned.edits.iter().map(|edit| edit.diff.kind.clone()).collect();
    assert_eq!(kinds, [FileKind::Delete, FileKind::Update]);
}

#[test]
fn taken_away_and_added_anew_is_replaced() {
    let folder = Folder::of(&[("a.txt", "one\n")]);
    let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n+new\n*** End Patch";
    let exists = |outcome| matches!(outcome, Outcome::EditFailed { why: EditFailure::Exists, .. });
    assert!(exists(folder.patch(patch).unwrap_err()));
    assert_eq!(folder.text("a.txt"), "one\n");
    folder.read("a.txt").patch(patch).unwrap();
    assert_eq!(folder.text("a.txt"), "new\n");
}

#[test]
fn what_changed_since_it_was_read() {
    let folder = Folder::of(&[("a.txt", "one\ntwo\n"), ("gone.txt", "x\n")]);
    folder.read("a.txt").read("gone.txt");
    folder.put("a.txt", b"one\ntwo\nuser line\none\n");
    folder.put("gone.txt", b"x\nuser line\n");
    let stale = |outcome: Outcome| matches!(outcome, Outcome::EditFailed { why: EditFailure::Stale, .. });
    let refused =
        |body: &str| stale(folder.patch(&format!("*** Begin Patch\n{body}*** End Patch")).unwrap_err());
    assert!(refused("*** Add File: a.txt\n+new\n"));
    assert!(refused("*** Delete File: gone.txt\n"));
    assert!(refused("*** Update File: a.txt\n@@\n-one\n+1\n"));
    folder.patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch").unwrap();
    assert_eq!(folder.text("a.txt"), "one\n2\nuser line\none\n");
}
