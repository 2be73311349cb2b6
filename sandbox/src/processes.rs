//! The processes below this one, found by their parents: also those that left its group and session, since
//! a keeper inherits orphans.

use std::collections::HashMap;

/// All that descend from `ancestor`, parents first.
pub(crate) fn below(ancestor: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in all() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Each process with its parent.
fn all() -> impl Iterator<Item = (i32, i32)> {
    let entries = std::fs::read_dir("/proc").ok().into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        Some((pid, parent(&String::from_utf8_lossy(&stat))?))
    })
}

/// The fourth field; the second is a name in brackets that may hold anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_and_blanks() {
        assert_eq!(parent("12 (a) b) (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (sh) R 1 1"), Some(1));
        assert_eq!(parent("nonsense"), None);
    }

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let found = below(me);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&i32::try_from(child.id()).unwrap()), "{found:?}");
    }
}
