//! Writing to the disk: all or nothing, and nothing of a file lost but its bytes.

use std::fs;
use std::os::unix::fs::MetadataExt;

use files::Planned;
use protocol::{Action, EditFailure, IoWhy, Outcome};

use crate::folder::{Folder, RULE};

fn planned(folder: &Folder, body: &str) -> Planned {
    let files = files::patch::parse(&format!("*** Begin Patch\n{body}*** End Patch")).unwrap();
    folder.plan(&Action::Patch { files, rule: RULE }).unwrap()
}

fn refused(folder: &Folder, planned: &Planned) -> Outcome {
    let before = folder.tree();
    let outcome = files::commit(&planned.edits).unwrap_err();
    assert_eq!(folder.tree(), before, "{outcome:?}");
    outcome
}

const TWO: &str = "*** Update File: a\n@@\n-1\n+one\n*** Update File: b\n@@\n-2\n+two\n";

#[test]
fn a_file_that_changed_meanwhile_stops_all() {
    let folder = Folder::of(&[("a", "1\n"), ("b", "2\n")]);
    let plan = planned(&folder, TWO);
    folder.put("b", b"2\nuser line\n");
    assert!(
        matches!(refused(&folder, &plan), Outcome::EditFailed { why: EditFailure::Stale, path } if path.0.ends_with("/b"))
    );
    fs::remove_file(folder.path("b")).unwrap();
    assert!(matches!(refused(&folder, &plan), Outcome::EditFailed { why: EditFailure::Stale, .. }));
    folder.put("b", b"2\n");
    files::commit(&plan.edits).unwrap();
    assert_eq!((folder.text("a").as_str(), folder.text("b").as_str()), ("one\n", "two\n"));
}

#[test]
fn a_file_that_came_meanwhile_stops_all() {
    let folder = Folder::of(&[("a", "1\n")]);
    let added = planned(&folder, "*** Update File: a\n@@\n-1\n+one\n*** Add File: new\n+mine\n");
    let moved = planned(&folder, "*** Update File: a\n*** Move to: new\n");
    folder.put("new", b"theirs\n");
    assert!(matches!(refused(&folder, &added), Outcome::EditFailed { why: EditFailure::Stale, .. }));
    assert!(matches!(refused(&folder, &moved), Outcome::EditFailed { why: EditFailure::Exists, .. }));
}

#[test]
fn what_fails_midway_is_put_back() {
    let folder = Folder::of(&[("a", "1\n"), ("gone", "x\n"), ("moved", "m\n"), ("blocked", "")]);
    for (name, mode) in [("a", 0o640), ("gone", 0o755), ("moved", 0o700)] {
        folder.set_mode(name, mode);
    }
    // The folder of the last file cannot be made: a file has its name.
    let mut plan = planned(
        &folder,
        "*** Update File: a\n@@\n-1\n+one\n*** Delete File: gone\n*** Update File: moved\n*** Move to: d/e/there\n\
         *** Add File: deep/er/new\n+n\n*** Add File: last\n+n\n",
    );
    plan.edits.last_mut().unwrap().place.real = folder.path("blocked/last");
    assert!(matches!(refused(&folder, &plan), Outcome::Failed { why: IoWhy::NotAFile, .. }));
    assert_eq!(["a", "gone", "moved"].map(|name| folder.mode(name)), [0o640, 0o755, 0o700]);
    assert!(!folder.path("d").exists() && !folder.path("deep").exists());
}

/// E19, E25.
#[test]
fn modes() {
    let folder = Folder::of(&[("run.sh", "echo 1\n"), ("sec.env", "K=1\n"), ("lock.txt", "ro\n")]);
    for (name, mode) in [("run.sh", 0o755), ("sec.env", 0o600), ("lock.txt", 0o444)] {
        folder.set_mode(name, mode);
    }
    folder.edit("run.sh", "echo 1", "echo 2").unwrap();
    folder.read("sec.env").write("sec.env", "K=2\n").unwrap();
    for outcome in [
        folder.edit("lock.txt", "ro", "rw").unwrap_err(),
        folder.patch("*** Begin Patch\n*** Delete File: lock.txt\n*** End Patch").unwrap_err(),
        folder
            .patch("*** Begin Patch\n*** Update File: lock.txt\n*** Move to: x\n*** End Patch")
            .unwrap_err(),
    ] {
        assert!(matches!(&outcome, Outcome::Failed { why: IoWhy::Permission, .. }), "{outcome:?}");
        assert!(outcome.text().contains("read-only"), "{}", outcome.text());
    }
    assert_eq!(["run.sh", "sec.env", "lock.txt"].map(|name| folder.mode(name)), [0o755, 0o600, 0o444]);
    assert_eq!((folder.text("run.sh").as_str(), folder.text("lock.txt").as_str()), ("echo 2\n", "ro\n"));
}

#[test]
fn further_links_stay_together() {
    let folder = Folder::of(&[("a", "one two three\n")]);
    fs::hard_link(folder.path("a"), folder.path("b")).unwrap();
    folder.edit("a", "one two three", "1").unwrap();
    let data = ["a", "b"].map(|name| fs::metadata(folder.path(name)).unwrap().ino());
    assert_eq!((folder.text("b").as_str(), data[0]), ("1\n", data[1]));
}

#[test]
fn attributes_stay() {
    let folder = Folder::of(&[("a", "1\n"), ("m", "1\n")]);
    for name in ["a", "m"] {
        let set =
            rustix::fs::setxattr(folder.path(name), "user.note", b"kept", rustix::fs::XattrFlags::empty());
        if set == Err(rustix::io::Errno::OPNOTSUPP) {
            eprintln!("the file system of {} has no attributes", folder.path(name).display());
            return;
        }
        set.unwrap();
    }
    folder.edit("a", "1", "2").unwrap();
    folder.patch("*** Begin Patch\n*** Update File: m\n*** Move to: n\n@@\n-1\n+2\n*** End Patch").unwrap();
    for name in ["a", "n"] {
        let mut value = [0; 8];
        let len = rustix::fs::getxattr(folder.path(name), "user.note", &mut value[..]).unwrap();
        assert_eq!((&value[..len], folder.text(name).as_str()), (&b"kept"[..], "2\n"));
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_followed() {
    let (folder, outside) = (Folder::of(&[("sub/a", "1\n")]), Folder::of(&[("a", "1\n")]));
    let plans = [
        planned(&folder, "*** Update File: sub/a\n@@\n-1\n+2\n"),
        planned(&folder, "*** Add File: sub/new\n+2\n"),
    ];
    fs::rename(folder.path("sub"), folder.path("old")).unwrap();
    std::os::unix::fs::symlink(outside.path(""), folder.path("sub")).unwrap();
    for plan in plans {
        assert!(matches!(refused(&folder, &plan), Outcome::Failed { why: IoWhy::Outside, .. }));
    }
    assert_eq!(outside.tree().into_iter().collect::<Vec<_>>(), [("a".to_string(), "1\n".to_string())]);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = Folder::of(&[("a", "1\n")]);
    let plan = planned(&folder, "*** Update File: a\n@@\n-1\n+2\n");
    fs::remove_file(folder.path("a")).unwrap();
    fs::create_dir(folder.path("a")).unwrap();
    assert!(matches!(refused(&folder, &plan), Outcome::Failed { why: IoWhy::NotAFile, .. }));
}

#[test]
fn new_files_have_the_usual_mode_and_no_drafts_are_left() {
    let folder = Folder::of(&[]);
    let long = "n".repeat(250);
    folder.write(&long, "1\n").unwrap();
    folder.write(&long, "2\n").unwrap();
    fs::write(folder.path("plain"), "").unwrap();
    assert_eq!(folder.mode(&long), folder.mode("plain"));
    assert_eq!(folder.tree().len(), 2);
}
