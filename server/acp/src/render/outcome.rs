//! What came of a call, as content blocks.

use protocol::{Outcome, ReadBody, RunEnd};
use serde_json::{Value, json};

/// What is shown of a result; the client keeps all of it, for every call of a session.
const TEXT_BYTES: usize = 16 * 1024;

pub(super) fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// Text as it is, in a fence that it does not close.
pub(super) fn fenced(text: &str) -> String {
    let mut fence = "```".to_string();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A result for a person; nothing where another part of the call says it.
pub(super) fn content(outcome: &Outcome) -> Option<Value> {
    let shown = match outcome {
        Outcome::Ran { .. } => match outcome.text() {
            said if said.trim().is_empty() => return None,
            said => fenced(&short(&said)),
        },
        Outcome::Read { body: ReadBody::Image { mime, data }, .. } => {
            let image = json!({"type": "image", "mimeType": mime, "data": data.0});
            return Some(json!({"type": "content", "content": image}));
        }
        Outcome::Read { body: ReadBody::Lines { text, .. }, .. } => fenced(&short(text)),
        Outcome::Found { files, .. } => listed(outcome, files.iter().map(|file| file.path.0.as_str())),
        Outcome::Listed { paths, .. } => listed(outcome, paths.iter().map(|entry| entry.path.0.as_str())),
        Outcome::Fetched { text, .. } => short(&format!("{}\n{text}", outcome.text())),
        // The plan and the diff are shown as such.
        Outcome::Plan(_) | Outcome::Edited { .. } => return None,
        Outcome::Tasks(_)
        | Outcome::EditFailed { .. }
        | Outcome::Answered(_)
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Declined { .. }
        | Outcome::Interrupted
        | Outcome::Failed { .. } => short(&outcome.text()),
    };
    Some(text(&shown))
}

fn listed<'a>(outcome: &Outcome, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    short(&format!("{}\n{}", outcome.text(), names.join("\n")))
}

/// A result for a program.
pub(super) fn raw(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Ran { end, output, wall_ms, .. } => {
            let (code, signal) = exit(end);
            json!({
                "exitCode": code,
                "signal": signal,
                "output": short(&output.text()),
                "bytes": output.bytes,
                "wallMs": wall_ms,
            })
        }
        Outcome::Tasks(_)
        | Outcome::Read { .. }
        | Outcome::Listed { .. }
        | Outcome::Found { .. }
        | Outcome::Edited { .. }
        | Outcome::EditFailed { .. }
        | Outcome::Plan(_)
        | Outcome::Answered(_)
        | Outcome::Fetched { .. }
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Declined { .. }
        | Outcome::Interrupted
        | Outcome::Failed { .. } => json!({ "text": short(&outcome.text()) }),
    }
}

/// Exit code and signal, where there was one.
pub(super) fn exit(end: &RunEnd) -> (Option<i32>, Option<String>) {
    match end {
        RunEnd::Exited(code) => (Some(*code), None),
        RunEnd::Signalled(signal) => (None, Some(signal_name(*signal))),
        RunEnd::TimedOut { .. } | RunEnd::Stopped => (None, Some(signal_name(9))),
        RunEnd::StillRunning(_) => (None, None),
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".into(),
        2 => "SIGINT".into(),
        3 => "SIGQUIT".into(),
        6 => "SIGABRT".into(),
        9 => "SIGKILL".into(),
        11 => "SIGSEGV".into(),
        13 => "SIGPIPE".into(),
        15 => "SIGTERM".into(),
        other => format!("SIG{other}"),
    }
}

/// The end of a long text.
fn short(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_string();
    }
    let from = text.ceil_char_boundary(text.len() - TEXT_BYTES);
    format!("[{from} bytes left out]\n{}", text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_outlasts_its_text() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("x ``` y"), "````\nx ``` y\n````");
    }

    #[test]
    fn long_results_keep_their_end() {
        let long = short(&"é".repeat(TEXT_BYTES));
        assert!(
            long.len() <= TEXT_BYTES + 40 && long.ends_with('é') && long.starts_with('['),
            "{}",
            long.len()
        );
    }
}
