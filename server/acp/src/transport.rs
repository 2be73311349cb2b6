//! Lines in and out, under the ACP crate: what would end its connection, or tell what nobody should read,
//! does not get through.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::Stream;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::ids::Ids;

/// A line may have this much.
const LINE_BYTES: usize = 64 * 1024 * 1024;
/// What may wait for a client that does not read, before nothing more is rendered for it.
const WAITING_BYTES: usize = 256 * 1024;
const LINES: usize = 64;

/// The way out: one writer, which says how much waits.
#[derive(Clone)]
pub(crate) struct Outgoing {
    lines: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    written: Arc<Notify>,
}

impl Outgoing {
    pub(crate) fn start(out: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (lines, queue) = mpsc::unbounded_channel();
        let outgoing = Self { lines, waiting: Arc::default(), written: Arc::default() };
        let (waiting, written) = (Arc::clone(&outgoing.waiting), Arc::clone(&outgoing.written));
        let writer = tokio::spawn(write(out, queue, waiting, written));
        (outgoing, writer)
    }

    pub(crate) fn send(&self, line: String) {
        self.waiting.fetch_add(line.len(), Ordering::AcqRel);
        if self.lines.send(line).is_err() {
            // Nobody reads any more, so nothing waits.
            self.waiting.store(0, Ordering::Release);
        }
    }

    /// Waits until the client has read enough.
    pub(crate) async fn room(&self) {
        loop {
            let written = self.written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            if self.waiting.load(Ordering::Acquire) < WAITING_BYTES {
                return;
            }
            written.await;
        }
    }
}

async fn write(
    mut out: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<String>,
    waiting: Arc<AtomicUsize>,
    written: Arc<Notify>,
) {
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, LINES).await > 0 {
        let mut bytes = Vec::with_capacity(batch.iter().map(|line| line.len() + 1).sum());
        let mut done = 0;
        for line in batch.drain(..) {
            done += line.len();
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let sent = out.write_all(&bytes).await.is_ok() && out.flush().await.is_ok();
        waiting.fetch_sub(done.min(waiting.load(Ordering::Acquire)), Ordering::AcqRel);
        written.notify_waiters();
        if !sent {
            break;
        }
    }
    lines.close();
    waiting.store(0, Ordering::Release);
    written.notify_waiters();
}

/// The way in: whole lines, mended.
pub(crate) struct Incoming;

impl Incoming {
    /// The lines for the crate, and a sign of the input's end.
    pub(crate) fn start(
        input: impl AsyncRead + Unpin + Send + 'static,
        out: Outgoing,
        ids: Arc<Ids>,
    ) -> (impl Stream<Item = String> + Send + Unpin, oneshot::Receiver<()>) {
        let (lines, queue) = mpsc::channel::<String>(LINES);
        let (ended, end) = oneshot::channel();
        tokio::spawn(async move {
            read(input, &out, &ids, &lines).await;
            // A face that has ended needs no sign.
            let _ = ended.send(());
            // The crate must not see the end before the face has said its last words.
            lines.closed().await;
        });
        let stream = futures_util::stream::unfold(queue, async |mut queue| {
            queue.recv().await.map(|line| (line, queue))
        });
        (Box::pin(stream), end)
    }
}

async fn read(input: impl AsyncRead + Unpin, out: &Outgoing, ids: &Ids, lines: &mpsc::Sender<String>) {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let (used, whole) = match input.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                too_long |= line.len() + part.len() > LINE_BYTES;
                if !too_long {
                    line.extend_from_slice(part);
                }
                (part.len() + usize::from(end.is_some()), end.is_some())
            }
        };
        input.consume(used);
        if !whole {
            continue;
        }
        let bytes = std::mem::take(&mut line);
        if std::mem::take(&mut too_long) {
            out.send(error(Value::Null, -32600, "the message is larger than 64 MiB; send it in parts"));
            continue;
        }
        match mend(&bytes, ids) {
            Mended::Line(line) => {
                if lines.send(line).await.is_err() {
                    break;
                }
            }
            Mended::Answer(line) => out.send(line),
            Mended::Nothing => {}
        }
    }
}

enum Mended {
    /// For the crate.
    Line(String),
    /// For the client, at once.
    Answer(String),
    Nothing,
}

/// A line as the crate can take it.
fn mend(bytes: &[u8], ids: &Ids) -> Mended {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim().trim_start_matches('\u{feff}');
    if text.is_empty() {
        return Mended::Nothing;
    }
    let mut frame = match serde_json::from_str::<Value>(text) {
        Ok(frame) => frame,
        Err(_) => return Mended::Answer(error(Value::Null, -32700, "the message is not JSON")),
    };
    let Some(fields) = frame.as_object_mut() else {
        return Mended::Answer(error(
            Value::Null,
            -32600,
            "the message must be one JSON object; batches are not taken",
        ));
    };
    fields.insert("jsonrpc".into(), "2.0".into());
    match (fields.get("method"), fields.get("id").cloned()) {
        (Some(Value::String(method)), id) => {
            let cancel = method == "$/cancel_request";
            if !matches!(fields.get("params"), Some(Value::Object(_))) {
                if matches!(fields.get("params"), Some(Value::Array(_))) && id.is_some() {
                    return Mended::Answer(error(id.unwrap_or_default(), -32602, "params must be an object"));
                }
                fields.insert("params".into(), json!({}));
            }
            match id {
                Some(id) if id.is_object() || id.is_array() => {
                    return Mended::Answer(error(Value::Null, -32600, "the id must be a string or a number"));
                }
                Some(id) => {
                    fields.insert("id".into(), ids.take(id).into());
                }
                None if cancel => {
                    let theirs = fields.get("params").and_then(|params| params.get("requestId")).cloned();
                    let Some(ours) = theirs.and_then(|id| ids.find(&id)) else { return Mended::Nothing };
                    fields.insert("params".into(), json!({ "requestId": ours }));
                }
                None => {}
            }
        }
        (Some(_), id) => {
            return Mended::Answer(error(id.unwrap_or_default(), -32600, "the method must be a string"));
        }
        (None, Some(_)) if fields.contains_key("result") || fields.contains_key("error") => {}
        (None, id) => {
            return Mended::Answer(error(id.unwrap_or_default(), -32600, "the message has no method"));
        }
    }
    Mended::Line(frame.to_string())
}

pub(crate) fn error(id: Value, code: i32, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// An outgoing frame, read no further than needed.
#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// An outgoing line with the client's own id, and errors without what they quote.
pub(crate) fn tidy(line: String, ids: &Ids) -> String {
    let Ok(frame) = serde_json::from_str::<Frame>(&line) else { return line };
    if frame.method.is_some() {
        return line;
    }
    let id = frame.id.and_then(|ours| ids.give_back(ours)).unwrap_or(Value::Null);
    if let Some(result) = frame.result {
        return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", result.get());
    }
    let failed: Value =
        frame.error.and_then(|error| serde_json::from_str(error.get()).ok()).unwrap_or(Value::Null);
    let code = failed.get("code").and_then(Value::as_i64).unwrap_or(-32603);
    let message = failed.get("message").and_then(Value::as_str).unwrap_or("internal error");
    let mut error = json!({"code": code, "message": message});
    // The only facts that help a program.
    let data = failed.get("data").and_then(Value::as_object);
    if let (Some(data), Some(fields)) = (data, error.as_object_mut()) {
        let kept: serde_json::Map<String, Value> = data
            .iter()
            .filter(|(name, _)| *name == "sessionId")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !kept.is_empty() {
            fields.insert("data".into(), kept.into());
        }
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Result<Value, i64> {
        match mend(bytes, &Ids::default()) {
            Mended::Line(line) => Ok(serde_json::from_str(&line).unwrap()),
            Mended::Answer(line) => {
                let answer: Value = serde_json::from_str(&line).unwrap();
                Err(answer["error"]["code"].as_i64().unwrap())
            }
            Mended::Nothing => Err(0),
        }
    }

    #[test]
    fn odd_lines_are_mended_or_answered() {
        assert_eq!(line(b""), Err(0));
        assert_eq!(line(b"Welcome to my shell"), Err(-32700));
        assert_eq!(line(b"{bad"), Err(-32700));
        assert_eq!(line(b"\xff\xfe{}"), Err(-32700));
        assert_eq!(line(b"[{\"id\":1}]"), Err(-32600));
        assert_eq!(line(b"{\"id\":1}"), Err(-32600));
        assert_eq!(line(b"{\"id\":1,\"method\":\"x\",\"params\":[1]}"), Err(-32602));
        for id in ["0", "-1", "1.5", "\"a\"", "123456789012345678901234567890", "null"] {
            let mended =
                line(format!("{{\"id\":{id},\"method\":\"x\",\"params\":null}}").as_bytes()).unwrap();
            assert_eq!(mended, json!({"id": 0, "method": "x", "params": {}, "jsonrpc": "2.0"}), "{id}");
        }
        assert!(line(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r").is_ok());
    }

    #[test]
    fn answers_get_their_ids_back_and_tell_no_params() {
        let ids = Ids::default();
        let ours = ids.take(json!(1.5));
        assert_eq!(ids.find(&json!(1.5)), Some(ours));
        let answer = tidy(format!("{{\"jsonrpc\":\"2.0\",\"id\":{ours},\"result\":{{\"a\":1}}}}"), &ids);
        assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{\"a\":1}}");
        let ours = ids.take(json!("x"));
        let failed = json!({"jsonrpc": "2.0", "id": ours, "error": {"code": -32602, "message": "m",
            "data": {"params": "sk-secret", "sessionId": "s"}}});
        let answer = tidy(failed.to_string(), &ids);
        assert!(
            !answer.contains("secret")
                && answer.contains("\"sessionId\":\"s\"")
                && answer.contains("\"id\":\"x\"")
        );
        let update = "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}".to_string();
        assert_eq!(tidy(update.clone(), &ids), update);
    }
}
