//! Flags of the command line, which may stand before a subcommand, behind it, or both.
//!
//! They know what was typed and not what it means; `command` reads them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags that every face takes, by Codex's names where it has them.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The model.
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// Set a key of the configuration: dotted.key=value, in TOML or as text.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", value_parser = crate::config::given)]
    pub(crate) config: Vec<String>,
    /// Use the configuration NAME.config.toml on top.
    #[arg(short, long)]
    pub(crate) profile: Option<String>,
    /// What commands may change.
    #[arg(short, long)]
    pub(crate) sandbox: Option<SandboxArg>,
    /// When to ask; exec never asks.
    #[arg(short = 'a', long = "ask-for-approval")]
    pub(crate) approval: Option<ApprovalArg>,
    /// No sandbox and no questions.
    #[arg(long = "dangerously-bypass-approvals-and-sandbox", alias = "yolo")]
    pub(crate) yolo: bool,
    /// Work in the project inside of the sandbox without asking (-s workspace-write -a never).
    #[arg(long)]
    pub(crate) full_auto: bool,
    /// Work in this folder.
    #[arg(short = 'C', long = "cd")]
    pub(crate) cd: Option<PathBuf>,
    /// A further folder of the project.
    #[arg(long)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Use a model server of this machine: Ollama or LM Studio.
    #[arg(long)]
    pub(crate) oss: bool,
    /// Which one (with --oss).
    #[arg(long)]
    pub(crate) local_provider: Option<LocalArg>,
    /// Images for the first prompt.
    #[arg(short, long = "image", value_delimiter = ',')]
    pub(crate) image: Vec<PathBuf>,
    /// An unknown key of the configuration is an error.
    #[arg(long)]
    pub(crate) strict_config: bool,
    /// Taken from Codex; it has no effect here.
    #[arg(long, value_name = "FEATURE", hide = true)]
    pub(crate) enable: Vec<String>,
    /// Taken from Codex; it has no effect here.
    #[arg(long, value_name = "FEATURE", hide = true)]
    pub(crate) disable: Vec<String>,
    /// Taken from Codex; it has no effect here.
    #[arg(long, hide = true)]
    pub(crate) search: bool,
}

impl Shared {
    /// These, given later, over `before`; what can be given several times adds up.
    pub(crate) fn over(self, before: Self) -> Self {
        Self {
            model: self.model.or(before.model),
            config: joined(before.config, self.config),
            profile: self.profile.or(before.profile),
            sandbox: self.sandbox.or(before.sandbox),
            approval: self.approval.or(before.approval),
            yolo: self.yolo || before.yolo,
            full_auto: self.full_auto || before.full_auto,
            cd: self.cd.or(before.cd),
            add_dir: joined(before.add_dir, self.add_dir),
            oss: self.oss || before.oss,
            local_provider: self.local_provider.or(before.local_provider),
            image: joined(before.image, self.image),
            strict_config: self.strict_config || before.strict_config,
            enable: joined(before.enable, self.enable),
            disable: joined(before.disable, self.disable),
            search: self.search || before.search,
        }
    }

    /// Flags that change nothing, as they were given.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let enable = self.enable.iter().map(|name| format!("--enable {name}"));
        let disable = self.disable.iter().map(|name| format!("--disable {name}"));
        enable.chain(disable).chain(self.search.then(|| "--search".to_string())).collect()
    }
}

fn joined<T>(mut before: Vec<T>, later: Vec<T>) -> Vec<T> {
    before.extend(later);
    before
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalArg {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LocalArg {
    Ollama,
    Lmstudio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    Always,
    Never,
    Auto,
}

#[derive(Args, Clone, Default)]
pub(crate) struct ExecFlags {
    /// Print events as JSON lines, in the shapes of Codex exec.
    #[arg(long, alias = "experimental-json")]
    pub(crate) json: bool,
    /// Run outside of a git repository, too.
    #[arg(long)]
    pub(crate) skip_git_repo_check: bool,
    /// Keep no session.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// A JSON Schema file that the final answer must follow.
    #[arg(long)]
    pub(crate) output_schema: Option<PathBuf>,
    /// Write the last message to this file.
    #[arg(short, long)]
    pub(crate) output_last_message: Option<PathBuf>,
    /// When to use colour.
    #[arg(long)]
    pub(crate) color: Option<ColorArg>,
    /// Do not read the user's config.toml.
    #[arg(long)]
    pub(crate) ignore_user_config: bool,
    /// Trust the project of this folder for good.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Taken from Codex's SDK; it says where a thread comes from and changes nothing.
    #[arg(long, hide = true)]
    pub(crate) thread_source: Option<String>,
    /// Taken from Codex's SDK; it names a program of OpenAI and changes nothing.
    #[arg(long, hide = true)]
    pub(crate) cyber_access_program: Option<String>,
}

impl ExecFlags {
    /// These, given later, over `before`.
    pub(crate) fn over(self, before: Self) -> Self {
        Self {
            json: self.json || before.json,
            skip_git_repo_check: self.skip_git_repo_check || before.skip_git_repo_check,
            ephemeral: self.ephemeral || before.ephemeral,
            output_schema: self.output_schema.or(before.output_schema),
            output_last_message: self.output_last_message.or(before.output_last_message),
            color: self.color.or(before.color),
            ignore_user_config: self.ignore_user_config || before.ignore_user_config,
            trust: self.trust || before.trust,
            thread_source: self.thread_source.or(before.thread_source),
            cyber_access_program: self.cyber_access_program.or(before.cyber_access_program),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_flag_wins_and_lists_add_up() {
        let text = |text: &str| text.to_string();
        let before = Shared {
            model: Some(text("a")),
            profile: Some(text("p")),
            config: vec![text("x=1")],
            oss: true,
            ..Shared::default()
        };
        let later = Shared { model: Some(text("b")), config: vec![text("x=2")], ..Shared::default() };
        let all = later.over(before);
        assert_eq!((all.model.as_deref(), all.profile.as_deref(), all.oss), (Some("b"), Some("p"), true));
        assert_eq!(all.config, ["x=1", "x=2"]);
    }
}
