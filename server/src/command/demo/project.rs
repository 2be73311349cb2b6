//! The scratch repository of the demo, its bug, its tests, and what the scripted model does about it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::command::shared;

/// What the person asks for.
pub(super) const PROMPT: &str = "The tests fail. Find out why and fix it.";

/// What the scripted model says and does; the engine does it for real.
pub(super) const SCRIPT: &str = include_str!("script.json");

const PRICE: &str = "\
#!/bin/sh
# Prints a price in cents after a discount in percent.
price=$1
percent=$2
echo $((price - price / 100 * percent))
";

const TEST: &str = "\
#!/bin/sh
# Runs ./price.sh on a table of prices, percents and results.
failed=0
while read -r price percent want; do
    got=$(sh ./price.sh \"$price\" \"$percent\")
    if [ \"$got\" = \"$want\" ]; then
        echo \"ok     $price at $percent% is $got\"
    else
        echo \"FAILED $price at $percent%: want $want, got $got\"
        failed=1
    fi
done < table.txt
exit $failed
";

const TABLE: &str = "1000 10 900\n250 10 225\n99 50 50\n1 0 1\n";

/// The repository and the home of the demo. Dropped, both are removed.
pub(super) struct Scratch {
    _root: TempDir,
    pub(super) work: PathBuf,
    pub(super) home: PathBuf,
}

impl Scratch {
    /// A new folder that nobody else could have made or may look into.
    pub(super) fn make() -> Result<Self, String> {
        let folder = std::env::temp_dir();
        let folder = shared::real("the folder for temporary files", &folder)
            .map_err(|why| format!("{why}; set TMPDIR to a folder that exists"))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("interpreter-demo-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let root = builder.tempdir_in(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let scratch = Self { work: root.path().join("prices"), home: root.path().join("home"), _root: root };
        let fail = |error: std::io::Error| format!("{}: {error}", scratch.work.display());
        std::fs::create_dir(&scratch.home).map_err(fail)?;
        std::fs::create_dir(&scratch.work).map_err(fail)?;
        for (name, text) in [("price.sh", PRICE), ("test.sh", TEST), ("table.txt", TABLE)] {
            std::fs::write(scratch.work.join(name), text).map_err(fail)?;
        }
        for args in [
            &["init", "-q", "--template="][..],
            &["add", "."],
            &["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "Add prices"],
        ] {
            git(&scratch.work, args)?;
        }
        Ok(scratch)
    }
}

/// Git as it comes: no configuration, hook or repository of anybody else's.
fn git(work: &Path, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(work)
        .stdin(Stdio::null());
    // Ctrl-C is ours: a git that it ends would look like a git that fails.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let ran = command.output().map_err(|error| format!("git cannot be started: {error}; install git"))?;
    if ran.status.success() {
        return Ok(());
    }
    Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&ran.stderr).trim()))
}

/// Whether the project's own tests pass now, run by us and not by the model.
pub(super) fn tests_pass(work: &Path) -> bool {
    let ran = Command::new("sh").arg("test.sh").current_dir(work).stdin(Stdio::null()).output();
    ran.is_ok_and(|ran| ran.status.success())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn each_scratch_is_new_and_ours_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (one, other) = (Scratch::make().unwrap(), Scratch::make().unwrap());
        assert_ne!(one.work, other.work);
        let root = one.work.parent().unwrap().to_path_buf();
        assert_eq!(std::fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(!tests_pass(&one.work));
        drop(one);
        assert!(!root.exists());
    }
}
