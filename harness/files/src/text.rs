//! Bytes as text and back: encoding, byte-order mark, line ends and the final newline are the file's own.
//!
//! A model sees LF lines without a mark. Every shown character knows its bytes, so an edit splices and
//! what it does not touch stays as it is, byte for byte.

use std::ops::Range;

use encoding_rs::WINDOWS_1252;

/// How the bytes of a file are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// Any single-byte text; shown as Windows-1252.
    Single,
}

/// The text of a file.
#[derive(Clone, Debug)]
pub struct Text {
    encoding: Encoding,
    /// Bytes of the byte-order mark.
    mark: usize,
    bytes: Vec<u8>,
    /// LF line ends, no mark.
    shown: String,
    /// Where line ends of more than `\n` stand: offset in `shown` of the `\n`, in rising order.
    ends: Vec<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
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

/// A character that the file's encoding does not have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unwritable(pub(crate) char);

impl Text {
    /// None for what is not text: NUL bytes, or broken UTF-16.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (encoding, mark) = match bytes {
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            [0xFF, 0xFE, ..] => (Encoding::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16Be, 2),
            _ => (Encoding::Utf8, 0),
        };
        let body = bytes.get(mark..).unwrap_or_default();
        let (encoding, raw) = match encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => (encoding, utf16(body, encoding)?),
            Encoding::Utf8 | Encoding::Single if body.contains(&0) => return None,
            Encoding::Utf8 | Encoding::Single => match std::str::from_utf8(body) {
                Ok(text) => (Encoding::Utf8, text.to_string()),
                Err(_) if mark > 0 => return None,
                Err(_) => (Encoding::Single, single(body)),
            },
        };
        let (shown, ends) = to_lf(&raw);
        Some(Self { encoding, mark, bytes: bytes.to_vec(), shown, ends })
    }

    /// What a model sees.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The line end of the line around `at`, or of its neighbours; of new files LF.
    fn kind_near(&self, at: usize) -> LineEnd {
        if self.ends.is_empty() {
            return LineEnd::Lf;
        }
        let line_start = self.shown.get(..at).and_then(|head| head.rfind('\n')).map(|end| end + 1);
        let own = self.shown.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end);
        let before = line_start.map(|start| start - 1);
        let end = own.or(before);
        match end {
            Some(end) => self.kind_at(end),
            None => LineEnd::Lf,
        }
    }

    fn kind_at(&self, end: usize) -> LineEnd {
        match self.ends.binary_search_by_key(&end, |end| end.at) {
            Ok(found) => self.ends.get(found).map_or(LineEnd::Lf, |end| end.kind),
            Err(_) => LineEnd::Lf,
        }
    }

    /// The bytes behind a range of the shown text.
    fn byte_range(&self, range: &Range<usize>) -> Range<usize> {
        self.byte_at(range.start)..self.byte_at(range.end)
    }

    fn byte_at(&self, at: usize) -> usize {
        let head = self.shown.get(..at).unwrap_or(&self.shown);
        let extra = self.ends.partition_point(|end| end.at < at);
        let crlf =
            self.ends.get(..extra).unwrap_or_default().iter().filter(|end| end.kind == LineEnd::CrLf).count();
        let body = match self.encoding {
            Encoding::Utf8 => head.len() + crlf,
            Encoding::Single => head.chars().count() + crlf,
            Encoding::Utf16Le | Encoding::Utf16Be => {
                2 * (head.chars().map(char::len_utf16).sum::<usize>() + crlf)
            }
        };
        self.mark + body
    }

    /// New bytes: the ranges of the shown text, in rising order, replaced. New lines take the line end of
    /// the place they come to.
    pub(crate) fn splice(&self, swaps: &[(Range<usize>, String)]) -> Result<Vec<u8>, Unwritable> {
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        let mut done = 0;
        for (range, new) in swaps {
            let bytes = self.byte_range(range);
            out.extend_from_slice(self.bytes.get(done..bytes.start).unwrap_or_default());
            let old = self.shown.get(range.clone()).unwrap_or_default();
            self.encode(&self.with_ends(range.start, old, new), &mut out)?;
            done = bytes.end;
        }
        out.extend_from_slice(self.bytes.get(done..).unwrap_or_default());
        Ok(out)
    }

    /// The new text with the file's line ends: line by line those of the old text, then the neighbour's.
    fn with_ends(&self, at: usize, old: &str, new: &str) -> String {
        let new = new.replace("\r\n", "\n");
        if self.ends.is_empty() || !new.contains('\n') {
            return new;
        }
        let mut old_ends = old.match_indices('\n').map(|(offset, _)| self.kind_at(at + offset));
        let mut last = self.kind_near(at);
        let mut out = String::with_capacity(new.len() + 16);
        for line in new.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(body) => {
                    last = old_ends.next().unwrap_or(last);
                    out.push_str(body);
                    out.push_str(last.text());
                }
                None => out.push_str(line),
            }
        }
        out
    }

    fn encode(&self, text: &str, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        match self.encoding {
            Encoding::Utf8 => out.extend_from_slice(text.as_bytes()),
            Encoding::Utf16Le => text.encode_utf16().for_each(|unit| out.extend(unit.to_le_bytes())),
            Encoding::Utf16Be => text.encode_utf16().for_each(|unit| out.extend(unit.to_be_bytes())),
            Encoding::Single => {
                for letter in text.chars() {
                    out.push(single_byte(letter).ok_or(Unwritable(letter))?);
                }
            }
        }
        Ok(())
    }

    /// The whole file with another text: mark, encoding and prevailing line end stay.
    pub(crate) fn replace_all(&self, new: &str) -> Result<Vec<u8>, Unwritable> {
        let mut out = self.bytes.get(..self.mark).unwrap_or_default().to_vec();
        let crlf = self.ends.iter().filter(|end| end.kind == LineEnd::CrLf).count();
        let lines = self.shown.matches('\n').count();
        let new = new.strip_prefix('\u{feff}').unwrap_or(new).replace("\r\n", "\n");
        let new = if lines > 0 && crlf * 2 > lines { new.replace('\n', "\r\n") } else { new };
        self.encode(&new, &mut out)?;
        Ok(out)
    }
}

fn utf16(body: &[u8], encoding: Encoding) -> Option<String> {
    if !body.len().is_multiple_of(2) {
        return None;
    }
    let units: Vec<u16> = body
        .chunks_exact(2)
        .map(|pair| {
            let pair = [pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)];
            if encoding == Encoding::Utf16Le { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
        })
        .collect();
    String::from_utf16(&units).ok().filter(|text| !text.contains('\0'))
}

/// Each byte one character, so that offsets can be told apart.
fn single(body: &[u8]) -> String {
    WINDOWS_1252.decode_without_bom_handling(body).0.into_owned()
}

fn single_byte(letter: char) -> Option<u8> {
    let mut buffer = [0; 4];
    let (bytes, _, unmappable) = WINDOWS_1252.encode(letter.encode_utf8(&mut buffer));
    match (&*bytes, unmappable) {
        ([byte], false) => Some(*byte),
        _ => None,
    }
}

/// LF line ends, with a note of those that were others.
fn to_lf(raw: &str) -> (String, Vec<End>) {
    let mut ends = Vec::new();
    if !raw.contains('\r') {
        return (raw.to_string(), ends);
    }
    let mut shown = String::with_capacity(raw.len());
    let mut letters = raw.chars().peekable();
    // A CR alone ends a line only in files that have no LF, as old Macintosh files.
    let lone_cr_ends = !raw.contains('\n');
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {
                letters.next();
                ends.push(End { at: shown.len(), kind: LineEnd::CrLf });
                shown.push('\n');
            }
            '\r' if lone_cr_ends => {
                ends.push(End { at: shown.len(), kind: LineEnd::Cr });
                shown.push('\n');
            }
            other => shown.push(other),
        }
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
        assert_eq!(change(b"\xef\xbb\xbfa\nb", "a", "x"), b"\xef\xbb\xbfx\nb");
        assert_eq!(change(b"\xa9 \xfc\nb\n", "b", "\u{fc}x"), b"\xa9 \xfc\n\xfcx\n");
        assert_eq!(change(&utf16_le("é\r\n😀b\r\n"), "b", "ü\nz"), utf16_le("é\r\n😀ü\r\nz\r\n"));
    }

    #[test]
    fn what_an_encoding_lacks_is_refused() {
        let text = Text::decode(b"\xa9\n").unwrap();
        assert_eq!(text.splice(&[(0..0, "漢".into())]), Err(Unwritable('漢')));
    }

    #[test]
    fn binary_is_no_text() {
        assert!(Text::decode(b"a\0b").is_none());
        assert!(Text::decode(b"\xff\xfea").is_none());
        assert!(Text::decode(b"").is_some());
    }

    proptest! {
        #[test]
        fn untouched_bytes_stay(bytes in proptest::collection::vec(1u8.., 0..200), cut in 0usize..200, len in 0usize..20) {
            let Some(text) = Text::decode(&bytes) else { return Ok(()) };
            let from = text.shown().floor_char_boundary(cut.min(text.shown().len()));
            let to = text.shown().floor_char_boundary((from + len).min(text.shown().len()));
            let out = text.splice(&[(from..to, "new".into())]).unwrap();
            let range = text.byte_range(&(from..to));
            prop_assert_eq!(&out[..range.start], &bytes[..range.start]);
            prop_assert_eq!(&out[out.len() - (bytes.len() - range.end)..], &bytes[range.end..]);
            prop_assert_eq!(text.splice(&[]).unwrap(), bytes);
        }
    }
}
