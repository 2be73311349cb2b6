//! A workspace, a home, a folder outside, a process outside and listeners outside, and commands run beside them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::{Network, RunEnd, Sandbox};
use sandbox::{Level, Piece, Policy, Running, Spec, Wall};

/// What a command may do, for one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    ReadOnly,
    Write,
    WriteOnline,
    Full,
}

pub struct Ground {
    dir: tempfile::TempDir,
    victim: std::process::Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: (UnixListener, UnixDatagram),
    pub work: PathBuf,
}

pub struct Ran {
    pub end: RunEnd,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn succeeded(&self) -> bool {
        self.end == RunEnd::Exited(0)
    }
}

/// The binary with the helper and the acts.
pub fn probe() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sandbox-probe"))
}

/// The wall at a level; none when this machine does not reach it.
pub async fn wall(level: Level) -> Option<Wall> {
    let wall = Wall::probe_up_to(probe(), level).await;
    if wall.level != level {
        let why = format!("the level is {}: {}", wall.level, wall.lacks.join("; "));
        assert!(std::env::var_os("TESTS_LEAVE_NOTHING_OUT").is_none(), "{why}");
        eprintln!("skipped: {why}");
        return None;
    }
    Some(wall)
}

const FILES: &[(&str, &str)] = &[
    ("work/a/f", "a"),
    ("work/f", "f"),
    ("outside/f", "outside"),
    ("home/.ssh/id", "key"),
    ("home/.netrc", "key"),
];

impl Ground {
    /// Not below the system's temporary folder, which is covered, wherever this is built.
    pub fn new() -> Self {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let base = if built.starts_with("/tmp") { Path::new("/var/tmp") } else { built };
        let dir = tempfile::tempdir_in(base).unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["work/.vscode", "work/a/nested", "outside", "home/.ssh", "home/.config"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let work = root.join("work");
        for repository in [work.clone(), work.join("a/nested")] {
            let git = Command::new("git").args(["init", "-q"]).current_dir(&repository).status().unwrap();
            assert!(git.success());
            std::fs::create_dir_all(repository.join(".git/hooks")).unwrap();
        }
        for (file, text) in FILES {
            std::fs::write(root.join(file), text).unwrap();
        }
        let victim = Command::new("sleep").arg("600").env("VICTIM", "sk-victim").spawn().unwrap();
        let sockets = (
            UnixListener::bind(root.join("outside/listener")).unwrap(),
            UnixDatagram::bind(root.join("outside/datagrams")).unwrap(),
        );
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { dir, victim, tcp, udp: echo(), _unix: sockets, work }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn outside(&self) -> PathBuf {
        self.root().join("outside")
    }

    pub fn policy(&self, mode: Mode) -> Policy {
        let (sandbox, network) = match mode {
            Mode::ReadOnly => (Sandbox::ReadOnly, Network::Off),
            Mode::Write => (Sandbox::WorkspaceWrite, Network::Off),
            Mode::WriteOnline => (Sandbox::WorkspaceWrite, Network::On),
            Mode::Full => (Sandbox::FullAccess, Network::On),
        };
        Policy {
            sandbox,
            network,
            roots: vec![self.work.clone()],
            guarded: sandbox::Guarded::look(std::slice::from_ref(&self.work)).paths,
            hidden: sandbox::secrets_in(&self.root().join("home")),
        }
    }

    pub fn spec(&self, line: &str, mode: Mode) -> Spec {
        let own = std::env::vars().chain([("FAKE_API_KEY".into(), "sk-fake".into())]);
        let mut env = sandbox::scrub(own);
        env.retain(|(name, _)| name != "HOME");
        for (name, value) in [
            ("HOME", self.root().join("home").display().to_string()),
            ("O", self.outside().display().to_string()),
            ("P", probe().display().to_string()),
            ("V", self.victim.id().to_string()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
        ] {
            env.push((name.into(), value));
        }
        let argv = ["sh", "-c", line].map(str::to_string).to_vec();
        Spec { argv, cwd: self.work.clone(), env, policy: self.policy(mode) }
    }

    pub async fn run(&self, wall: &Wall, line: &str, mode: Mode) -> Ran {
        finish(sandbox::start(wall, self.spec(line, mode)).unwrap()).await
    }
}

/// Names, modes and contents, to see that nothing changed.
pub fn picture(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let meta = entry.path().symlink_metadata().unwrap();
            let bytes = if meta.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            found.push((entry.path(), meta.permissions().mode(), bytes));
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Answers every datagram.
fn echo() -> UdpSocket {
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let echo = udp.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 8];
        while let Ok((_, from)) = echo.recv_from(&mut bytes) {
            if echo.send_to(b"hi", from).is_err() {
                break;
            }
        }
    });
    udp
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

pub async fn finish(mut running: Running) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut end = RunEnd::Stopped;
    while let Some(piece) = running.next().await {
        match piece {
            Piece::Out(bytes) => out.extend(bytes),
            Piece::Err(bytes) => err.extend(bytes),
            Piece::Ended(told) => end = told,
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { end, out: text(out), err: text(err) }
}
