use super::*;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A collector on this machine, which answers one request with each response. Returns its sender,
/// and the requests that it receives.
fn collector(responses: &[&str]) -> (Sender, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
    let responses: Vec<String> = responses.iter().map(|&r| r.to_owned()).collect();
    let (requests, received) = channel();
    thread::spawn(move || {
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
            let body = exactly(&mut input, length).expect("a body");
            stream.write_all(response.as_bytes()).expect("sent");
            requests.send((head, body)).expect("the test listens");
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
        assert_eq!(&sent, body);
        let authority = &sender.endpoint.authority;
        let (version, length) = (env!("CARGO_PKG_VERSION"), body.len());
        let expected = format!(
            "POST /v1/traces HTTP/1.1\nHost: {authority}\nUser-Agent: jtrail/{version}\n\
             Content-Type: application/x-protobuf\nContent-Length: {length}\nConnection: close\n"
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
