//! Bytes as text and back: encoding, byte-order mark, line ends and the final newline are the file's own.
//!
//! A model sees LF lines without a mark. Every shown letter knows its bytes, so an edit splices, and what it
//! does not touch stays as it is, byte for byte. It knows nothing of files or of who edits.

use std::ops::Range;

use crate::encoding::{self, Encoding, Unwritable};
use crate::refine::refine;

/// The text of a file.
#[derive(Clone, Debug)]
pub struct Text {
    encoding: Encoding,
    /// Bytes of the byte-order mark.
    mark: usize,
    bytes: Vec<u8>,
    /// LF line ends, no mark.
    shown: String,
    /// Each line end, in rising order; none at all where all of them are LF.
    ends: Vec<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    /// Of the `\n` in `shown`.
    at: usize,
    kind: LineEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    fn text(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        }
    }
}

impl Text {
    /// None for what is not text: NUL bytes, many control characters, broken UTF-16.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let decoded = encoding::decode(bytes)?;
        let (shown, ends) = to_lf(decoded.text);
        Some(Self { encoding: decoded.encoding, mark: decoded.mark, bytes: bytes.to_vec(), shown, ends })
    }

    /// What a model sees.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// New bytes: the ranges of the shown text, in rising order, replaced. Inside of a range, too, lines
    /// that stay keep their bytes; new lines take the line end of the place they come to.
    pub(crate) fn splice(&self, swaps: &[(Range<usize>, String)]) -> Result<Vec<u8>, Unwritable> {
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        let mut cursor = Cursor { text: self, at: 0, byte: self.mark, end: 0 };
        let mut done = 0;
        for (range, new) in swaps {
            let old = self.shown.get(range.clone()).unwrap_or_default();
            let new = self.lf(new);
            for (gone, come) in refine(old, &new) {
                let start = range.start + gone.start;
                let (first, last) = (cursor.byte_at(start), cursor.byte_at(range.start + gone.end));
                out.extend_from_slice(self.bytes.get(done..first).unwrap_or_default());
                let old = old.get(gone).unwrap_or_default();
                let new = new.get(come).unwrap_or_default();
                self.encoding.encode(&self.with_ends(start, old, new), &mut out)?;
                done = last;
            }
        }
        out.extend_from_slice(self.bytes.get(done..).unwrap_or_default());
        Ok(out)
    }

    /// The text with LF ends, unless the file itself shows letters that look like CRLF.
    fn lf(&self, new: &str) -> String {
        if new.contains('\r') && self.shown.contains("\r\n") { new.to_string() } else { to_lf_only(new) }
    }

    /// The whole file with another text; a mark in the text is not the file's.
    pub(crate) fn replace_all(&self, new: &str) -> Result<Vec<u8>, Unwritable> {
        let new = new.strip_prefix('\u{feff}').unwrap_or(new);
        self.splice(&[(0..self.shown.len(), new.to_string())])
    }

    /// The new text with the file's line ends: line by line those of the old text, then the neighbour's.
    fn with_ends(&self, at: usize, old: &str, new: &str) -> String {
        if self.ends.is_empty() || !new.contains('\n') {
            return new.to_string();
        }
        let first = self.ends.partition_point(|end| end.at < at);
        let inside = old.matches('\n').count();
        let mut own = self.ends.get(first..first + inside).unwrap_or_default().iter().map(|end| end.kind);
        let mut last = self.end_near(at, first);
        let mut out = String::with_capacity(new.len() + 16);
        for line in new.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(body) => {
                    last = own.next().unwrap_or(last);
                    out.push_str(body);
                    out.push_str(last.text());
                }
                None => out.push_str(line),
            }
        }
        out
    }

    /// The line end that a line added at `at` takes: of the line before at a line's start, else of its own.
    fn end_near(&self, at: usize, next: usize) -> LineEnd {
        let before = next.checked_sub(1).and_then(|before| self.ends.get(before));
        let own = self.ends.get(next);
        let starts = before.is_some_and(|before| before.at + 1 == at);
        let near = if starts { before } else { own.or(before) };
        near.map_or(LineEnd::Lf, |end| end.kind)
    }
}

/// A place in the shown text and in the bytes at once; it only goes forward.
struct Cursor<'a> {
    text: &'a Text,
    at: usize,
    byte: usize,
    end: usize,
}

impl Cursor<'_> {
    fn byte_at(&mut self, at: usize) -> usize {
        let text = self.text;
        self.byte += text.encoding.bytes_of(text.shown.get(self.at..at).unwrap_or_default());
        while let Some(end) = text.ends.get(self.end).filter(|end| end.at < at) {
            self.byte += if end.kind == LineEnd::CrLf { text.encoding.unit() } else { 0 };
            self.end += 1;
        }
        self.at = self.at.max(at);
        self.byte
    }
}

/// A text from outside with LF line ends.
pub(crate) fn to_lf_only(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_string() }
}

/// LF line ends, with a note of what they were.
fn to_lf(raw: String) -> (String, Vec<End>) {
    let mut ends = Vec::new();
    // A CR alone ends a line only in files that have no LF, as those of old Macintoshes.
    let lone = raw.contains('\r') && !raw.contains('\n');
    if !lone && !raw.contains("\r\n") {
        return (raw, ends);
    }
    let mut shown = String::with_capacity(raw.len());
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        let kind = match letter {
            '\r' if letters.next_if_eq(&'\n').is_some() => LineEnd::CrLf,
            '\r' if lone => LineEnd::Cr,
            '\n' => LineEnd::Lf,
            other => {
                shown.push(other);
                continue;
            }
        };
        ends.push(End { at: shown.len(), kind });
        shown.push('\n');
    }
    (shown, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
        let text = Text::decode(bytes).unwrap();
        let at = text.shown().find(old).unwrap();
        text.splice(&[(at..at + old.len(), new.to_string())]).unwrap()
    }

    fn utf16_le(text: &str) -> Vec<u8> {
        let mut bytes = vec![0xFF, 0xFE];
        text.encode_utf16().for_each(|unit| bytes.extend(unit.to_le_bytes()));
        bytes
    }

    #[test]
    fn line_ends_marks_and_encodings_stay() {
        assert_eq!(change(b"a\r\nb\r\nc\r\n", "b\n", "B\nx\n"), b"a\r\nB\r\nx\r\nc\r\n");
        assert_eq!(change(b"a\nb\r\nc\n", "b\n", "B\n"), b"a\nB\r\nc\n");
        assert_eq!(change(b"a\rb\rc", "b", "B\nx"), b"a\rB\rx\rc");
        assert_eq!(change(b"a\r\nb", "b", "b\nc"), b"a\r\nb\r\nc");
        assert_eq!(change(b"\xef\xbb\xbfa\nb", "a", "x"), b"\xef\xbb\xbfx\nb");
        assert_eq!(change(b"\xa9 \xfc\nb\n", "b", "\u{fc}x"), b"\xa9 \xfc\n\xfcx\n");
        assert_eq!(change(&utf16_le("é\r\n😀b\r\n"), "b", "ü\nz"), utf16_le("é\r\n😀ü\r\nz\r\n"));
    }

    #[test]
    fn lines_that_stay_in_a_range_keep_their_bytes() {
        assert_eq!(change(b"a\nb\r\nc\n", "a\nb\nc\n", "x\na\nb\nd\n"), b"x\na\nb\r\nd\n");
        assert_eq!(
            change(b"\xc3\xa9\xc3\xa9 \xff a\nb\n", "\u{fffd} a", "\u{fffd} z"),
            b"\xc3\xa9\xc3\xa9 \xff z\nb\n"
        );
        let whole = Text::decode(b"1\r\n2\n3\r\n").unwrap();
        assert_eq!(whole.replace_all("1\n2\n2b\n3\n").unwrap(), b"1\r\n2\n2b\n3\r\n");
        assert_eq!(whole.replace_all("\u{feff}1\r\n").unwrap(), b"1\r\n");
    }

    #[test]
    fn what_an_encoding_lacks_is_refused() {
        let text = Text::decode(b"\xa9\n").unwrap();
        assert_eq!(text.splice(&[(0..0, "漢".into())]).unwrap_err().letter, '漢');
        let broken = Text::decode(b"\xc3\xa9\xc3\xa9\xff").unwrap();
        assert_eq!(broken.splice(&[(0..0, "\u{fffd}".into())]).unwrap_err().letter, '\u{fffd}');
    }

    /// Bytes as files have them: letters of several encodings between line ends of all kinds.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"\n".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"\r".to_vec()),
            Just("é漢😀".as_bytes().to_vec()),
            Just(b"a b".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        let mark = prop_oneof![Just(""), Just("\u{feff}")];
        (mark, proptest::collection::vec(piece, 0..24)).prop_map(|(mark, pieces)| {
            let mut bytes = mark.as_bytes().to_vec();
            bytes.extend(pieces.concat());
            bytes
        })
    }

    fn wide() -> impl Strategy<Value = Vec<u8>> {
        ("[a-cé漢😀\n\r]{0,30}", any::<bool>()).prop_map(|(text, little)| {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            units.flat_map(|unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
        })
    }

    proptest! {
        #[test]
        fn untouched_bytes_stay(
            bytes in prop_oneof![bytes(), wide()],
            cut in 0usize..60,
            len in 0usize..9,
            new in "[x\n]{0,3}",
        ) {
            let Some(text) = Text::decode(&bytes) else { return Ok(()) };
            let from = text.shown().floor_char_boundary(cut.min(text.shown().len()));
            let to = text.shown().floor_char_boundary((from + len).min(text.shown().len()));
            let out = text.splice(&[(from..to, new)]).unwrap();
            let mut cursor = Cursor { text: &text, at: 0, byte: text.mark, end: 0 };
            let (first, last) = (cursor.byte_at(from), cursor.byte_at(to));
            prop_assert_eq!(&out[..first], &bytes[..first]);
            prop_assert_eq!(&out[out.len() - (bytes.len() - last)..], &bytes[last..]);
        }

        #[test]
        fn nothing_changed_is_nothing_changed(bytes in prop_oneof![bytes(), wide()]) {
            let Some(text) = Text::decode(&bytes) else { return Ok(()) };
            prop_assert_eq!(&text.splice(&[]).unwrap(), &bytes);
            prop_assert_eq!(&text.replace_all(text.shown()).unwrap(), &bytes);
            let mut cursor = Cursor { text: &text, at: 0, byte: text.mark, end: 0 };
            prop_assert_eq!(cursor.byte_at(text.shown().len()), bytes.len());
        }

        #[test]
        fn a_new_text_is_shown_as_written(bytes in bytes(), new in "[a-c\n]{0,12}") {
            let Some(text) = Text::decode(&bytes) else { return Ok(()) };
            let made = text.replace_all(&new).unwrap();
            let made = Text::decode(&made).unwrap();
            prop_assert_eq!(made.shown(), new);
        }
    }
}
