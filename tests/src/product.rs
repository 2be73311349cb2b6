//! The built binary in a workspace and a home of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::ModelServer;

/// Where a test runs the product.
pub struct Product {
    root: tempfile::TempDir,
    pub work: PathBuf,
    pub home: PathBuf,
}

/// What a run of `exec` said.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

/// The binary under test: `INTERPRETER_BIN`, else the one of this build, brought up to date once a process.
///
/// Cargo builds no binaries of other packages for a test, so a stale or missing one would be tested otherwise.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    match std::env::var_os("INTERPRETER_BIN") {
        Some(given) => given.into(),
        None => BUILT.get_or_init(build).clone(),
    }
}

/// Whether a program is missing, so that a test is left out. `tests/run` installs them all: there it fails.
pub fn lacks(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    assert!(there || std::env::var_os("TESTS_LEAVE_NOTHING_OUT").is_none(), "{program} is not installed");
    if !there {
        println!("skipped: {program} is not installed");
    }
    !there
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("this test's path");
    // target/PROFILE/deps/TEST
    let folder = test.ancestors().nth(2).expect("the profile's folder");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "build",
            "--workspace",
            "--bins",
            "--offline",
            "--quiet",
            "--profile",
            profile,
            "--target-dir",
        ])
        .arg(folder.parent().expect("the target folder"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    // What cargo tells a test about its package would look like a changed environment to build scripts.
    for (name, _) in std::env::vars_os() {
        let told = name.to_str().is_some_and(|name| {
            name == "CARGO" || ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|head| name.starts_with(head))
        });
        if told {
            cargo.env_remove(name);
        }
    }
    let built = cargo.status().expect("cargo");
    assert!(built.success(), "the product does not build");
    folder.join("interpreter")
}

impl Product {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().canonicalize().expect("its real path");
        let (work, home) = (base.join("work"), base.join("home"));
        std::fs::create_dir_all(&work).expect("work");
        std::fs::create_dir_all(&home).expect("home");
        Self { root, work, home }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A configuration whose provider is this server.
    pub fn configure(&self, server: &ModelServer, wire: &str, more: &str) {
        let text = format!(
            "model_provider = \"mock\"\nmodel = \"m\"\n{more}\n[model_providers.mock]\nbase_url = \"{}\"\n\
             wire_api = \"{wire}\"\nrequest_max_retries = 2\nstream_max_retries = 2\n",
            server.url()
        );
        std::fs::write(self.home.join("config.toml"), text).expect("config.toml");
    }

    /// The binary with this home and nothing of ours in its environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.env("INTERPRETER_HOME", &self.home).current_dir(&self.work);
        for name in ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"] {
            command.env_remove(name);
        }
        command
    }

    /// `interpreter exec` with these arguments, to its end.
    pub fn exec(&self, args: &[&str]) -> Ran {
        let mut command = self.command();
        command.arg("exec").args(args).stdin(Stdio::null());
        run(&mut command, Duration::from_secs(60))
    }
}

impl Default for Product {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs to the end; a run beyond its time fails the test.
pub fn run(command: &mut Command, limit: Duration) -> Ran {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let (out, err) = (child.stdout.take().expect("out"), child.stderr.take().expect("err"));
    let read = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (out, err) = (read(Box::new(out)), read(Box::new(err)));
    let status = loop {
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            panic!("{command:?} ran longer than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = started.elapsed();
    Ran { code: status.code(), out: out.join().expect("out"), err: err.join().expect("err"), took }
}

/// Copies a folder, byte for byte, writable.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder to copy").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("its kind").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::write(&target, std::fs::read(entry.path()).expect("a file")).expect("a copy");
        }
    }
}
