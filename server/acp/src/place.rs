//! Where a session works, and which paths clients may be told of: they watch what they are told.
//!
//! It looks at the disk for one thing, whether a file is there.

use std::path::{Component, Path, PathBuf};

use protocol::{FilePath, SessionInfo};

/// A session's folders, cwd first; none while they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    folders: Vec<PathBuf>,
}

impl Place {
    pub(crate) fn new(cwd: &FilePath, roots: &[FilePath]) -> Self {
        let folders = std::iter::once(cwd).chain(roots).filter(|folder| !folder.0.is_empty());
        Self { folders: folders.map(|folder| folder.as_path().to_path_buf()).collect() }
    }

    pub(crate) fn of(info: &SessionInfo) -> Self {
        Self::new(&info.cwd, &info.roots)
    }

    pub(crate) fn cwd(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// The path from the root of the file system; a relative one is the session's.
    pub(crate) fn absolute(&self, path: &FilePath) -> String {
        match self.cwd() {
            Some(cwd) if !path.as_path().is_absolute() => {
                cwd.join(path.as_path()).to_string_lossy().into_owned()
            }
            _ => path.0.clone(),
        }
    }

    /// Whether it is a file that is there, inside the session's folders.
    pub(crate) fn holds(&self, absolute: &str) -> bool {
        let path = Path::new(absolute);
        let climbs = path.components().any(|part| part == Component::ParentDir);
        !climbs && self.folders.iter().any(|folder| path.starts_with(folder)) && path.is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_there_and_inside_are_held() {
        let here = env!("CARGO_MANIFEST_DIR");
        let place = Place::new(&FilePath(here.into()), &[]);
        let file = place.absolute(&FilePath("Cargo.toml".into()));
        assert_eq!(file, format!("{here}/Cargo.toml"));
        assert!(place.holds(&file));
        assert!(!place.holds(&format!("{here}/src")));
        assert!(!place.holds(&format!("{here}/missing")));
        assert!(!place.holds(&format!("{here}/src/../Cargo.toml")));
        assert!(!place.holds("/etc/passwd"));
        assert!(!Place::default().holds(&file));
    }
}
