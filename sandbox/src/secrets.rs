//! Places in a home folder that hold keys, tokens and cookies.

use std::path::{Path, PathBuf};

const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".netrc",
    ".kube",
    ".azure",
    ".oci",
    ".vault-token",
    ".password-store",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/github-copilot",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".gem/credentials",
    ".composer/auth.json",
    ".git-credentials",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".terraform.d/credentials.tfrc.json",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".gemini/oauth_creds.json",
    ".openinterpreter/auth.json",
];

/// What exists of the places that hold keys below a home folder.
pub fn secrets_in(home: &Path) -> Vec<PathBuf> {
    SECRETS.iter().map(|name| home.join(name)).filter(|path| path.symlink_metadata().is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_exists() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".ssh")).unwrap();
        std::fs::create_dir_all(home.path().join(".docker")).unwrap();
        std::fs::write(home.path().join(".docker/config.json"), "{}").unwrap();
        let found = secrets_in(home.path());
        assert_eq!(found, [home.path().join(".ssh"), home.path().join(".docker/config.json")]);
    }
}
