//! The terminal chat under tmux: what it shows, and how it leaves the terminal.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::ModelServer;
use tests::product::{self, Product, binary};

struct Tmux {
    socket: String,
}

impl Tmux {
    /// None where tmux is not installed.
    fn start(product: &Product, width: u32, height: u32, env: &str) -> Option<Self> {
        if product::lacks("tmux") {
            return None;
        }
        let tmux = Self {
            socket: format!(
                "t{}-{}",
                std::process::id(),
                product.work.display().to_string().len() + width as usize
            ),
        };
        let line = format!(
            "stty -a > {root}/before; cd {work}; {env} INTERPRETER_HOME={home} {bin}; echo EXIT=$?; stty -a > {root}/after; sleep 60",
            root = product.root().display(),
            work = product.work.display(),
            home = product.home.display(),
            bin = binary().display(),
        );
        let (width, height) = (width.to_string(), height.to_string());
        tmux.run(&["new-session", "-d", "-s", "t", "-x", &width, "-y", &height, &line]);
        Some(tmux)
    }

    fn run(&self, args: &[&str]) -> String {
        let out = Command::new("tmux").args(["-L", &self.socket]).args(args).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "t"], keys].concat());
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", "t", "-S", "-200"])
    }

    fn until(&self, text: &str) -> String {
        let limit = Instant::now() + Duration::from_secs(15);
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < limit, "no {text:?} in:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

fn stage() -> (Product, ModelServer) {
    let product = Product::new();
    std::fs::write(product.work.join("a.txt"), "one\ntwo\n").unwrap();
    let script = json!({"turns": [
        {"say": "I **change** it:\n```\ncode\n```\n", "calls": [{"tool": "edit", "args": {"path": "a.txt", "old": "two", "new": "zwei"}}]},
        {"calls": [{"tool": "shell", "args": {"command": "printf 'out\\033[31mred\\n'; cat a.txt"}}]},
        {"say": "all done here"},
        {"calls": [{"tool": "shell", "args": {"command": "sleep 60"}}]}
    ], "after_last": {"say": "still there"}});
    let server = ModelServer::say(&script, &product.work);
    product.configure(&server, "chat", "");
    (product, server)
}

fn same_terminal(root: &Path) {
    let limit = Instant::now() + Duration::from_secs(5);
    while !root.join("after").exists() || std::fs::read(root.join("after")).unwrap().is_empty() {
        assert!(Instant::now() < limit);
        std::thread::sleep(Duration::from_millis(20));
    }
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(read("before"), read("after"));
}

#[test]
fn a_whole_chat() {
    let (product, _server) = stage();
    let Some(tmux) = Tmux::start(&product, 80, 24, "") else { return };
    tmux.until("/help shows the commands");
    tmux.keys(&["please fix it", "Enter"]);
    let asked = tmux.until("May it?");
    assert!(
        asked.contains("- two") && asked.contains("+ zwei") && asked.contains("[y] Allow once"),
        "{asked}"
    );
    // As long as a person needs to read it.
    std::thread::sleep(Duration::from_secs(1));
    tmux.keys(&["y"]);
    let done = tmux.until("all done here");
    assert!(
        done.contains("> please fix it") && done.contains("[ok] Edit a.txt") && done.contains("outred"),
        "{done}"
    );
    assert_eq!(std::fs::read_to_string(product.work.join("a.txt")).unwrap(), "one\nzwei\n");
    tmux.keys(&["run long", "Enter"]);
    tmux.until("[...] sleep 60");
    tmux.keys(&["Escape"]);
    tmux.until("! stopped");
    tmux.keys(&["/undo", "Enter"]);
    tmux.until("Taken back");
    assert_eq!(std::fs::read_to_string(product.work.join("a.txt")).unwrap(), "one\ntwo\n");
    tmux.keys(&["/permissions", "Enter"]);
    tmux.until("Up and down choose");
    tmux.keys(&["Down", "Enter"]);
    tmux.until(" workspace-write");
    tmux.keys(&["C-d"]);
    tmux.until("EXIT=0");
    same_terminal(product.root());
}

#[test]
fn a_small_screen_without_colour() {
    let (product, _server) = stage();
    let Some(tmux) = Tmux::start(&product, 40, 10, "NO_COLOR=1") else { return };
    tmux.until("/help shows");
    tmux.keys(&["go", "Enter"]);
    tmux.until("[y] Allow once");
    std::thread::sleep(Duration::from_secs(1));
    tmux.keys(&["n"]);
    let whole = tmux.until("all done here");
    assert!(whole.contains("[ok] printf") && whole.contains("\n     outred\n"), "{whole}");
    let colored = tmux.run(&["capture-pane", "-p", "-e", "-t", "t", "-S", "-200"]);
    assert!(
        !["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m"].iter().any(|code| colored.contains(code)),
        "{colored:?}"
    );
    tmux.keys(&["C-c"]);
    tmux.until("Ctrl-C again");
    tmux.keys(&["C-c"]);
    tmux.until("EXIT=0");
}

#[test]
fn a_kill_leaves_the_terminal_as_it_was() {
    let (product, _server) = stage();
    let Some(tmux) = Tmux::start(&product, 80, 23, "") else { return };
    tmux.until("/help shows");
    let pane = tmux.run(&["display-message", "-p", "-t", "t", "#{pane_pid}"]);
    let children = Command::new("pgrep").args(["-P", pane.trim(), "interpreter"]).output().unwrap();
    let pid = String::from_utf8_lossy(&children.stdout).trim().to_string();
    assert!(!pid.is_empty());
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    tmux.until("EXIT=143");
    same_terminal(product.root());
}

#[test]
fn a_session_is_resumed_with_its_transcript() {
    let (product, _server) = stage();
    let ran = product.exec(&["--skip-git-repo-check", "-s", "workspace-write", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    if product::lacks("tmux") {
        return;
    }
    let tmux = Tmux { socket: format!("r{}", std::process::id()) };
    let line = format!(
        "cd {}; INTERPRETER_HOME={} {} resume --last; sleep 60",
        product.work.display(),
        product.home.display(),
        binary().display()
    );
    tmux.run(&["new-session", "-d", "-s", "t", "-x", "80", "-y", "24", &line]);
    let screen = tmux.until("all done here");
    assert!(screen.contains("> go") && screen.contains("[ok] Edit a.txt"), "{screen}");
}

#[test]
fn an_image_goes_with_the_first_prompt_of_the_chat() {
    let (product, server) = stage();
    if product::lacks("tmux") {
        return;
    }
    std::fs::write(product.work.join("a.png"), b"\x89PNG").unwrap();
    let tmux = Tmux { socket: format!("i{}", std::process::id()) };
    let line = format!(
        "cd {}; INTERPRETER_HOME={} {} -i a.png look; sleep 60",
        product.work.display(),
        product.home.display(),
        binary().display()
    );
    tmux.run(&["new-session", "-d", "-s", "t", "-x", "80", "-y", "24", &line]);
    tmux.until("May it?");
    let body = server.requests()[0].body.to_string();
    assert!(body.contains("data:image/png;base64,iVBORw==") || body.contains("iVBORw=="), "{body}");
    assert!(body.contains("look"), "{body}");
}

#[test]
fn the_demo_asks_again_and_takes_a_no() {
    let product = Product::new();
    if product::lacks("tmux") {
        return;
    }
    let tmux = Tmux { socket: format!("d{}", std::process::id()) };
    let line =
        format!("TMPDIR={} {} demo; echo EXIT=$?; sleep 60", product.work.display(), binary().display());
    tmux.run(&["new-session", "-d", "-s", "t", "-x", "120", "-y", "50", &line]);
    tmux.until("type 1 or 2 or 3, then Enter");
    tmux.keys(&["Enter"]);
    tmux.until("\"\" is none of these");
    tmux.keys(&["yes", "Enter"]);
    tmux.until("\"yes\" is none of these");
    tmux.keys(&["3", "Enter"]);
    let screen = tmux.until("EXIT=0");
    assert!(screen.contains("You refused the edit") && !screen.contains("All tests pass"), "{screen}");
    assert_eq!(std::fs::read_dir(&product.work).unwrap().count(), 0);
}
