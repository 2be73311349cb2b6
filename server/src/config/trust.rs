//! Which projects a person trusts, and what they allowed there for good; kept in the user's own file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use crate::file;

/// Links to links at most, as many as Linux follows.
const LINKS: usize = 40;

/// The folder above `cwd` that holds a repository, else `cwd`; links resolved.
pub(crate) fn project_root(cwd: &Path) -> PathBuf {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd).to_path_buf()
}

/// Whether a layer trusts this folder.
pub(super) fn trusted_by(layer: &Value, cwd: &Path, root: &Path) -> bool {
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    [root, cwd, &real].iter().any(|path| {
        let level = project(layer, path).and_then(|project| project.get("trust_level"));
        level.and_then(Value::as_str) == Some("trusted")
    })
}

pub(super) fn allowed_by(layer: &Value, root: &Path) -> Vec<String> {
    let list = project(layer, root).and_then(|project| project.get("allow")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

fn project<'a>(layer: &'a Value, path: &Path) -> Option<&'a Value> {
    layer.get("projects")?.get(path.to_str()?)
}

/// Whether a person trusted the project around `cwd`.
pub(crate) fn is_trusted(home: &Path, cwd: &Path) -> bool {
    let text = file::text(&home.join("config.toml")).unwrap_or_default();
    let layer: Value = toml_edit::de::from_str(&text).unwrap_or(Value::Null);
    trusted_by(&layer, cwd, &project_root(cwd))
}

/// Keeps that the project is trusted.
///
/// Errors: the file cannot be read, is broken, or cannot be written; it is as it was then.
pub(super) fn trust(home: &Path, root: &Path) -> Result<(), String> {
    change(home, root, |project| {
        project.insert("trust_level", value("trusted"));
    })
}

/// Keeps that a scope is allowed in the project.
///
/// Errors: as [`trust`].
pub(super) fn allow(home: &Path, root: &Path, scope: &str) -> Result<(), String> {
    change(home, root, |project| {
        let list = project.entry("allow").or_insert(value(Array::new()));
        if let Some(list) = list.as_array_mut()
            && !list.iter().any(|known| known.as_str() == Some(scope))
        {
            list.push(scope);
        }
    })
}

/// Changes one project's table; comments and order of the file stay.
fn change(home: &Path, root: &Path, change: impl FnOnce(&mut dyn TableLike)) -> Result<(), String> {
    let name = root.to_str().ok_or_else(|| format!("{root:?} is no UTF-8; rename it, then try again"))?;
    let named = home.join("config.toml");
    let fail = |error: io::Error| format!("{}: {error}", named.display());
    fs::create_dir_all(home).map_err(fail)?;
    // Two processes that change it at once would lose one's change.
    let _guard = Guard::new(home.join(".config.lock")).map_err(fail)?;
    let path = behind_links(&named).map_err(fail)?;
    let text = match file::text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{}: {error}", named.display()))?;
    let no_table = |key: &str| format!("{}: {key} is no table; make it one", named.display());
    let projects = document.entry("projects").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let project = match projects.is_inline_table() {
        true => Item::Value(InlineTable::new().into()),
        false => Item::Table(Table::new()),
    };
    let projects = projects.as_table_like_mut().ok_or_else(|| no_table("projects"))?;
    let project = projects.entry(name).or_insert(project);
    change(project.as_table_like_mut().ok_or_else(|| no_table(&format!("projects.{name:?}")))?);
    replace(&path, document.to_string().as_bytes()).map_err(fail)
}

/// The file that a link leads to, whether or not it is there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("/")).join(to),
            // It is no link, or not there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead nowhere; make it a file"))
}

/// The whole new file or the old one, whatever happens; mode and owner stay. Only we may read a new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut draft = tempfile::Builder::new().prefix(".config.").suffix(".tmp").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    if let Ok(old) = fs::metadata(path) {
        keep_owner(draft.as_file(), &old)?;
        draft.as_file().set_permissions(old.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(path).map(|_| ()).map_err(|error| error.error)
}

#[cfg(unix)]
fn keep_owner(draft: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = draft.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(draft, Some(old.uid()), Some(old.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("its owner cannot be kept: {error}")))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// While it is held, no other process changes the file. Dropped, its own file is gone.
struct Guard {
    path: PathBuf,
    _locked: File,
}

impl Guard {
    fn new(path: PathBuf) -> io::Result<Self> {
        loop {
            let locked = File::create(&path)?;
            locked.lock()?;
            // Who had it before us took the file away while we waited.
            if is_at(&locked, &path) {
                return Ok(Self { path, _locked: locked });
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // One that stays is locked again by the next.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(file), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
    (file.dev(), file.ino()) == (there.dev(), there.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_and_scopes_keep_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::write(home.join("config.toml"), "# mine\nmodel = \"m\" # yes\n").unwrap();
        let root = Path::new("/some/where");
        trust(home, root).unwrap();
        allow(home, root, "edit").unwrap();
        allow(home, root, "edit").unwrap();
        allow(home, root, "run:cargo test").unwrap();
        let text = fs::read_to_string(home.join("config.toml")).unwrap();
        assert!(text.starts_with("# mine\nmodel = \"m\" # yes\n"), "{text}");
        let layer: Value = toml_edit::de::from_str(&text).unwrap();
        assert!(
            trusted_by(&layer, root, root) && !trusted_by(&layer, Path::new("/other"), Path::new("/other"))
        );
        assert_eq!(allowed_by(&layer, root), ["edit", "run:cargo test"]);
        fs::write(home.join("config.toml"), "broken = ").unwrap();
        assert!(trust(home, root).is_err());
        assert_eq!(fs::read_to_string(home.join("config.toml")).unwrap(), "broken = ");
    }

    #[test]
    fn inline_tables_are_tables() {
        for text in [
            "projects = {}\n",
            "projects = { \"/p\" = { trust_level = \"untrusted\" } }\n",
            "[projects]\n\"/p\" = { allow = [\"edit\"] }\n",
            "projects.\"/p\".trust_level = \"untrusted\"\n",
        ] {
            let dir = tempfile::tempdir().unwrap();
            let root = Path::new("/p");
            fs::write(dir.path().join("config.toml"), text).unwrap();
            trust(dir.path(), root).unwrap();
            allow(dir.path(), root, "fetch").unwrap();
            let text = fs::read_to_string(dir.path().join("config.toml")).unwrap();
            let layer: Value = toml_edit::de::from_str(&text).unwrap();
            assert!(trusted_by(&layer, root, root), "{text}");
            assert_eq!(allowed_by(&layer, root).last().map(String::as_str), Some("fetch"), "{text}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.toml"), "projects = 5\n").unwrap();
        let error = trust(dir.path(), Path::new("/p")).unwrap_err();
        assert!(error.ends_with("projects is no table; make it one"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_nothing_is_left_behind() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (home, dotfiles) = (dir.path().join("home"), dir.path().join("dotfiles"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&dotfiles).unwrap();
        symlink("../dotfiles/c.toml", home.join("config.toml")).unwrap();
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).unwrap().flatten();
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
        };
        // The target need not be there yet.
        trust(&home, Path::new("/p")).unwrap();
        fs::set_permissions(dotfiles.join("c.toml"), fs::Permissions::from_mode(0o640)).unwrap();
        trust(&home, Path::new("/q")).unwrap();
        assert!(home.join("config.toml").is_symlink());
        let target = fs::metadata(dotfiles.join("c.toml")).unwrap();
        assert_eq!(target.permissions().mode() & 0o777, 0o640);
        let text = fs::read_to_string(dotfiles.join("c.toml")).unwrap();
        assert!(text.contains("/p") && text.contains("/q"), "{text}");
        fs::write(dotfiles.join("c.toml"), "broken = ").unwrap();
        assert!(trust(&home, Path::new("/p")).is_err());
        assert_eq!(
            (names(&home), names(&dotfiles)),
            (vec!["config.toml".into()], vec!["c.toml".to_string()])
        );
    }

    #[test]
    fn no_change_is_lost_between_two_at_once() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let home = dir.path();
                scope.spawn(move || trust(home, &PathBuf::from(format!("/p{n}"))).unwrap());
            }
        });
        let text = fs::read_to_string(dir.path().join("config.toml")).unwrap();
        assert!((0..8).all(|n| text.contains(&format!("/p{n}"))), "{text}");
    }
}
