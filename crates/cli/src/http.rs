//! A port of the loopback interface, one request of HTTP/1.1 on each connection, and the response
//! to it.

use anyhow::Context;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of connections at a time. Further ones wait until others end.
const MAX_CONNECTIONS: usize = 64;
/// Maximum number of bytes of a request up to its body.
const MAX_HEAD: usize = 64 << 10;
/// Maximum time in which a request arrives.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time in which a client reads nothing of the response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time that a client has to close its connection after the last byte of the file.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time, and number of bytes, for which a refused client can continue to send.
const REFUSE_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_REFUSED: usize = 1 << 20;
/// Time within which the system reports that a client closed its connection before it had received
/// everything.
const RESET_TIMEOUT: Duration = Duration::from_millis(100);

/// A port of the loopback interface.
pub(crate) struct Listener {
    listener: TcpListener,
    port: u16,
}

impl Listener {
    /// Takes a port, or any free one.
    ///
    /// # Errors
    /// If the port is in use.
    pub(crate) fn new(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0)))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Returns the number of the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Accepts connections, and answers each one on a thread of its own. After each round, `pause`
    /// waits for a while, and returns `Some` if no more connections are to be accepted.
    ///
    /// # Errors
    /// If connections can't be accepted any more.
    pub(crate) fn serve<T>(
        &self,
        answer: impl Fn(TcpStream) + Send + Sync + 'static,
        mut pause: impl FnMut() -> Option<T>,
    ) -> anyhow::Result<T> {
        // Each connection's thread has a reference.
        let answer = Arc::new(answer);
        loop {
            while Arc::strong_count(&answer) <= MAX_CONNECTIONS {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if is_temporary(&error) => break,
                    Err(error) => return Err(error).context("can't take requests"),
                };
                let answer = Arc::clone(&answer);
                // Without a thread, the connection is closed, and the page can try again.
                let _ = thread::Builder::new().spawn(move || answer(stream));
            }
            if let Some(ended) = pause() {
                return Ok(ended);
            }
        }
    }
}

/// Returns true if there may be connections to accept later: none waits now, a client has closed
/// its connection before it was accepted, or too many files are open.
fn is_temporary(error: &io::Error) -> bool {
    const TOO_MANY_FILES: [i32; 2] = [23, 24]; // ENFILE, EMFILE
    let kinds = [
        ErrorKind::WouldBlock,
        ErrorKind::Interrupted,
        ErrorKind::ConnectionAborted,
        ErrorKind::ConnectionReset,
    ];
    kinds.contains(&error.kind())
        || (cfg!(unix)
            && error
                .raw_os_error()
                .is_some_and(|code| TOO_MANY_FILES.contains(&code)))
}

/// A request without its body.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case, and values.
    headers: Vec<(String, String)>,
}

impl Request {
    /// Parses what precedes the body. Returns `None` if that is not a request of HTTP/1.
    fn parse(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.strip_suffix("\r\n\r\n")?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let [method, path, version] = [words.next()?, words.next()?, words.next()?];
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
            is_name.then(|| (name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: lines.map(header).collect::<Option<_>>()?,
        })
    }

    /// Returns the value of a header; a word that no header has if it occurs several times. `name`
    /// is in lower case.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|header| header.0 == name);
        let value = found.next().map(|header| &*header.1);
        match found.next() {
            None => value,
            Some(_) => Some("several"),
        }
    }

    /// Returns the value of a header that occurs exactly once. `name` is in lower case.
    pub(crate) fn only(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|header| header.0 == name);
        let value = found.next().map(|header| &*header.1);
        value.filter(|_| found.next().is_none())
    }
}

/// A connection of a client.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        // Some systems pass the mode of the listener on.
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Self(stream))
    }

    /// Reads up to the end of the request's headers. Returns `None` if that is no request, is too
    /// long, or does not arrive in time.
    pub(crate) fn request(&mut self) -> Option<Request> {
        let deadline = Instant::now() + HEAD_TIMEOUT;
        let (mut head, mut piece) = (Vec::new(), [0; 4096]);
        while head.len() <= MAX_HEAD {
            let count = self.read(&mut piece, deadline).ok().filter(|n| *n > 0)?;
            let searched = head.len().saturating_sub(3);
            head.extend(&piece[..count]);
            let end = head[searched..].windows(4).position(|w| w == b"\r\n\r\n");
            if let Some(end) = end {
                return Request::parse(&head[..searched + end + 4]);
            }
        }
        None
    }

    /// Reads some bytes, until the deadline at most.
    fn read(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.0.set_read_timeout(Some(left))?;
            match self.0.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                result => return result,
            }
        }
    }

    /// Sends a response up to its body of `size` bytes.
    pub(crate) fn respond(
        &mut self,
        status: &str,
        headers: &[(&str, &str)],
        size: u64,
    ) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
        // The status 204 has no body, and so no length.
        if !status.starts_with("204") {
            head += &format!("Content-Length: {size}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.0.write_all((head + "\r\n").as_bytes())
    }

    /// Sends a body from a file.
    ///
    /// # Errors
    /// If the client does not take all bytes, or if the file has fewer.
    pub(crate) fn send(&mut self, file: File, size: u64) -> io::Result<()> {
        match io::copy(&mut file.take(size), &mut self.0)? == size {
            true => Ok(()),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Sends a body.
    ///
    /// # Errors
    /// If the client does not take all bytes.
    pub(crate) fn send_bytes(&mut self, body: &[u8]) -> io::Result<()> {
        self.0.write_all(body)
    }

    /// Ends a connection on which everything was sent, without a wait for the client.
    ///
    /// # Errors
    /// If the connection is closed.
    pub(crate) fn end(self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    /// Ends a connection on which everything was sent.
    ///
    /// # Errors
    /// If the client has closed the connection before it had received everything.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)?;
        // What was sent may still be in buffers of the system. A client that closes its connection
        // now, and has not read all, causes an error here.
        match self.skip(CLOSE_TIMEOUT, usize::MAX) {
            // The system keeps on sending, whatever becomes of this program.
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(()),
            result => result?,
        }
        // A client that has closed its connection resets it when bytes arrive that it can't read.
        thread::sleep(RESET_TIMEOUT);
        self.0.take_error()?.map_or(Ok(()), Err)
    }

    /// Ends a connection whose client may still be sending. If it were closed at once, the system
    /// would discard the response.
    pub(crate) fn refuse(mut self) {
        if self.0.shutdown(Shutdown::Write).is_ok() {
            // The client has its response. What else it sends does not matter.
            let _ = self.skip(REFUSE_TIMEOUT, MAX_REFUSED);
        }
    }

    /// Reads to the end of what the client sends, for some time and some bytes at most.
    fn skip(&mut self, time: Duration, mut bytes: usize) -> io::Result<()> {
        let deadline = Instant::now() + time;
        let mut piece = [0; 4096];
        while bytes > 0 {
            match self.read(&mut piece, deadline)? {
                0 => break,
                count => bytes = bytes.saturating_sub(count),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed() {
        let request = Request::parse(b"GET /a HTTP/1.1\r\nHost: b:1 \r\nX:\r\nx: \r\n\r\n");
        let request = request.expect("a request");
        assert_eq!((&*request.method, &*request.path), ("GET", "/a"));
        assert_eq!(request.only("host"), Some("b:1"));
        assert_eq!((request.only("x"), request.only("y")), (None, None));
        for wrong in [
            "GET /a HTTP/1.1\r\nHost\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost : b\r\n\r\n",
            "GET /a HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n",
            "GET /a HTTP/1.1\r\n: b\r\n\r\n",
            "GET /a b HTTP/1.1\r\n\r\n",
            "GET /a\r\n\r\n",
            "GET /a HTTP/2\r\n\r\n",
            "\r\n\r\n",
            "",
        ] {
            assert_eq!(Request::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1\r\n\r\n"), None);
    }
}
