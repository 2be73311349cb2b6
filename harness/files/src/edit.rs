//! Replacing pieces of a text.

use protocol::{EditFailure, Hits, MatchBy, Swap};

use crate::matching::{find, line_number, near};
use crate::text::{Text, Unwritable};

/// The file's new bytes, and how many places were replaced.
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    pub(crate) replaced: u32,
}

/// Applies the swaps one after the other.
pub(crate) fn edit(bytes: &[u8], swaps: &[Swap], rule: MatchBy) -> Result<Edited, EditFailure> {
    let mut now = bytes.to_vec();
    let mut replaced = 0;
    for swap in swaps {
        let text = Text::decode(&now).ok_or(EditFailure::NotText)?;
        let (next, count) = one(&text, swap, rule)?;
        replaced += count;
        now = next;
    }
    if now == bytes { Err(EditFailure::NoChange) } else { Ok(Edited { bytes: now, replaced }) }
}

fn one(text: &Text, swap: &Swap, rule: MatchBy) -> Result<(Vec<u8>, u32), EditFailure> {
    let (old, new) = (swap.old.replace("\r\n", "\n"), swap.new.replace("\r\n", "\n"));
    if old.is_empty() {
        // Nothing to anchor at: only an empty file can be meant as a whole.
        if !text.shown().is_empty() {
            return Err(EditFailure::EmptyOld);
        }
        return text.replace_all(&new).map(|bytes| (bytes, 1)).map_err(unwritable);
    }
    if old == new {
        return Err(EditFailure::NoChange);
    }
    let old = old.strip_prefix('\u{feff}').unwrap_or(&old);
    let hits = find(text.shown(), old, rule);
    let ranges = match (hits.ranges.len(), swap.hits) {
        (0, _) => return Err(not_found(text.shown(), old)),
        (1, _) => hits.ranges,
        (_, Hits::All) if hits.exact => hits.ranges,
        (_, Hits::One | Hits::All) => {
            let lines = hits.ranges.iter().map(|range| line_number(text.shown(), range.start)).collect();
            return Err(EditFailure::Ambiguous { old: old.to_string(), lines });
        }
    };
    let count = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
    let swaps: Vec<_> = ranges
        .into_iter()
        .map(|range| {
            let found = text.shown().get(range.clone()).unwrap_or_default();
            let new = if hits.exact { new.clone() } else { indented(found, old, &new) };
            (range, new)
        })
        .collect();
    let bytes = text.splice(&swaps).map_err(unwritable)?;
    Ok((bytes, count))
}

/// A match that forgave the indentation takes that of the file.
fn indented(found: &str, old: &str, new: &str) -> String {
    let lead = |text: &str| -> String {
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.chars().take_while(|letter| *letter == ' ' || *letter == '\t').collect()
    };
    let (there, given) = (lead(found), lead(old));
    if there == given {
        return new.to_string();
    }
    let shift = |line: &str| -> String {
        if line.trim().is_empty() {
            return line.to_string();
        }
        match line.strip_prefix(given.as_str()) {
            Some(rest) => format!("{there}{rest}"),
            None => line.to_string(),
        }
    };
    new.split_inclusive('\n').map(shift).collect()
}

fn not_found(text: &str, old: &str) -> EditFailure {
    EditFailure::NotFound { old: first_missing(text, old), near: near(text, old) }
}

/// The first line that stands nowhere, or the whole when each line does.
fn first_missing(text: &str, old: &str) -> String {
    let missing = old.lines().find(|line| !line.trim().is_empty() && !text.contains(line.trim()));
    missing.unwrap_or(old).to_string()
}

pub(crate) fn unwritable(Unwritable(letter): Unwritable) -> EditFailure {
    let why =
        format!("the file's encoding has no {letter:?}; write it in another way, or convert the file first");
    EditFailure::BadPatch { line: 0, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(old: &str, new: &str, hits: Hits) -> Vec<Swap> {
        vec![Swap { old: old.into(), new: new.into(), hits }]
    }

    fn done(before: &str, old: &str, new: &str) -> Result<String, EditFailure> {
        let edited = edit(before.as_bytes(), &swap(old, new, Hits::One), MatchBy::Fuzzy)?;
        Ok(String::from_utf8(edited.bytes).unwrap())
    }

    #[test]
    fn exact_then_forgiving() {
        assert_eq!(done("a\nb\n", "b", "c").unwrap(), "a\nc\n");
        assert_eq!(done("x  \ny\n", "x\ny", "z").unwrap(), "z\n");
        assert_eq!(done("  if a:\n    b\n", "if a:\n  b", "if c:\n  b").unwrap(), "  if c:\n    b\n");
        assert_eq!(done("s = “q”\n", "s = \"q\"", "s = 'r'").unwrap(), "s = 'r'\n");
        assert_eq!(done("a = \"x\"\nb = “x”\n", "\"x\"", "\"y\"").unwrap(), "a = \"y\"\nb = “x”\n");
        assert_eq!(done("'q'\n", "'q'", "‘q’").unwrap(), "‘q’\n");
    }

    #[test]
    fn refusals() {
        assert!(
            matches!(done("a\na\n", "a", "b"), Err(EditFailure::Ambiguous { lines, .. }) if lines == [1, 2])
        );
        assert!(done("“a”\n„a‟\n", "\"a\"", "b").is_err());
        assert!(matches!(done("a\n", "", "b"), Err(EditFailure::EmptyOld)));
        assert_eq!(done("", "", "b\n").unwrap(), "b\n");
        assert!(matches!(done("a\n", "a", "a"), Err(EditFailure::NoChange)));
        let missing = done("let x = 1;\nlet y = 2;\n", "let x = 1;\nlet y = 3;", "");
        assert!(
            matches!(&missing, Err(EditFailure::NotFound { old, .. }) if old == "let y = 3;"),
            "{missing:?}"
        );
    }

    #[test]
    fn all_places() {
        let edited = edit(b"a b a", &swap("a", "c", Hits::All), MatchBy::Fuzzy).unwrap();
        assert_eq!((edited.bytes.as_slice(), edited.replaced), (&b"c b c"[..], 2));
    }
}
