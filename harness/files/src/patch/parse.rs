//! A patch text as typed file operations.
//!
//! The grammar is that of Codex 0.171 with its leniencies: padded markers, blank lines around, a heredoc,
//! CRLF, a first chunk without `@@`, empty lines as empty context. Further ones, since open models write
//! them: a Markdown fence, stars behind the markers, JSON around the text, unified-diff headers, several
//! `@@` lines in a row.

use protocol::{EditFailure, FilePath, Line, PatchChunk, PatchFile, PatchOp};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const EOF: &str = "*** End of File";

/// Reads a patch.
///
/// Errors: `BadPatch` with the line of the text, counted from 1, and what is wrong there.
pub fn parse(text: &str) -> Result<Vec<PatchFile>, EditFailure> {
    let text = unwrap(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines: Vec<&str> = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let mut reader = Reader { lines, at: 0 };
    reader.begin()?;
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if is_mark(line, END) {
            break;
        }
        if line.trim().is_empty() || line.trim().starts_with("*** Environment ID:") {
            reader.at += 1;
            continue;
        }
        files.push(reader.file()?);
    }
    reader.end()?;
    if files.is_empty() {
        return Err(reader.bad("it changes no file; give an Add File, Update File or Delete File section"));
    }
    Ok(files)
}

/// Takes off what models wrap a patch in.
fn unwrap(text: &str) -> String {
    let trimmed = text.trim();
    if let Some(inner) = trimmed.strip_prefix('{').and_then(|_| json_field(trimmed)) {
        return unwrap(&inner);
    }
    let mut lines: Vec<&str> = trimmed.lines().collect();
    let first = lines.first().map(|line| line.trim()).unwrap_or_default();
    let fenced = first.starts_with("```");
    let heredoc = first.contains("<<");
    if (fenced || heredoc) && lines.len() > 2 {
        lines.remove(0);
        let last = lines.last().map(|line| line.trim()).unwrap_or_default();
        if last.starts_with("```") || (heredoc && !last.starts_with("***")) {
            lines.pop();
        }
        return unwrap(&lines.join("\n"));
    }
    trimmed.to_string()
}

/// The text inside of `{"patch": "..."}` or `{"input": "..."}`.
fn json_field(text: &str) -> Option<String> {
    let start =
        ["\"patch\"", "\"input\""].iter().find_map(|name| text.find(name).map(|at| at + name.len()))?;
    let rest = text.get(start..)?.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut out = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(out),
            '\\' => match letters.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'u' => {
                    let code: String = letters.by_ref().take(4).collect();
                    out.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                }
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}

fn is_mark(line: &str, mark: &str) -> bool {
    line.trim().trim_end_matches([' ', '*']) == mark
}

fn path_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let path = line.trim().strip_prefix(mark.trim_end())?.trim();
    (!path.is_empty()).then_some(path)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn bad(&self, why: &str) -> EditFailure {
        EditFailure::BadPatch { line: u32::try_from(self.at + 1).unwrap_or(u32::MAX), why: why.into() }
    }

    fn begin(&mut self) -> Result<(), EditFailure> {
        match self.peek() {
            Some(line) if is_mark(line, BEGIN) => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.bad("the first line must be '*** Begin Patch'")),
        }
    }

    fn end(&mut self) -> Result<(), EditFailure> {
        match self.peek() {
            Some(line) if is_mark(line, END) => {
                self.at += 1;
                match self
                    .lines
                    .get(self.at..)
                    .and_then(|rest| rest.iter().position(|line| !line.trim().is_empty()))
                {
                    None => Ok(()),
                    Some(more) => {
                        self.at += more;
                        Err(self.bad("nothing may follow '*** End Patch'; put all files into one patch"))
                    }
                }
            }
            _ => Err(self.bad("the last line must be '*** End Patch'")),
        }
    }

    fn file(&mut self) -> Result<PatchFile, EditFailure> {
        let line = self.peek().unwrap_or_default();
        if let Some(path) = path_after(line, ADD) {
            self.at += 1;
            return Ok(PatchFile { path: FilePath(path.into()), op: PatchOp::Add(self.added()?) });
        }
        if let Some(path) = path_after(line, DELETE) {
            self.at += 1;
            return Ok(PatchFile { path: FilePath(path.into()), op: PatchOp::Delete });
        }
        if let Some(path) = path_after(line, UPDATE) {
            self.at += 1;
            return self.update(path);
        }
        let why = format!(
            "{line:?} is no section; there are '{}', '{}' and '{}' with a path",
            ADD.trim(),
            DELETE.trim(),
            UPDATE.trim()
        );
        Err(self.bad(&why))
    }

    fn added(&mut self) -> Result<Vec<String>, EditFailure> {
        let mut lines = Vec::new();
        while let Some(line) = self.peek() {
            if let Some(text) = line.strip_prefix('+') {
                lines.push(text.to_string());
            } else if line.trim_start().starts_with("*** ")
                || line.trim().is_empty() && self.only_blank_ahead()
            {
                break;
            } else {
                return Err(self.bad("each line of a new file must begin with '+'"));
            }
            self.at += 1;
        }
        Ok(lines)
    }

    /// Whether the next line that says something is a marker.
    fn only_blank_ahead(&self) -> bool {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        rest.iter()
            .find(|line| !line.trim().is_empty())
            .is_none_or(|line| line.trim_start().starts_with("*** "))
    }

    fn update(&mut self, path: &str) -> Result<PatchFile, EditFailure> {
        let to = match self.peek().and_then(|line| path_after(line, MOVE)) {
            Some(to) => {
                self.at += 1;
                Some(FilePath(to.into()))
            }
            None => None,
        };
        let mut chunks = Vec::new();
        while let Some(line) = self.peek() {
            let trimmed = line.trim();
            if trimmed.starts_with("*** ") && !is_mark(line, EOF) {
                break;
            }
            if trimmed.is_empty() && self.only_blank_ahead() {
                self.at += 1;
                continue;
            }
            if chunks.is_empty()
                && (line.starts_with("--- ") || line.starts_with("+++ "))
                && self.unified_head()
            {
                self.at += 1;
                continue;
            }
            chunks.push(self.chunk()?);
        }
        if chunks.is_empty() && to.is_none() {
            return Err(self.bad(&format!("the update of {path:?} has no change")));
        }
        Ok(PatchFile { path: FilePath(path.into()), op: PatchOp::Update { to, chunks } })
    }

    /// `--- a` and `+++ b` lines of a unified diff, in front of its first `@@`.
    fn unified_head(&self) -> bool {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        rest.iter().take(3).any(|line| line.starts_with("@@ -"))
    }

    fn chunk(&mut self) -> Result<PatchChunk, EditFailure> {
        let mut under = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@")) {
            let text = anchor(line);
            if !text.is_empty() {
                under.push(text);
            }
            self.at += 1;
        }
        let mut chunk = PatchChunk { under, lines: Vec::new(), at_end: false };
        while let Some(line) = self.peek() {
            if is_mark(line, EOF) {
                chunk.at_end = true;
                self.at += 1;
                break;
            }
            if line.starts_with("@@") || line.trim_start().starts_with("*** ") {
                break;
            }
            if line.is_empty() && self.only_blank_ahead() {
                break;
            }
            if line.starts_with("\\ No newline") {
                self.at += 1;
                continue;
            }
            chunk.lines.push(self.change(line)?);
            self.at += 1;
        }
        if chunk.lines.is_empty() && !chunk.at_end {
            return Err(self.bad("the change has no lines"));
        }
        Ok(chunk)
    }

    fn change(&self, line: &str) -> Result<Line, EditFailure> {
        let mut letters = line.chars();
        match letters.next() {
            None => Ok(Line::Same(String::new())),
            Some(' ') => Ok(Line::Same(letters.as_str().into())),
            Some('+') => Ok(Line::New(letters.as_str().into())),
            Some('-') => Ok(Line::Gone(letters.as_str().into())),
            Some('\t') => Ok(Line::Same(line.into())),
            Some(_) => {
                let why = format!("{line:?} must begin with ' ' (stays), '-' (goes) or '+' (comes)");
                Err(self.bad(&why))
            }
        }
    }
}

/// The text of an `@@` line; the numbers of a unified diff are only hints and are dropped.
fn anchor(line: &str) -> String {
    let text = line.trim_start_matches('@');
    let text = text.strip_prefix(' ').unwrap_or(text);
    if text.starts_with('-') && text.contains('+') && text.contains("@@") {
        return text.split("@@").nth(1).unwrap_or_default().trim().to_string();
    }
    let numbers = text
        .trim_end_matches([' ', '@'])
        .chars()
        .all(|letter| letter.is_ascii_digit() || " ,+-".contains(letter));
    if text.starts_with('-') && numbers {
        String::new()
    } else {
        text.trim_end().trim_end_matches("@@").trim_end().to_string()
    }
}
