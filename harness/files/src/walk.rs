//! What every walk shares: which entries are walked, what a pattern of names means, when there is nothing
//! to walk.

use std::io;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use protocol::{IoWhy, Outcome, Problem};

/// Entries in order of their names. Hidden ones are walked, repositories' insides are not, and what git
/// ignores only when asked for, in a repository or not.
pub(crate) fn walker(base: &Path, ignored: bool) -> WalkBuilder {
    let mut walk = unsorted(base, ignored);
    walk.sort_by_file_name(std::ffi::OsStr::cmp);
    walk
}

/// The same in any order.
pub(crate) fn unsorted(base: &Path, ignored: bool) -> WalkBuilder {
    let mut walk = WalkBuilder::new(base);
    walk.standard_filters(!ignored)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0);
    walk
}

/// Patterns of names; those that begin with `!` take away.
pub(crate) struct Globs {
    with: Vec<GlobMatcher>,
    without: Vec<GlobMatcher>,
}

impl Globs {
    /// Errors: the outcome that says which pattern is none.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, Outcome> {
        let mut globs = Self { with: Vec::new(), without: Vec::new() };
        for pattern in patterns {
            match pattern.strip_prefix('!') {
                Some(pattern) => globs.without.push(matcher(pattern)?),
                None => globs.with.push(matcher(pattern)?),
            }
        }
        Ok(globs)
    }

    /// Of a path below the folder that is walked. Without patterns everything is meant.
    pub(crate) fn is_match(&self, path: &Path) -> bool {
        let among = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(path));
        (self.with.is_empty() || among(&self.with)) && !among(&self.without)
    }
}

/// A glob where `*.rs` matches at any depth, as people mean it.
fn matcher(glob: &str) -> Result<GlobMatcher, Outcome> {
    let glob = glob.trim_start_matches("./");
    let anywhere = if glob.contains('/') { glob.to_string() } else { format!("**/{glob}") };
    match GlobBuilder::new(&anywhere).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(Outcome::BadInput(vec![Problem::Wrong {
            name: "glob".into(),
            want: "a pattern of file names such as **/*.rs or src/*.{ts,tsx}".into(),
            got: error.to_string(),
        }])),
    }
}

/// The outcome when there is nothing at `path`, or nothing that may be looked at.
pub(crate) fn missing(path: &Path) -> Option<Outcome> {
    let looked = match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => std::fs::read_dir(path).map(drop),
        looked => looked.map(drop),
    };
    let error = looked.err()?;
    let (why, text) = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            (IoWhy::NotFound, format!("{}: there is no such file or folder", path.display()))
        }
        io::ErrorKind::PermissionDenied => (IoWhy::Permission, format!("{}: {error}", path.display())),
        _ => (IoWhy::Internal, format!("{}: {error}", path.display())),
    };
    Some(Outcome::Failed { why, text, path: Some(path.into()) })
}
