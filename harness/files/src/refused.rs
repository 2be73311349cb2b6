//! Why bytes were not changed, on the way to the outcome that a model reads.

use protocol::{EditFailure, FilePath, IoWhy, Outcome};

use crate::encoding::Unwritable;

#[derive(Debug, PartialEq)]
pub(crate) enum Refused {
    Edit(EditFailure),
    Letter(Unwritable),
}

impl From<EditFailure> for Refused {
    fn from(why: EditFailure) -> Self {
        Refused::Edit(why)
    }
}

impl From<Unwritable> for Refused {
    fn from(letter: Unwritable) -> Self {
        Refused::Letter(letter)
    }
}

impl Refused {
    pub(crate) fn outcome(self, path: &FilePath) -> Outcome {
        match self {
            Refused::Edit(why) => Outcome::EditFailed { path: path.clone(), why },
            Refused::Letter(Unwritable { letter, encoding }) => Outcome::Failed {
                why: IoWhy::NotText,
                path: Some(path.clone()),
                text: format!(
                    "{path}: the file's encoding has no {letter:?} (it is {encoding}); \
                     write it in another way, or convert the file with a command first"
                ),
            },
        }
    }
}
