//! Sends OpenTelemetry traces to a collector, over HTTP/1.1.
//!
//! Each request is a POST of protocol buffers, on a connection of its own. The protocol's rules:
//!
//! - 2xx: accepted, but for the spans that a partial success rejects.
//! - 429, 502, 503 and 504: the request is repeated after `Retry-After`, or after 1, 2, 4 … s.
//! - Anything else: the request has failed.
//!
//! There is no encryption. A collector on the same machine can forward traces over the network.

use anyhow::{Context, Result, bail, ensure};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

/// Path of requests, unless the URL has one.
const PATH: &str = "/v1/traces";
/// Maximum number of times that a request is sent.
const ATTEMPTS: u32 = 6;
/// Maximum time between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Maximum time to connect, and for a response to begin.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of a response.
const MAX_RESPONSE: u64 = 1 << 20;

/// Where requests are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    /// Host and port, as in the URL.
    authority: String,
    /// Host and port to connect to.
    address: (String, u16),
    path: String,
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
        })
    }

    fn connect(&self) -> Result<TcpStream> {
        let (host, port) = (&*self.address.0, self.address.1);
        let what = || format!("{}: cannot connect", self.authority);
        let mut result = Err(io::Error::other("the host has no address"));
        for address in (host, port).to_socket_addrs().with_context(what)? {
            result = TcpStream::connect_timeout(&address, TIMEOUT);
            if result.is_ok() {
                break;
            }
        }
        let stream = result.with_context(what)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    /// Sends a request, and returns the response to it.
    fn post(&self, body: &[u8]) -> Result<Response> {
        let mut stream = self.connect()?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: jtrail/{}\r\n\
             Content-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority,
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body));
        // A server may refuse a request, and answer, before it has read all of it.
        let response = Response::read(&mut BufReader::new(stream.take(MAX_RESPONSE)));
        match (sent, response) {
            (_, Ok(response)) => Ok(response),
            (Err(error), Err(_)) => {
                Err(error).with_context(|| format!("{}: the connection broke", self.authority))
            }
            (Ok(()), Err(error)) => {
                Err(error).with_context(|| format!("{}: no valid response", self.authority))
            }
        }
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
    fn accept(&mut self, response: &Response) -> Result<()> {
        let what = || format!("{}: the response is corrupt", self.endpoint.authority);
        if response.is_protobuf {
            let partial = field(&response.body, 1).with_context(what)?;
            let partial = partial.map(|field| field.bytes).unwrap_or_default();
            let rejected = field(partial, 1).with_context(what)?;
            let message = field(partial, 2).with_context(what)?;
            self.rejected += rejected.map_or(0, |field| field.integer);
            let message = message.map(|field| text(field.bytes));
            self.message = self.message.take().or(message);
        }
        Ok(())
    }

    /// Returns what went wrong, as one line.
    fn describe(&self, response: &Response) -> String {
        let Response { status, body, .. } = response;
        // A failure has a `google.rpc.Status` message.
        let said = match field(body, 2) {
            Ok(message) if response.is_protobuf => text(message.unwrap_or_default().bytes),
            _ => text(body),
        };
        let hint = match (status, &response.location) {
            (300..=399, Some(location)) => format!("redirects to {location}, send there"),
            (404 | 405, _) => format!("takes no traces at {}", self.endpoint.path),
            (413, _) => "takes no requests of this size".to_owned(),
            _ => "refuses the traces".to_owned(),
        };
        let separator = if said.is_empty() { "" } else { ": " };
        let authority = &self.endpoint.authority;
        format!("{authority}: {hint} (status {status}){separator}{said}")
    }
}

/// A response.
#[derive(Debug, Default)]
struct Response {
    status: u16,
    retry_after: Option<Duration>,
    location: Option<String>,
    is_protobuf: bool,
    body: Vec<u8>,
}

impl Response {
    fn read(input: &mut impl BufRead) -> io::Result<Self> {
        let mut response = Self::default();
        let (mut length, mut is_chunked) = (None, false);
        // An interim response (100 Continue) precedes the response.
        while response.status < 200 {
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
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().ok(),
                    "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
                    "content-type" => {
                        response.is_protobuf = value.starts_with("application/x-protobuf");
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
        response.body = match (is_chunked, length) {
            (true, _) => chunks(input)?,
            (false, Some(length)) => exactly(input, length)?,
            (false, None) => {
                let mut body = Vec::new();
                input.read_to_end(&mut body)?;
                body
            }
        };
        Ok(response)
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
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn exactly(input: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    match input.take(length).read_to_end(&mut body)? as u64 == length {
        true => Ok(body),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns a body that comes in chunks, each with its length in hexadecimal.
fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(input)?;
        let length = head.split(';').next().unwrap_or_default().trim();
        match u64::from_str_radix(length, 16) {
            Ok(0) => return Ok(body),
            Ok(length) => body.extend(exactly(input, length)?),
            Err(_) => return Err(invalid("a chunk without length")),
        }
        line(input)?;
    }
}

/// Returns text in one line, shortened.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(300).collect()
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
