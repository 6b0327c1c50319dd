//! `jtrail open`: the server that a tool's page loads the export from.

use crate::common::{Folder, jtrail};
use jtrail_formats::Format;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A running `jtrail open`, and the address that it prints.
struct Open {
    child: Child,
    line: String,
}

fn open(args: &[&str]) -> Open {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jtrail"))
        .arg("open")
        .args(args)
        .args(["--print", "--for", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped"))
        .read_line(&mut line)
        .expect("a line");
    Open { child, line }
}

impl Open {
    /// Returns the port, and the path of the file.
    fn file(&self) -> (u16, String) {
        let (_, after) = self
            .line
            .split_once("http%3A%2F%2F127.0.0.1%3A")
            .expect("an address");
        let url = after
            .trim_end()
            .split('&')
            .next()
            .expect("a part")
            .replace("%2F", "/");
        let (port, path) = url.split_once('/').expect("a path");
        (port.parse().expect("a port"), format!("/{path}"))
    }

    fn end(mut self) -> (Option<i32>, String) {
        let mut err = String::new();
        let stderr = self.child.stderr.as_mut().expect("piped");
        stderr.read_to_string(&mut err).expect("read");
        (self.child.wait().expect("ended").code(), err)
    }
}

/// Sends a request, and returns the status, the head and the body of the answer.
fn request(port: u16, line: &str, headers: &[(&str, &str)]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
    let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    write!(stream, "{text}\r\n").expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .expect("a head");
    let head = String::from_utf8(answer[..end].to_vec()).expect("UTF-8");
    let status = head
        .split(' ')
        .nth(1)
        .expect("a status")
        .parse()
        .expect("a number");
    (status, head.to_lowercase(), answer[end + 4..].to_vec())
}

#[test]
fn only_the_page_loads_the_file_and_that_ends_it() {
    let folder = Folder::new();
    let trace = folder.sample(Format::TptpBinary);
    for (tool, page, name) in [
        (
            "speedscope",
            "https://www.speedscope.app",
            "x.speedscope.json",
        ),
        (
            "firefox",
            "https://profiler.firefox.com",
            "x.firefox.json.gz",
        ),
    ] {
        let expected = folder.at(name);
        let to = expected.to_str().expect("UTF-8");
        assert_eq!(
            jtrail(&["export", &trace, "-o", to, "--thread", "1"]).code,
            0
        );

        let open = open(&[&trace, "--in", tool, "--thread", "1"]);
        assert!(open.line.starts_with(page), "{}", open.line);
        let (port, path) = open.file();
        let own = format!("127.0.0.1:{port}");
        let elsewhere = format!("127.0.0.1:{port}.evil.example");
        let other_token = path.replace(&path[1..9], "00000000");
        let get = format!("GET {path}");
        let (host, origin) = (("Host", own.as_str()), ("Origin", page));
        for (line, headers) in [
            (&get, &[host][..]),
            (&get, &[origin]),
            (&get, &[host, ("Origin", "https://evil.example")]),
            (&get, &[host, ("Origin", "null")]),
            (&get, &[("Host", &elsewhere), origin]),
            (&get, &[("Host", "evil.example"), origin]),
            (&get, &[host, host, origin]),
            (&get, &[host, origin, ("Origin", "https://evil.example")]),
            (&format!("GET {other_token}"), &[host, origin]),
            (&"GET /".to_owned(), &[host, origin]),
        ] {
            let (status, head, body) = request(port, line, headers);
            assert_eq!(status, 403, "{line} {headers:?}");
            assert!(
                body.is_empty() && !head.contains("access-control"),
                "{head}"
            );
        }
        let preflight = [
            host,
            origin,
            ("Access-Control-Request-Private-Network", "true"),
        ];
        let (status, head, _) = request(port, &format!("OPTIONS {path}"), &preflight);
        assert_eq!(status, 204);
        assert!(
            head.contains("access-control-allow-private-network: true"),
            "{head}"
        );
        assert_eq!(
            request(
                port,
                &format!("POST {path}"),
                &[host, origin, ("Content-Length", "0")]
            )
            .0,
            405
        );

        let (status, head, body) = request(port, &get, &[host, origin]);
        assert_eq!(status, 200);
        assert!(
            head.contains(&format!("access-control-allow-origin: {page}")),
            "{head}"
        );
        assert!(body == fs::read(&expected).expect("there"), "{tool}");
        let (code, err) = open.end();
        assert_eq!(code, Some(0), "{err}");
        assert!(err.ends_with("has loaded it\n"), "{err}");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}

#[test]
fn perfetto_needs_its_port() {
    // If another program has the port, the outcome is the same.
    let _used = TcpListener::bind(("127.0.0.1", 9001));
    let folder = Folder::new();
    let trace = folder.sample(Format::TptpBinary);
    let missing = folder.at("missing");
    let missing = missing.to_str().expect("UTF-8");
    // That is found before the trace is read.
    for trace in [&trace, missing] {
        let done = jtrail(&["open", trace, "--print"]);
        assert_eq!((done.code, done.out.as_str()), (2, ""));
        let (start, advice) = (
            "can't offer the file on port 9001: ",
            "; end the program that uses the port, which may be another jtrail open, or see --port and --in\n",
        );
        assert!(
            done.err.contains(start) && done.err.ends_with(advice),
            "{}",
            done.err
        );
    }

    let open = open(&[&trace, "--port", "0", "--page", "http://localhost:10000"]);
    let start = "http://localhost:10000/#!/?url=http%3A%2F%2F127.0.0.1%3A";
    assert!(open.line.starts_with(start), "{}", open.line);
    let (port, path) = open.file();
    assert!(path.ends_with("/sample.pftrace"));
    let host = format!("localhost:{port}");
    let headers = [
        ("Host", host.as_str()),
        ("Origin", "http://localhost:10000"),
    ];
    assert_eq!(request(port, &format!("GET {path}"), &headers).0, 200);
    assert_eq!(open.end().0, Some(0));
}

#[test]
fn what_is_not_loaded_in_time_is_said() {
    let folder = Folder::new();
    let trace = folder.sample(Format::TptpBinary);
    let done = jtrail(&[
        "open", &trace, "--in", "firefox", "--print", "--for", "100ms",
    ]);
    let end = "jtrail: the Firefox Profiler did not load the file in time\n";
    assert_eq!(done.code, 2);
    assert!(done.err.ends_with(end), "{}", done.err);
    let done = jtrail(&["open", &trace, "--thread", "nobody", "--print"]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("the selection has no calls or waits"),
        "{}",
        done.err
    );
    let done = jtrail(&["open", &trace, "--page", "localhost:1", "--print"]);
    assert!(
        done.err.contains("write the address of a page"),
        "{}",
        done.err
    );
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it() {
    let folder = Folder::new();
    let trace = folder.sample(Format::TptpBinary);
    let open = open(&[&trace, "--in", "firefox"]);
    let id = rustix::process::Pid::from_child(&open.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("sent");
    assert_eq!(open.end().0, Some(0));
}
