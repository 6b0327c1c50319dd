//! The server on the loopback interface, which answers the page.
//!
//! Other pages in the user's browser, and other users of the machine, can reach the loopback
//! interface too. So the address has a random token, which becomes a cookie at the first request.
//! Every other request must have this cookie, and come from the server's own page: `Host` must be
//! the server's own address (a page whose name was redirected to this machine has another one), and
//! `Origin` must be that of the page. Everything else is refused without a hint.
//!
//! A connection has one request and a thread of its own.

mod workers;

use crate::cmd::open::serve::stop_on_signals;
use crate::http::{Connection, Listener, Request};
use anyhow::{Context, anyhow};
use jtrail_view::api::{Answer, Session, Status};
use jtrail_view::page;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use workers::{Workers, be_less_urgent};

/// Interval at which connections and signals are checked.
const TICK: Duration = Duration::from_millis(2);

/// A server that is to answer questions about traces.
pub(super) struct Server {
    listener: Listener,
    guard: Guard,
    /// Set by signals.
    stop: Arc<AtomicBool>,
}

/// Who may ask.
#[derive(Clone, Debug)]
struct Guard {
    port: u16,
    token: String,
}

/// What a request may have.
#[derive(PartialEq, Eq, Debug)]
enum Access {
    /// It has the token in its address: the browser gets the cookie.
    Enter,
    /// It has the cookie.
    Granted,
    Refused,
}

impl Server {
    /// Takes a port of the loopback interface.
    ///
    /// # Errors
    /// If the port is in use.
    pub(super) fn new(port: Option<u16>) -> anyhow::Result<Self> {
        let listener = Listener::new(port).map_err(|error| {
            let port = port.unwrap_or(0);
            anyhow!("can't serve on port {port}: {error}; --port takes another one")
        })?;
        let port = listener.port();
        let mut token = [0; 24];
        getrandom::fill(&mut token).context("no random numbers")?;
        let token = token.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            listener,
            guard: Guard { port, token },
            stop: stop_on_signals()?,
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.guard.port
    }

    /// Returns the address of the page, with the token.
    pub(super) fn address(&self) -> String {
        format!(
            "http://127.0.0.1:{}/?token={}",
            self.guard.port, self.guard.token
        )
    }

    /// Answers requests until a signal arrives.
    pub(super) fn serve(&self, session: Session) -> anyhow::Result<()> {
        let session = Arc::new(session);
        let (prepared, stop) = (Arc::clone(&session), Arc::clone(&self.stop));
        let prepare = move || {
            be_less_urgent();
            prepared.keep_prepared(|| stop.load(Ordering::Relaxed));
        };
        let _ = thread::Builder::new().spawn(prepare);
        let workers = Workers::start(&session).context("can't start threads")?;
        let guard = self.guard.clone();
        // Failures of a connection are not errors: the page asks again.
        let answer = move |stream| _ = respond(&guard, &workers, stream);
        self.listener.serve(answer, || {
            thread::sleep(TICK);
            self.stop.load(Ordering::Relaxed).then_some(())
        })
    }
}

/// Answers the request of a connection.
fn respond(guard: &Guard, workers: &Workers, stream: TcpStream) -> io::Result<()> {
    let mut connection = Connection::new(stream)?;
    let Some(request) = connection.request() else {
        return Ok(());
    };
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    match guard.access(&request, query) {
        Access::Refused => {
            connection.respond("403 Forbidden", &[], 0)?;
            connection.refuse();
            return Ok(());
        }
        Access::Enter => {
            let cookie = format!(
                "{}={}; Path=/; HttpOnly; SameSite=Strict",
                guard.cookie(),
                guard.token
            );
            let headers = [("Location", "/"), ("Set-Cookie", &cookie)];
            connection.respond("303 See Other", &headers, 0)?;
            return connection.end();
        }
        Access::Granted => {}
    }
    if request.method != "GET" {
        connection.respond("405 Method Not Allowed", &[("Allow", "GET")], 0)?;
        connection.refuse();
        return Ok(());
    }
    let begin = Instant::now();
    let file = page::FILES.iter().find(|file| file.path == path);
    let answer = match file {
        Some(file) => Answer {
            status: Status::Answered,
            content_type: file.content_type,
            body: file.body.to_vec(),
            is_partial: false,
        },
        None => workers.answer(path, query)?,
    };
    let status = match answer.status {
        Status::Answered => "200 OK",
        Status::Wrong => "400 Bad Request",
        Status::Missing => "404 Not Found",
        Status::Failed => "500 Internal Server Error",
    };
    let ms = begin.elapsed().as_secs_f64() * 1000.0;
    let partial = if answer.is_partial { ", partial" } else { "" };
    let timing = format!("answer;dur={ms:.1}{partial}");
    let headers = [
        ("Content-Type", answer.content_type),
        ("Server-Timing", &timing),
        ("Content-Security-Policy", page::POLICY),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
    ];
    connection.respond(status, &headers, answer.body.len() as u64)?;
    connection.send_bytes(&answer.body)?;
    connection.end()
}

impl Guard {
    /// Returns the name of the cookie. Cookies of a host are shared by all its ports.
    fn cookie(&self) -> String {
        format!("jtrail-view-{}", self.port)
    }

    fn access(&self, request: &Request, query: &str) -> Access {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let host = request
            .only("host")
            .filter(|host| own.iter().any(|own| own == host));
        let Some(host) = host else {
            return Access::Refused;
        };
        if let Some(origin) = request.first("origin")
            && origin.strip_prefix("http://") != Some(host)
        {
            return Access::Refused;
        }
        let site = request.first("sec-fetch-site").unwrap_or("none");
        let cookie = format!("{}={}", self.cookie(), self.token);
        let cookies = request.first("cookie").unwrap_or_default();
        if cookies.split("; ").any(|pair| pair == cookie) {
            // A link on another page must not even load the page.
            return match site {
                "same-origin" | "none" => Access::Granted,
                _ => Access::Refused,
            };
        }
        match query == format!("token={}", self.token) && request.method == "GET" {
            true => Access::Enter,
            false => Access::Refused,
        }
    }
}

#[cfg(test)]
mod tests;
