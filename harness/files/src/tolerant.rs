//! What a forgiving match makes of the new text: the file's own lines where nothing changes, and its
//! indentation where that was forgiven.
//!
//! Knows lines of three texts: found in the file, given as old, given as new. Called by an edit.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Which indentation of the given text is which of the file.
pub(crate) struct Leads<'a> {
    /// Of the first line, which may have been quoted from its middle.
    first: (&'a str, &'a str),
    /// The shortest first.
    pairs: Vec<(&'a str, &'a str)>,
}

fn lead(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

impl<'a> Leads<'a> {
    /// None when the shift is not the same all over: then the lines may mean something else.
    pub(crate) fn new(given: &[&'a str], found: &[&'a str]) -> Option<Self> {
        let both = given.iter().zip(found).filter(|(given, _)| !given.trim().is_empty());
        let mut all = both.map(|(given, found)| (lead(given), lead(found)));
        let first = all.next()?;
        let rest: Vec<_> = all.collect();
        let whole = rising(rest.iter().copied().chain([first]).collect());
        let pairs = match whole {
            Some(pairs) => pairs,
            None if first.0.is_empty() && !first.1.is_empty() => rising(rest)?,
            None => return None,
        };
        Some(Self { first, pairs })
    }

    fn shift(&self, line: &str, is_first: bool) -> String {
        let (given, text) = (lead(line), line.trim_start());
        if text.is_empty() {
            return line.to_string();
        }
        if is_first && given == self.first.0 {
            return format!("{}{text}", self.first.1);
        }
        let base = self.pairs.iter().rev().find_map(|pair| Some((pair, given.strip_prefix(pair.0)?)));
        match base {
            Some((pair, deeper)) => format!("{}{}{text}", pair.1, self.deeper(deeper)),
            None => line.to_string(),
        }
    }

    /// Indentation beyond what is known, in the file's kind of it.
    fn deeper(&self, given: &str) -> String {
        let all = |text: &str, letter| !text.is_empty() && text.chars().all(|other| other == letter);
        let unit = self.pairs.iter().find_map(|(given, found)| {
            let spaces = all(given, ' ') && all(found, '\t') && given.len().is_multiple_of(found.len());
            spaces.then(|| given.len() / found.len())
        });
        match unit {
            Some(unit) if all(given, ' ') => {
                "\t".repeat(given.len() / unit) + &" ".repeat(given.len() % unit)
            }
            _ => given.to_string(),
        }
    }
}

/// The pairs without doubles, if deeper is deeper on both sides.
fn rising<'a>(mut pairs: Vec<(&'a str, &'a str)>) -> Option<Vec<(&'a str, &'a str)>> {
    pairs.sort_by_key(|pair| (pair.0.len(), pair.1.len()));
    pairs.dedup();
    let shifted = pairs.iter().any(|(given, found)| given != found);
    let mut steps = pairs.iter().zip(pairs.iter().skip(1));
    let rises = steps.all(|(a, b)| a.0.len() < b.0.len() && a.1.len() < b.1.len());
    (rises || !shifted).then_some(pairs)
}

/// The new lines as the file would have them.
pub(crate) fn reworded(found: &[&str], old: &[&str], new: &[&str], leads: &Leads) -> Vec<String> {
    let mut out = Vec::with_capacity(new.len());
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let same = found.get(old_index..old_index + len).unwrap_or_default();
                out.extend(same.iter().map(|line| line.to_string()));
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                let range = op.new_range();
                let lines = new.get(range.clone()).unwrap_or_default();
                out.extend(lines.iter().zip(range).map(|(line, at)| leads.shift(line, at == 0)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_take_the_files_indentation() {
        type Case = (
            &'static [&'static str],
            &'static [&'static str],
            &'static [&'static str],
            &'static [&'static str],
        );
        let cases: &[Case] = &[
            // found, old, new, made
            (
                &["  if a:", "    b"],
                &["if a:", "  b"],
                &["if c:", "  b", "  d"],
                &["  if c:", "    b", "    d"],
            ),
            (
                &["\tif a:", "\t\tb"],
                &["    if a:", "        b"],
                &["    if a:", "            c"],
                &["\tif a:", "\t\t\tc"],
            ),
            (&["    a", "    b"], &["a", "    b"], &["x", "    b"], &["    x", "    b"]),
            (&["s = “q”", "t"], &["s = \"q\"", "t"], &["s = \"q\"", "u"], &["s = “q”", "u"]),
            (&["a  ", "b"], &["a", "b"], &["a", "", "b"], &["a  ", "", "b"]),
        ];
        for (found, old, new, made) in cases {
            let leads = Leads::new(old, found).unwrap();
            assert_eq!(reworded(found, old, new, &leads), *made);
        }
    }

    #[test]
    fn a_crooked_shift_is_no_match() {
        assert!(Leads::new(&["a", "  b"], &["a", "b"]).is_none());
        assert!(Leads::new(&["  a", "  b"], &["  a", "    b"]).is_none());
        assert!(Leads::new(&["  a", "    b"], &["a", "  b"]).is_some());
    }
}
