//! Reading for a model: lines within a cap, images as they are.
//!
//! Knows bytes, wherever they came from; lines are not numbered here. Called by the engine's tools.

use std::io;
use std::path::Path;

use protocol::{Base64, Cap, FilePath, IoWhy, Outcome, ReadBody, Seen, Span};

use crate::check::io_failure;
use crate::digest;
use crate::spot::{Spot, read_at_most};
use crate::text::Text;

/// A line is cut beyond this, with a note of how much.
const LINE_BYTES: usize = 2_000;
/// Larger images are refused by providers.
const IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// The part of a file that was asked for, in whole lines, the cap in bytes kept to a line's note.
///
/// `Outcome::Read` says `Seen::First`; the engine knows better. Images are PNG, JPEG, GIF and WebP up to 5 MiB.
///
/// Fails with `TooBig` for larger ones and with `NotText` for other binary files.
pub fn read(path: &Path, bytes: &[u8], span: &Span, cap: Cap) -> Outcome {
    let shown = FilePath::from(path);
    if let Some(mime) = image(bytes) {
        return picture(shown, bytes, mime);
    }
    let Some(text) = Text::decode(bytes) else {
        let text = format!("{shown} is not text ({} bytes); use a command to look into it", bytes.len());
        return Outcome::Failed { why: IoWhy::NotText, path: Some(shown), text };
    };
    let body = lines(text.shown(), span, cap);
    Outcome::Read { path: shown, digest: digest(bytes), seen: Seen::First, body }
}

/// A file's bytes, none when there is no file. `path` is a real one: no link is followed.
///
/// Errors: the outcome that says why it cannot be read, also for what is no file or has more than `most` bytes.
pub fn load(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Outcome> {
    let shown = FilePath::from(path);
    let fail = |why, text| Err(Outcome::Failed { why, path: Some(shown.clone()), text });
    match std::fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(io_failure(shown, &error)),
        Ok(data) if data.is_dir() => return fail(IoWhy::NotAFile, format!("{shown} is a folder")),
        Ok(data) if !data.is_file() => {
            return fail(IoWhy::NotAFile, format!("{shown} is not a regular file"));
        }
        Ok(_) => {}
    }
    match Spot::of(path).and_then(|spot| spot.open()).and_then(|file| read_at_most(file, most)) {
        Ok((bytes, false)) => Ok(Some(bytes)),
        Ok(_) => fail(IoWhy::TooBig, format!("{shown} has more than the {most} bytes that are read at most")),
        Err(error) => Err(io_failure(shown, &error)),
    }
}

fn picture(path: FilePath, bytes: &[u8], mime: &str) -> Outcome {
    if bytes.len() > IMAGE_BYTES {
        let text = format!("{path} is an image of {} bytes; at most {IMAGE_BYTES} can be shown", bytes.len());
        return Outcome::Failed { why: IoWhy::TooBig, path: Some(path), text };
    }
    use base64::Engine;
    let data = Base64(base64::engine::general_purpose::STANDARD.encode(bytes));
    Outcome::Read {
        digest: digest(bytes),
        path,
        seen: Seen::First,
        body: ReadBody::Image { mime: mime.into(), data },
    }
}

/// The kind of an image, by its first bytes.
fn image(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn lines(text: &str, span: &Span, cap: Cap) -> ReadBody {
    let total = text.lines().count() as u64;
    let (first, wanted) = match span {
        Span::Whole => (1, u64::MAX),
        Span::Lines { from, count } => {
            let first = match *from {
                from if from < 0 => total.saturating_sub(from.unsigned_abs()) + 1,
                from => u64::try_from(from).unwrap_or(1).max(1),
            };
            (first, count.map_or(u64::MAX, u64::from))
        }
    };
    let limit = cap.lines.map_or(u64::MAX, u64::from).min(wanted);
    let room = usize::try_from(cap.bytes.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut out = String::new();
    let mut count = 0;
    for line in text.lines().skip(usize::try_from(first - 1).unwrap_or(usize::MAX)) {
        if count >= limit || (count > 0 && out.len() + line.len().min(LINE_BYTES) > room) {
            break;
        }
        out.push_str(&shortened(line, LINE_BYTES.min(room)));
        out.push('\n');
        count += 1;
    }
    let asked_end = first.saturating_add(wanted).min(total + 1);
    ReadBody::Lines { text: out, first, count, total, more: count > 0 && first + count < asked_end }
}

/// The beginning of a long line, with a note of what is left out.
fn shortened(line: &str, limit: usize) -> std::borrow::Cow<'_, str> {
    if line.len() <= limit {
        return line.into();
    }
    let end = line.floor_char_boundary(limit);
    let head = line.get(..end).unwrap_or_default();
    format!("{head} [... {} bytes of this line left out]", line.len() - end).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, span: Span, cap: Cap) -> (String, u64, u64, u64, bool) {
        match read(Path::new("/f"), text.as_bytes(), &span, cap) {
            Outcome::Read { body: ReadBody::Lines { text, first, count, total, more }, .. } => {
                (text, first, count, total, more)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn spans_and_caps() {
        let text = "a\nb\nc\nd\n";
        let lines = |from, count| Span::Lines { from, count };
        let none = Cap::default();
        assert_eq!(body(text, Span::Whole, none), ("a\nb\nc\nd\n".into(), 1, 4, 4, false));
        assert_eq!(body(text, lines(2, Some(2)), none), ("b\nc\n".into(), 2, 2, 4, false));
        assert_eq!(body(text, lines(-1, None), none), ("d\n".into(), 4, 1, 4, false));
        assert_eq!(body(text, lines(9, None), none), (String::new(), 9, 0, 4, false));
        assert_eq!(
            body(text, Span::Whole, Cap { lines: Some(3), bytes: None }),
            ("a\nb\nc\n".into(), 1, 3, 4, true)
        );
        assert_eq!(
            body(text, Span::Whole, Cap { lines: None, bytes: Some(4) }),
            ("a\nb\n".into(), 1, 2, 4, true)
        );
        assert_eq!(body("\u{feff}a\r\nb", Span::Whole, none), ("a\nb\n".into(), 1, 2, 2, false));
    }

    #[test]
    fn a_long_line_is_cut_on_a_character() {
        let (text, ..) = body(&"漢".repeat(100_000), Span::Whole, Cap { lines: None, bytes: Some(50_000) });
        assert!(
            text.len() < 2_100 && text.contains("298002 bytes of this line left out"),
            "{}",
            &text[text.len() - 60..]
        );
    }

    #[test]
    fn images_and_binaries() {
        assert!(matches!(
            read(Path::new("/p"), b"\x89PNG....", &Span::Whole, Cap::default()),
            Outcome::Read { body: ReadBody::Image { .. }, .. }
        ));
        assert!(matches!(
            read(Path::new("/p"), b"\x7fELF\0\0", &Span::Whole, Cap::default()),
            Outcome::Failed { why: IoWhy::NotText, .. }
        ));
    }
}
