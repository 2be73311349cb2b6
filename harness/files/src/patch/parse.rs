//! A patch text as typed file operations.
//!
//! The grammar is that of Codex 0.171 with its leniencies: padded markers, blank lines around, a heredoc,
//! CRLF, a first chunk without `@@`, empty lines as empty context. Further ones, since open models write
//! them: a Markdown fence, stars behind the markers, JSON around the text, unified-diff headers, several
//! `@@` lines in a row. It knows no files; whether the lines stand anywhere is found out later.

use protocol::{EditFailure, FilePath, Line, PatchChunk, PatchFile, PatchOp};

use super::unwrap::unwrap;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const EOF: &str = "*** End of File";
const ENVIRONMENT: &str = "*** Environment ID:";

/// Reads a patch.
///
/// Errors: `BadPatch` with the line of the text, counted from 1, and what is wrong there.
pub fn parse(text: &str) -> Result<Vec<PatchFile>, EditFailure> {
    let text = unwrap(text);
    let lines: Vec<&str> = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let padded = lines.first().is_some_and(|line| line.starts_with([' ', '\t']));
    let mut reader = Reader { lines, at: 0, padded };
    reader.begin()?;
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if is_mark(line, END) {
            break;
        }
        if line.trim().is_empty() || line.trim().starts_with(ENVIRONMENT) {
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

fn is_mark(line: &str, mark: &str) -> bool {
    line.trim().trim_end_matches([' ', '*']) == mark
}

fn path_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let path = line.trim().strip_prefix(mark)?.trim();
    let path = path.strip_suffix(" ***").unwrap_or(path).trim_end();
    (!path.is_empty()).then_some(path)
}

/// Whether a line, its padding aside, is one of the format's own.
fn is_any_mark(line: &str) -> bool {
    [END, EOF].iter().any(|mark| is_mark(line, mark))
        || [ADD, DELETE, UPDATE, MOVE, ENVIRONMENT].iter().any(|mark| line.trim().starts_with(mark))
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// The first line is indented, so the other markers may be as well.
    padded: bool,
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
        if self.peek().is_none_or(|line| !is_mark(line, END)) {
            return Err(self.bad("the last line must be '*** End Patch'"));
        }
        self.at += 1;
        match self.ahead() {
            None => Ok(()),
            Some(_) => Err(self.bad("nothing may follow '*** End Patch'; put all files into one patch")),
        }
    }

    fn file(&mut self) -> Result<PatchFile, EditFailure> {
        let line = self.peek().unwrap_or_default();
        let named = [ADD, DELETE, UPDATE].into_iter().find_map(|mark| Some((mark, path_after(line, mark)?)));
        let Some((mark, path)) = named else {
            let why =
                format!("{line:?} is no section; there are '{ADD}', '{UPDATE}' and '{DELETE}' with a path");
            return Err(self.bad(&why));
        };
        self.at += 1;
        let op = match mark {
            ADD => PatchOp::Add(self.added()?),
            DELETE => PatchOp::Delete,
            _ => self.update(path)?,
        };
        Ok(PatchFile { path: FilePath(path.into()), op })
    }

    fn added(&mut self) -> Result<Vec<String>, EditFailure> {
        let mut lines = Vec::new();
        while let Some(line) = self.peek() {
            if let Some(text) = line.strip_prefix('+') {
                lines.push(text.to_string());
            } else if line.trim_start().starts_with("*** ") || line.trim().is_empty() && self.ends_ahead() {
                break;
            } else {
                return Err(self.bad("each line of a new file must begin with '+'"));
            }
            self.at += 1;
        }
        Ok(lines)
    }

    /// The next line that says something.
    fn ahead(&self) -> Option<&'a str> {
        self.lines.get(self.at..).unwrap_or_default().iter().find(|line| !line.trim().is_empty()).copied()
    }

    /// Whether nothing but blank lines comes before the next marker.
    fn ends_ahead(&self) -> bool {
        self.ahead().is_none_or(|line| line.trim_start().starts_with("*** "))
    }

    /// Whether the line at hand ends a chunk. Indented it may as well be a line of the file.
    fn is_border(&self, line: &str) -> bool {
        let rest = || self.lines.get(self.at + 1..).unwrap_or_default();
        let is_last = || rest().iter().all(|line| line.trim().is_empty());
        line.starts_with("*** ") || is_any_mark(line) && (self.padded || is_mark(line, END) && is_last())
    }

    fn update(&mut self, path: &str) -> Result<PatchOp, EditFailure> {
        let to = self.peek().and_then(|line| path_after(line, MOVE)).map(|to| FilePath(to.into()));
        self.at += usize::from(to.is_some());
        let mut chunks = Vec::new();
        while let Some(line) = self.peek() {
            let skipped = line.trim().is_empty() && self.ends_ahead();
            if skipped || chunks.is_empty() && self.is_unified_head(line) {
                self.at += 1;
                continue;
            }
            if self.is_border(line) && !is_mark(line, EOF) {
                break;
            }
            chunks.push(self.chunk()?);
        }
        if chunks.is_empty() && to.is_none() {
            return Err(self.bad(&format!("the update of {path:?} has no change")));
        }
        Ok(PatchOp::Update { to, chunks })
    }

    /// `--- a` and `+++ b` lines of a unified diff, in front of its first `@@`.
    fn is_unified_head(&self, line: &str) -> bool {
        let ahead = self.lines.get(self.at..).unwrap_or_default();
        (line.starts_with("--- ") || line.starts_with("+++ "))
            && ahead.iter().take(3).any(|line| line.starts_with("@@ -"))
    }

    fn chunk(&mut self) -> Result<PatchChunk, EditFailure> {
        let mut chunk = PatchChunk { under: Vec::new(), line: None, lines: Vec::new(), at_end: false };
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@")) {
            match header(line) {
                Header::Line(number) => chunk.line = Some(number),
                Header::Under(text) if text.trim().is_empty() => {}
                Header::Under(text) => chunk.under.push(text),
            }
            self.at += 1;
        }
        while let Some(line) = self.peek() {
            if is_mark(line, EOF) && self.is_border(line) {
                chunk.at_end = true;
                self.at += 1;
                break;
            }
            if line.starts_with("@@") || self.is_border(line) || line.is_empty() && self.ends_ahead() {
                break;
            }
            if !line.starts_with("\\ No newline") {
                chunk.lines.push(self.change(line)?);
            }
            self.at += 1;
        }
        if chunk.lines.is_empty() {
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
            // A tab is where the file's indentation begins, the space before it forgotten.
            Some('\t') => Ok(Line::Same(line.into())),
            Some(_) => {
                let why = format!("{line:?} must begin with ' ' (stays), '-' (goes) or '+' (comes)");
                Err(self.bad(&why))
            }
        }
    }
}

/// What an `@@` line says.
enum Header {
    /// A line that stands above the chunk.
    Under(String),
    /// Where a unified diff says that the chunk begins; what stands behind its numbers is a decoration.
    Line(u32),
}

fn header(line: &str) -> Header {
    let text = line.trim_start_matches('@');
    let text = text.strip_prefix(' ').unwrap_or(text);
    match numbered(text) {
        Some(number) => Header::Line(number),
        None => Header::Under(text.trim_end().trim_end_matches("@@").trim_end().to_string()),
    }
}

/// The first number of `-1,3 +1,3`, with or without `@@` and more behind it.
fn numbered(text: &str) -> Option<u32> {
    let mut parts = text.split_whitespace();
    let (old, new) = (parts.next()?.strip_prefix('-')?, parts.next()?.strip_prefix('+')?);
    let start = |range: &str| {
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        count.parse::<u32>().ok().and(start.parse::<u32>().ok())
    };
    start(new.trim_end_matches('@')).and(start(old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(text: &str) -> PatchChunk {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch");
        match parse(&patch).unwrap().remove(0).op {
            PatchOp::Update { mut chunks, .. } => chunks.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn headers() {
        let cases: [(&str, &[&str], Option<u32>); 9] = [
            ("@@\n-a", &[], None),
            ("@@ fn a() {\n-a", &["fn a() {"], None),
            ("@@ class A @@\n-a", &["class A"], None),
            ("@@ class A\n@@  def b\n-a", &["class A", " def b"], None),
            ("@@ -3,2 +3,2 @@\n-a", &[], Some(3)),
            ("@@ -3 +3 @@ fn far() {\n-a", &[], Some(3)),
            ("@@ -3,2 +4,2\n-a", &[], Some(3)),
            ("@@ - item + item\n-a", &["- item + item"], None),
            ("--- a/f\n+++ b/f\n@@ -7,1 +7,1 @@\n-a\n\\ No newline at end of file", &[], Some(7)),
        ];
        for (text, under, line) in cases {
            let made = chunk(text);
            let made_under: Vec<&str> = made.under.iter().map(String::as_str).collect();
            assert_eq!((made_under, made.line), (under.to_vec(), line));
            assert_eq!(made.lines, [Line::Gone("a".into())], "{text:?}");
        }
    }

    #[test]
    fn lines_of_the_file_that_look_like_markers() {
        let made = chunk(
            "@@\n *** Begin Patch\n-*** End Patch\n+*** Update File: x\n *** a banner ***\n *** Update File: y",
        );
        assert_eq!(made.lines.len(), 5);
        let padded = parse(
            "  *** Begin Patch\n  *** Update File: f\n@@\n-a\n  *** Update File: g\n@@\n-b\n  *** End Patch",
        );
        assert_eq!(padded.unwrap().len(), 2);
    }

    #[test]
    fn what_is_wrong_and_where() {
        let cases = [
            ("", 1, "first line"),
            ("*** Update File: f", 1, "first line"),
            ("*** Begin Patch\n*** Update File: f\n@@\n-a\n", 5, "last line"),
            ("*** Begin Patch\n*** Rename File: f\n*** End Patch", 2, "no section"),
            ("*** Begin Patch\n*** Add File:\n*** End Patch", 2, "no section"),
            ("*** Begin Patch\n*** Add File: f\nhello\n*** End Patch", 3, "begin with '+'"),
            ("*** Begin Patch\n*** Update File: f\n*** End Patch", 3, "no change"),
            ("*** Begin Patch\n*** Update File: f\n@@\n*** End Patch", 4, "no lines"),
            ("*** Begin Patch\n*** Update File: f\n@@\n*** End of File\n*** End Patch", 5, "no lines"),
            ("*** Begin Patch\n*** Update File: f\n@@\none\n*** End Patch", 4, "\"one\" must begin with"),
            ("*** Begin Patch\n*** End Patch", 3, "changes no file"),
            ("*** Begin Patch\n*** Delete File: f\n*** End Patch\nmore", 4, "nothing may follow"),
        ];
        for (text, at, what) in cases {
            match parse(text) {
                Err(EditFailure::BadPatch { line, why }) => {
                    assert!(line == at && why.contains(what), "{text:?}: {line}: {why}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }

    #[rustfmt::skip]
    const PIECES: &[&str] = &[
        "*** Begin Patch\n", "*** End Patch\n", "*** Update File: f\n", "*** Add File: g\n", "*** Delete File: h\n",
        "*** Move to: i\n", "*** End of File\n", "@@\n", "@@ fn a\n", "@@ -1,2 +1,2 @@\n", "+new\n", "-old\n",
        " same\n", "\n", " ", "\r\n", "```\n", "<<EOF\n", "EOF\n", "{\"patch\": \"", "\\n", "\\ud83d", "\"}", "é",
        "\u{feff}", "***",
    ];

    /// Pieces of patches in any order, most of them between the outer markers.
    fn mutated() -> impl Strategy<Value = String> {
        let pieces = proptest::collection::vec(proptest::sample::select(PIECES), 0..24);
        (pieces, proptest::bool::weighted(0.7)).prop_map(|(pieces, framed)| {
            let text = pieces.concat();
            if framed { format!("*** Begin Patch\n{text}\n*** End Patch") } else { text }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_text_breaks_it(text in mutated(), any in ".{0,40}") {
            for text in [text, any] {
                if let Ok(files) = parse(&text) {
                    prop_assert!(!files.is_empty());
                }
            }
        }
    }
}
