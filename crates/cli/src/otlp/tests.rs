use super::*;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A collector on this machine, which answers one request with each response. Returns its sender,
/// and the requests that it receives.
fn collector(responses: &[&str]) -> (Sender, Receiver<(String, Vec<u8>)>) {
    let responses: Vec<&[u8]> = responses.iter().map(|r| r.as_bytes()).collect();
    collector_of_bytes(&responses, false)
}

/// Like [`collector`]. The connections stay open if `keeps_open` is true.
fn collector_of_bytes(
    responses: &[&[u8]],
    keeps_open: bool,
) -> (Sender, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
    let responses: Vec<Vec<u8>> = responses.iter().map(|&r| r.to_owned()).collect();
    let (requests, received) = channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for response in responses {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut input = BufReader::new(stream.try_clone().expect("a copy"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let line = line(&mut input).expect("a line");
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    length = value.parse().expect("a number");
                }
                if line.is_empty() {
                    break;
                }
                head += &(line + "\n");
            }
            let mut body = vec![0; length];
            input.read_exact(&mut body).expect("a body");
            // The sender need not read all of it.
            let _ = stream.write_all(&response);
            if keeps_open {
                open.push(stream);
            }
            requests.send((head, body)).expect("the test listens");
        }
        if keeps_open {
            thread::sleep(Duration::from_secs(60));
        }
    });
    let mut sender = Sender::new(endpoint);
    sender.first_pause = Duration::from_millis(1);
    (sender, received)
}

const ACCEPTED: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\
                        Content-Length: 0\r\n\r\n";

fn error(sender: &mut Sender, body: &[u8]) -> String {
    let error = sender.send(body).expect_err("a failure");
    let authority = &sender.endpoint.authority;
    format!("{error:#}").replace(authority.as_str(), "HOST")
}

#[test]
fn requests_are_posts_of_protobuf() {
    let (mut sender, received) = collector(&[ACCEPTED, ACCEPTED]);
    let bodies = [vec![1, 2, 0, 255], vec![7; 3_000_000]];
    for body in &bodies {
        sender.send(body).expect("accepted");
        let (head, sent) = received.recv().expect("a request");
        assert!(&sent == body);
        let authority = &sender.endpoint.authority;
        let (version, length) = (env!("CARGO_PKG_VERSION"), body.len());
        let expected = format!(
            "POST /v1/traces HTTP/1.1\nHost: {authority}\nUser-Agent: jtrail/{version}\n\
             Content-Type: application/x-protobuf\nContent-Length: {length}\n\
             Accept-Encoding: identity\nConnection: close\n"
        );
        assert_eq!(head, expected);
    }
    assert_eq!((sender.rejected, sender.message), (0, None));
}

#[test]
fn urls_are_parsed() {
    let parse = |url: &str| {
        let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
        let (host, port) = endpoint.address;
        Ok(format!("{host} {port} {}", endpoint.path))
    };
    for (url, expected) in [
        ("http://localhost:4318", "localhost 4318 /v1/traces"),
        ("HTTP://localhost:4318/", "localhost 4318 /v1/traces"),
        ("http://a.b/c/d?e=f#g", "a.b 80 /c/d?e=f"),
        ("http://a.b?e=f", "a.b 80 /v1/traces?e=f"),
        ("http://[::1]:4318/v1/traces", "::1 4318 /v1/traces"),
    ] {
        assert_eq!(parse(url), Ok(expected.to_owned()), "{url}");
    }
    for (url, expected) in [
        (
            "https://a:1",
            "https is not supported; send to a collector by http://",
        ),
        ("a:4318", "not a URL of the form http://HOST:PORT"),
        ("ftp://a", "not a URL of the form http://HOST:PORT"),
        ("http://a:b", "the port is not a number up to 65535"),
        ("http://a:65536", "the port is not a number up to 65535"),
        ("http://[::1", "] is missing"),
        ("http://[::1]4318", "the port is not a number up to 65535"),
        ("http://:1", "the host is missing"),
        ("http://", "the host is missing"),
        ("http://a@b", "a user name is not supported"),
        (
            "http://a/\r\nX: y",
            "has a blank or another special character",
        ),
    ] {
        assert_eq!(parse(url), Err::<String, _>(format!("{url}: {expected}")));
    }
}

#[test]
fn a_partial_success_counts_rejected_spans() {
    // partial_success (1) with rejected_spans (1) 44 and error_message (2).
    let partial = "\u{a}\u{b}\u{8}\u{2c}\u{12}\u{7}no room";
    let chunked = format!(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\
         Transfer-Encoding: chunked\r\n\r\n4;x=y\r\n{}\r\n9\r\n{}\r\n0\r\n\r\n",
        &partial[..4],
        &partial[4..]
    );
    let (mut sender, _received) = collector(&[&chunked, &chunked, ACCEPTED]);
    for _ in 0..3 {
        sender.send(&[1]).expect("accepted");
    }
    assert_eq!(
        (sender.rejected, sender.message.as_deref()),
        (88, Some("no room"))
    );
}

#[test]
fn a_busy_collector_is_asked_again() {
    let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    let limited = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
    let (mut sender, received) = collector(&[busy, limited, ACCEPTED]);
    sender.send(&[5]).expect("accepted");
    let bodies = received.iter().take(3).map(|(_, body)| body);
    assert_eq!(bodies.collect::<Vec<_>>(), [[5], [5], [5]]);

    let (mut sender, received) = collector(&[busy; ATTEMPTS as usize]);
    let expected = "HOST: refuses the traces (status 503)";
    assert_eq!(error(&mut sender, &[5]), expected);
    assert_eq!(received.iter().count(), ATTEMPTS as usize);
}

#[test]
fn failures_say_what_to_do() {
    for (response, expected) in [
        (
            "HTTP/1.1 400 Bad Request\r\nContent-Type: application/x-protobuf\r\n\r\n\u{8}\u{3}\u{12}\u{3}bad",
            "HOST: refuses the traces (status 400): bad",
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n404 page\nnot found\n",
            "HOST: takes no traces at /v1/traces (status 404): 404 page not found",
        ),
        (
            "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n",
            "HOST: takes no requests of this size (status 413)",
        ),
        (
            "HTTP/1.1 301 Moved\r\nLocation: http://a/b\r\nContent-Length: 0\r\n\r\n",
            "HOST: redirects to http://a/b, send there (status 301)",
        ),
        ("SSH-2.0\r\n\r\n", "HOST: no valid response: not HTTP/1.1"),
        ("", "HOST: no valid response: unexpected end of file"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 2\r\n\r\n\u{a}\u{5}",
            "HOST: the response is corrupt: a field is truncated",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
            "HOST: no valid response: unexpected end of file",
        ),
    ] {
        let (mut sender, _received) = collector(&[response]);
        assert_eq!(error(&mut sender, &[1]), expected, "{response}");
    }
}

#[test]
fn a_collector_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
    let message = error(&mut Sender::new(endpoint), &[1]);
    assert!(message.starts_with("HOST: cannot connect: "), "{message}");
}

/// Sends a request, and returns the number of rejected spans and the message.
fn accepted(response: &[u8], keeps_open: bool) -> (u64, Option<String>) {
    let (mut sender, _received) = collector_of_bytes(&[response], keeps_open);
    sender.send(&[1]).expect("accepted");
    (sender.rejected, sender.message)
}

#[test]
fn messages_of_a_collector_are_shown_without_control_characters() {
    for (response, expected) in [
        (
            "HTTP/1.1 400 Bad\r\n\r\n\u{1b}[31mred\u{7}\r\n\u{9b}2J",
            "HOST: refuses the traces (status 400): \\u{1b}[31mred\\u{7} \\u{9b}2J",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://a/\u{1b}]0;x\u{7}\r\n\r\n",
            "HOST: redirects to http://a/\\u{1b}]0;x\\u{7}, send there (status 302)",
        ),
        (
            "HTTP/1.1 400 Bad\r\nContent-Type: application/x-protobuf\r\n\r\n\u{12}\u{2}\u{1b}c",
            "HOST: refuses the traces (status 400): \\u{1b}c",
        ),
        (
            "HTTP/1.1 400 Bad\r\nContent-Type: application/json; charset=utf-8\r\n\r\n\
             {\"code\":3,\"message\":\"\\u001b\\nbad\"}",
            "HOST: refuses the traces (status 400): \\u{1b} bad",
        ),
        (
            "HTTP/1.1 400 Bad\r\nContent-Encoding: gzip\r\n\r\nabc",
            "HOST: refuses the traces (status 400): (the response is compressed)",
        ),
    ] {
        let (mut sender, _received) = collector(&[response]);
        assert_eq!(error(&mut sender, &[1]), expected, "{response}");
    }
    let gzip = b"HTTP/1.1 400 Bad\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4a\x4c\x01\0";
    let (mut sender, _received) = collector_of_bytes(&[gzip], false);
    let expected = "HOST: refuses the traces (status 400): (15 bytes that are not text)";
    assert_eq!(error(&mut sender, &[1]), expected);
    let latin = b"HTTP/1.1 400 Bad\r\n\r\nf\xfcr\nnichts";
    let (mut sender, _received) = collector_of_bytes(&[latin], false);
    let expected = "HOST: refuses the traces (status 400): f\u{fffd}r nichts";
    assert_eq!(error(&mut sender, &[1]), expected);

    let partial = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n\
                   \u{a}\u{4}\u{12}\u{2}\u{1b}c";
    assert_eq!(
        accepted(partial.as_bytes(), false),
        (0, Some("\\u{1b}c".to_owned()))
    );
}

#[test]
fn a_partial_success_may_be_in_json() {
    for (body, rejected, message) in [
        (r#"{"partialSuccess":{"rejectedSpans":5}}"#, 5, None),
        (
            r#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"no room"}}"#,
            7,
            Some("no room"),
        ),
        (
            r#"{"partial_success":{"rejected_spans":7,"error_message":""}}"#,
            7,
            None,
        ),
        (r#"{"partialSuccess":{"rejectedSpans":-1}}"#, 0, None),
        (r#"{"partialSuccess":{}}"#, 0, None),
        ("{}", 0, None),
        ("", 0, None),
        ("ok", 0, None),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Type: Application/JSON\r\n\r\n{body}");
        let expected = (rejected, message.map(str::to_owned));
        assert_eq!(accepted(response.as_bytes(), false), expected, "{body}");
    }
    // A number of 64 bits above the largest one that a collector may send.
    let huge = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n\
                 \x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_eq!(accepted(huge, false), (0, None));
}

#[test]
fn a_response_without_a_body_needs_no_end_of_the_connection() {
    for status in ["204 No Content", "205 Reset Content"] {
        let response = format!("HTTP/1.1 {status}\r\n\r\n");
        assert_eq!(accepted(response.as_bytes(), true), (0, None));
    }
    let interim = b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 None\r\n\r\n";
    assert_eq!(accepted(interim, true), (0, None));
}

#[test]
fn a_long_response_is_read_in_part() {
    let long = "x".repeat(3 << 20);
    let chunked: String = (0..300)
        .map(|_| format!("2710\r\n{}\r\n", &long[..10_000]))
        .collect();
    let expected = "(the response has more than 1 MiB)";
    for rest in [
        format!("\r\n{long}"),
        format!("Content-Length: {}\r\n\r\n{long}", long.len()),
        format!("Transfer-Encoding: chunked\r\n\r\n{chunked}0\r\n\r\n"),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\n{rest}");
        let said = Some(expected.to_owned());
        assert_eq!(accepted(response.as_bytes(), true), (0, said));
        let (mut sender, _received) = collector(&[&format!("HTTP/1.1 400 Bad\r\n{rest}")]);
        let message = error(&mut sender, &[1]);
        assert_eq!(
            message,
            format!("HOST: refuses the traces (status 400): {expected}")
        );
    }
}

#[test]
fn a_collector_that_does_not_end_its_response_is_left() {
    for response in [
        "",
        "H",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            // A part of the response, again and again.
            for _ in 0..10_000 {
                if stream.write_all(response.as_bytes()).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
        let mut sender = Sender::new(endpoint);
        sender.endpoint.timeout = Duration::from_millis(300);
        let begin = Instant::now();
        let message = error(&mut sender, &[1]);
        assert!(begin.elapsed() < Duration::from_secs(10), "{response}");
        let expected = "HOST: no complete response within 300ms";
        assert_eq!(message, expected, "{response}");
    }
    // As fast as the connection allows.
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1 << 20);
    let (mut sender, _received) = collector(&[&interim]);
    let expected = "HOST: no valid response: unexpected end of file";
    assert_eq!(error(&mut sender, &[1]), expected);
}

#[test]
fn a_collector_that_does_not_read_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
    let mut sender = Sender::new(endpoint);
    sender.endpoint.timeout = Duration::from_millis(300);
    let message = error(&mut sender, &vec![0; 64 << 20]);
    assert_eq!(message, "HOST: does not read the request; waited 300ms");
    drop(listener);
}
