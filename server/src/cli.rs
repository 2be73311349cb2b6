//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};

use crate::command;
use crate::flags::{ExecFlags, Shared};

/// A coding agent for your editor, your scripts and your terminal.
#[derive(Parser)]
#[command(name = "interpreter", version, subcommand_precedence_over_arg = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Sub>,
    /// What to begin with.
    prompt: Option<String>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Subcommand)]
enum Sub {
    /// Answer one prompt without asking anything; for scripts and CI.
    #[command(visible_alias = "e")]
    Exec(Box<ExecArgs>),
    /// Speak the Agent Client Protocol over standard input and output; for editors.
    Acp(Shared),
    /// Go on with an earlier session in the terminal.
    Resume {
        /// The session's id.
        id: Option<String>,
        /// The newest session of this folder.
        #[arg(long)]
        last: bool,
        #[command(flatten)]
        shared: Box<Shared>,
    },
    /// Look at earlier sessions, write them out, take them away.
    Sessions {
        #[command(subcommand)]
        command: SessionsSub,
    },
    /// Show a whole session with a scripted model: no key, no network, nothing left behind.
    Demo,
    /// Trust the project of a folder: its own configuration counts, and its files may be changed.
    Trust {
        /// The folder; this one if left out.
        dir: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(crate) enum SessionsSub {
    /// The newest first: id, age, title.
    List {
        /// Of every folder, not of this one alone.
        #[arg(long)]
        all: bool,
        /// As a list in JSON: id, cwd, title, updated_ms, unreadable.
        #[arg(long)]
        json: bool,
        /// At most this many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Write a session out, as Markdown or as a list of its items in JSON.
    Export {
        /// The session's id, or how it begins.
        id: String,
        #[arg(long, default_value = "markdown")]
        format: ExportFormat,
        /// Into this file, which must not be there yet; else to standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Take sessions away for good.
    Delete {
        /// Their ids, or how they begin.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    Markdown,
    Json,
}

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// The prompt; read from standard input when it is left out or `-`.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(flatten)]
    pub(crate) run: ExecFlags,
    #[command(subcommand)]
    pub(crate) command: Option<ExecSub>,
}

#[derive(Subcommand)]
pub(crate) enum ExecSub {
    /// Go on with an earlier session.
    Resume {
        /// The session's id; with --last it is the prompt.
        id: Option<String>,
        /// The prompt; read from standard input when it is left out or `-`.
        prompt: Option<String>,
        /// The newest session of this folder.
        #[arg(long)]
        last: bool,
        /// With --last: of any folder.
        #[arg(long, requires = "last")]
        all: bool,
        #[command(flatten)]
        shared: Box<Shared>,
        #[command(flatten)]
        run: Box<ExecFlags>,
    },
}

const QUOTES: &str = "a prompt of several words needs quotes: interpreter \"fix the bug\"";

/// Parses and runs.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(word) = further_word(&error) {
                complain(&format!("{word:?} is a further word; {QUOTES}"));
                return ExitCode::from(2);
            }
            // clap prints help to standard output and errors to standard error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let ended = obey(cli);
    ended.unwrap_or_else(|trouble| match trouble {
        Trouble::Usage(why) => {
            complain(&why);
            ExitCode::from(2)
        }
        Trouble::Failed(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
        // As a shell tells of it.
        Trouble::Signal(number) => ExitCode::from(u8::try_from(128 + number).unwrap_or(1)),
    })
}

fn obey(cli: Cli) -> Result<ExitCode, Trouble> {
    let Cli { command, prompt, shared: before } = cli;
    let Some(command) = command else { return command::chat::run(&before, prompt) };
    if let Some(prompt) = prompt {
        return Err(Trouble::Usage(format!("{prompt:?} stands before a subcommand; {QUOTES}")));
    }
    match command {
        Sub::Exec(mut args) => {
            args.shared = args.shared.over(before);
            command::exec::run(*args)
        }
        Sub::Acp(shared) => command::acp::run(&shared.over(before)),
        Sub::Resume { id, last, shared } => command::chat::resume(&shared.over(before), id, last),
        Sub::Demo | Sub::Trust { .. } | Sub::Sessions { .. } if before != Shared::default() => {
            Err(Trouble::Usage("this subcommand takes none of the flags before it; leave them out".into()))
        }
        Sub::Demo => command::demo::run(),
        Sub::Sessions { command } => command::sessions::run(command),
        Sub::Trust { dir } => command::trust::run(dir),
    }
}

/// Why the program does not do what was asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The command line cannot be meant so.
    Usage(String),
    Failed(String),
    /// A signal with this number asked it to stop, and whoever is there to be told was told.
    Signal(i32),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The word that is too many, where it may belong to a prompt.
fn further_word(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else { return None };
    let takes_prompt = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string().contains("[PROMPT]"),
        _ => false,
    };
    (takes_prompt && !word.starts_with('-')).then(|| word.clone())
}

/// A line on standard error.
pub(crate) fn complain(why: &str) {
    say(&format!("error: {why}"));
}

/// A line on standard error that ends nothing.
pub(crate) fn warn(what: &str) {
    say(&format!("warning: {what}"));
}

/// Without control characters, which a terminal would obey.
fn say(text: &str) {
    use std::io::Write;
    let text: String =
        text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect();
    // Without a standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_may_stand_before_a_subcommand() {
        let cli = parse("interpreter -m a -c x=1 exec -m b -c y=2 hi").unwrap();
        let Some(Sub::Exec(args)) = cli.command else { panic!("no exec") };
        let all = args.shared.over(cli.shared);
        assert_eq!((all.model.as_deref(), args.prompt.as_deref()), (Some("b"), Some("hi")));
        assert_eq!(all.config, ["x=1", "y=2"]);
        for line in ["interpreter --oss exec hi", "interpreter -c k=v acp", "interpreter -m x resume"] {
            assert!(parse(line).unwrap().command.is_some(), "{line}");
        }
        let cli = parse("interpreter exec --json -m a resume --last -m b").unwrap();
        let Some(Sub::Exec(args)) = cli.command else { panic!("no exec") };
        let Some(ExecSub::Resume { shared, .. }) = args.command else { panic!("no resume") };
        assert_eq!((args.run.json, shared.model.as_deref()), (true, Some("b")));
    }

    #[test]
    fn a_prompt_of_several_words_needs_quotes() {
        assert_eq!(parse("interpreter resum").unwrap().prompt.as_deref(), Some("resum"));
        for (line, word) in [
            ("interpreter foo bar", Some("bar")),
            ("interpreter foo resum", Some("resum")),
            ("interpreter exec foo bar", Some("bar")),
            ("interpreter trust a b", None),
            ("interpreter --no-such", None),
        ] {
            let error = parse(line).err().unwrap();
            assert_eq!(further_word(&error).as_deref(), word, "{line}: {error}");
        }
    }

    #[test]
    fn an_override_has_a_key_and_a_value() {
        for line in ["interpreter -c foo", "interpreter exec -c =1 hi", "interpreter acp -c a..b=1"] {
            assert_eq!(parse(line).err().unwrap().exit_code(), 2, "{line}");
        }
    }
}
