//! What the wall holds, by commands that try to get out, through the built binary.
//!
//! Each probe is a shell line that succeeds when the act succeeds. Where bubblewrap is missing the level is
//! `landlock`, and only what that level holds is expected.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::product::Product;
use tests::{ModelServer, product};

struct Probe {
    name: &'static str,
    line: &'static str,
    /// Allowed in read-only and in workspace-write.
    read_only: bool,
    write: bool,
    /// Held by Landlock and seccomp alone, too.
    landlock: bool,
}

const fn probe(
    name: &'static str,
    line: &'static str,
    read_only: bool,
    write: bool,
    landlock: bool,
) -> Probe {
    Probe { name, line, read_only, write, landlock }
}

/// `$O` is a folder outside, `$V` a process outside, `$PORT` a listener outside.
const PROBES: &[Probe] = &[
    probe("read the workspace", "cat a >/dev/null", true, true, true),
    probe("read the system", "cat /etc/passwd >/dev/null", true, true, true),
    probe("write the workspace", "echo 1 > new1 && rm new1", false, true, true),
    probe(
        "run a script of the workspace",
        "printf '#!/bin/sh\\nexit 0\\n' > x.sh && chmod +x x.sh && ./x.sh",
        false,
        true,
        true,
    ),
    probe("make a fifo", "mkfifo ff && rm ff", false, true, true),
    probe("create outside", "echo 1 > $O/new", false, false, true),
    probe("truncate outside", ": > $O/f", false, false, true),
    probe("append outside", "echo evil >> $O/f", false, false, true),
    probe("unlink outside", "rm $O/f", false, false, true),
    probe("rename out of the workspace", "echo 1 > mv1; mv mv1 $O/mv1", false, false, true),
    probe("hard link from outside and write", "ln $O/f lnk && echo evil >> lnk", false, false, true),
    probe("write through a link", "ln -sf $O/sl sl && echo e > sl", false, false, true),
    probe("chmod outside", "chmod 777 $O/f", false, false, false),
    probe("change times outside", "touch -d 2001-01-01 $O/f", false, false, false),
    probe("write a hook", "echo x > .git/hooks/pre-commit", false, false, false),
    probe("change the repository's config", "git config core.fsmonitor evil", false, false, false),
    probe("commit", "git -c user.name=a -c user.email=b@c commit -q --allow-empty -m x", false, true, true),
    probe("read a key of the home", "cat $HOME/.ssh/id >/dev/null", false, false, false),
    probe("read our own keys", "grep -q . $INTERPRETER_HOME_DIR/auth.json", false, false, false),
    probe("see a process outside", "test -d /proc/$V", false, false, false),
    probe("signal a process outside", "kill -0 $V", false, false, true),
    probe("read the environment of a process outside", "grep -qa . /proc/$V/environ", false, false, true),
    probe(
        "write /proc/sys",
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
        false,
        false,
        true,
    ),
    probe("connect to a listener outside", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$PORT", false, false, true),
    probe("a secret in the environment", "test -n \"$FAKE_API_KEY$OPENAI_API_KEY\"", false, false, true),
    probe("a new user namespace", "unshare -Ur true", false, false, true),
    probe("mount", "mount -t tmpfs t /mnt", false, false, true),
    probe("any capability", "grep -q 'CapEff:.0*[1-9a-f]' /proc/self/status", false, false, true),
    probe("any capability to be had", "grep -q 'CapBnd:.0*[1-9a-f]' /proc/self/status", false, false, true),
    probe("new privileges", "grep -q 'NoNewPrivs:.*0' /proc/self/status", false, false, true),
    probe("the terminal", "echo x > /dev/tty", false, false, true),
    probe("temporary files", "echo 1 > $TMPDIR/t && cat $TMPDIR/t >/dev/null", true, true, true),
];

/// Probes that need a language with system calls.
const PYTHON: &[(&str, &str, bool)] = &[
    ("unix socket", "import socket; socket.socket(socket.AF_UNIX)", false),
    ("unix socket pair", "import socket; socket.socketpair()", true),
    ("netlink", "import socket; socket.socket(16, 3, 0)", false),
    ("vsock", "import socket; socket.socket(40, 1, 0)", false),
    ("packet", "import socket; socket.socket(17, 3, 3)", false),
    (
        "io_uring",
        "import ctypes,os; r=ctypes.CDLL(None).syscall(425,1,0); os._exit(0 if r>=0 or ctypes.get_errno()==14 else 1)",
        false,
    ),
    ("keyctl", "import ctypes,os; os._exit(0 if ctypes.CDLL(None).syscall(250,0,-3,0)>=0 else 1)", false),
    (
        "inherited descriptors",
        "import os,sys; sys.exit(0 if [f for f in os.listdir('/proc/self/fd') if int(f)>3] else 1)",
        false,
    ),
];

struct Ground {
    product: Product,
    victim: std::process::Child,
    listener: std::net::TcpListener,
}

fn ground() -> Ground {
    let product = Product::new();
    let outside = product.root().join("outside");
    let home = product.root().join("person");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(home.join(".ssh/id"), "key").unwrap();
    std::fs::write(outside.join("f"), "outside").unwrap();
    std::fs::write(product.home.join("auth.json"), "{}").unwrap();
    std::fs::write(product.work.join("a"), "a").unwrap();
    let git = Command::new("git").args(["init", "-q"]).current_dir(&product.work).status().unwrap();
    assert!(git.success());
    let victim = Command::new("sleep").arg("600").env("VICTIM", "sk-victim").spawn().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    Ground { product, victim, listener }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Runs a line as a model would; the exit code and the output.
fn shell(ground: &Ground, line: &str, mode: &str, path: Option<&Path>) -> (i64, String) {
    let vars = format!(
        "O={}; V={}; PORT={}; INTERPRETER_HOME_DIR={}; {line}",
        ground.product.root().join("outside").display(),
        ground.victim.id(),
        ground.listener.local_addr().unwrap().port(),
        ground.product.home.display(),
    );
    let server = ModelServer::say(
        &json!({"turns": [{"calls": [{"tool": "shell", "args": {"command": vars}}]}, {"say": "done"}]}),
        &ground.product.work,
    );
    ground.product.configure(&server, "chat", "");
    let mut command = ground.product.command();
    command
        .args(["exec", "--json", "--skip-git-repo-check", "-s", mode, "go"])
        .env("HOME", ground.product.root().join("person"))
        .env("FAKE_API_KEY", "sk-fake")
        .stdin(std::process::Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let ran = product::run(&mut command, std::time::Duration::from_secs(30));
    let items = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let item = items
        .filter(|event| event["type"] == "item.completed")
        .map(|event| event["item"].clone())
        .find(|item| item["type"] == "command_execution")
        .unwrap_or_else(|| panic!("no command ran: {}{}", ran.out, ran.err));
    (
        item["exit_code"].as_i64().unwrap_or(-1),
        item["aggregated_output"].as_str().unwrap_or_default().to_string(),
    )
}

fn probes(path: Option<&Path>, full: bool) {
    let ground = ground();
    let mut wrong = Vec::new();
    for mode in ["read-only", "workspace-write"] {
        for probe in PROBES.iter().filter(|probe| full || probe.landlock) {
            let wanted = if mode == "read-only" { probe.read_only } else { probe.write };
            // Without bubblewrap a hook cannot be held apart from the repository.
            let (code, output) = shell(&ground, probe.line, mode, path);
            if (code == 0) != wanted {
                wrong.push(format!("{mode}: {} gave {code}: {output}", probe.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let held = std::fs::read_to_string(ground.product.root().join("outside/f")).unwrap();
    assert_eq!(held, "outside");
}

#[test]
fn the_full_wall() {
    if product::lacks("bwrap") {
        return;
    }
    probes(None, true);
}

/// What is missing cannot be held; what a command makes up for it is put aside before git could use it.
#[test]
fn a_repository_is_not_led_elsewhere() {
    if product::lacks("bwrap") {
        return;
    }
    for line in ["echo ../evil > .git/commondir", "mkdir .git/hooks && echo x > .git/hooks/pre-commit"] {
        let ground = ground();
        std::fs::remove_dir_all(ground.product.work.join(".git/hooks")).unwrap();
        let (code, output) = shell(&ground, line, "workspace-write", None);
        assert_eq!(code, 0, "{output}");
        for name in ["commondir", "hooks"] {
            assert!(!ground.product.work.join(".git").join(name).exists(), "{line}");
        }
        let kept = std::fs::read_dir(ground.product.work.join(".git")).unwrap().flatten();
        let kept = kept.filter(|entry| entry.file_name().to_string_lossy().contains(".set-aside-"));
        assert_eq!(kept.count(), 1, "{line}");
    }
}

/// A path with the same programs, but for bubblewrap.
fn without_bubblewrap() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "bash", "sh", "cat", "rm", "mv", "ln", "mkfifo", "chmod", "grep", "unshare", "mount", "git", "test",
        "kill", "sleep",
    ] {
        for place in ["/usr/local/bin", "/usr/bin", "/bin"] {
            let file = Path::new(place).join(name);
            if file.exists() {
                let _ = std::os::unix::fs::symlink(file, folder.path().join(name));
                break;
            }
        }
    }
    folder
}

#[test]
fn landlock_and_seccomp_alone() {
    probes(Some(without_bubblewrap().path()), false);
}

#[test]
fn a_wall_that_is_not_whole_is_told_once() {
    let ground = ground();
    let server = ModelServer::say(&json!({"turns": [], "after_last": {"say": "done"}}), &ground.product.work);
    ground.product.configure(&server, "chat", "");
    let lower = without_bubblewrap();
    for (path, times) in [(None, 0), (Some(lower.path()), 1)] {
        if path.is_none() && product::lacks("bwrap") {
            continue;
        }
        let mut command = ground.product.command();
        command.args(["exec", "--skip-git-repo-check", "-s", "workspace-write", "go"]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let ran = product::run(&mut command, std::time::Duration::from_secs(30));
        let told = ran.err.matches("install the package bubblewrap").count();
        assert_eq!((ran.code, told), (Some(0), times), "{}", ran.err);
    }
}

#[test]
fn sockets_and_system_calls() {
    if product::lacks("bwrap") || product::lacks("python3") {
        return;
    }
    let ground = ground();
    let mut wrong = Vec::new();
    for (name, code, wanted) in PYTHON {
        let (exit, output) = shell(&ground, &format!("python3 -c \"{code}\""), "workspace-write", None);
        if (exit == 0) != *wanted {
            wrong.push(format!("{name} gave {exit}: {output}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn loopback_inside_works() {
    if product::lacks("bwrap") || product::lacks("python3") {
        return;
    }
    let ground = ground();
    let line = "python3 -c \"import socket; s=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(s.getsockname()); a,_=s.accept(); c.sendall(b'hi'); print(a.recv(2).decode())\"";
    let (code, output) = shell(&ground, line, "workspace-write", None);
    assert_eq!((code, output.trim()), (0, "hi"));
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    let ground = ground();
    product::binary();
    let started = std::time::Instant::now();
    let (code, output) = shell(
        &ground,
        "(setsid sh -c 'sleep 2; echo alive > daemon' &) ; sleep 300 & echo started",
        "workspace-write",
        None,
    );
    assert_eq!((code, output.trim()), (0, "started"));
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "{:?}", started.elapsed());
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert!(!ground.product.work.join("daemon").exists());
}

#[test]
fn no_litter_is_left() {
    let ground = ground();
    shell(&ground, "true", "workspace-write", None);
    let mut names: Vec<_> =
        std::fs::read_dir(&ground.product.work).unwrap().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, [".git", "a"]);
}
