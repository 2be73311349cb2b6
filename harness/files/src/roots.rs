//! Paths as a model names them, found on disk: relative to cwd, links followed, inside or outside of the roots.
//!
//! Looks at names and links, never at contents; what may be done at a place is decided elsewhere. Called by
//! everything that gets a path from a model.

use std::path::{Component, Path, PathBuf};

use icu_normalizer::DecomposingNormalizerBorrowed;
use protocol::Outcome;

/// Links in a row that are followed.
const LINKS: usize = 40;

/// The folders of a session.
#[derive(Clone, Debug)]
pub struct Roots {
    cwd: PathBuf,
    /// With links resolved, so that a real path can be compared.
    real: Vec<PathBuf>,
}

/// A path that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute, as it was named.
    pub shown: PathBuf,
    /// Where reading and writing go: links followed.
    pub real: PathBuf,
    /// The entry that is deleted or moved: links of its folders followed, its own not.
    pub entry: PathBuf,
    /// Whether `real` lies inside of a root.
    pub inside: bool,
}

impl Place {
    /// Whether the name still leads where it did when it was found.
    pub(crate) fn is_still(&self) -> bool {
        follow(&self.shown).is_some_and(|real| real == self.real)
    }
}

impl Roots {
    /// `cwd` is where relative paths begin, and the first root.
    pub fn new(cwd: PathBuf, extra: Vec<PathBuf>) -> Self {
        let mut real: Vec<PathBuf> = Vec::new();
        for root in std::iter::once(&cwd).chain(&extra) {
            real.push(root.canonicalize().unwrap_or_else(|_| root.clone()));
        }
        Self { cwd, real }
    }

    /// Where relative paths begin.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Finds a path. It need not exist; its parent folders need not either.
    ///
    /// Errors: an outcome for the model, for an empty path, a NUL in it, or links in a circle.
    pub fn resolve(&self, path: &str) -> Result<Place, Outcome> {
        let named = self.absolute(path)?;
        let shown = nearest(&normal(&named));
        let real = follow(&shown).ok_or_else(|| fail(path, "its links lead in a circle"))?;
        let inside = self.real.iter().any(|root| real.starts_with(root));
        let entry = match (shown.parent(), shown.file_name()) {
            (Some(folder), Some(name)) => follow(folder).map(|folder| folder.join(name)),
            _ => None,
        };
        Ok(Place { entry: entry.unwrap_or_else(|| real.clone()), shown, real, inside })
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Outcome> {
        let path = from_url(path.trim_matches(['\n', '\r']));
        if path.trim().is_empty() {
            return Err(fail(&path, "the path is empty"));
        }
        if path.contains('\0') {
            return Err(fail("path", "it holds a NUL character"));
        }
        let below_home = if path == "~" { Some("") } else { path.strip_prefix("~/") };
        if let Some(rest) = below_home
            && let Some(home) = std::env::home_dir()
        {
            return Ok(home.join(rest));
        }
        Ok(self.cwd.join(&path))
    }
}

fn fail(path: &str, why: &str) -> Outcome {
    Outcome::Failed { why: protocol::IoWhy::NotFound, path: None, text: format!("{path}: {why}") }
}

/// Without `.` and `..`, by name alone: what a person means by a path they see.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Follows links, also those of folders, as far as the path exists; the rest is kept as named.
fn follow(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(real) = path.canonicalize() {
            return Some(real);
        }
        // It does not exist, or is a link to nothing: then the link's target is what would be made.
        match std::fs::read_link(&path) {
            Ok(target) => {
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                path = normal(&folder.join(target));
            }
            Err(_) => {
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Some(path) };
                if std::fs::symlink_metadata(&path).is_ok() {
                    // It is there and cannot be resolved: not for us to judge.
                    return Some(path);
                }
                return Some(follow(folder)?.join(name));
            }
        }
    }
    None
}

/// The path itself, or the one neighbour that differs only in kinds of spaces or in the form of accents.
fn nearest(path: &Path) -> PathBuf {
    if std::fs::symlink_metadata(path).is_ok() {
        return path.to_path_buf();
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return path.to_path_buf();
    };
    let folder = if folder.as_os_str().is_empty() || folder == Path::new("/") {
        folder.to_path_buf()
    } else {
        nearest(folder)
    };
    let wanted = folded(name);
    let Ok(entries) = std::fs::read_dir(&folder) else { return folder.join(name) };
    let mut near = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|other| folded(other) == wanted));
    match (near.next(), near.next()) {
        (Some(only), None) => only.path(),
        _ => folder.join(name),
    }
}

/// A name as the eye sees it: every space a plain one, letters and their accents apart.
fn folded(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|letter| !matches!(letter, '\u{200b}' | '\u{feff}'))
        .map(|letter| match letter {
            '\u{a0}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{2000}'..='\u{200a}' => ' ',
            other => other,
        })
        .collect();
    DecomposingNormalizerBorrowed::new_nfd().normalize(&plain).into_owned()
}

/// The path of a `file:` URL; what is no such URL is a path already.
fn from_url(path: &str) -> String {
    let Some(rest) = path.strip_prefix("file://") else { return path.to_string() };
    let rest = rest.strip_prefix("localhost/").map_or(rest.to_string(), |rest| format!("/{rest}"));
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((first, more)) = left.split_first() {
        let code = more.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|code| code.chars().all(|digit| digit.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                left = more.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                left = more;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_links_and_borders() {
        let base = tempfile::tempdir().unwrap();
        let (work, other) = (base.path().join("w"), base.path().join("o"));
        std::fs::create_dir_all(work.join("sub")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(work.join("a"), "").unwrap();
        symlink("a", work.join("l1")).unwrap();
        symlink("l1", work.join("l2")).unwrap();
        symlink(&other, work.join("out")).unwrap();
        symlink("new", work.join("dangling")).unwrap();
        symlink("loop", work.join("loop")).unwrap();
        let roots = Roots::new(work.clone(), vec![]);
        let real = work.canonicalize().unwrap();
        let place = |path: &str| roots.resolve(path).unwrap();
        assert_eq!(place("l2").real, real.join("a"));
        assert_eq!(place("l2").shown, work.join("l2"));
        assert_eq!(place("sub/../a").real, real.join("a"));
        assert_eq!(place("new/deep/x").real, real.join("new/deep/x"));
        assert_eq!(place("dangling").real, real.join("new"));
        assert!(place("l2").inside && place("dangling").inside);
        assert!(!place("out/x").inside && !place("../x").inside && !place("/etc/passwd").inside);
        let home = std::env::home_dir().unwrap();
        assert_eq!((place("~").shown, place("~/x").shown), (home.clone(), home.join("x")));
        let url = format!("file://{}/a%20b%zz", work.display());
        assert_eq!(place(&url).shown, work.join("a b%zz"));
        assert_eq!(place("file://localhost/x").shown, Path::new("/x"));
        assert_eq!(place("100%20").shown, work.join("100%20"));
        assert!(roots.resolve("").is_err() && roots.resolve("loop/x").is_err());
    }

    #[test]
    fn one_near_name_is_found_and_the_exact_one_wins() {
        let base = tempfile::tempdir().unwrap();
        let work = base.path();
        std::fs::write(work.join("Shot 1\u{202f}PM.txt"), "").unwrap();
        std::fs::write(work.join("cafe\u{301}.txt"), "").unwrap();
        std::fs::write(work.join("\u{1112}\u{1161}\u{11ab}.txt"), "").unwrap();
        std::fs::write(work.join("twin a"), "").unwrap();
        std::fs::write(work.join("twin\u{a0}a"), "").unwrap();
        let roots = Roots::new(work.to_path_buf(), vec![]);
        let name = |path: &str| {
            roots.resolve(path).unwrap().shown.file_name().unwrap().to_str().unwrap().to_string()
        };
        assert_eq!(name("Shot 1 PM.txt"), "Shot 1\u{202f}PM.txt");
        assert_eq!(name("café.txt"), "cafe\u{301}.txt");
        assert_eq!(name("한.txt"), "\u{1112}\u{1161}\u{11ab}.txt");
        assert_eq!(name("twin a"), "twin a");
        assert_eq!(name("twin\u{a0}a"), "twin\u{a0}a");
        // Two that are as near as each other: neither is chosen.
        assert_eq!(name("twin\u{2009}a"), "twin\u{2009}a");
        assert_eq!(name("no such"), "no such");
    }
}
