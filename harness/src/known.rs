//! What the model last saw of each file, so that nothing it has not seen is overwritten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::{Digest, FilePath, Outcome, Seen};

/// Digests by real path, of one session.
#[derive(Default)]
pub(crate) struct Known {
    digests: Mutex<HashMap<FilePath, Digest>>,
}

impl Known {
    pub(crate) fn get(&self, path: &FilePath) -> Option<Digest> {
        self.lock().get(path).cloned()
    }

    /// The model sees the file as it is now; says how that compares to what it saw before.
    pub(crate) fn see(&self, path: &FilePath, digest: &Digest) -> Seen {
        match self.lock().insert(path.clone(), digest.clone()) {
            None => Seen::First,
            Some(old) if old == *digest => Seen::Unchanged,
            Some(_) => Seen::Changed,
        }
    }

    pub(crate) fn forget(&self, path: &FilePath) {
        self.lock().remove(path);
    }

    /// What an outcome of the journal says that the model saw.
    pub(crate) fn recall(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Read { path, digest, .. } => {
                self.see(path, digest);
            }
            Outcome::Edited { files, .. } => {
                for file in files {
                    self.see(&file.path, &file.digest);
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

    fn lock(&self) -> MutexGuard<'_, HashMap<FilePath, Digest>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
