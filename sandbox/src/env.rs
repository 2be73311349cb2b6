//! The environment of commands: the usual variables, never a secret.

/// Names that are passed on.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    "EDITOR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TARGET_DIR",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOFLAGS",
    "GOPROXY",
    "JAVA_HOME",
    "MAVEN_OPTS",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "GEM_HOME",
    "RBENV_ROOT",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "CI",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "SYSTEMROOT",
    "PATHEXT",
    "COMSPEC",
    "WINDIR",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
];

/// Parts of names that mean a secret, wherever they come from.
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// What every command is told: no colour, no pager, no questions.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("AI_AGENT", "open-interpreter"),
];

/// The part of an environment that commands get, with what every command is told.
pub fn scrub(env: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let kept = env.filter(|(name, _)| {
        (ALLOWED.contains(&name.as_str()) || name.starts_with("LC_")) && !is_secret(name)
    });
    let mut out: Vec<(String, String)> =
        kept.filter(|(name, _)| !FIXED.iter().any(|(fixed, _)| fixed == name)).collect();
    out.extend(FIXED.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    out.sort();
    out
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_behind() {
        let env =
            [("PATH", "/bin"), ("OPENAI_API_KEY", "sk"), ("FOO", "1"), ("LC_ALL", "C"), ("TERM", "xterm")];
        let out = scrub(env.into_iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let get = |name: &str| out.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!((get("PATH"), get("LC_ALL"), get("TERM")), (Some("/bin"), Some("C"), Some("dumb")));
        assert_eq!((get("OPENAI_API_KEY"), get("FOO")), (None, None));
    }
}
