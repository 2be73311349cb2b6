//! Which projects a person trusts, and what they allowed there for good; kept in the user's own file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

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
    let text = fs::read_to_string(home.join("config.toml")).unwrap_or_default();
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
fn change(home: &Path, root: &Path, change: impl FnOnce(&mut Table)) -> Result<(), String> {
    let path = home.join("config.toml");
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(home).map_err(fail)?;
    // Two processes that change it at once would lose one's change.
    let guard = fs::File::create(home.join(".config.lock")).map_err(fail)?;
    guard.lock().map_err(fail)?;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let name = root.to_string_lossy();
    let projects = document.entry("projects").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let projects =
        projects.as_table_mut().ok_or_else(|| format!("{}: projects is no table", path.display()))?;
    let project = projects.entry(&name).or_insert_with(|| Item::Table(Table::new()));
    let project =
        project.as_table_mut().ok_or_else(|| format!("{}: projects.{name} is no table", path.display()))?;
    change(project);
    replace(&path, document.to_string().as_bytes()).map_err(fail)
}

/// The whole new file or the old one, whatever happens; only we may read it.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)
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
}
