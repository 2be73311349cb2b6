//! The files of configuration, low to high: system, user, trusted project, profile, `-c`.

use std::path::{Path, PathBuf};

use protocol::Notice;
use serde_json::{Map, Value};

use super::{Given, Tolerance, keys, raw, trust, warning};
use crate::file;

const SYSTEM: &str = "/etc/open-interpreter/config.toml";
const PROJECT: &str = ".openinterpreter/config.toml";

/// The product's home: `$INTERPRETER_HOME`, else `~/.openinterpreter`.
pub(crate) fn home() -> Result<PathBuf, String> {
    let home = named_home()?;
    if home.to_str().is_none() {
        return Err(format!(
            "the home {home:?} is no UTF-8; set INTERPRETER_HOME to a folder whose name is UTF-8"
        ));
    }
    Ok(home)
}

fn named_home() -> Result<PathBuf, String> {
    match std::env::var_os("INTERPRETER_HOME").filter(|home| !home.is_empty()) {
        Some(home) => {
            let home = PathBuf::from(home);
            std::path::absolute(&home)
                .map_err(|error| format!("INTERPRETER_HOME {}: {error}", home.display()))
        }
        None => std::env::home_dir()
            .map(|home| home.join(".openinterpreter"))
            .ok_or_else(|| "there is no home folder; set HOME or INTERPRETER_HOME".into()),
    }
}

/// All layers merged, and what there is to say about them.
pub(crate) struct Layers {
    pub(crate) merged: Value,
    pub(crate) trusted: bool,
    /// Scopes that were allowed for good in this project.
    pub(crate) allowed: Vec<String>,
    pub(crate) notices: Vec<Notice>,
}

impl Layers {
    /// Reads them.
    ///
    /// Errors: what is wrong, with file, line and column.
    pub(crate) fn read(home: &Path, cwd: &Path, given: &Given, tolerance: Tolerance) -> Result<Self, String> {
        let mut reader = Reader { tolerance, strict: given.strict, notices: Vec::new() };
        let mut merged = Value::Object(Map::new());
        if let Some(layer) = reader.file(Path::new(SYSTEM), Whose::Own)? {
            merge(&mut merged, layer);
        }
        let user = match given.ignore_user {
            true => None,
            false => reader.file(&home.join("config.toml"), Whose::Own)?,
        };
        let root = trust::project_root(cwd);
        let user = user.unwrap_or_else(|| Value::Object(Map::new()));
        let (trusted, allowed) = (trust::trusted_by(&user, cwd, &root), trust::allowed_by(&user, &root));
        merge(&mut merged, user);
        reader.project(&root, cwd, trusted, &mut merged)?;
        if let Some(profile) = &given.profile {
            let path = home.join(format!("{profile}.config.toml"));
            if let Some(layer) = reader.file(&path, Whose::Profile)? {
                merge(&mut merged, layer);
            }
        }
        let flags = overrides(&given.overrides);
        let before = trusted_in(&flags, cwd, &root);
        reader.odd_keys("-c", &flags)?;
        if let Some(misfit) = raw::misfit(&flags) {
            return Err(format!("-c {}: {}", misfit.key.join("."), misfit.why));
        }
        merge(&mut merged, flags);
        Ok(Self { merged, trusted: trusted || before, allowed, notices: reader.notices })
    }
}

fn trusted_in(flags: &Value, cwd: &Path, root: &Path) -> bool {
    trust::trusted_by(flags, cwd, root)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The system's or the person's own; it need not be there.
    Own,
    /// The project's own, which may not decide everything.
    Project,
    /// Asked for by name.
    Profile,
}

struct Reader {
    tolerance: Tolerance,
    strict: bool,
    notices: Vec<Notice>,
}

impl Reader {
    fn file(&mut self, path: &Path, whose: Whose) -> Result<Option<Value>, String> {
        let text = match file::text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return match whose {
                    Whose::Own | Whose::Project => Ok(None),
                    Whose::Profile => {
                        Err(format!("{}: there is no such profile; make it, or leave -p out", path.display()))
                    }
                };
            }
            Err(error) => return self.broken(format!("{}: {error}", path.display())),
        };
        let mut layer: Value = match toml_edit::de::from_str(&text) {
            Ok(layer) => layer,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                return self.broken(format!("{}: {}", place(path, &text, at), error.message()));
            }
        };
        self.odd_keys(&path.display().to_string(), &layer)?;
        if whose == Whose::Project {
            self.strip(path, &mut layer);
        }
        if let Some(misfit) = raw::misfit(&layer) {
            let at = place(path, &text, offset(&text, &misfit.key));
            return Err(format!("{at}: {}: {}", misfit.key.join("."), misfit.why));
        }
        Ok(Some(layer))
    }

    fn strip(&mut self, path: &Path, layer: &mut Value) {
        let taken = keys::strip_project(layer);
        if !taken.is_empty() {
            let text = format!("{}: a project cannot set {}", path.display(), taken.join(", "));
            self.notices.push(warning("Keys of the project's configuration are not used", text));
        }
    }

    fn broken(&mut self, why: String) -> Result<Option<Value>, String> {
        match self.tolerance {
            Tolerance::None => Err(why),
            Tolerance::Broken => {
                self.notices.push(warning("A configuration file is not used", why));
                Ok(None)
            }
        }
    }

    fn odd_keys(&mut self, from: &str, layer: &Value) -> Result<(), String> {
        let odd = keys::look(layer);
        for key in &odd.unknown {
            let hint = keys::nearest(key).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            let text = format!("{from}: unknown key {key}{hint}");
            if self.strict {
                return Err(text);
            }
            self.notices.push(warning("Unknown configuration key", text));
        }
        if !odd.without_effect.is_empty() {
            let text = format!("{from}: {} have no effect here", odd.without_effect.join(", "));
            self.notices
                .push(Notice { level: protocol::Level::Info, ..warning("Keys without effect", text) });
        }
        Ok(())
    }

    /// The project's own files, from its root down to cwd; they count only when a person trusted it.
    fn project(&mut self, root: &Path, cwd: &Path, trusted: bool, merged: &mut Value) -> Result<(), String> {
        let mut folders: Vec<&Path> = cwd.ancestors().take_while(|folder| folder.starts_with(root)).collect();
        folders.reverse();
        for path in folders.iter().map(|folder| folder.join(PROJECT)).filter(|path| path.exists()) {
            if !trusted {
                let text =
                    format!("{} counts once you trust the project: `interpreter trust`", path.display());
                self.notices.push(warning("The project's configuration is not used", text));
                continue;
            }
            if let Some(layer) = self.file(&path, Whose::Project)? {
                merge(merged, layer);
            }
        }
        Ok(())
    }
}

/// `file:line:column`.
fn place(path: &Path, text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let line = head.matches('\n').count() + 1;
    let column = head.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    format!("{}:{line}:{column}", path.display())
}

/// Where the value of a key begins.
fn offset(text: &str, key: &[String]) -> usize {
    let Ok(document) = toml_edit::Document::parse(text) else { return 0 };
    let mut at = 0;
    let mut item = document.as_item();
    for part in key {
        let Some(inner) = item.get(part.as_str()) else { break };
        // A table that others imply stands nowhere.
        at = inner.span().map_or(at, |span| span.start);
        item = inner;
    }
    at
}

/// The later layer wins, key by key.
pub(crate) fn merge(into: &mut Value, layer: Value) {
    match (into, layer) {
        (Value::Object(into), Value::Object(layer)) => {
            for (key, value) in layer {
                match into.get_mut(&key) {
                    Some(old) => merge(old, value),
                    None => {
                        into.insert(key, value);
                    }
                }
            }
        }
        (into, value) => *into = value,
    }
}

/// What `-c` takes: a key without an empty part, `=`, and anything.
pub(crate) fn given(text: &str) -> Result<String, String> {
    let (key, _) = text.split_once('=').ok_or("give key=value")?;
    match split_key(key.trim()).iter().any(String::is_empty) {
        true => Err("a part of the key is empty; give key=value".into()),
        false => Ok(text.into()),
    }
}

/// `a.b=value` as a layer; a value that is no TOML is a string.
fn overrides(list: &[String]) -> Value {
    let mut layer = Value::Object(Map::new());
    for given in list {
        let (key, text) = given.split_once('=').unwrap_or((given, ""));
        let parsed: Result<Map<String, Value>, _> = toml_edit::de::from_str(&format!("value = {text}"));
        let value = match parsed.ok().and_then(|mut map| map.shift_remove("value")) {
            Some(value) => value,
            None => Value::String(text.to_string()),
        };
        let nested = split_key(key.trim())
            .into_iter()
            .rev()
            .fold(value, |inner, part| Value::Object(Map::from_iter([(part, inner)])));
        merge(&mut layer, nested);
    }
    layer
}

/// Parts of a dotted key; a part in quotes may hold dots.
fn split_key(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for letter in key.chars() {
        match letter {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            other => {
                if let Some(part) = parts.last_mut() {
                    part.push(other);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn overrides_are_toml_or_text() {
        let list: Vec<String> = [
            "model=gpt-x",
            "a.b=1",
            "a.c=\"t\"",
            "list=[\"x\", \"y\"]",
            "on=true",
            "projects.\"/a.b\".trust_level=trusted",
        ]
        .iter()
        .map(|text| text.to_string())
        .collect();
        assert_eq!(
            overrides(&list),
            json!({"model": "gpt-x", "a": {"b": 1, "c": "t"}, "list": ["x", "y"], "on": true,
                "projects": {"/a.b": {"trust_level": "trusted"}}})
        );
        assert!(given("x").is_err() && given("=1").is_err() && given("a.b=").is_ok());
    }

    fn read(home: &Path, cwd: &Path, given: &Given, tolerance: Tolerance) -> Result<Layers, String> {
        Layers::read(home, cwd, given, tolerance)
    }

    #[test]
    fn precedence_trust_and_broken_files() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("h"), dir.path().join("p"));
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::create_dir_all(project.join(".openinterpreter")).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
        write(home.join("config.toml"), "model = 'user'\nharness = 'native'\n");
        write(home.join("x.config.toml"), "model = 'profile'\n");
        write(project.join(PROJECT), "model = 'project'\nmode = 'full-access'\n");
        let model = |layers: &Layers| layers.merged["model"].as_str().unwrap().to_string();
        let mut given = Given::default();
        let layers = read(&home, &project, &given, Tolerance::None).unwrap();
        assert_eq!((model(&layers).as_str(), layers.trusted, layers.notices.len()), ("user", false, 1));
        trust::trust(&home, &trust::project_root(&project)).unwrap();
        let layers = read(&home, &project, &given, Tolerance::None).unwrap();
        assert_eq!((model(&layers).as_str(), layers.trusted), ("project", true));
        assert!(layers.merged.get("mode").is_none() && layers.notices[0].text.contains("cannot set mode"));
        given.profile = Some("x".into());
        assert_eq!(model(&read(&home, &project, &given, Tolerance::None).unwrap()), "profile");
        given.overrides = vec!["model=flag".into()];
        assert_eq!(model(&read(&home, &project, &given, Tolerance::None).unwrap()), "flag");
        given.profile = Some("none".into());
        assert!(read(&home, &project, &given, Tolerance::None).is_err());
        given.profile = None;
        given.overrides.clear();
        write(home.join("config.toml"), "model = 'a'\nbroken = \n");
        let error = read(&home, &project, &given, Tolerance::None).err().unwrap();
        assert!(error.contains("config.toml:2:"), "{error}");
        assert_eq!(read(&home, &project, &given, Tolerance::Broken).unwrap().notices.len(), 2);
        write(home.join("config.toml"), "# x\nmodel = 'a'\n[model_providers.p]\nbase_url = 'u'\nname =  7\n");
        for tolerance in [Tolerance::None, Tolerance::Broken] {
            let error = read(&home, &project, &given, tolerance).err().unwrap();
            let want =
                "config.toml:5:9: model_providers.p.name: invalid type: integer `7`, expected a string";
            assert!(error.ends_with(want), "{error}");
        }
        write(home.join("config.toml"), "");
        given.overrides = vec!["model=5".into()];
        let error = read(&home, &project, &given, Tolerance::None).err().unwrap();
        assert!(error.starts_with("-c model: invalid type"), "{error}");
        given.overrides.clear();
        write(home.join("config.toml"), "modle = 'a'\n");
        let layers = read(&home, &project, &given, Tolerance::None).unwrap();
        assert!(layers.notices[0].text.ends_with("unknown key modle; did you mean model?"));
        given.strict = true;
        assert!(read(&home, &project, &given, Tolerance::None).is_err());
    }
}
