//! How the bytes of a file are letters.
//!
//! Each letter that is shown stands for bytes that can be counted, so that a place in the text is a place
//! in the file. Line ends are not its business. Called by [`crate::Text`].

use encoding_rs::WINDOWS_1252;

/// What stands for a byte that is no letter.
const STRAY: char = '\u{fffd}';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    /// UTF-8 with a few bytes that are none; each is shown as U+FFFD and cannot be written.
    BrokenUtf8,
    Utf16Le,
    Utf16Be,
    /// Any single-byte text; shown as Windows-1252, which has a letter for every byte.
    Single,
}

/// The letters of a file, its mark left out.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) encoding: Encoding,
    /// Bytes of the byte-order mark.
    pub(crate) mark: usize,
    pub(crate) text: String,
}

/// A letter that the file's encoding does not have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unwritable {
    pub(crate) letter: char,
    pub(crate) encoding: &'static str,
}

/// None for what is not text: NUL bytes, many control characters, broken UTF-16.
pub(crate) fn decode(bytes: &[u8]) -> Option<Decoded> {
    let (mark, wide) = match bytes {
        [0xEF, 0xBB, 0xBF, ..] => (3, None),
        [0xFF, 0xFE, ..] => (2, Some(Encoding::Utf16Le)),
        [0xFE, 0xFF, ..] => (2, Some(Encoding::Utf16Be)),
        _ => (0, None),
    };
    let body = bytes.get(mark..).unwrap_or_default();
    let (encoding, text) = match wide {
        Some(encoding) => (encoding, utf16(body, encoding)?),
        None if body.contains(&0) => return None,
        None => match std::str::from_utf8(body) {
            Ok(text) => (Encoding::Utf8, text.to_string()),
            Err(_) if looks_binary(body) => return None,
            Err(_) => match broken_utf8(body, mark > 0) {
                Some(text) => (Encoding::BrokenUtf8, text),
                None if mark > 0 => return None,
                None => (Encoding::Single, single(body)),
            },
        },
    };
    Some(Decoded { encoding, mark, text })
}

/// Control characters beyond those of text are more than one byte in twenty.
fn looks_binary(body: &[u8]) -> bool {
    let odd = body.iter().filter(|byte| matches!(byte, 1..=7 | 11 | 14..=26 | 28..=31 | 127)).count();
    odd * 20 > body.len()
}

fn utf16(body: &[u8], encoding: Encoding) -> Option<String> {
    let (pairs, rest) = body.as_chunks::<2>();
    let little = encoding == Encoding::Utf16Le;
    let units =
        pairs.iter().map(|pair| if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) });
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    (rest.is_empty() && !text.contains('\0')).then_some(text)
}

/// Text that is UTF-8 but for a few bytes: a mark says so, or more letters than strays do.
fn broken_utf8(body: &[u8], marked: bool) -> Option<String> {
    let mut text = String::with_capacity(body.len());
    let (mut letters, mut strays) = (0, 0);
    for chunk in body.utf8_chunks() {
        if chunk.valid().contains(STRAY) {
            // Its bytes could not be counted: one for a stray, three for the letter itself.
            return None;
        }
        text.push_str(chunk.valid());
        letters += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        strays += chunk.invalid().len();
        text.extend(chunk.invalid().iter().map(|_| STRAY));
    }
    (marked || letters > strays).then_some(text)
}

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

impl Encoding {
    /// Bytes of the smallest piece: of a line feed, of a carriage return.
    pub(crate) fn unit(self) -> usize {
        match self {
            Encoding::Utf8 | Encoding::BrokenUtf8 | Encoding::Single => 1,
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
        }
    }

    /// How many bytes a shown text is in the file.
    pub(crate) fn bytes_of(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::BrokenUtf8 => text.len() - text.matches(STRAY).count() * (STRAY.len_utf8() - 1),
            Encoding::Single => text.chars().count(),
            Encoding::Utf16Le | Encoding::Utf16Be => 2 * text.chars().map(char::len_utf16).sum::<usize>(),
        }
    }

    /// Appends a text as the file holds it.
    pub(crate) fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        match self {
            Encoding::Utf8 => out.extend_from_slice(text.as_bytes()),
            Encoding::BrokenUtf8 if text.contains(STRAY) => return Err(self.lacks(STRAY)),
            Encoding::BrokenUtf8 => out.extend_from_slice(text.as_bytes()),
            Encoding::Utf16Le => text.encode_utf16().for_each(|unit| out.extend(unit.to_le_bytes())),
            Encoding::Utf16Be => text.encode_utf16().for_each(|unit| out.extend(unit.to_be_bytes())),
            Encoding::Single => {
                for letter in text.chars() {
                    out.push(single_byte(letter).ok_or(self.lacks(letter))?);
                }
            }
        }
        Ok(())
    }

    fn lacks(self, letter: char) -> Unwritable {
        let encoding = match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::BrokenUtf8 => "UTF-8 with stray bytes",
            Encoding::Utf16Le | Encoding::Utf16Be => "UTF-16",
            Encoding::Single => "Windows-1252",
        };
        Unwritable { letter, encoding }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        let cases: &[(&[u8], Option<(Encoding, &str)>)] = &[
            (b"", Some((Encoding::Utf8, ""))),
            (b"\xef\xbb\xbf", Some((Encoding::Utf8, ""))),
            ("naïve".as_bytes(), Some((Encoding::Utf8, "naïve"))),
            (b"na\xefve \x99", Some((Encoding::Single, "naïve ™"))),
            (b"\xc3\xa9t\xc3\xa9 \xff", Some((Encoding::BrokenUtf8, "été \u{fffd}"))),
            (b"\xef\xbb\xbfa\xff", Some((Encoding::BrokenUtf8, "a\u{fffd}"))),
            (b"\xff\xfea\0\n\0", Some((Encoding::Utf16Le, "a\n"))),
            (b"\xfe\xff\0a", Some((Encoding::Utf16Be, "a"))),
            (b"\xff\xfea", None),
            (b"\xff\xfe\0\xd8", None),
            (b"a\0b", None),
            (b"\x1f\x8b\x08\x01\x02\x03\xff\x03", None),
        ];
        for (bytes, want) in cases {
            let made = decode(bytes);
            let made = made.as_ref().map(|made| (made.encoding, made.text.as_str()));
            assert_eq!(made, *want, "{bytes:?}");
        }
    }

    #[test]
    fn every_single_byte_comes_back() {
        let bytes: Vec<u8> = (1..=255).chain([0xE9; 600]).collect();
        let made = decode(&bytes).unwrap();
        let mut back = Vec::new();
        made.encoding.encode(&made.text, &mut back).unwrap();
        assert_eq!((made.encoding, back), (Encoding::Single, bytes));
    }
}
