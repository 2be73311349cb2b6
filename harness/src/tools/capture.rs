//! The output of a command as it comes: head and tail kept, bytes made text once whole characters are there.

use std::collections::VecDeque;

use protocol::Captured;

use crate::limits::KEPT_BYTES;

/// Collects bytes in order of arrival.
#[derive(Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    omitted: u64,
}

impl Capture {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = KEPT_BYTES.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(KEPT_BYTES);
        if over > 0 {
            self.tail.drain(..over);
            self.omitted += over as u64;
        }
    }

    /// What was collected; the capture is empty afterwards.
    pub(crate) fn take(&mut self) -> Captured {
        let all = std::mem::take(self);
        let tail: Vec<u8> = all.tail.into();
        if all.omitted == 0 {
            let mut whole = all.head;
            whole.extend(tail);
            return Captured {
                head: text(&whole),
                tail: String::new(),
                bytes: all.bytes,
                omitted: 0,
                spill: None,
            };
        }
        // A cut may fall into a character; its halves are left out with the rest.
        let head = trim_end(&all.head);
        let tail = trim_start(&tail);
        let omitted = all.bytes - (head.len() + tail.len()) as u64;
        Captured { head: text(head), tail: text(tail), bytes: all.bytes, omitted, spill: None }
    }
}

/// Text of any bytes: invalid UTF-8 and NUL become the replacement character.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Without the start of a character whose end is missing.
pub(crate) fn trim_end(bytes: &[u8]) -> &[u8] {
    let short = bytes.len().min(3);
    for back in 1..=short {
        let at = bytes.len() - back;
        let Some(byte) = bytes.get(at) else { break };
        let wants = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes,
        };
        return if wants > back { bytes.get(..at).unwrap_or(bytes) } else { bytes };
    }
    bytes
}

/// Without the end of a character whose start is missing.
fn trim_start(bytes: &[u8]) -> &[u8] {
    let skip = bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count();
    bytes.get(skip..).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole() {
        let mut capture = Capture::default();
        capture.add("héllo\n".as_bytes());
        let captured = capture.take();
        assert_eq!((captured.text().as_str(), captured.bytes, captured.omitted), ("héllo\n", 7, 0));
    }

    #[test]
    fn long_output_keeps_head_and_tail_on_character_borders() {
        for offset in 0..4 {
            for letter in ["a", "é", "漢", "😀"] {
                let mut capture = Capture::default();
                capture.add(&vec![b'x'; offset]);
                let mut left = 3 * KEPT_BYTES / letter.len();
                while left > 0 {
                    capture.add(letter.repeat(left.min(999)).as_bytes());
                    left -= left.min(999);
                }
                let captured = capture.take();
                assert!(!captured.text().contains('\u{fffd}'), "{letter} at {offset}");
                let kept = (captured.head.len() + captured.tail.len()) as u64;
                assert_eq!(kept + captured.omitted, captured.bytes);
            }
        }
    }

    #[test]
    fn any_bytes_become_text_without_nul() {
        assert_eq!(text(b"a\xff\0b"), "a\u{fffd}\u{fffd}b");
    }
}
