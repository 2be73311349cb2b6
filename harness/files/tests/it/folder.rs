//! A scratch folder with files, and edits planned and written in it as the engine does.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use files::{Before, Planned, Roots, Sighting};
use protocol::{Action, EditRule, FilePath, Hits, IoWhy, MatchBy, Outcome, Swap};

pub const RULE: EditRule = EditRule { must_be_read: true, match_by: MatchBy::Fuzzy };
/// What is replaced is quoted.
pub const QUOTED: EditRule = EditRule { must_be_read: false, match_by: MatchBy::Fuzzy };

pub struct Folder {
    dir: tempfile::TempDir,
    pub roots: Roots,
    read: RefCell<HashMap<PathBuf, Sighting>>,
}

impl Folder {
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::new(dir.path().to_path_buf(), vec![]);
        let folder = Self { dir, roots, read: RefCell::default() };
        for (name, bytes) in files {
            folder.put(name, bytes);
        }
        folder
    }

    pub fn of(files: &[(&str, &str)]) -> Self {
        let folder = Self::new(&[]);
        for (name, text) in files {
            folder.put(name, text.as_bytes());
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    /// The model reads the file.
    pub fn read(&self, name: &str) -> &Self {
        let bytes = std::fs::read(self.path(name)).unwrap();
        let real = self.roots.resolve(name).unwrap().real;
        self.read.borrow_mut().insert(real, Sighting { digest: files::digest(&bytes), unseen: None });
        self
    }

    /// The model reads the lines before `unseen`.
    pub fn read_part(&self, name: &str, unseen: u64) -> &Self {
        self.read(name);
        let real = self.roots.resolve(name).unwrap().real;
        self.read.borrow_mut().get_mut(&real).unwrap().unseen = Some(unseen);
        self
    }

    pub fn plan(&self, action: &Action) -> Result<Planned, Outcome> {
        files::plan(action, &|path| self.look(path))
    }

    fn look(&self, path: &FilePath) -> Result<Before, Outcome> {
        let place = self.roots.resolve(&path.0)?;
        if place.real.is_dir() {
            let text = format!("{path} is a folder");
            return Err(Outcome::Failed { why: IoWhy::NotAFile, path: Some(path.clone()), text });
        }
        let read = self.read.borrow().get(&place.real).cloned();
        Ok(Before { bytes: std::fs::read(&place.real).ok(), place, read })
    }

    /// Plans and writes; what was written the model knows.
    pub fn run(&self, action: &Action) -> Result<Planned, Outcome> {
        let planned = self.plan(action)?;
        files::commit(&planned.edits)?;
        for edit in &planned.edits {
            if let Some(after) = &edit.after {
                let sighting = Sighting { digest: files::digest(after), unseen: None };
                self.read.borrow_mut().insert(edit.place.real.clone(), sighting);
            }
        }
        Ok(planned)
    }

    pub fn patch(&self, text: &str) -> Result<Planned, Outcome> {
        let files = files::patch::parse(text)
            .map_err(|why| Outcome::EditFailed { path: FilePath("patch".into()), why })?;
        self.run(&Action::Patch { files, rule: RULE })
    }

    pub fn edit(&self, name: &str, old: &str, new: &str) -> Result<Planned, Outcome> {
        let swaps = vec![Swap { old: old.into(), new: new.into(), hits: Hits::One }];
        self.run(&Action::Edit { path: FilePath(name.into()), swaps, rule: QUOTED })
    }

    pub fn write(&self, name: &str, text: &str) -> Result<Planned, Outcome> {
        self.run(&Action::Write { path: FilePath(name.into()), text: text.into(), rule: RULE })
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn mode(&self, name: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    pub fn set_mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Every entry by its name: text, `-> target` of links, bytes that are not UTF-8 escaped.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        gather(self.dir.path(), self.dir.path(), &mut tree);
        tree
    }
}

fn gather(base: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_string();
        if let Ok(target) = std::fs::read_link(&path) {
            tree.insert(name, format!("-> {}", target.display()));
        } else if path.is_dir() {
            gather(base, &path, tree);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            tree.insert(
                name,
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| error.into_bytes().escape_ascii().to_string()),
            );
        }
    }
}
