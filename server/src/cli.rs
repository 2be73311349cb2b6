//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::command;

/// A coding agent for your editor, your scripts and your terminal.
#[derive(Parser)]
#[command(
    name = "interpreter",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_precedence_over_arg = true
)]
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
    /// Show a whole session with a scripted model: no key, no network, nothing left behind.
    Demo,
    /// Trust the project of a folder: its own configuration counts, and its files may be changed.
    Trust {
        /// The folder; this one if left out.
        dir: Option<PathBuf>,
    },
}

/// Flags that every face takes, by Codex's names where it has them.
#[derive(Args, Clone, Default)]
pub(crate) struct Shared {
    /// The model.
    #[arg(short, long, global = true)]
    pub(crate) model: Option<String>,
    /// Set a key of the configuration: dotted.key=value, in TOML or as text.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true)]
    pub(crate) config: Vec<String>,
    /// Use the configuration NAME.config.toml on top.
    #[arg(short, long, global = true)]
    pub(crate) profile: Option<String>,
    /// What commands may change.
    #[arg(short, long, global = true)]
    pub(crate) sandbox: Option<SandboxArg>,
    /// When to ask; exec never asks.
    #[arg(short = 'a', long = "ask-for-approval", global = true)]
    pub(crate) approval: Option<ApprovalArg>,
    /// No sandbox and no questions.
    #[arg(long = "dangerously-bypass-approvals-and-sandbox", alias = "yolo", global = true)]
    pub(crate) yolo: bool,
    /// Work in the project inside of the sandbox without asking (-s workspace-write -a never).
    #[arg(long, global = true)]
    pub(crate) full_auto: bool,
    /// Work in this folder.
    #[arg(short = 'C', long = "cd", global = true)]
    pub(crate) cd: Option<PathBuf>,
    /// A further folder of the project.
    #[arg(long, global = true)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Use a model server of this machine: Ollama or LM Studio.
    #[arg(long, global = true)]
    pub(crate) oss: bool,
    /// Which one (with --oss).
    #[arg(long, global = true)]
    pub(crate) local_provider: Option<LocalArg>,
    /// Images for the first prompt.
    #[arg(short, long = "image", value_delimiter = ',', global = true)]
    pub(crate) image: Vec<PathBuf>,
    /// An unknown key of the configuration is an error.
    #[arg(long, global = true)]
    pub(crate) strict_config: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SandboxArg {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ApprovalArg {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LocalArg {
    Ollama,
    Lmstudio,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    Always,
    Never,
    #[default]
    Auto,
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

#[derive(Args, Clone, Default)]
pub(crate) struct ExecFlags {
    /// Print events as JSON lines, in the shapes of Codex exec.
    #[arg(long, alias = "experimental-json", global = true)]
    pub(crate) json: bool,
    /// Run outside of a git repository, too.
    #[arg(long, global = true)]
    pub(crate) skip_git_repo_check: bool,
    /// Keep no session.
    #[arg(long, global = true)]
    pub(crate) ephemeral: bool,
    /// A JSON Schema file that the final answer must follow.
    #[arg(long, global = true)]
    pub(crate) output_schema: Option<PathBuf>,
    /// Write the last message to this file.
    #[arg(short, long, global = true)]
    pub(crate) output_last_message: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, default_value = "auto", global = true)]
    pub(crate) color: ColorArg,
    /// Do not read the user's config.toml.
    #[arg(long, global = true)]
    pub(crate) ignore_user_config: bool,
    /// Trust the project of this folder for good.
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Taken from Codex's SDK; it says where a thread comes from and changes nothing.
    #[arg(long, global = true, hide = true)]
    pub(crate) thread_source: Option<String>,
    /// Taken from Codex's SDK; it names a program of OpenAI and changes nothing.
    #[arg(long, global = true, hide = true)]
    pub(crate) cyber_access_program: Option<String>,
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
        #[arg(long)]
        all: bool,
    },
}

/// Parses and runs.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help to standard output and errors to standard error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let ended = match cli.command {
        Some(Sub::Exec(args)) => command::exec::run(*args),
        Some(Sub::Acp(shared)) => command::acp::run(&shared),
        Some(Sub::Resume { id, last, shared }) => command::chat::resume(&shared, id, last),
        Some(Sub::Demo) => command::demo::run(),
        Some(Sub::Trust { dir }) => command::trust::run(dir),
        None => command::chat::run(&cli.shared, cli.prompt),
    };
    ended.unwrap_or_else(|why| {
        complain(&why);
        ExitCode::FAILURE
    })
}

/// A line on standard error.
pub(crate) fn complain(why: &str) {
    use std::io::Write;
    // Without a standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "error: {why}");
}
