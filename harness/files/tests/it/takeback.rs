//! Edits planned, written, and taken back.

use proptest::prelude::*;
use protocol::FileKind;

use crate::folder::Folder;

fn back(folder: &Folder, planned: &files::Planned) -> Result<Vec<files::FileEdit>, files::Overlap> {
    let edits = planned.edits.iter().rev().map(|edit| {
        let now = std::fs::read(&edit.place.real).ok();
        files::undo(edit, now.as_deref())
    });
    let edits: Vec<_> = edits.collect::<Result<_, _>>()?;
    files::commit(&edits).unwrap();
    assert!(folder.tree().keys().all(|name| !name.ends_with(".tmp")));
    Ok(edits)
}

#[test]
fn a_patch_of_every_kind() {
    let folder = Folder::new(&[
        ("update", b"a\r\n\xfc\r\n"),
        ("delete", b"x\0y"),
        ("move", b"m\n"),
        ("over", b"over\n"),
        ("under", b"under\n"),
    ]);
    folder.set_mode("move", 0o755);
    let before = folder.tree();
    let patch = "*** Begin Patch\n*** Update File: update\n@@\n-a\n+b\n*** Delete File: delete\n\
                 *** Update File: move\n*** Move to: d/moved\n@@\n-m\n+M\n*** Add File: new/er\n+new\n\
                 *** Update File: over\n*** Move to: under\n*** End Patch";
    let planned = folder.read("under").patch(patch).unwrap();
    assert_ne!(folder.tree(), before);
    let edits = back(&folder, &planned).unwrap();
    assert_eq!((folder.tree(), folder.mode("move")), (before, 0o755));
    assert!(edits.iter().any(|edit| matches!(edit.diff.kind, FileKind::Move { .. })));
}

#[test]
fn a_move_and_a_later_change() {
    let folder = Folder::of(&[("a", "1\n2\n3\n4\n5\n")]);
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+one\n*** End Patch";
    let planned = folder.patch(patch).unwrap();
    folder.put("b", b"one\n2\n3\n4\nfive\n");
    back(&folder, &planned).unwrap();
    assert_eq!(
        folder.tree().into_iter().collect::<Vec<_>>(),
        [("a".to_string(), "1\n2\n3\n4\nfive\n".to_string())]
    );
    let planned = folder.edit("a", "2\n3", "two\nthree").unwrap();
    folder.put("a", b"1\ntwo!\nthree\n4\nfive\n");
    assert_eq!(back(&folder, &planned).unwrap_err(), files::Overlap);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_written_can_be_taken_back(before in "[ab\u{fc}\r\n]{1,24}", after in "[ab\n]{0,24}", latin: bool) {
        let bytes = if latin { before.chars().map(|letter| letter as u8).collect() } else { before.into_bytes() };
        let folder = Folder::new(&[("f", &bytes)]);
        if let Ok(planned) = folder.read("f").write("f", &after) {
            prop_assert_eq!(&folder.bytes("f"), planned.edits[0].after.as_ref().unwrap());
            back(&folder, &planned).unwrap();
        }
        prop_assert_eq!(folder.bytes("f"), bytes);
    }
}
