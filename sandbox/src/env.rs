//! The environment of commands: the usual variables, never a secret.

/// Names that are passed on.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    // the person and the system
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "EDITOR", "CI",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
    "NIX_PATH", "NIX_PROFILES", "HOMEBREW_PREFIX", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "MISE_CONFIG_DIR",
    // certificates of one's own network
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
    // Rust
    "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR", "CARGO_BUILD_JOBS", "RUSTFLAGS",
    "RUST_BACKTRACE", "RUSTC_WRAPPER", "SCCACHE_DIR",
    // Go
    "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOENV", "GOTOOLCHAIN", "GOFLAGS", "GOPROXY",
    // Java and its kin
    "JAVA_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "M2_HOME", "GRADLE_USER_HOME", "GRADLE_OPTS", "SDKMAN_DIR",
    "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "DOTNET_ROOT",
    // JavaScript
    "NVM_DIR", "NODE_PATH", "NODE_OPTIONS", "NODE_ENV", "PNPM_HOME", "VOLTA_HOME", "FNM_DIR", "BUN_INSTALL",
    "DENO_DIR", "DENO_INSTALL",
    // Python and Ruby
    "PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "UV_CACHE_DIR", "POETRY_HOME", "GEM_HOME", "GEM_PATH",
    "RBENV_ROOT", "RBENV_VERSION", "BUNDLE_PATH",
    // C
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH",
    "CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "CCACHE_DIR",
    // Windows
    "SYSTEMROOT", "PATHEXT", "COMSPEC", "WINDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES",
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
    // A message that git made is taken as it is; a list of steps must be given otherwise.
    ("GIT_EDITOR", "true"),
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
