//! Sends OpenTelemetry traces to a collector, over HTTP/1.1.
//!
//! Each request is a POST of protocol buffers, on a connection of its own. The protocol's rules:
//!
//! - 2xx: accepted, but for the spans that a partial success rejects.
//! - 429, 502, 503 and 504: the request is repeated after `Retry-After`, or after 1, 2, 4 … s.
//! - Anything else: the request has failed.
//!
//! What a collector says is shown in one line, without control characters. It is protocol buffers,
//! JSON or plain text, whatever the request was.
//!
//! There is no encryption. A collector on the same machine can forward traces over the network.

use crate::output::one_line;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// Path of requests, unless the URL has one.
const PATH: &str = "/v1/traces";
/// Maximum number of times that a request is sent.
const ATTEMPTS: u32 = 6;
/// Maximum time between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Maximum time to connect, to send a piece of a request, and for a whole response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a piece of a request.
const PIECE: usize = 64 << 10;
/// Maximum bytes that are read of a response.
const MAX_RESPONSE: u64 = 8 << 20;
/// Maximum bytes that are read of a response's body.
const MAX_BODY: u64 = 1 << 20;

/// Where requests are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    /// Host and port, as in the URL.
    authority: String,
    /// Host and port to connect to.
    address: (String, u16),
    path: String,
    /// [`TIMEOUT`], except in tests.
    timeout: Duration,
}

impl Endpoint {
    /// Parses `http://HOST[:PORT][/PATH]`.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => bail!("{url}: https is not supported; send to a collector by http://"),
            _ => bail!("{url}: not a URL of the form http://HOST:PORT"),
        }
        let is_plain = |c: char| c.is_ascii_graphic();
        ensure!(
            rest.chars().all(is_plain),
            "{url}: has a blank or another special character"
        );
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        ensure!(
            !authority.contains('@'),
            "{url}: a user name is not supported"
        );
        let path = path.split('#').next().unwrap_or_default();
        // Without its brackets, an IPv6 address can be connected to.
        let (host, after) = match authority.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .with_context(|| format!("{url}: ] is missing"))?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match after.strip_prefix(':') {
            Some(port) => port.parse().ok(),
            None if after.is_empty() => Some(80),
            None => None,
        };
        let port = port.with_context(|| format!("{url}: the port is not a number up to 65535"))?;
        ensure!(!host.is_empty(), "{url}: the host is missing");
        Ok(Self {
            authority: authority.to_owned(),
            address: (host.to_owned(), port),
            path: match path {
                "" | "/" => PATH.to_owned(),
                _ if path.starts_with('/') => path.to_owned(),
                query => format!("{PATH}{query}"),
            },
            timeout: TIMEOUT,
        })
    }

    fn connect(&self) -> Result<TcpStream> {
        let (host, port) = (&*self.address.0, self.address.1);
        let what = || format!("{}: cannot connect", self.authority);
        let mut result = Err(io::Error::other("the host has no address"));
        for address in (host, port).to_socket_addrs().with_context(what)? {
            result = TcpStream::connect_timeout(&address, self.timeout);
            if result.is_ok() {
                break;
            }
        }
        result.with_context(what)
    }

    /// Sends a request, and returns the response to it.
    fn post(&self, body: &[u8]) -> Result<Response> {
        let mut stream = Timed::new(self.connect()?);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: jtrail/{}\r\n\
             Content-Type: application/x-protobuf\r\nContent-Length: {}\r\n\
             Accept-Encoding: identity\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority,
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        let mut pieces = [head.as_bytes()].into_iter().chain(body.chunks(PIECE));
        let sent = pieces.try_for_each(|piece| {
            stream.allow(self.timeout);
            stream.write_all(piece)
        });
        // A server may refuse a request, and answer, before it has read all of it.
        stream.allow(self.timeout);
        let response = Response::read(&mut BufReader::new(stream.take(MAX_RESPONSE)));
        let (authority, timeout) = (&self.authority, self.timeout);
        match (sent, response) {
            (_, Ok(response)) => Ok(response),
            (Err(error), Err(_)) if error.kind() == ErrorKind::TimedOut => {
                bail!("{authority}: does not read the request; waited {timeout:?}")
            }
            (Err(error), Err(_)) => {
                Err(error).with_context(|| format!("{authority}: the connection broke"))
            }
            (Ok(()), Err(error)) if error.kind() == ErrorKind::TimedOut => {
                bail!("{authority}: no complete response within {timeout:?}")
            }
            (Ok(()), Err(error)) => {
                Err(error).with_context(|| format!("{authority}: no valid response"))
            }
        }
    }
}

/// A stream with a time at which reading and writing fail. The timeouts of a socket alone begin
/// again with each byte.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn new(stream: TcpStream) -> Self {
        let deadline = Instant::now();
        Self { stream, deadline }
    }

    /// Allows this time from now on.
    fn allow(&mut self, time: Duration) {
        self.deadline = Instant::now() + time;
    }

    fn time_left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }
}

/// Gives timeouts the same kind on all systems.
fn timed(result: io::Result<usize>) -> io::Result<usize> {
    result.map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    })
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.time_left()?))?;
        timed(self.stream.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.time_left()?))?;
        timed(self.stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Sends the requests of an export.
#[derive(Debug)]
pub(crate) struct Sender {
    endpoint: Endpoint,
    /// Pause before the second attempt.
    first_pause: Duration,
    /// Number of spans that the collector has rejected.
    pub(crate) rejected: u64,
    /// What the collector has said about accepted requests: the first message.
    pub(crate) message: Option<String>,
}

impl Sender {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            first_pause: Duration::from_secs(1),
            rejected: 0,
            message: None,
        }
    }

    /// Sends a request, several times if the collector is too busy.
    pub(crate) fn send(&mut self, body: &[u8]) -> Result<()> {
        let mut pause = self.first_pause;
        let mut attempts_left = ATTEMPTS;
        loop {
            let response = self.endpoint.post(body)?;
            attempts_left -= 1;
            match response.status {
                200..=299 => return self.accept(&response),
                429 | 502..=504 if attempts_left > 0 => {
                    thread::sleep(response.retry_after.unwrap_or(pause).min(MAX_PAUSE));
                    pause *= 2;
                }
                _ => bail!(self.describe(&response)),
            }
        }
    }

    /// Notes what a partial success says.
    ///
    /// # Errors
    /// If the response is corrupt protocol buffers.
    fn accept(&mut self, response: &Response) -> Result<()> {
        let what = || format!("{}: the response is corrupt", self.endpoint.authority);
        let (rejected, message) = match response.content {
            // The status says that the request was accepted, and no more is known.
            Content::Unreadable => (0, Some(response.said())),
            Content::Text => (0, None),
            Content::Protobuf => {
                let partial = field(&response.body, 1).with_context(what)?;
                let partial = partial.map(|field| field.bytes).unwrap_or_default();
                let rejected = field(partial, 1).with_context(what)?;
                let message = field(partial, 2).with_context(what)?;
                let rejected = rejected.map_or(0, |field| field.integer.cast_signed());
                (rejected, message.map(|field| text(field.bytes)))
            }
            Content::Json => {
                let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
                let partial = member(&body, ["partialSuccess", "partial_success"]);
                let rejected = member(partial, ["rejectedSpans", "rejected_spans"]);
                let message = member(partial, ["errorMessage", "error_message"]);
                // Integers of 64 bits may be strings in JSON.
                let parse = || rejected.as_str()?.parse().ok();
                let rejected = rejected.as_i64().or_else(parse).unwrap_or(0);
                (
                    rejected,
                    message.as_str().map(|message| text(message.as_bytes())),
                )
            }
        };
        let rejected = u64::try_from(rejected).unwrap_or(0);
        self.rejected = self.rejected.saturating_add(rejected);
        let message = message.filter(|message| !message.is_empty());
        self.message = self.message.take().or(message);
        Ok(())
    }

    /// Returns what went wrong, as one line.
    fn describe(&self, response: &Response) -> String {
        let status = response.status;
        let said = response.said();
        let hint = match (status, &response.location) {
            (300..=399, Some(location)) => {
                format!("redirects to {}, send there", text(location.as_bytes()))
            }
            (404 | 405, _) => format!("takes no traces at {}", self.endpoint.path),
            (413, _) => "takes no requests of this size".to_owned(),
            _ => "refuses the traces".to_owned(),
        };
        let separator = if said.is_empty() { "" } else { ": " };
        let authority = &self.endpoint.authority;
        format!("{authority}: {hint} (status {status}){separator}{said}")
    }
}

/// Returns the member of an object that has one of two names; null if there is none.
fn member<'v>(object: &'v Value, names: [&str; 2]) -> &'v Value {
    let member = names.iter().find_map(|name| object.get(name));
    member.unwrap_or(&Value::Null)
}

/// A response.
#[derive(Debug, Default)]
struct Response {
    status: u16,
    retry_after: Option<Duration>,
    location: Option<String>,
    content: Content,
    /// The body, or its first bytes.
    body: Vec<u8>,
}

/// How the body of a response is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Content {
    #[default]
    Text,
    Protobuf,
    Json,
    /// Compressed, or too long.
    Unreadable,
}

impl Response {
    fn read(input: &mut impl BufRead) -> io::Result<Self> {
        let mut response = Self::default();
        let (mut length, mut is_chunked, mut is_compressed) = (None, false, false);
        // An interim response (100 Continue) precedes the response.
        while response.status < 200 {
            response = Self::default();
            (length, is_chunked, is_compressed) = (None, false, false);
            let first = line(input)?;
            let words = first.strip_prefix("HTTP/1.").map(|rest| rest.split(' '));
            let status = words.and_then(|mut words| words.nth(1)?.parse().ok());
            response.status = status.ok_or_else(|| invalid("not HTTP/1.1"))?;
            loop {
                let line = line(input)?;
                let Some((name, value)) = line.split_once(':') else {
                    break;
                };
                let value = value.trim();
                let lower = value.to_ascii_lowercase();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().ok(),
                    "transfer-encoding" => is_chunked = lower.ends_with("chunked"),
                    "content-encoding" => is_compressed = lower != "identity",
                    "content-type" => {
                        response.content = match lower.split(';').next().map(str::trim) {
                            Some("application/x-protobuf") => Content::Protobuf,
                            Some("application/json") => Content::Json,
                            _ => Content::Text,
                        };
                    }
                    // The header may have a date instead, which is ignored.
                    "retry-after" => {
                        response.retry_after = value.parse().ok().map(Duration::from_secs);
                    }
                    "location" => response.location = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
        response.body = match (response.status, is_chunked, length) {
            // These have no body. The connection may stay open.
            (204 | 205 | 304, ..) => Vec::new(),
            (_, true, _) => chunks(input)?,
            (_, false, Some(length)) => exactly(input, length)?,
            (_, false, None) => {
                let mut body = Vec::new();
                input.take(MAX_BODY).read_to_end(&mut body)?;
                body
            }
        };
        if is_compressed || response.body.len() as u64 >= MAX_BODY {
            response.content = Content::Unreadable;
        }
        Ok(response)
    }

    /// Returns the message of the response, as one line.
    fn said(&self) -> String {
        let body = &self.body;
        // A failure has a `google.rpc.Status` message.
        let message = match self.content {
            Content::Protobuf => field(body, 2).ok().map(|message| {
                let message = message.unwrap_or_default();
                message.bytes.to_vec()
            }),
            Content::Json => serde_json::from_slice(body).ok().and_then(|body: Value| {
                let message = body.get("message")?.as_str()?;
                Some(message.as_bytes().to_vec())
            }),
            Content::Text => None,
            Content::Unreadable if body.is_empty() => None,
            Content::Unreadable => {
                return match body.len() as u64 >= MAX_BODY {
                    true => "(the response has more than 1 MiB)".to_owned(),
                    false => "(the response is compressed)".to_owned(),
                };
            }
        };
        text(&message.unwrap_or_else(|| body.clone()))
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Returns a line without its end.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns the next bytes, but not more than [`MAX_BODY`].
fn exactly(input: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let length = length.min(MAX_BODY);
    match input.take(length).read_to_end(&mut body)? as u64 == length {
        true => Ok(body),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns a body that comes in chunks, each with its length in hexadecimal. Reads hardly more than
/// [`MAX_BODY`].
fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while (body.len() as u64) < MAX_BODY {
        let head = line(input)?;
        let length = head.split(';').next().unwrap_or_default().trim();
        match u64::from_str_radix(length, 16) {
            Ok(0) => break,
            Ok(length) => body.extend(exactly(input, length)?),
            Err(_) => return Err(invalid("a chunk without length")),
        }
        if (body.len() as u64) < MAX_BODY {
            line(input)?;
        }
    }
    Ok(body)
}

/// Returns text in one line, shortened.
fn text(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 300;
    let text = String::from_utf8_lossy(bytes);
    // Compressed data has both, and texts in another encoding have no control characters.
    let is_control = |c: char| c.is_control() && !c.is_whitespace();
    if matches!(text, Cow::Owned(_)) && text.contains(is_control) {
        return format!("({} bytes that are not text)", bytes.len());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").chars().take(MAX_CHARS).collect();
    one_line(&text)
}

/// The value of a field of protocol buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Field<'b> {
    integer: u64,
    bytes: &'b [u8],
}

/// Returns the last field of a message with a number.
fn field(mut message: &[u8], number: u64) -> Result<Option<Field<'_>>> {
    let mut found = None;
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let mut field = Field::default();
        let len = match key & 7 {
            0 => {
                field.integer = varint(&mut message)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?)?,
            5 => 4,
            wire_type => bail!("unknown wire type {wire_type}"),
        };
        let split = message.split_at_checked(len);
        (field.bytes, message) = split.context("a field is truncated")?;
        if key >> 3 == number {
            found = Some(field);
        }
    }
    Ok(found)
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().context("an integer is truncated")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    bail!("an integer is too long")
}

#[cfg(test)]
mod tests;
