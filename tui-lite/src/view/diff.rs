//! Changes of a file, with a sign before each line: the colour only repeats it.

use protocol::{FileDiff, FileKind, Line as DiffLine};
use ratatui_core::style::Color;

use crate::row::{Row, bold, colored, dim};
use crate::text::exact;

/// Lines of a diff that is shown in passing.
pub(crate) const SHORT: usize = 60;
/// Lines of a diff that a person decides on or asked for.
pub(crate) const LONG: usize = 2_000;

const INDENT: &str = "     ";

/// A file's diff, cut off at a number of lines that says what is missing.
pub(crate) fn rows(file: &FileDiff, most: usize) -> Vec<Row> {
    let mut rows = vec![Row::letters(format!("{INDENT}{}", head(file)), 7).style(bold())];
    for (index, hunk) in file.hunks.iter().enumerate() {
        if index > 0 {
            rows.push(Row::whole(format!("{INDENT}  ... line {}", hunk.new_line)).style(dim()));
        }
        rows.extend(hunk.lines.iter().map(line));
    }
    if let Some(cut) = &file.cut {
        rows.push(Row::words(format!("{INDENT}({})", exact(cut)), 5).style(dim()));
    }
    if rows.len() > most {
        let more = rows.len() - most;
        rows.truncate(most);
        rows.push(Row::whole(format!("{INDENT}... {more} more lines; /diff shows them")).style(dim()));
    }
    rows
}

fn head(file: &FileDiff) -> String {
    let (added, removed) = file.counts();
    let what = match &file.kind {
        FileKind::Add => "new".to_string(),
        FileKind::Delete => "deleted".to_string(),
        FileKind::Move { from } => format!("moved from {}", exact(&from.0)),
        FileKind::Update => "changed".to_string(),
        FileKind::Binary => "binary".to_string(),
    };
    format!("{} ({what}, +{added} -{removed})", exact(&file.path.0))
}

fn line(line: &DiffLine) -> Row {
    let (sign, style) = match line {
        DiffLine::Same(_) => (' ', dim()),
        DiffLine::Gone(_) => ('-', colored(Color::Red)),
        DiffLine::New(_) => ('+', colored(Color::Green)),
    };
    let text = line.text();
    // A line end of two letters is no news on every line.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = exact(text.strip_suffix('\r').unwrap_or(text));
    Row::letters(format!("{INDENT}{sign} {text}"), 7).style(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{FilePath, Hunk};

    fn file(lines: Vec<DiffLine>) -> FileDiff {
        let hunk = Hunk { old_line: 1, new_line: 1, lines };
        FileDiff { path: FilePath("a.rs".into()), kind: FileKind::Update, hunks: vec![hunk], cut: None }
    }

    #[test]
    fn signs_say_what_colours_say() {
        let lines = vec![
            DiffLine::Same("fn a() {\r\n".into()),
            DiffLine::Gone("\tone\u{1b}[2K\n".into()),
            DiffLine::New("\ttwo".into()),
        ];
        let shown: Vec<String> = rows(&file(lines), SHORT).iter().map(Row::plain).collect();
        assert_eq!(
            shown,
            ["     a.rs (changed, +1 -1)", "       fn a() {", "     -     one\\u{1b}[2K", "     +     two",]
        );
    }

    #[test]
    fn a_long_diff_says_what_is_missing() {
        let lines = (0..100).map(|n| DiffLine::New(format!("{n}\n"))).collect();
        let shown = rows(&file(lines), 10);
        assert_eq!(
            (shown.len(), shown[10].plain().as_str()),
            (11, "     ... 91 more lines; /diff shows them")
        );
    }
}
