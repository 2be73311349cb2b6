//! May this be done? Allow, ask or deny, from values alone. The sandbox is the wall; this is who is asked.

use std::path::Path;

use files::FileEdit;
use protocol::{Action, Approval, Choice, Decliner, Grant, Network, Sandbox, Settings};

use crate::limits::CHOICE_CHARS;
use crate::plain;
use crate::tools::fetch;

/// What is known when the question comes up.
pub(crate) struct Case<'a> {
    pub(crate) action: &'a Action,
    /// What an edit would do; empty for other actions.
    pub(crate) edits: &'a [FileEdit],
    /// Where a command would run, links followed.
    pub(crate) folder: &'a Path,
    /// The session's folder, links followed.
    pub(crate) cwd: &'a Path,
    /// The project, for which scopes are kept.
    pub(crate) project: &'a Path,
    pub(crate) settings: &'a Settings,
    pub(crate) trusted: bool,
    pub(crate) can_ask: bool,
    /// Whether the wall is good enough to run a command in; the reason when not.
    pub(crate) wall: Result<(), String>,
    /// Scopes allowed for this session or for good.
    pub(crate) granted: &'a [String],
}

impl Case<'_> {
    /// The folder of a command as it is told a person, unless it is the session's.
    fn elsewhere(&self) -> Option<&Path> {
        (self.folder != self.cwd).then(|| self.folder.strip_prefix(self.cwd).unwrap_or(self.folder))
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// `walled`: a command runs inside the sandbox of the session.
    Allow {
        walled: Walled,
    },
    Ask {
        why: String,
        choices: Vec<Choice>,
        walled: Walled,
    },
    Deny {
        by: Decliner,
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walled {
    Inside,
    Outside,
}

/// The scope that trusts the project.
pub(crate) const TRUST: &str = "trust";

/// Decides one action.
pub(crate) fn approve(case: &Case) -> Verdict {
    match case.action {
        Action::Read { .. }
        | Action::Search(_)
        | Action::Find { .. }
        | Action::List { .. }
        | Action::Poll { .. }
        | Action::Stop { .. }
        | Action::Plan(_)
        | Action::Question(_) => Verdict::Allow { walled: Walled::Inside },
        Action::Write { .. } | Action::Edit { .. } | Action::Patch { .. } => edit(case),
        Action::Run { command, unsandboxed, .. } => run(case, command, unsandboxed.as_deref()),
        Action::Fetch { url, .. } => get(case, url),
    }
}

fn edit(case: &Case) -> Verdict {
    let allow = Verdict::Allow { walled: Walled::Inside };
    if case.settings.mode == "plan" {
        return policy("the session is in plan mode, in which nothing is changed");
    }
    let guarded = case.edits.iter().flat_map(touched).find(|path| sandbox::is_guarded(path));
    if let Some(path) = guarded {
        return ask(
            case,
            format!("{} is protected: what stands there can run commands", path.display()),
            None,
        );
    }
    if case.settings.sandbox == Sandbox::FullAccess && case.settings.approval == Approval::Never {
        return allow;
    }
    let outside = case
        .edits
        .iter()
        .flat_map(|edit| [Some(&edit.place), edit.from.as_ref()])
        .flatten()
        .find(|place| !place.inside);
    if let Some(place) = outside.filter(|_| case.settings.sandbox != Sandbox::FullAccess) {
        return ask(case, format!("{} is outside of the project", place.real.display()), None);
    }
    if let Some(path) = case.edits.iter().find_map(hard_linked) {
        return ask(case, format!("{} has further hard links, which change with it", path.display()), None);
    }
    let scope = Some(Scope { id: "edit".into(), name: "edits in this project".into() });
    match (case.settings.approval, case.settings.sandbox) {
        (Approval::Untrusted, _) => ask(case, "every change is asked about".into(), scope),
        (_, Sandbox::ReadOnly) if case.trusted => ask(case, "the session is read-only".into(), scope),
        (_, Sandbox::ReadOnly) => {
            let scope = Scope { id: TRUST.into(), name: "changes here, and trust this project".into() };
            ask(case, "the session is read-only, because the project is not trusted".into(), Some(scope))
        }
        (Approval::OnRequest | Approval::Never, Sandbox::WorkspaceWrite | Sandbox::FullAccess) => allow,
    }
}

fn touched(edit: &FileEdit) -> Vec<&Path> {
    let mut paths = vec![edit.place.real.as_path(), edit.place.shown.as_path()];
    paths.extend(edit.from.iter().map(|from| from.real.as_path()));
    paths
}

#[cfg(unix)]
fn hard_linked(edit: &FileEdit) -> Option<&Path> {
    use std::os::unix::fs::MetadataExt;
    let path = edit.place.real.as_path();
    // Looked at here and not in the plan, because only the question depends on it.
    let data = std::fs::symlink_metadata(path).ok()?;
    (data.is_file() && data.nlink() > 1).then_some(path)
}

#[cfg(not(unix))]
fn hard_linked(_: &FileEdit) -> Option<&Path> {
    None
}

fn run(case: &Case, command: &str, unsandboxed: Option<&str>) -> Verdict {
    let scope = run_scope(case, command);
    if let Some(reason) = unsandboxed
        && case.settings.sandbox != Sandbox::FullAccess
    {
        return ask_outside(case, format!("it asks to run outside of the sandbox: {reason}"), scope);
    }
    if case.settings.sandbox == Sandbox::FullAccess {
        return match case.settings.approval {
            Approval::Never => Verdict::Allow { walled: Walled::Outside },
            Approval::OnRequest | Approval::Untrusted if plain::only_looks(command, Walled::Outside) => {
                Verdict::Allow { walled: Walled::Outside }
            }
            Approval::OnRequest | Approval::Untrusted => {
                ask_outside(case, "the session has no sandbox".into(), scope)
            }
        };
    }
    if let Err(why) = &case.wall {
        return match case.settings.approval {
            Approval::Never => Verdict::Deny { by: Decliner::Sandbox, why: why.clone() },
            Approval::OnRequest | Approval::Untrusted => {
                ask_outside(case, format!("it would run without a sandbox: {why}"), None)
            }
        };
    }
    if case.settings.approval == Approval::Untrusted && !plain::only_looks(command, Walled::Inside) {
        return ask(case, "every command is asked about".into(), Some(scope));
    }
    Verdict::Allow { walled: Walled::Inside }
}

fn get(case: &Case, url: &str) -> Verdict {
    let site = match fetch::address(url) {
        Ok(url) => fetch::site(&url),
        Err(why) => return Verdict::Deny { by: Decliner::Policy, why },
    };
    let scope = Scope { id: format!("fetch:{site}"), name: format!("fetches from {site}") };
    match case.settings.network {
        Network::On if case.settings.approval != Approval::Untrusted => {
            Verdict::Allow { walled: Walled::Inside }
        }
        Network::On => ask(case, "every fetch is asked about".into(), Some(scope)),
        Network::Off => ask(case, "the network is off in this session".into(), Some(scope)),
    }
}

/// What "always" would mean.
struct Scope {
    id: String,
    name: String,
}

fn ask(case: &Case, why: String, scope: Option<Scope>) -> Verdict {
    question(case, why, scope, Walled::Inside)
}

fn ask_outside(case: &Case, why: String, scope: impl Into<Option<Scope>>) -> Verdict {
    question(case, why, scope.into(), Walled::Outside)
}

fn question(case: &Case, why: String, scope: Option<Scope>, walled: Walled) -> Verdict {
    let prefixed = |scope: &Scope| match walled {
        Walled::Inside => scope.id.clone(),
        Walled::Outside => format!("outside:{}", scope.id),
    };
    if scope.as_ref().is_some_and(|scope| case.granted.contains(&prefixed(scope))) {
        return Verdict::Allow { walled };
    }
    if case.settings.approval == Approval::Never {
        return Verdict::Deny {
            by: Decliner::Sandbox,
            why: format!("{why}, and nobody is asked in this session"),
        };
    }
    if !case.can_ask {
        return Verdict::Deny { by: Decliner::Policy, why: format!("{why}, and there is nobody to ask") };
    }
    let mut choices = vec![Choice { id: "once".into(), name: "Allow once".into(), grant: Grant::Once }];
    if let Some(scope) = scope {
        let grant = Grant::Always { scope: prefixed(&scope) };
        choices.push(Choice { id: "always".into(), name: format!("Always allow {}", scope.name), grant });
    }
    choices.push(Choice { id: "reject".into(), name: "Reject".into(), grant: Grant::Reject });
    Verdict::Ask { why, choices, walled }
}

fn policy(why: &str) -> Verdict {
    Verdict::Deny { by: Decliner::Policy, why: why.into() }
}

/// A plain command's first two words where they tell enough, the whole line otherwise; and the folder, unless
/// it is the project's own, for which scopes are kept.
fn run_scope(case: &Case, command: &str) -> Scope {
    let at = if case.folder == case.project { String::new() } else { format!("@{:?}", case.folder) };
    let place = case.elsewhere().map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
    match plain::verb(command) {
        Some((program, verb)) => {
            Scope { id: format!("run{at}:{program} {verb}"), name: format!("`{program} {verb} …`{place}") }
        }
        None => {
            let name = format!("exactly `{}`{place}", short(command));
            Scope { id: format!("run{at}:={command}"), name }
        }
    }
}

/// As much of a command as the name of a choice has room for.
fn short(command: &str) -> String {
    match command.char_indices().nth(CHOICE_CHARS) {
        Some((end, _)) => format!("{}…", command.get(..end).unwrap_or(command)),
        None => command.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{AtLimit, RunTime};
    use std::path::PathBuf;

    fn settings(mode: &str, approval: Approval, sandbox: Sandbox) -> Settings {
        Settings {
            provider: "p".into(),
            model: "m".into(),
            effort: None,
            harness: "native".into(),
            harness_why: None,
            mode: mode.into(),
            approval,
            sandbox,
            network: Network::Off,
        }
    }

    fn command(line: &str, unsandboxed: Option<&str>) -> Action {
        Action::Run {
            command: line.into(),
            cwd: None,
            time: RunTime { limit_ms: 1, at_limit: AtLimit::Kill },
            why: None,
            unsandboxed: unsandboxed.map(str::to_string),
        }
    }

    /// The scope and the name of "always".
    fn always(verdict: Verdict) -> (String, String) {
        let Verdict::Ask { choices, .. } = verdict else { panic!("{verdict:?}") };
        let always = choices.into_iter().find_map(|choice| match choice.grant {
            Grant::Always { scope } => Some((scope, choice.name)),
            _ => None,
        });
        always.unwrap()
    }

    struct Table {
        settings: Settings,
        wall: Result<(), String>,
        granted: Vec<String>,
        trusted: bool,
        folder: PathBuf,
        cwd: PathBuf,
    }

    impl Table {
        fn new(approval: Approval, sandbox: Sandbox) -> Self {
            Self {
                settings: settings("x", approval, sandbox),
                wall: Ok(()),
                granted: Vec::new(),
                trusted: true,
                folder: "/w".into(),
                cwd: "/w".into(),
            }
        }

        fn ask(&self, action: &Action) -> Verdict {
            approve(&Case {
                action,
                edits: &[],
                folder: &self.folder,
                cwd: &self.cwd,
                project: Path::new("/w"),
                settings: &self.settings,
                trusted: self.trusted,
                can_ask: true,
                wall: self.wall.clone(),
                granted: &self.granted,
            })
        }
    }

    #[test]
    fn commands_run_unasked_only_inside_the_wall() {
        use {Approval::*, Sandbox::*};
        let inside = Verdict::Allow { walled: Walled::Inside };
        for sandbox in [ReadOnly, WorkspaceWrite] {
            for approval in [OnRequest, Never] {
                assert_eq!(Table::new(approval, sandbox).ask(&command("rm -rf x", None)), inside);
            }
        }
        assert!(matches!(
            Table::new(Untrusted, WorkspaceWrite).ask(&command("rm x", None)),
            Verdict::Ask { .. }
        ));
        assert_eq!(Table::new(Untrusted, WorkspaceWrite).ask(&command("git status", None)), inside);
        assert!(matches!(Table::new(OnRequest, FullAccess).ask(&command("make", None)), Verdict::Ask { .. }));
    }

    #[test]
    fn without_a_wall_a_command_is_refused_or_asked_about() {
        let mut table = Table::new(Approval::Never, Sandbox::WorkspaceWrite);
        table.wall = Err("no bubblewrap".into());
        assert!(matches!(table.ask(&command("ls", None)), Verdict::Deny { by: Decliner::Sandbox, .. }));
        table.settings.approval = Approval::OnRequest;
        assert!(matches!(table.ask(&command("ls", None)), Verdict::Ask { walled: Walled::Outside, .. }));
    }

    #[test]
    fn a_grant_covers_its_prefix_and_its_side_of_the_wall_alone() {
        let mut table = Table::new(Approval::OnRequest, Sandbox::WorkspaceWrite);
        table.granted = vec!["outside:run:cargo test".into()];
        let outside = Verdict::Allow { walled: Walled::Outside };
        assert_eq!(table.ask(&command("cargo test -p x", Some("network"))), outside);
        for line in [
            "cargo publish",
            "cargo test; rm -rf /",
            "cargo test $(evil)",
            "cargo test\nrm x",
            "X=1 cargo test",
        ] {
            assert!(matches!(table.ask(&command(line, Some("why"))), Verdict::Ask { .. }), "{line}");
        }
    }

    #[test]
    fn never_means_that_what_leaves_the_wall_fails() {
        let table = Table::new(Approval::Never, Sandbox::WorkspaceWrite);
        assert!(matches!(table.ask(&command("x", Some("please"))), Verdict::Deny { .. }));
        let fetch =
            Action::Fetch { url: "https://example.org/a".into(), cap: Default::default(), limit_ms: 1 };
        assert!(matches!(table.ask(&fetch), Verdict::Deny { .. }));
    }

    #[test]
    fn a_fetch_is_asked_about_by_its_site_and_a_password_is_refused() {
        let get = |url: &str| Action::Fetch { url: url.into(), cap: Default::default(), limit_ms: 1 };
        let mut table = Table::new(Approval::OnRequest, Sandbox::WorkspaceWrite);
        table.granted = vec!["fetch:example.org".into()];
        let inside = Verdict::Allow { walled: Walled::Inside };
        assert_eq!(table.ask(&get("HTTPS://EXAMPLE.org/a")), inside);
        for url in ["http://example.org:8080/", "http://example.org.evil.example/", "http:///other.example/"]
        {
            assert!(matches!(table.ask(&get(url)), Verdict::Ask { .. }), "{url}");
        }
        table.settings.network = Network::On;
        for url in ["http://me:secret@example.org/", "file:///etc/passwd", "example.org"] {
            let Verdict::Deny { why, .. } = table.ask(&get(url)) else { panic!("{url}") };
            assert!(!why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn a_grant_is_for_one_folder() {
        let mut table = Table::new(Approval::OnRequest, Sandbox::WorkspaceWrite);
        let script = command("./x.sh", Some("why"));
        let (scope, name) = always(table.ask(&script));
        assert_eq!((scope.as_str(), name.as_str()), ("outside:run:=./x.sh", "Always allow exactly `./x.sh`"));
        table.granted = vec![scope, "outside:run:cargo test".into()];
        table.folder = "/w/sub".into();
        let (scope, name) = always(table.ask(&script));
        assert_eq!(scope, "outside:run@\"/w/sub\":=./x.sh");
        assert_eq!(name, "Always allow exactly `./x.sh` in sub");
        let (scope, name) = always(table.ask(&command("cargo test", Some("why"))));
        assert_eq!(scope, "outside:run@\"/w/sub\":cargo test");
        assert_eq!(name, "Always allow `cargo test …` in sub");
        table.granted.push(scope);
        table.folder = "/else".into();
        assert!(always(table.ask(&command("cargo test", Some("why")))).1.ends_with(" in /else"));
        // A session below the project shares the project's list of scopes.
        (table.folder, table.cwd) = ("/w/sub".into(), "/w/sub".into());
        let (scope, name) = always(table.ask(&script));
        assert_eq!(
            (scope.as_str(), name.as_str()),
            ("outside:run@\"/w/sub\":=./x.sh", "Always allow exactly `./x.sh`")
        );
    }

    #[test]
    fn a_long_command_is_cut_in_the_name_alone() {
        let line = "é".repeat(6_000);
        let table = Table::new(Approval::OnRequest, Sandbox::WorkspaceWrite);
        let (scope, name) = always(table.ask(&command(&line, Some("why"))));
        assert_eq!(scope, format!("outside:run:={line}"));
        assert_eq!(name, format!("Always allow exactly `{}…`", "é".repeat(120)));
    }

    #[test]
    fn git_is_asked_about_where_there_is_no_wall() {
        let looks =
            [("git status", true), ("git branch evil", true), ("ls -la", false), ("rg --pre x y", true)];
        for (line, asked) in looks {
            for approval in [Approval::OnRequest, Approval::Untrusted] {
                let verdict = Table::new(approval, Sandbox::FullAccess).ask(&command(line, None));
                assert_eq!(matches!(verdict, Verdict::Ask { .. }), asked, "{line}");
            }
        }
        let table = Table::new(Approval::Untrusted, Sandbox::WorkspaceWrite);
        let inside = Verdict::Allow { walled: Walled::Inside };
        assert_eq!(table.ask(&command("git log --oneline -5", None)), inside);
        assert!(matches!(table.ask(&command("git branch evil", None)), Verdict::Ask { .. }));
    }
}
