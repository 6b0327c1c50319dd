use super::*;
use std::io::{Read, Write};

/// A server of no traces, on a thread that ends with the test.
struct Running {
    port: u16,
    token: String,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn new() -> Self {
        let server = Server::new(None).expect("a port");
        let running = (
            server.port(),
            server.guard.token.clone(),
            Arc::clone(&server.stop),
        );
        let serve = move || server.serve(Session::new(Vec::new())).expect("served");
        let thread = thread::spawn(serve);
        let (port, token, stop) = running;
        Self {
            port,
            token,
            stop,
            thread: Some(thread),
        }
    }

    /// Sends a request. Returns the response.
    fn ask(&self, first: &str, headers: &[(&str, &str)]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let mut text = format!("{first} HTTP/1.1\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream
            .write_all((text + "\r\n").as_bytes())
            .expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    }

    /// Sends a request that has everything, but for what `headers` replace.
    fn ask_with(&self, first: &str, headers: &[(&str, &str)]) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let cookie = format!("jtrail-view-{}={}", self.port, self.token);
        let mut all = vec![("Host", host.as_str()), ("Cookie", cookie.as_str())];
        all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        self.ask(first, &all)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends");
        }
    }
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn the_address_gives_a_cookie() {
    let server = Running::new();
    let host = format!("127.0.0.1:{}", server.port);
    let first = format!("GET /?token={}", server.token);
    let response = server.ask(&first, &[("Host", &host)]);
    assert_eq!(status(&response), "303", "{response}");
    let cookie = format!(
        "Set-Cookie: jtrail-view-{}={}; Path=/; HttpOnly; SameSite=Strict\r\n",
        server.port, server.token
    );
    assert!(response.contains(&cookie), "{response}");
    assert!(response.contains("Location: /\r\n"), "{response}");
}

#[test]
fn the_page_and_answers_need_the_cookie() {
    let server = Running::new();
    let page = server.ask_with("GET /", &[]);
    assert_eq!(status(&page), "200");
    assert!(page.contains("Content-Security-Policy: default-src 'none'; "));
    for name in ["/view.js", "/view.css", "/api/traces"] {
        let response = server.ask_with(&format!("GET {name}"), &[]);
        assert_eq!(status(&response), "200", "{name}");
        assert!(
            response.contains("\r\nServer-Timing: answer;dur="),
            "{name}"
        );
    }
    let own = format!("http://127.0.0.1:{}", server.port);
    let with_origin = [("Origin", &*own), ("Sec-Fetch-Site", "same-origin")];
    let response = server.ask_with("GET /api/traces", &with_origin);
    assert!(response.ends_with("{\"traces\":[]}"), "{response}");
    assert_eq!(status(&server.ask_with("POST /api/traces", &[])), "405");
    let of = |path: &str| {
        let response = server.ask_with(&format!("GET {path}"), &[]);
        status(&response).to_owned()
    };
    assert_eq!(of("/api/nothing?trace=0"), "404");
    assert_eq!(of("/favicon.ico"), "404");
    assert_eq!(of("/api/tile?trace=0"), "400");
}

#[test]
fn others_are_refused() {
    let server = Running::new();
    let port = server.port;
    let wrong = "0".repeat(48);
    let wrong_cookie = format!("jtrail-view-{port}={wrong}");
    let other_port = format!("jtrail-view-{}={}", port ^ 1, server.token);
    let evil_host = format!("evil.example:{port}");
    for headers in [
        [("Cookie", "")],
        [("Cookie", &*wrong_cookie)],
        [("Cookie", &*other_port)],
        [("Host", "")],
        [("Host", "127.0.0.1")],
        [("Host", &*evil_host)],
        [("Origin", "http://evil.example")],
        [("Origin", "null")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
    ] {
        let response = server.ask_with("GET /api/traces", &headers);
        assert_eq!(status(&response), "403", "{headers:?}");
        assert!(response.ends_with("\r\n\r\n"), "{headers:?}: {response}");
    }
    let host = format!("127.0.0.1:{port}");
    for first in [
        format!("GET /?token={wrong}"),
        format!("GET /view.js?token={wrong}"),
        format!("POST /?token={}", server.token),
        "GET /".to_owned(),
    ] {
        assert_eq!(
            status(&server.ask(&first, &[("Host", &host)])),
            "403",
            "{first}"
        );
    }
    // With the right token, but asked by another page.
    let first = format!("GET /?token={}", server.token);
    let headers = [("Host", &*host), ("Origin", "http://evil.example")];
    assert_eq!(status(&server.ask(&first, &headers)), "403");
}
