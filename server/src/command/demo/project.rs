//! The scratch repository of the demo, its bug, its tests, and what the scripted model does about it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    root: PathBuf,
    pub(super) work: PathBuf,
    pub(super) home: PathBuf,
}

impl Scratch {
    pub(super) fn make() -> Result<Self, String> {
        let root = std::env::temp_dir().join(format!("interpreter-demo-{}", std::process::id()));
        let scratch = Self { work: root.join("prices"), home: root.join("home"), root };
        let fail = |error: std::io::Error| format!("{}: {error}", scratch.root.display());
        std::fs::create_dir_all(&scratch.home).map_err(fail)?;
        std::fs::create_dir_all(&scratch.work).map_err(fail)?;
        for (name, text) in [("price.sh", PRICE), ("test.sh", TEST), ("table.txt", TABLE)] {
            std::fs::write(scratch.work.join(name), text).map_err(fail)?;
        }
        for args in [
            &["init", "-q"][..],
            &["add", "."],
            &["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "Add prices"],
        ] {
            git(&scratch.work, args)?;
        }
        Ok(scratch)
    }
}

fn git(work: &Path, args: &[&str]) -> Result<(), String> {
    let ran = Command::new("git")
        .args(["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(work)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be started: {error}; install git"))?;
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

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
