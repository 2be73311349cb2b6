//! What the model last saw of each file, so that nothing it has not seen is overwritten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use files::Sighting;
use protocol::{Digest, FileNow, FilePath, Outcome, ReadBody, Seen};

/// By real path, of one session.
#[derive(Default)]
pub(crate) struct Known {
    files: Mutex<HashMap<FilePath, Sight>>,
}

struct Sight {
    digest: Digest,
    part: Part,
}

/// How much of a file was seen.
enum Part {
    Whole,
    /// Lines from and to, in order and apart, and how many there are.
    Lines {
        seen: Vec<(u64, u64)>,
        total: u64,
    },
    /// Only what an edit quoted.
    Quoted,
}

impl Part {
    fn of(body: &ReadBody) -> Self {
        match body {
            ReadBody::Lines { first, count, total, .. } => {
                let seen = if *count == 0 { Vec::new() } else { vec![(*first, first + count - 1)] };
                Part::Lines { seen, total: *total }
            }
            ReadBody::Image { .. } => Part::Whole,
        }
    }

    /// Together with what was seen of the same bytes before.
    fn and(self, before: Self) -> Self {
        match (self, before) {
            (Part::Lines { seen, total }, Part::Lines { seen: before, .. }) => {
                Part::Lines { seen: joined(seen, before), total }
            }
            (Part::Whole, _) | (_, Part::Whole) => Part::Whole,
            (Part::Quoted, other) | (other, Part::Quoted) => other,
        }
    }

    /// The first line that was not seen; none when all were.
    fn unseen(&self) -> Option<u64> {
        match self {
            Part::Whole => None,
            Part::Quoted => Some(1),
            Part::Lines { seen, total } => {
                let from = seen.first().filter(|(first, _)| *first <= 1).map_or(1, |(_, last)| last + 1);
                (from <= *total).then_some(from)
            }
        }
    }
}

fn joined(mut spans: Vec<(u64, u64)>, more: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.extend(more);
    spans.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (first, last) in spans {
        match out.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => out.push((first, last)),
        }
    }
    out
}

impl Known {
    pub(crate) fn get(&self, path: &FilePath) -> Option<Sighting> {
        let files = self.lock();
        let sight = files.get(path)?;
        Some(Sighting { digest: sight.digest.clone(), unseen: sight.part.unseen() })
    }

    /// The model reads the file as it is now; says how that compares to what it saw before.
    pub(crate) fn read(&self, path: &FilePath, digest: &Digest, body: &ReadBody) -> Seen {
        let mut files = self.lock();
        let old = files.remove(path);
        let seen = match &old {
            None => Seen::First,
            Some(old) if old.digest == *digest => Seen::Unchanged,
            Some(_) => Seen::Changed,
        };
        let part = match old.filter(|old| old.digest == *digest) {
            Some(old) => Part::of(body).and(old.part),
            None => Part::of(body),
        };
        files.insert(path.clone(), Sight { digest: digest.clone(), part });
        seen
    }

    /// The model wrote the file; `made` when it gave all of it. Says whether it knows all of it now.
    pub(crate) fn wrote(&self, path: &FilePath, digest: &Digest, made: bool) -> bool {
        let mut files = self.lock();
        let whole = made || files.get(path).is_some_and(|old| old.part.unseen().is_none());
        let part = if whole { Part::Whole } else { Part::Quoted };
        files.insert(path.clone(), Sight { digest: digest.clone(), part });
        whole
    }

    pub(crate) fn forget(&self, path: &FilePath) {
        self.lock().remove(path);
    }

    /// What an outcome of the journal says that the model saw.
    pub(crate) fn recall(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Read { path, digest, body, .. } => {
                // It is shown as it was named.
                let real = path.as_path().canonicalize();
                let real = real.map_or_else(|_| path.clone(), |real| FilePath::from(real.as_path()));
                self.read(&real, digest, body);
            }
            Outcome::Edited { files, .. } => {
                for FileNow { path, digest, whole, .. } in files {
                    self.wrote(path, digest, *whole);
                }
            }
            Outcome::Ran { .. }
            | Outcome::Tasks(_)
            | Outcome::Listed { .. }
            | Outcome::Found { .. }
            | Outcome::EditFailed { .. }
            | Outcome::Plan(_)
            | Outcome::Answered(_)
            | Outcome::Fetched { .. }
            | Outcome::NoSuchTool { .. }
            | Outcome::BadInput(_)
            | Outcome::Declined { .. }
            | Outcome::Interrupted
            | Outcome::Failed { .. } => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FilePath, Sight>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u64, count: u64) -> ReadBody {
        ReadBody::Lines { text: String::new(), first, count, total: 10, more: false }
    }

    #[test]
    fn parts_make_a_whole() {
        let (known, path) = (Known::default(), FilePath("/f".into()));
        let (a, b) = (Digest("a".into()), Digest("b".into()));
        let unseen = || known.get(&path).map(|sighting| sighting.unseen);
        assert_eq!(unseen(), None);
        assert_eq!(known.read(&path, &a, &lines(1, 2)), Seen::First);
        assert_eq!(unseen(), Some(Some(3)));
        assert_eq!(known.read(&path, &a, &lines(6, 5)), Seen::Unchanged);
        assert_eq!(unseen(), Some(Some(3)));
        known.read(&path, &a, &lines(3, 3));
        assert_eq!(unseen(), Some(None));
        assert!(known.wrote(&path, &b, false));
        assert_eq!(known.read(&path, &a, &lines(2, 1)), Seen::Changed);
        assert_eq!(unseen(), Some(Some(1)));
        // An edit of a part leaves it a part.
        assert!(!known.wrote(&path, &b, false));
        assert_eq!(unseen(), Some(Some(1)));
        assert!(known.wrote(&path, &b, true));
        assert_eq!(unseen(), Some(None));
    }
}
