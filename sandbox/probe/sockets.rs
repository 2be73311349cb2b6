//! Acts on sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

use crate::{given, number};

/// None when there is no such act.
pub(crate) fn run(name: &str, words: &[&str]) -> Option<std::io::Result<()>> {
    let port = u16::try_from(number(words, 0)).unwrap_or(0);
    let path = words.first().copied().unwrap_or_default();
    Some(match name {
        "tcp" => TcpStream::connect(("127.0.0.1", port)).map(drop),
        "udp" => udp(port),
        "fastopen" => fastopen(port),
        "loopback" => loopback(),
        "autolisten" => autolisten(),
        "family" => family(words),
        "unix" => UnixStream::connect(path).map(drop),
        "datagram" => UnixDatagram::unbound().and_then(|socket| socket.send_to(b"hi", path)).map(drop),
        "abstract" => abstract_socket(path),
        "own-unix" => own_unix(path),
        "pair" => UnixStream::pair().map(drop),
        _ => return None,
    })
}

fn udp(port: u16) -> std::io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    socket.send_to(b"hi", ("127.0.0.1", port))?;
    socket.recv(&mut [0; 8]).map(drop)
}

/// A connection without `connect`.
fn fastopen(port: u16) -> std::io::Result<()> {
    let address = libc::sockaddr_in {
        sin_family: libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default(),
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let size = libc::socklen_t::try_from(std::mem::size_of_val(&address)).unwrap_or_default();
    // SAFETY: two bytes and an address of the size that is said.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        given(i64::from(socket))?;
        let to = (&raw const address).cast();
        let sent = libc::sendto(socket, c"hi".as_ptr().cast(), 2, libc::MSG_FASTOPEN, to, size);
        given(i64::try_from(sent).unwrap_or(-1))
    }
}

fn loopback() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"hi")?;
    server.read_exact(&mut [0; 2])
}

/// A listener on a port that the kernel chooses, without `bind`.
fn autolisten() -> std::io::Result<()> {
    // SAFETY: plain numbers.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        given(i64::from(socket))?;
        given(i64::from(libc::listen(socket, 1)))
    }
}

/// FAMILY TYPE PROTOCOL.
fn family(words: &[&str]) -> std::io::Result<()> {
    let word = |at| i32::try_from(number(words, at)).unwrap_or(0);
    // SAFETY: plain numbers.
    given(i64::from(unsafe { libc::socket(word(0), word(1), word(2)) }))
}

fn abstract_socket(name: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    UnixStream::connect_addr(&address).map(drop)
}

fn own_unix(path: &str) -> std::io::Result<()> {
    let listener = UnixListener::bind(path)?;
    let mut client = UnixStream::connect(path)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"hi")?;
    server.read_exact(&mut [0; 2])?;
    std::fs::remove_file(path)
}
