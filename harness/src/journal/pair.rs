//! Calls and their results, put together: what every provider demands of every request.

use std::collections::{HashMap, HashSet};

use protocol::model::{ModelCall, Part, Spoken};
use protocol::{CallId, Entry, EntryId, EntryKind, Reply};

/// Every call gets exactly one result, right behind its message and in its order; a result without its
/// call goes. What is in order already is not touched. `interrupted` gives the result of a call that has
/// none; `next` counts entries.
pub fn pair_up(entries: &mut Vec<Entry>, interrupted: impl Fn(&ModelCall) -> Reply, next: &mut u32) {
    if is_paired(entries) {
        return;
    }
    let mut results: HashMap<CallId, Entry> = HashMap::new();
    let mut rest = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries) {
        match &entry.kind {
            EntryKind::Result { call, .. } => {
                results.entry(call.clone()).or_insert(entry);
            }
            EntryKind::Heard { .. } | EntryKind::Said(_) | EntryKind::Note(_) => rest.push(entry),
        }
    }
    let mut seen: HashSet<CallId> = HashSet::new();
    for mut entry in rest {
        let mut calls = Vec::new();
        if let EntryKind::Said(said) = &mut entry.kind {
            // An id that was used before would make two calls one.
            said.parts.retain(|part| match part {
                Part::Call(call) if call.spoken == Spoken::Native => seen.insert(call.id.clone()),
                _ => true,
            });
            calls.extend(native(&said.parts).cloned());
            if said.parts.is_empty() {
                continue;
            }
        }
        entries.push(entry);
        for call in calls {
            let result = results.remove(&call.id).unwrap_or_else(|| {
                let id = EntryId(*next);
                *next += 1;
                Entry { id, kind: EntryKind::Result { call: call.id.clone(), reply: interrupted(&call) } }
            });
            entries.push(result);
        }
    }
}

fn native(parts: &[Part]) -> impl Iterator<Item = &ModelCall> {
    parts.iter().filter_map(|part| match part {
        Part::Call(call) if call.spoken == Spoken::Native => Some(call),
        _ => None,
    })
}

/// Whether each message's calls are followed by just their results, in order, and no id comes twice.
fn is_paired(entries: &[Entry]) -> bool {
    let mut awaited: Vec<&CallId> = Vec::new();
    let mut seen: HashSet<&CallId> = HashSet::new();
    for entry in entries {
        match &entry.kind {
            EntryKind::Result { call, .. } => {
                if awaited.first() != Some(&call) {
                    return false;
                }
                awaited.remove(0);
            }
            EntryKind::Said(said) => {
                if !awaited.is_empty() || said.parts.is_empty() {
                    return false;
                }
                awaited = native(&said.parts).map(|call| &call.id).collect();
                if awaited.iter().any(|id| !seen.insert(id)) {
                    return false;
                }
            }
            EntryKind::Heard { .. } | EntryKind::Note(_) => {
                if !awaited.is_empty() {
                    return false;
                }
            }
        }
    }
    awaited.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::model::Stop;
    use protocol::{Json, Note, NoteWhy, Said, SaidBy};

    fn said(id: u32, calls: &[&str]) -> Entry {
        let mut parts = vec![Part::Text("t".into())];
        parts.extend(calls.iter().map(|call| {
            Part::Call(ModelCall {
                id: CallId(call.to_string()),
                name: "f".into(),
                input: Json("{}".into()),
                spoken: Spoken::Native,
            })
        }));
        Entry { id: EntryId(id), kind: EntryKind::Said(Said { by: SaidBy::House, parts, stop: Stop::End }) }
    }

    fn result(id: u32, call: &str) -> Entry {
        let reply = Reply { parts: vec![Part::Text(call.into())], error: false };
        Entry { id: EntryId(id), kind: EntryKind::Result { call: CallId(call.into()), reply } }
    }

    fn note(id: u32) -> Entry {
        Entry { id: EntryId(id), kind: EntryKind::Note(Note { why: NoteWhy::Nudge, parts: vec![] }) }
    }

    fn paired(mut entries: Vec<Entry>) -> Vec<Entry> {
        let mut next = 1_000;
        pair_up(&mut entries, |_| Reply { parts: vec![], error: true }, &mut next);
        assert!(is_paired(&entries), "{entries:?}");
        entries
    }

    #[test]
    fn what_is_in_order_stays() {
        let good = vec![note(1), said(2, &["a", "b"]), result(3, "a"), result(4, "b"), said(5, &[])];
        assert_eq!(paired(good.clone()), good);
    }

    #[test]
    fn every_damage_is_mended() {
        let good = vec![
            note(1),
            said(2, &["a", "b"]),
            result(3, "a"),
            result(4, "b"),
            note(5),
            said(6, &["c"]),
            result(7, "c"),
            said(8, &["a"]),
        ];
        for cut in 0..=good.len() {
            paired(good[..cut].to_vec());
            paired(good[cut..].to_vec());
        }
        // Every order of every subset of eight is too many: rotations, reversals and single gaps.
        for at in 0..good.len() {
            let mut turned = good.clone();
            turned.rotate_left(at);
            paired(turned.clone());
            turned.reverse();
            paired(turned);
            let mut gap = good.clone();
            gap.remove(at);
            paired(gap);
        }
    }

    #[test]
    fn nothing_valid_is_lost() {
        let late = paired(vec![said(1, &["a"]), note(2), result(3, "a")]);
        assert_eq!(late, [said(1, &["a"]), result(3, "a"), note(2)]);
    }
}
