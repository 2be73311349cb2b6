//! How an answer travels: cut in pieces, compressed, delayed, repeated, broken off. Knows no wire.

use std::io::{Error, ErrorKind, Result, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use providers::script::Turn;

/// A boundary of network writes in a raw body.
const CUT: &[u8] = b"@@CUT@@";
/// Between writes at marked cuts, so that they arrive apart.
const PAUSE_MS: u64 = 5;

/// Sends a turn's answer as the turn says.
pub(super) fn send(turn: &Turn, body: &[u8], stream: &mut TcpStream, closed: &AtomicBool) -> Result<()> {
    let mime = turn.mime.as_deref().unwrap_or("text/event-stream");
    let mut head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {mime}\r\ntransfer-encoding: chunked\r\n",
        turn.status.unwrap_or(200)
    );
    if turn.gzip {
        head.push_str("content-encoding: gzip\r\n");
    }
    for (name, value) in &turn.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    let pause = Duration::from_millis(match (turn.delay_ms, turn.chunk) {
        (Some(given), _) => given,
        (None, Some(_)) => 0,
        (None, None) => PAUSE_MS,
    });
    for (at, piece) in pieces(turn, body)?.into_iter().enumerate() {
        if at > 0 {
            std::thread::sleep(pause);
        }
        write_chunk(stream, &piece)?;
    }
    if let Some(repeat) = &turn.repeat {
        let until = Instant::now() + Duration::from_secs_f64(repeat.for_s);
        while Instant::now() < until && !closed.load(Ordering::Relaxed) {
            write_chunk(stream, format!("{}\n", repeat.line).as_bytes())?;
            std::thread::sleep(Duration::from_millis(repeat.every_ms));
        }
    }
    end(turn, stream, closed)
}

fn write_chunk(stream: &mut TcpStream, piece: &[u8]) -> Result<()> {
    let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
    chunk.extend_from_slice(piece);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}

fn end(turn: &Turn, stream: &mut TcpStream, closed: &AtomicBool) -> Result<()> {
    match turn.end.as_deref() {
        Some("reset") => {
            socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO))?;
            Err(Error::new(ErrorKind::ConnectionReset, "reset, as the turn says"))
        }
        Some("hang") => {
            hang(stream, closed)?;
            Err(Error::new(ErrorKind::TimedOut, "hung, as the turn says"))
        }
        _ => stream.write_all(b"0\r\n\r\n"),
    }
}

/// Says nothing until the other side or the test is gone.
fn hang(stream: &TcpStream, closed: &AtomicBool) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    loop {
        let silent = match stream.peek(&mut [0]) {
            Ok(_) => false,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        if !silent || closed.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// The network writes of a body.
fn pieces(turn: &Turn, body: &[u8]) -> Result<Vec<Vec<u8>>> {
    let parts = split(body);
    let parts = if turn.gzip { compressed(&parts.concat())? } else { parts };
    let cut = |part: Vec<u8>| match turn.chunk {
        Some(size) => part.chunks(size.max(1)).map(<[u8]>::to_vec).collect(),
        None => vec![part],
    };
    // An empty chunk would be the end of the answer.
    Ok(parts.into_iter().filter(|part| !part.is_empty()).flat_map(cut).collect())
}

fn split(body: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.windows(CUT.len()).position(|window| window == CUT) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + CUT.len()..];
    }
    parts.push(rest.to_vec());
    parts
}

/// One gzip stream, flushed behind each event.
fn compressed(body: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut parts = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\n\n").map_or(rest.len(), |at| at + 2);
        encoder.write_all(&rest[..end])?;
        encoder.flush()?;
        parts.push(std::mem::take(encoder.get_mut()));
        rest = &rest[end..];
    }
    parts.push(encoder.finish()?);
    Ok(parts)
}
