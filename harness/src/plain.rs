//! Command lines that can be read at a glance: plain words, split as bash splits them. Whatever could mean more
//! than it says is not plain.
//!
//! It knows no settings and asks nobody; `approve` calls it.

use crate::approve::Walled;

/// The words of a line, each of which bash takes as it stands.
fn words(line: &str) -> Option<Vec<&str>> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:@%+^~=".contains(letter);
    let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    words.iter().all(|word| !word.starts_with('~') && word.chars().all(plain)).then_some(words)
}

/// Programs whose second word says what they do, and the options that change nothing about that: those that
/// load a file or a configuration, go to another folder, start a program or write elsewhere are left out.
/// Where every word is a verb of its own (make, mvn, gradle) two words say too little.
const VERBS: &[(&str, &str)] = &[
    (
        "cargo",
        "-p --package --workspace --all --lib --bin --bins --test --tests --example --examples --bench \
         --benches --doc --all-targets --features --all-features --no-default-features -r --release --locked \
         --offline --frozen --no-fail-fast --no-run --no-deps -j --jobs -q --quiet -v --verbose -- --nocapture \
         --ignored --exact --test-threads -D",
    ),
    (
        "git",
        "-a --all -A -m -n -p -q --quiet -s --short --stat --oneline --graph --decorate --staged --cached \
         --name-only --name-status --amend --no-edit --allow-empty --",
    ),
    ("npm", "-D --save-dev --silent --if-present --"),
    ("pnpm", "-D --save-dev --silent --if-present --frozen-lockfile --"),
    ("yarn", "-D --dev --silent --frozen-lockfile --"),
    ("go", "-v -race -short -count -timeout -cover -run -bench"),
    ("docker", ""),
    ("kubectl", "-n --namespace -A"),
    ("pip", "-U --upgrade -q --quiet"),
    ("uv", "-q --quiet --dev"),
    ("poetry", "-q --quiet"),
];

/// Verbs that say nothing without the word behind them: a program, a script, a setting, a repository whose
/// hooks run.
const OPEN: &[&str] = &[
    "run",
    "exec",
    "x",
    "dlx",
    "node",
    "tool",
    "compose",
    "config",
    "submodule",
    "bisect",
    "remote",
    "clone",
    "fetch",
    "pull",
    "push",
];

/// The program and the verb of a line, where they tell enough of it to allow its like.
pub(crate) fn verb(line: &str) -> Option<(&str, &str)> {
    let words = words(line)?;
    let [program, verb, rest @ ..] = words.as_slice() else { return None };
    let (_, options) = VERBS.iter().find(|(name, _)| name == program)?;
    let named = verb.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let carried = |word: &&str| {
        let option = word.starts_with('-');
        !word.contains('=') && (!option || options.split_whitespace().any(|known| known == *word))
    };
    let tells = named && !verb.starts_with('-') && !OPEN.contains(verb) && rest.iter().all(carried);
    tells.then_some((program, verb))
}

/// A program that only looks, as long as it has nothing but these options.
struct Look {
    name: &'static str,
    letters: &'static str,
    long: &'static str,
    /// How a word that is no option begins; none when there may be none.
    operand: Option<&'static str>,
}

const fn look(
    name: &'static str,
    letters: &'static str,
    long: &'static str,
    operand: Option<&'static str>,
) -> Look {
    Look { name, letters, long, operand }
}

const ANY: Option<&str> = Some("");

/// Left out on purpose: `rg --pre`, `--hostname-bin` and `-z` start programs, `file -C` writes and `-z` starts
/// programs, `date` with a plain operand or `-s` sets the clock, `tail -f` does not end.
const LOOKS: &[Look] = &[
    look(
        "ls",
        "aAbBcCdfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1",
        "all almost-all color directory full-time group-directories-first human-readable recursive reverse \
         size sort time time-style",
        ANY,
    ),
    look("pwd", "LP", "", None),
    look("cat", "AbeEnstTuv", "number show-all", ANY),
    look("head", "cnqv0123456789", "bytes lines", ANY),
    look("tail", "cnqv0123456789", "bytes lines", ANY),
    look("wc", "clLmw", "bytes chars lines words", ANY),
    look(
        "grep",
        "abcEeFGhHiIlLmnoPqrRsvwxABC0123456789",
        "after-context before-context color context count exclude exclude-dir extended-regexp \
         files-with-matches fixed-strings ignore-case include invert-match line-number max-count \
         only-matching recursive word-regexp",
        ANY,
    ),
    look(
        "rg",
        "acegtTFhHiIlLmMnNopPqsSuUvwxdABC0123456789",
        "after-context before-context color context count files files-with-matches fixed-strings glob hidden \
         ignore-case invert-match line-number max-count max-depth no-heading no-ignore only-matching type \
         word-regexp",
        ANY,
    ),
    look("stat", "cfLt", "dereference file-system format printf terse", ANY),
    look("file", "bhikL", "brief mime mime-encoding mime-type", ANY),
    look("which", "a", "all", ANY),
    look("echo", "neE", "", ANY),
    look("date", "uIR", "iso-8601 rfc-3339 rfc-email universal utc", Some("+")),
];

const DIFF_LETTERS: &str = "abilnpsuwzEGMRSU0123456789";
const DIFF_LONG: &str = "abbrev-commit after all author before branches cached check date decorate \
    diff-filter exit-code first-parent follow format graph grep ignore-all-space max-count merges name-only \
    name-status no-color no-merges numstat oneline patch pretty quiet reverse shortstat since staged stat \
    summary tags unified until word-diff";

/// What git does by itself: it starts programs that the repository's own configuration names, so these look
/// and no more only behind the wall.
const GIT_LOOKS: &[Look] = &[
    look(
        "status",
        "abnolsuvz",
        "branch ignored long porcelain short show-stash untracked-files verbose",
        ANY,
    ),
    look("log", DIFF_LETTERS, DIFF_LONG, ANY),
    look("diff", DIFF_LETTERS, DIFF_LONG, ANY),
    look("show", DIFF_LETTERS, DIFF_LONG, ANY),
    // An operand would be the name of a new branch.
    look("branch", "arv", "all list no-color remotes show-current verbose", None),
    look(
        "rev-parse",
        "q",
        "abbrev-ref git-common-dir git-dir is-inside-work-tree quiet short show-prefix show-toplevel \
         symbolic-full-name verify",
        ANY,
    ),
];

impl Look {
    fn takes(&self, word: &str) -> bool {
        if word == "--" {
            return self.operand == ANY;
        }
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            return self.long.split_whitespace().any(|known| known == name);
        }
        match word.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => {
                letters.chars().all(|letter| self.letters.contains(letter))
            }
            _ => self.operand.is_some_and(|start| word.starts_with(start)),
        }
    }
}

/// Whether a line is plain and only looks. Convenience, not a wall: what is not known is asked about.
pub(crate) fn only_looks(line: &str, walled: Walled) -> bool {
    let Some(words) = words(line) else { return false };
    let (looks, words) = match (words.as_slice(), walled) {
        (["git", rest @ ..], Walled::Inside) => (GIT_LOOKS, rest),
        (words, _) => (LOOKS, words),
    };
    let [name, rest @ ..] = words else { return false };
    let known = looks.iter().find(|look| look.name == *name);
    known.is_some_and(|look| rest.iter().all(|word| look.takes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_tells_enough_without_options_that_lead_elsewhere() {
        for (line, tells) in [
            ("cargo test -p x --release", ("cargo", "test")),
            ("git  log\t--oneline -n 5", ("git", "log")),
            ("npm test", ("npm", "test")),
            ("kubectl get pods -n kube-system", ("kubectl", "get")),
        ] {
            assert_eq!(verb(line), Some(tells), "{line}");
        }
        for line in [
            "cargo test --config x",
            "cargo test --config=x",
            "cargo test --manifest-path sub/Cargo.toml",
            "cargo test -C sub",
            "cargo +nightly test",
            "cargo run x",
            "make all",
            "make all -f sub/Makefile",
            "make all -C sub",
            "git -c core.pager=x log",
            "git log --output x",
            "git log --outp x",
            "git log -c core.pager",
            "git commit --git-dir x",
            "git push origin main",
            "git push --receive-pack x",
            "git fetch --upload-pack x",
            "git config core.fsmonitor x",
            "git submodule foreach x",
            "npm test --prefix sub",
            "npm run x",
            "yarn build --cwd sub",
            "go test -exec x",
            "go build -C sub",
            "pip install -r x",
            "docker run x",
            "cargo test; x",
            "cargo test\nx",
            "cargo test\u{a0}x",
            "cargo test\rx",
            "cargo test {a,b}",
            "cargo test [a]",
            "cargo test !x",
            "cargo test ~/x",
            "cargo test # x",
            "X=1 cargo test",
            "./cargo test",
        ] {
            assert_eq!(verb(line), None, "{line}");
        }
    }

    #[test]
    fn plain_looks_are_known() {
        for line in [
            "ls -la",
            "ls",
            "cat a b",
            "grep -n x f",
            "grep -rn --include=a.rs -- x .",
            "rg -n foo src",
            "pwd",
            "head -n 5 a",
            "head -20 a",
            "date +%Y-%m-%d",
            "echo hello",
            "wc -l a",
        ] {
            assert!(only_looks(line, Walled::Inside) && only_looks(line, Walled::Outside), "{line}");
        }
        for line in [
            "git status",
            "git status --short",
            "git diff HEAD~2",
            "git diff -- a",
            "git log --oneline -5",
            "git log -p -1",
            "git show HEAD --stat",
            "git branch",
            "git branch -vv",
            "git branch --list",
            "git rev-parse --show-toplevel",
        ] {
            assert!(only_looks(line, Walled::Inside), "{line}");
            // The repository's configuration names programs that git starts.
            assert!(!only_looks(line, Walled::Outside), "{line}");
        }
    }

    #[test]
    fn what_could_change_or_start_something_is_not_known() {
        for line in [
            "",
            "ls > x",
            "ls\nx",
            "ls\rx",
            "ls\u{a0}-la",
            "ls \u{2003}",
            "ls\u{b}x",
            "ls *",
            "ls {a,b}",
            "ls ~/x",
            "ls & x",
            "cat a | sh",
            "cat 'a'",
            "echo $(x)",
            "echo `x`",
            "echo $HOME",
            "echo <(x)",
            "echo !x",
            "lsattr .",
            "echoes x",
            "./ls",
            "/bin/ls",
            "X=1 ls",
            "env X=1 cat a",
            "find . -delete",
            "rg --pre ./x pat",
            "rg --pre=./x pat",
            "rg --hostname-bin ./x pat",
            "rg -z pat",
            "file -C -m magic",
            "file -bC",
            "date -s x",
            "date -us x",
            "date --set=x",
            "date 010112002026",
            "tail -f a",
            "git",
            "git push",
            "git branch evil",
            "git branch -d t",
            "git branch -D t",
            "git branch -v -d t",
            "git branch -fd t",
            "git branch -M x",
            "git branch --force x HEAD",
            "git branch --edit-description",
            "git branch --list x",
            "git diff --output=x",
            "git diff --outpu=x",
            "git diff --ext-diff",
            "git diff --textconv",
            "git log --output x",
            "git log --outp=x",
            "git log -O x",
            "git log --exec x",
            "git log-evil",
            "git show --ext-diff",
            "git show --output=x HEAD",
            "git -c core.pager=x log",
            "git -C x status",
            "git -p status",
            "git --git-dir=x status",
            "git --exec-path=. status",
            "git remote add x y",
        ] {
            assert!(!only_looks(line, Walled::Inside) && !only_looks(line, Walled::Outside), "{line}");
        }
    }
}
