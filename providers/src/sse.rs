//! Server-sent events out of bytes: any cut of the stream gives the same events.
//!
//! A body that is one JSON text, as servers send it that do not stream, is one event.
//! Line ends are LF, CR or CRLF, also mixed; a byte-order mark and comments are skipped; text is decoded
//! only when an event is whole, so that no cut falls into a character. Nothing is scanned twice.

/// The data of events may not grow beyond this.
const EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Reads bytes, gives the data of whole events.
#[derive(Default)]
pub(crate) struct Sse {
    /// The line under way.
    line: Vec<u8>,
    /// The `data:` lines of the event under way.
    data: Option<Vec<u8>>,
    /// The lines of a body that is JSON.
    bare: Option<Vec<u8>>,
    after_cr: bool,
    begun: bool,
    /// A field or comment was seen, so that this is an event stream.
    streams: bool,
}

/// An event is too large to be one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl Sse {
    /// Feeds bytes as they came; `found` gets the data of each whole event.
    pub(crate) fn feed(&mut self, bytes: &[u8], found: &mut Vec<String>) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            let (line, tail) = rest.split_at(at);
            self.after_cr = tail.starts_with(b"\r");
            self.line.extend_from_slice(line);
            self.end_line(found);
            rest = tail.get(1..).unwrap_or_default();
        }
        let held: usize =
            self.line.len() + [&self.data, &self.bare].into_iter().flatten().map(Vec::len).sum::<usize>();
        if held > EVENT_BYTES { Err(TooLarge) } else { Ok(()) }
    }

    /// The stream is over: an event without its blank line counts, since servers leave it out.
    pub(crate) fn end(&mut self, found: &mut Vec<String>) {
        if !self.line.is_empty() {
            self.end_line(found);
        }
        self.dispatch(found);
        if let Some(bare) = self.bare.take() {
            found.push(String::from_utf8_lossy(&bare).into_owned());
        }
    }

    fn end_line(&mut self, found: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if self.bare.is_some() || (!self.streams && line.trim_ascii_start().starts_with(b"{")) {
            let bare = self.bare.get_or_insert_default();
            bare.extend_from_slice(line);
            return bare.push(b'\n');
        }
        if line.is_empty() {
            return self.dispatch(found);
        }
        self.streams = true;
        let Some(value) = line.strip_prefix(b"data:") else { return };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }

    fn dispatch(&mut self, found: &mut Vec<String>) {
        if let Some(data) = self.data.take()
            && !data.is_empty()
        {
            found.push(String::from_utf8_lossy(&data).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> Vec<String> {
        let (mut sse, mut found) = (Sse::default(), Vec::new());
        sse.feed(bytes, &mut found).unwrap();
        sse.end(&mut found);
        found
    }

    #[test]
    fn every_line_end_comment_and_mark() {
        let table: &[(&[u8], &[&str])] = &[
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data: a\r\n\r\ndata:b\r\r", &["a", "b"]),
            (b"\xef\xbb\xbfdata: a\n\n", &["a"]),
            (b": ping\n\n:\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"data: a", &["a"]),
            (b"\n {\"a\":\r\n\n1}", &[" {\"a\":\n\n1}\n"]),
            (b"data: a\n{\"b\":1}\n\n", &["a"]),
            (b"data:\n\n\n\n", &[]),
            (b"", &[]),
        ];
        for (bytes, events) in table {
            assert_eq!(whole(bytes), *events, "{}", String::from_utf8_lossy(bytes));
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(cuts in proptest::collection::vec(0usize..90, 0..12)) {
            let text = "\u{feff}data: 修复 👩‍👩‍👧\r\n\r\n: c\rdata: x\ndata: é\n\ndata: {\"a\":1}\r\rdata: [DONE]\n\n".as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let (mut sse, mut found, mut from) = (Sse::default(), Vec::new(), 0);
            for cut in cuts {
                sse.feed(&text[from..cut], &mut found).unwrap();
                from = cut;
            }
            sse.feed(&text[from..], &mut found).unwrap();
            sse.end(&mut found);
            prop_assert_eq!(found, whole(text));
        }
    }
}
