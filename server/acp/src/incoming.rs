//! The way in: bytes to whole lines for the ACP crate, whatever the bytes are.
//!
//! It knows lines and their limit; what a line says is looked at in `lenient`. What cannot be told to the
//! crate is answered here, since a bad line would end its connection or cost the request its id.

use std::sync::Arc;

use futures_util::Stream;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use crate::ids::Ids;
use crate::lenient::{self, Mended};
use crate::outgoing::Outgoing;

/// A line may have this much.
const LINE_BYTES: usize = 64 * 1024 * 1024;
/// Lines that wait for the crate.
const LINES: usize = 16;

/// The lines for the crate; the last one says that the input has ended.
pub(crate) fn lines(
    input: impl AsyncRead + Unpin + Send + 'static,
    out: Outgoing,
    ids: Arc<Ids>,
) -> impl Stream<Item = String> + Send + Unpin {
    let (lines, queue) = mpsc::channel::<String>(LINES);
    tokio::spawn(async move {
        tokio::select! {
            () = read(input, &out, &ids, &lines) => {}
            // The connection has ended before its input did.
            () = lines.closed() => return,
        }
        if lines.send(lenient::ended()).await.is_ok() {
            // The crate must not see the end before the face has said its last words.
            lines.closed().await;
        }
    });
    Box::pin(futures_util::stream::unfold(queue, async |mut queue| {
        queue.recv().await.map(|line| (line, queue))
    }))
}

async fn read(input: impl AsyncRead + Unpin, out: &Outgoing, ids: &Ids, lines: &mpsc::Sender<String>) {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut line = Line::default();
    loop {
        let used = match input.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => line.take(bytes),
        };
        input.consume(used);
        if line.whole && !tell(std::mem::take(&mut line), out, ids, lines).await {
            return;
        }
    }
    // A last line may come without its end.
    tell(line, out, ids, lines).await;
}

/// A line as far as it is here.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    too_long: bool,
    whole: bool,
}

impl Line {
    /// Takes what belongs to this line and says how much that was; a line that is too long is not kept.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if self.bytes.len() + part.len() > LINE_BYTES {
            self.too_long = true;
            self.bytes = Vec::new();
        }
        if !self.too_long {
            self.bytes.extend_from_slice(part);
        }
        self.whole = end.is_some();
        part.len() + usize::from(end.is_some())
    }
}

/// Hands a line on or answers it; false when nobody listens any more.
async fn tell(line: Line, out: &Outgoing, ids: &Ids, lines: &mpsc::Sender<String>) -> bool {
    if line.too_long {
        out.send(lenient::refusal("null", -32600, "the message is larger than 64 MiB; send less at once"));
        return true;
    }
    match lenient::mend(&line.bytes, ids) {
        Mended::Line(line) => lines.send(line).await.is_ok(),
        Mended::Answer(answer) => {
            out.send(answer);
            true
        }
        Mended::Nothing => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

    /// What the crate would be told of this input, and what is answered.
    async fn told(input: Vec<u8>) -> (Vec<String>, Vec<String>) {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (out, writer) = Outgoing::start(ours);
        let (mut writing, reading) = tokio::io::duplex(64 * 1024);
        let fed = tokio::spawn(async move { writing.write_all(&input).await });
        let mut lines = lines(reading, out.clone(), Arc::default());
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            if line == lenient::ended() {
                break;
            }
            all.push(line);
        }
        fed.await.unwrap().unwrap();
        drop((lines, out));
        writer.await.unwrap();
        let mut answers = BufReader::new(theirs).lines();
        let mut answered = Vec::new();
        while let Some(line) = answers.next_line().await.unwrap() {
            answered.push(line);
        }
        (all, answered)
    }

    const PING: &str = r#"{"jsonrpc":"2.0","method":"x","params":{}}"#;

    #[tokio::test]
    async fn blank_lines_and_line_ends_of_all_kinds_are_fine() {
        let (told, answered) = told(format!("\n\r\n  \n{PING}\r\n{PING}\n\n{PING}").into_bytes()).await;
        assert_eq!((told.len(), answered.len()), (3, 0));
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_refused_and_the_next_is_read() {
        let mut input = vec![b'x'; LINE_BYTES + 1];
        input.push(b'\n');
        input.extend_from_slice(PING.as_bytes());
        let (told, answered) = told(input).await;
        assert_eq!(told.len(), 1);
        assert!(answered.len() == 1 && answered[0].contains("64 MiB"), "{answered:?}");
    }
}
