//! AGENTS.md: the user's own, then the project's from its root down to cwd, one file a folder.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use protocol::{FilePath, Level, Notice};

use super::Where;

const OVERRIDE: &str = "AGENTS.override.md";
const NAME: &str = "AGENTS.md";
/// A user's own file may have this much.
const GLOBAL_BYTES: usize = 64 * 1024;

type Instructions = Vec<(FilePath, String)>;

/// What is taken so far.
struct Taken {
    found: Instructions,
    notices: Vec<Notice>,
}

/// Bytes that may still be taken, and the words for where they end.
struct Budget {
    left: usize,
    limit: &'static str,
}

/// A folder to look into, and the folder that its file has to lie in.
struct Folder {
    path: PathBuf,
    within: PathBuf,
}

pub(super) fn instructions(at: &Where) -> (Instructions, Vec<Notice>) {
    let mut taken = Taken { found: Vec::new(), notices: Vec::new() };
    if let Some(path) = first(at.home, &[OVERRIDE, NAME]) {
        let mut budget = Budget { left: GLOBAL_BYTES, limit: "the user's own file may have no more" };
        taken.add(&path, &path, &mut budget);
    }
    // Nothing of the project is wanted, so nothing is missing.
    if at.doc_bytes == 0 {
        return (taken.found, taken.notices);
    }
    let mut names = vec![OVERRIDE, NAME];
    names.extend(at.doc_names.iter().map(String::as_str));
    let mut budget = Budget { left: at.doc_bytes, limit: "project_doc_max_bytes allows no more" };
    for folder in folders(at) {
        if let Some(path) = first(&folder.path, &names) {
            match inside(&path, &folder.within) {
                Ok(real) => taken.add(&path, &real, &mut budget),
                Err(why) => taken.warn(&path, why),
            }
        }
    }
    (taken.found, taken.notices)
}

/// From the project's root down to cwd, then the further roots themselves.
fn folders(at: &Where) -> Vec<Folder> {
    let root = super::project_root(at.cwd);
    let way = at.cwd.ancestors().take_while(|folder| folder.starts_with(&root));
    let mut folders: Vec<Folder> =
        way.map(|path| Folder { path: path.to_path_buf(), within: root.clone() }).collect();
    folders.reverse();
    for root in at.roots {
        if !folders.iter().any(|folder| folder.path == *root) {
            folders.push(Folder { path: root.clone(), within: root.clone() });
        }
    }
    folders
}

fn first(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Where a project's file really is. A repository from elsewhere may have a link to a key in its place, and
/// what is read here goes to the provider unasked.
fn inside(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("cannot be read: {error}"));
    let (target, folder) = (real(path)?, real(folder)?);
    if target.starts_with(&folder) {
        return Ok(target);
    }
    Err(format!("it is a link to {}, outside of the project; put a copy in its place", target.display()))
}

impl Taken {
    /// Takes what fits; what does not is told.
    fn add(&mut self, path: &Path, real: &Path, budget: &mut Budget) {
        let (text, size) = match read(real, budget.left) {
            Ok(read) => read,
            Err(error) => return self.warn(path, format!("cannot be read: {error}")),
        };
        let used = text.len();
        if size > used as u64 {
            self.warn(path, format!("{used} of its {size} bytes are used; {}", budget.limit));
        }
        budget.left -= used;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if !text.trim().is_empty() {
            self.found.push((FilePath::from(path), text.to_string()));
        }
    }

    fn warn(&mut self, path: &Path, text: String) {
        let title = format!("{} is not used as a whole", path.display());
        self.notices.push(Notice { level: Level::Warning, title, text, retry: None });
    }
}

/// At most `limit` bytes of a file as text, cut between characters, and the size of the whole.
fn read(path: &Path, limit: usize) -> io::Result<(String, u64)> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    // Enough more to tell a character that the limit cuts from bytes that are none.
    file.take(limit as u64 + 4).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if text.len() <= limit {
        let whole = text.len() as u64;
        return Ok((text, whole));
    }
    text.truncate(text.floor_char_boundary(limit));
    Ok((text, size.max(bytes.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home, and a project with folders in it; the files are paths with their texts.
    struct Place {
        dir: tempfile::TempDir,
        names: Vec<String>,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["home", "p/.git", "p/a/b", "q"] {
                std::fs::create_dir_all(dir.path().join(folder)).unwrap();
            }
            for (path, text) in files {
                std::fs::write(dir.path().join(path), text).unwrap();
            }
            Self { dir, names: vec!["CLAUDE.md".into()] }
        }

        /// The texts found from `p/a/b` with the further root `q`, and the notices' texts.
        fn look(&self, doc_bytes: usize) -> (Vec<String>, Vec<String>) {
            let path = |name: &str| self.dir.path().join(name);
            let (cwd, home) = (path("p/a/b"), path("home"));
            let roots = [cwd.clone(), path("q")];
            let (found, notices) = instructions(&Where {
                cwd: &cwd,
                roots: &roots,
                home: &home,
                doc_bytes,
                doc_names: &self.names,
                now: std::time::SystemTime::UNIX_EPOCH,
            });
            let notices = notices.into_iter().map(|notice| format!("{}: {}", notice.title, notice.text));
            (found.into_iter().map(|(_, text)| text).collect(), notices.collect())
        }
    }

    #[test]
    fn from_the_outside_in_within_the_budget() {
        let place = Place::new(&[
            ("AGENTS.md", "outside"),
            ("home/AGENTS.md", "global"),
            ("p/AGENTS.md", "root"),
            ("p/a/AGENTS.md", "hidden by the override"),
            ("p/a/AGENTS.override.md", "override"),
            ("p/a/b/CLAUDE.md", "ééé"),
            ("q/AGENTS.md", "other"),
        ]);
        let (texts, notices) = place.look(32_768);
        assert_eq!(texts, ["global", "root", "override", "ééé", "other"]);
        assert!(notices.is_empty());
        let (texts, notices) = place.look(15);
        assert_eq!(texts, ["global", "root", "override", "é", "o"]);
        assert!(notices[0].contains("CLAUDE.md") && notices[0].contains("2 of its 6 bytes"), "{notices:?}");
        assert!(notices[1].contains("1 of its 5 bytes"), "{notices:?}");
        assert_eq!(place.look(0), (vec!["global".to_string()], vec![]));
    }

    #[test]
    fn a_budget_that_just_holds_is_no_cut() {
        let place = Place::new(&[("p/AGENTS.md", "12345"), ("p/a/AGENTS.md", "678é")]);
        assert_eq!(place.look(10), (vec!["12345".into(), "678é".into()], vec![]));
        let (texts, notices) = place.look(9);
        assert_eq!(texts, ["12345", "678"]);
        assert!(notices[0].contains("3 of its 5 bytes"), "{notices:?}");
    }

    #[test]
    fn bytes_that_are_no_text_do_not_break_the_rest() {
        let place = Place::new(&[("p/AGENTS.md", "\u{feff}marked")]);
        std::fs::write(place.dir.path().join("p/a/AGENTS.md"), b"caf\xe9").unwrap();
        assert_eq!(place.look(100), (vec!["marked".into(), "caf\u{fffd}".into()], vec![]));
    }

    #[test]
    fn an_empty_override_takes_the_files_place() {
        let place = Place::new(&[("p/AGENTS.md", "hidden"), ("p/AGENTS.override.md", " \n")]);
        assert_eq!(place.look(100), (vec![], vec![]));
    }

    #[test]
    fn a_large_file_of_the_user_is_cut_and_told() {
        let place = Place::new(&[("home/AGENTS.override.md", &"x".repeat(GLOBAL_BYTES + 7))]);
        let (texts, notices) = place.look(100);
        assert_eq!(texts[0].len(), GLOBAL_BYTES);
        assert!(
            notices[0].contains("65536 of its 65543 bytes") && notices[0].contains("user"),
            "{notices:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_project_is_not_read() {
        let place = Place::new(&[("secret", "key"), ("p/CLAUDE.md", "shared"), ("mine.md", "mine")]);
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(from, place.dir.path().join(to)).unwrap();
        };
        link("../../secret", "p/a/AGENTS.md");
        link("../../CLAUDE.md", "p/a/b/AGENTS.md");
        link("../mine.md", "home/AGENTS.md");
        let (texts, notices) = place.look(100);
        // What the user links at home is the user's to link.
        assert_eq!(texts, ["mine", "shared", "shared"]);
        assert!(notices.len() == 1 && notices[0].contains("outside of the project"), "{notices:?}");
    }
}
