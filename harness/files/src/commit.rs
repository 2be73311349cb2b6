//! Planned edits written to the disk: all of them or, as far as a file system can, none.
//!
//! Knows what the edits were worked out from and refuses when that is not what is there. Who may write what
//! is decided before. Called by the engine's tools and by undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use protocol::{EditFailure, FilePath, IoWhy, Outcome};

use crate::check::{Sighted, check};
use crate::plan::FileEdit;
use crate::put::{make, replace, spare};
use crate::roots::Place;
use crate::spot::Spot;

/// Writes the edits. Each file is looked at again right before: one that changed meanwhile stops all.
///
/// Errors: the outcome for the model; what was written before the failure is put back.
pub fn commit(edits: &[FileEdit]) -> Result<(), Outcome> {
    let sighted: Vec<Sighted> = edits.iter().map(check).collect::<Result<_, _>>()?;
    let mut work = Work::default();
    for (edit, sighted) in edits.iter().zip(sighted) {
        if !sighted.is_current() {
            let path = FilePath::from(edit.place.real.as_path());
            return Err(work.roll_back(Outcome::EditFailed { path, why: EditFailure::Stale }));
        }
        if let Err(error) = work.write(edit) {
            return Err(work.roll_back(failure(edit, &error)));
        }
    }
    work.finish();
    Ok(())
}

/// What was done so far, so that it can be taken back.
#[derive(Default)]
struct Work<'a> {
    done: Vec<Step<'a>>,
}

enum Step<'a> {
    Folder(PathBuf),
    Made(&'a Path, Spot),
    Replaced {
        path: &'a Path,
        old: &'a [u8],
    },
    Renamed {
        path: &'a Path,
        from: Spot,
        to: Spot,
    },
    /// Deleted for good when all is done.
    Aside {
        path: &'a Path,
        spot: Spot,
        aside: Spot,
    },
}

impl<'a> Work<'a> {
    fn write(&mut self, edit: &'a FileEdit) -> io::Result<()> {
        let path = edit.place.real.as_path();
        if edit.from.is_none() && edit.after == edit.before {
            return Ok(());
        }
        match (&edit.after, &edit.from, &edit.before) {
            (None, _, _) => self.remove(&edit.place),
            (Some(after), None, Some(old)) => {
                replace(path, after)?;
                self.done.push(Step::Replaced { path, old });
                Ok(())
            }
            (Some(after), None, None) => self.make(path, after, None),
            (Some(after), Some(from), Some(old)) if after == old && !is_link(&from.entry) => {
                self.make_folders(path)?;
                let (source, target) = (Spot::of(&from.real)?, Spot::of(path)?);
                source.rename(&target)?;
                self.done.push(Step::Renamed { path: &from.real, from: source, to: target });
                Ok(())
            }
            (Some(after), Some(from), _) => {
                self.make(path, after, Some(&from.real))?;
                self.remove(from)
            }
        }
    }

    fn make(&mut self, path: &'a Path, bytes: &[u8], like: Option<&Path>) -> io::Result<()> {
        self.make_folders(path)?;
        make(path, bytes, like)?;
        self.done.push(Step::Made(path, Spot::of(path)?));
        Ok(())
    }

    /// Takes away a file; of a link the link itself.
    fn remove(&mut self, place: &'a Place) -> io::Result<()> {
        let path = if is_link(&place.entry) { place.entry.as_path() } else { place.real.as_path() };
        let spot = Spot::of(path)?;
        let aside = spare(&spot, path)?;
        spot.rename(&aside)?;
        self.done.push(Step::Aside { path, spot, aside });
        Ok(())
    }

    fn make_folders(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            Spot::of(folder)?.make_folder()?;
            self.done.push(Step::Folder(folder.to_path_buf()));
        }
        Ok(())
    }

    fn finish(self) {
        for step in self.done {
            if let Step::Aside { aside, .. } = step {
                // Under its own name it is gone, which is what was asked for.
                let _ = aside.remove();
            }
        }
    }

    /// Takes everything back, the last first, and adds to the failure what that came to.
    fn roll_back(self, failed: Outcome) -> Outcome {
        let undo = |step: &Step| match step {
            Step::Folder(path) => Spot::of(path).and_then(|spot| spot.remove_folder()),
            Step::Made(_, spot) => spot.remove(),
            Step::Replaced { path, old } => replace(path, old),
            Step::Renamed { from, to, .. } => to.rename(from),
            Step::Aside { spot, aside, .. } => aside.rename(spot),
        };
        let stuck: Vec<String> = self
            .done
            .iter()
            .rev()
            .filter_map(|step| Some(format!("{}: {}", step.path().display(), undo(step).err()?)))
            .collect();
        if stuck.is_empty() {
            return failed;
        }
        let text =
            format!("{}; these could not be put back as they were: {}", failed.text(), stuck.join(", "));
        Outcome::Failed { why: IoWhy::Internal, path: None, text }
    }
}

impl Step<'_> {
    fn path(&self) -> &Path {
        match self {
            Step::Folder(path) => path,
            Step::Made(path, _)
            | Step::Replaced { path, .. }
            | Step::Aside { path, .. }
            | Step::Renamed { path, .. } => path,
        }
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

fn failure(edit: &FileEdit, error: &io::Error) -> Outcome {
    let path = FilePath::from(edit.place.real.as_path());
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Outcome::EditFailed { path, why: EditFailure::Stale };
    }
    crate::check::unchanged(path, error)
}
