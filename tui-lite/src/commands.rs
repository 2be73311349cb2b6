//! Commands that the terminal carries out itself; the engine's own are sent as prompts.

use protocol::SlashCommand;

/// What a line means here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Ours(Local, &'a str),
    /// The engine takes it: a prompt or a command of its own.
    Prompt,
    /// It looks like a command and is none.
    Unknown(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Local {
    Quit,
    Help,
    Diff,
    /// The option with this id: a picker, or the value that follows.
    Option(&'static str),
    New,
    Resume,
}

/// Names, what they do, and how they are explained; one without words is a second name.
const TABLE: &[(&str, Local, &str)] = &[
    ("model", Local::Option("model"), "Choose the model"),
    ("harness", Local::Option("harness"), "Choose the harness"),
    ("permissions", Local::Option("mode"), "Choose what it may do"),
    ("mode", Local::Option("mode"), ""),
    ("diff", Local::Diff, "Show every edit of this session"),
    ("new", Local::New, "Begin a new session"),
    ("clear", Local::New, ""),
    ("resume", Local::Resume, "Go on with an earlier session"),
    ("help", Local::Help, "Show this list"),
    ("quit", Local::Quit, "Leave"),
    ("exit", Local::Quit, ""),
    ("q", Local::Quit, ""),
];

const KEYS: &str = "
Enter           sends; while it works, the prompt waits its turn
Alt-Enter       a new line, Ctrl-J too
Alt-S           hands the prompt to the turn that runs
Up, Down        earlier and later prompts
Tab             completes a command
Esc, Ctrl-C     stops the turn
Ctrl-L          draws the screen anew
Ctrl-D          leaves; so does Ctrl-C, twice";

pub(crate) fn parse<'a>(line: &'a str, engine: &[SlashCommand]) -> Line<'a> {
    let Some(rest) = line.strip_prefix('/') else { return Line::Prompt };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some((_, local, _)) = TABLE.iter().find(|(known, ..)| *known == name) {
        return Line::Ours(*local, rest.trim());
    }
    let is_name = !name.is_empty()
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':'));
    if is_name && !engine.iter().any(|command| command.name == name) {
        return Line::Unknown(name);
    }
    Line::Prompt
}

/// Every command, ours and the engine's, with a word on each.
pub(crate) fn all(engine: &[SlashCommand]) -> Vec<(&str, &str)> {
    let ours = TABLE.iter().filter(|(.., about)| !about.is_empty()).map(|(name, _, about)| (*name, *about));
    ours.chain(engine.iter().map(|command| (command.name.as_str(), command.about.as_str()))).collect()
}

/// The commands that begin like this line, as long as it is one word.
pub(crate) fn matching<'a>(line: &str, engine: &'a [SlashCommand]) -> Vec<(&'a str, &'a str)> {
    let Some(begun) = line.strip_prefix('/').filter(|rest| !rest.contains(char::is_whitespace)) else {
        return Vec::new();
    };
    all(engine).into_iter().filter(|(name, _)| name.starts_with(begun)).collect()
}

pub(crate) fn help(engine: &[SlashCommand]) -> String {
    let commands = all(engine).into_iter().map(|(name, about)| format!("/{name:<14} {about}"));
    commands.chain([KEYS.to_string()]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Vec<SlashCommand> {
        vec![SlashCommand { name: "compact".into(), about: "Shorten".into(), hint: None }]
    }

    #[test]
    fn ours_the_engines_and_neithers() {
        for (line, meant) in [
            ("/quit", Line::Ours(Local::Quit, "")),
            ("/permissions", Line::Ours(Local::Option("mode"), "")),
            ("/model  small 1 ", Line::Ours(Local::Option("model"), "small 1")),
            ("/compact now", Line::Prompt),
            ("/compect", Line::Unknown("compect")),
            ("/etc/hosts is wrong", Line::Prompt),
            (" /compect", Line::Prompt),
            ("hello /quit", Line::Prompt),
            ("/", Line::Prompt),
        ] {
            assert_eq!(parse(line, &engine()), meant, "{line}");
        }
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        for (name, _) in all(&engine()) {
            assert!(!matches!(parse(&format!("/{name}"), &engine()), Line::Unknown(_)), "{name}");
            assert!(help(&engine()).contains(&format!("/{name} ")), "{name}");
        }
        assert_eq!(matching("/co", &engine()), [("compact", "Shorten")]);
        assert_eq!(matching("/", &engine()).len(), all(&engine()).len());
        assert!(matching("/co x", &engine()).is_empty());
    }
}
