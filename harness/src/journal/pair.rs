//! Calls and their results, put together: what every provider demands of every request.

use std::collections::{HashMap, HashSet};

use protocol::model::{ModelCall, Part};
use protocol::{CallId, Entry, EntryId, EntryKind, Reply};

/// Every call gets exactly one result, right behind its message and in its order; a result without its
/// call goes, and so do a message without parts and a second call of one id in one message. What is in
/// order already is not touched. `interrupted` gives the result of a call that has none; `next` counts
/// entries.
///
/// An id may come again in a later message, since there are servers that count from zero in every answer:
/// a result belongs to the last call of its id that still waits for one.
pub fn pair_up(entries: &mut Vec<Entry>, interrupted: impl Fn(&ModelCall) -> Reply, next: &mut u32) {
    if is_paired(entries) {
        return;
    }
    let mut pairs = Pairs::default();
    for entry in std::mem::take(entries) {
        pairs.take(entry);
    }
    pairs.take_strays();
    for (entry, results) in pairs.messages {
        let calls: Vec<ModelCall> = calls(&entry).cloned().collect();
        entries.push(entry);
        for (call, result) in calls.iter().zip(results) {
            entries.push(result.unwrap_or_else(|| {
                let id = EntryId(*next);
                *next += 1;
                Entry { id, kind: EntryKind::Result { call: call.id.clone(), reply: interrupted(call) } }
            }));
        }
    }
}

/// What is said, each with the results of its calls.
#[derive(Default)]
struct Pairs {
    messages: Vec<(Entry, Vec<Option<Entry>>)>,
    /// Calls without a result, by id: message and place in it.
    waiting: HashMap<CallId, Vec<(usize, usize)>>,
    /// How often an id was called.
    called: HashMap<CallId, usize>,
    /// Results that no call before them waited for.
    strays: HashMap<CallId, Entry>,
}

impl Pairs {
    fn take(&mut self, mut entry: Entry) {
        match &mut entry.kind {
            EntryKind::Result { call, .. } => {
                let call = call.clone();
                match self.waiting.get_mut(&call).and_then(Vec::pop) {
                    Some(place) => self.put(place, entry),
                    None => drop(self.strays.entry(call).or_insert(entry)),
                }
            }
            EntryKind::Said(said) => {
                let mut ids = HashSet::new();
                said.parts.retain(|part| match part {
                    Part::Call(call) => ids.insert(call.id.clone()),
                    Part::Text(_) | Part::Image { .. } | Part::Thought(_) | Part::Result { .. } => true,
                });
                if said.parts.is_empty() {
                    return;
                }
                for (place, call) in calls(&entry).enumerate() {
                    self.waiting.entry(call.id.clone()).or_default().push((self.messages.len(), place));
                    *self.called.entry(call.id.clone()).or_default() += 1;
                }
                self.messages.push((entry, vec![None; ids.len()]));
            }
            EntryKind::Heard { .. } | EntryKind::Note(_) => self.messages.push((entry, Vec::new())),
        }
    }

    /// A result that came before its call is its result only if it can be no other's.
    fn take_strays(&mut self) {
        for (call, stray) in std::mem::take(&mut self.strays) {
            let place = self.waiting.get(&call).and_then(|places| places.first().copied());
            if let Some(place) = place.filter(|_| self.called.get(&call) == Some(&1)) {
                self.put(place, stray);
            }
        }
    }

    fn put(&mut self, (message, place): (usize, usize), result: Entry) {
        if let Some(slot) = self.messages.get_mut(message).and_then(|(_, slots)| slots.get_mut(place)) {
            *slot = Some(result);
        }
    }
}

fn calls(entry: &Entry) -> impl Iterator<Item = &ModelCall> {
    let parts = match &entry.kind {
        EntryKind::Said(said) => said.parts.as_slice(),
        EntryKind::Heard { .. } | EntryKind::Result { .. } | EntryKind::Note(_) => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some(call),
        Part::Text(_) | Part::Image { .. } | Part::Thought(_) | Part::Result { .. } => None,
    })
}

/// Whether each message's calls are followed by just their results, in order.
fn is_paired(entries: &[Entry]) -> bool {
    let mut entries = entries.iter();
    let mut ids = HashSet::new();
    while let Some(entry) = entries.next() {
        match &entry.kind {
            EntryKind::Heard { .. } | EntryKind::Note(_) => {}
            EntryKind::Result { .. } => return false,
            EntryKind::Said(said) if said.parts.is_empty() => return false,
            EntryKind::Said(_) => {
                ids.clear();
                let answered = calls(entry).all(|wanted| {
                    let result = entries.next().map(|entry| &entry.kind);
                    ids.insert(&wanted.id)
                        && matches!(result, Some(EntryKind::Result { call, .. }) if *call == wanted.id)
                });
                if !answered {
                    return false;
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protocol::model::{Spoken, Stop};
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

    fn empty(id: u32) -> Entry {
        Entry {
            id: EntryId(id),
            kind: EntryKind::Said(Said { by: SaidBy::House, parts: vec![], stop: Stop::End }),
        }
    }

    fn result(id: u32, call: &str) -> Entry {
        let reply = Reply { parts: vec![Part::Text(call.into())], error: false };
        Entry { id: EntryId(id), kind: EntryKind::Result { call: CallId(call.into()), reply } }
    }

    fn note(id: u32) -> Entry {
        Entry { id: EntryId(id), kind: EntryKind::Note(Note { why: NoteWhy::Nudge, parts: vec![] }) }
    }

    /// From here on entries are made up.
    const NEW: u32 = 1_000;

    fn paired(mut entries: Vec<Entry>) -> Vec<Entry> {
        let mut next = NEW;
        pair_up(&mut entries, |_| Reply { parts: vec![], error: true }, &mut next);
        entries
    }

    /// The ids of entries, the made-up ones all as `NEW`.
    fn ids(entries: &[Entry]) -> Vec<u32> {
        entries.iter().map(|entry| entry.id.0.min(NEW)).collect()
    }

    #[test]
    fn each_damage_is_mended_in_its_way() {
        let cases: &[(&str, Vec<Entry>, &[u32])] = &[
            ("in order", vec![note(1), said(2, &["a", "b"]), result(3, "a"), result(4, "b")], &[1, 2, 3, 4]),
            ("late", vec![said(1, &["a"]), note(2), result(3, "a")], &[1, 3, 2]),
            ("early", vec![result(1, "a"), said(2, &["a"])], &[2, 1]),
            ("swapped", vec![said(1, &["a", "b"]), result(2, "b"), result(3, "a")], &[1, 3, 2]),
            ("cut", vec![said(1, &["a", "b"]), result(2, "a")], &[1, 2, NEW]),
            ("no call", vec![note(1), result(2, "a"), said(3, &[])], &[1, 3]),
            ("no parts", vec![note(1), empty(2), note(3)], &[1, 3]),
            ("twice", vec![said(1, &["a"]), result(2, "a"), result(3, "a")], &[1, 2]),
            ("one id twice", vec![said(1, &["a", "a"]), result(2, "a"), result(3, "a")], &[1, 2]),
            (
                "an id again",
                vec![said(1, &["a"]), result(2, "a"), said(3, &["a"]), result(4, "a")],
                &[1, 2, 3, 4],
            ),
            (
                "an id again, the second cut",
                vec![said(1, &["a"]), result(2, "a"), said(3, &["a"]), note(4)],
                &[1, 2, 3, NEW, 4],
            ),
            (
                "an id again, the first cut",
                vec![said(1, &["a"]), note(2), said(3, &["a"]), result(4, "a")],
                &[1, NEW, 2, 3, 4],
            ),
            (
                "an id again, the first call lost",
                vec![result(1, "a"), said(2, &["a"]), said(3, &["a"]), result(4, "a")],
                &[2, NEW, 3, 4],
            ),
        ];
        for (name, entries, wanted) in cases {
            assert_eq!(ids(&paired(entries.clone())), *wanted, "{name}");
        }
    }

    /// A conversation as a turn makes it: every call has its result. Ids are counted through, or from zero
    /// in every message.
    fn good() -> impl Strategy<Value = Vec<Entry>> {
        let message = prop_oneof![Just(None), (0usize..4).prop_map(Some)];
        (prop::collection::vec(message, 0..8), any::<bool>()).prop_map(|(messages, again)| {
            let (mut entries, mut next, mut calls) = (Vec::new(), 0, 0);
            for message in messages {
                let Some(count) = message else {
                    entries.push(note(next));
                    next += 1;
                    continue;
                };
                let from = if again { 0 } else { calls };
                calls += count;
                let names: Vec<String> = (from..from + count).map(|call| format!("c{call}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                entries.push(said(next, &names));
                next += 1;
                for name in names {
                    entries.push(result(next, name));
                    next += 1;
                }
            }
            entries
        })
    }

    #[derive(Clone, Debug)]
    enum Damage {
        Cut(prop::sample::Index),
        Lose(prop::sample::Index),
        Twice(prop::sample::Index),
        Swap(prop::sample::Index, prop::sample::Index),
    }

    fn damage() -> impl Strategy<Value = Damage> {
        let at = any::<prop::sample::Index>;
        prop_oneof![
            at().prop_map(Damage::Cut),
            at().prop_map(Damage::Lose),
            at().prop_map(Damage::Twice),
            (at(), at()).prop_map(|(a, b)| Damage::Swap(a, b)),
        ]
    }

    fn hurt(entries: &mut Vec<Entry>, damage: &Damage) {
        let len = entries.len();
        if len == 0 {
            return;
        }
        match damage {
            Damage::Cut(at) => entries.truncate(at.index(len)),
            Damage::Lose(at) => drop(entries.remove(at.index(len))),
            Damage::Twice(at) => entries.push(entries[at.index(len)].clone()),
            Damage::Swap(a, b) => entries.swap(a.index(len), b.index(len)),
        }
    }

    /// Said again by other means than `is_paired`.
    fn valid(entries: &[Entry]) -> Result<(), String> {
        let mut at = 0;
        while at < entries.len() {
            let EntryKind::Said(said) = &entries[at].kind else {
                if matches!(entries[at].kind, EntryKind::Result { .. }) {
                    return Err(format!("a result without its call at {at}"));
                }
                at += 1;
                continue;
            };
            at += 1;
            for part in &said.parts {
                let Part::Call(wanted) = part else { continue };
                match entries.get(at).map(|entry| &entry.kind) {
                    Some(EntryKind::Result { call, .. }) if *call == wanted.id => at += 1,
                    other => return Err(format!("{:?} has {other:?} at {at}", wanted.id)),
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_damage_gives_a_valid_request(
            good in good(),
            damages in prop::collection::vec(damage(), 0..6),
        ) {
            prop_assert_eq!(&paired(good.clone()), &good);
            let mut hurt_entries = good;
            for damage in &damages {
                hurt(&mut hurt_entries, damage);
            }
            let mended = paired(hurt_entries.clone());
            prop_assert_eq!(valid(&mended), Ok(()), "{:?}", mended);
            prop_assert_eq!(&paired(mended.clone()), &mended);
            // Nobody's words are lost, and they stay in order.
            let words = |entries: &[Entry]| -> Vec<u32> {
                let words = entries.iter().filter(|entry| !matches!(entry.kind, EntryKind::Result { .. }));
                words.map(|entry| entry.id.0).collect()
            };
            prop_assert_eq!(words(&mended), words(&hurt_entries));
        }

        #[test]
        fn any_order_keeps_every_result(good in good(), seed in any::<u64>()) {
            let mut seen = HashSet::new();
            prop_assume!(good.iter().flat_map(calls).all(|call| seen.insert(call.id.clone())));
            let mut mixed = good.clone();
            let mut random = seed | 1;
            for at in (1..mixed.len()).rev() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                mixed.swap(at, (random >> 33) as usize % (at + 1));
            }
            let mended = paired(mixed);
            prop_assert_eq!(valid(&mended), Ok(()));
            let sorted = |entries: &[Entry]| {
                let mut ids = ids(entries);
                ids.sort_unstable();
                ids
            };
            prop_assert_eq!(sorted(&mended), sorted(&good));
        }
    }
}
