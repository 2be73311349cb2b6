//! Commands that the terminal carries out itself; the engine's own are sent as prompts.

use protocol::SlashCommand;

/// What a line means here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Local {
    Quit,
    Help,
    Diff,
    /// A picker of the option with this id.
    Option(&'static str),
    New,
    Resume,
}

const TABLE: &[(&str, &str)] = &[
    ("model", "Choose the model"),
    ("harness", "Choose the harness"),
    ("permissions", "Choose what it may do"),
    ("diff", "Show what changed in this session"),
    ("new", "Begin a new session"),
    ("resume", "Go on with an earlier session"),
    ("help", "Show this list"),
    ("quit", "Leave"),
];

pub(crate) fn local(line: &str) -> Option<Local> {
    match line.trim().strip_prefix('/')? {
        "quit" | "exit" | "q" => Some(Local::Quit),
        "help" | "?" => Some(Local::Help),
        "diff" => Some(Local::Diff),
        "model" => Some(Local::Option("model")),
        "harness" => Some(Local::Option("harness")),
        "permissions" | "mode" => Some(Local::Option("mode")),
        "new" | "clear" => Some(Local::New),
        "resume" => Some(Local::Resume),
        _ => None,
    }
}

/// Every command, ours and the engine's.
pub(crate) fn help(engine: &[SlashCommand]) -> String {
    let own = TABLE.iter().map(|(name, about)| format!("/{name:<12} {about}"));
    let engine = engine.iter().map(|command| format!("/{:<12} {}", command.name, command.about));
    let keys = ["", "Enter sends, Alt-Enter is a new line, Esc or Ctrl-C stops the turn, Ctrl-D leaves."];
    own.chain(engine).chain(keys.map(str::to_string)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_the_engines() {
        assert_eq!(local("/quit"), Some(Local::Quit));
        assert_eq!(local(" /permissions "), Some(Local::Option("mode")));
        assert_eq!(local("/compact now"), None);
        assert_eq!(local("hello /quit"), None);
        for (name, _) in TABLE {
            assert!(local(&format!("/{name}")).is_some(), "{name}");
        }
    }
}
