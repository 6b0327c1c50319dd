//! The server on the loopback interface, which offers one file to one page.
//!
//! Other pages in the user's browser, and other users of the machine, can reach the loopback
//! interface too. So the path has a random token, `Host` must be the server's own address (a page
//! whose name was redirected to this machine has another one), and `Origin` must be that of the
//! tool's page. Everything else is refused without a hint.
//!
//! A connection has one request and a thread of its own. So a client that sends or reads nothing
//! delays neither other clients nor the end of the program. Bodies of requests are not read.

use crate::http::{Connection, Listener, Request};
use crate::output::ending_signals;
use anyhow::{Context, anyhow};
use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Interval at which connections, signals and the time are checked.
const TICK: Duration = Duration::from_millis(20);

/// How serving ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Served {
    /// The page has loaded the file.
    Loaded,
    /// A signal ended the program.
    Stopped,
    /// The time is over.
    TimedOut,
}

/// A file that waits to be loaded.
pub(super) struct Offer {
    listener: Listener,
    page: Arc<Page>,
    /// Set by signals.
    stop: Arc<AtomicBool>,
}

/// Who may load which file.
struct Page {
    file: PathBuf,
    port: u16,
    /// Path of the file in addresses, with the token.
    path: String,
    /// The only page that may load the file: scheme, host and port.
    origin: String,
}

impl Offer {
    /// Offers a file under a name to a page.
    ///
    /// # Errors
    /// If the port is in use.
    pub(super) fn new(
        file: &Path,
        name: &str,
        page: &str,
        port: Option<u16>,
    ) -> anyhow::Result<Self> {
        let listener = Listener::new(port).map_err(|error| {
            let port = port.unwrap_or(0);
            anyhow!(
                "can't offer the file on port {port}: {error}; end the program that uses the port, \
                 which may be another jtrail open, or see --port and --in"
            )
        })?;
        let port = listener.port();
        let mut token = [0; 24];
        getrandom::fill(&mut token).context("no random numbers")?;
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            listener,
            page: Arc::new(Page {
                file: file.to_owned(),
                port,
                path: format!("/{token}/{name}"),
                origin: page.to_owned(),
            }),
            stop: stop_on_signals()?,
        })
    }

    /// Returns the address of the file.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.page.port, self.page.path)
    }

    /// Answers requests until the page has loaded the file, a signal arrives, or the time is over.
    pub(super) fn serve(&self, time: Option<Duration>) -> anyhow::Result<Served> {
        let begin = Instant::now();
        let (loaded, results) = channel();
        let page = Arc::clone(&self.page);
        let answer = move |stream| {
            if let Some(result) = page.answer(stream).transpose() {
                // The program may be ending.
                let _ = loaded.send(result);
            }
        };
        let pause = || {
            if let Ok(result) = results.recv_timeout(TICK) {
                return Some(result.map(|()| Served::Loaded));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Some(Ok(Served::Stopped));
            }
            let is_over = time.is_some_and(|time| begin.elapsed() >= time);
            is_over.then_some(Ok(Served::TimedOut))
        };
        self.listener.serve(answer, pause)?
    }
}

impl Page {
    /// Answers the request of a connection. Returns `Some` if it was the one for the file, and the
    /// client has received the whole file.
    ///
    /// # Errors
    /// If the file can't be read. Failures of the connection are not errors.
    fn answer(&self, stream: TcpStream) -> anyhow::Result<Option<()>> {
        let Ok(mut connection) = Connection::new(stream) else {
            return Ok(None);
        };
        let request = connection.request();
        let request = request.filter(|request| self.may_load(request));
        let sent = match request.as_ref().map(|request| &*request.method) {
            None => connection.respond("403 Forbidden", &[], 0),
            Some("OPTIONS") => connection.respond("204 No Content", &self.headers(), 0),
            Some("GET") => {
                let file = File::open(&self.file).context("can't read the export")?;
                let size = file.metadata().context("can't read the export")?.len();
                let sent = connection.respond("200 OK", &self.headers(), size);
                let sent = sent.and_then(|()| connection.send(file, size));
                return Ok(sent.and_then(|()| connection.finish()).ok());
            }
            Some(_) => connection.respond("405 Method Not Allowed", &[("Allow", "GET")], 0),
        };
        if sent.is_ok() {
            connection.refuse();
        }
        Ok(None)
    }

    fn may_load(&self, request: &Request) -> bool {
        let host = request.only("host").is_some_and(|host| {
            let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
            own.iter().any(|own| own == host)
        });
        host && request.path == self.path && request.only("origin") == Some(self.origin.as_str())
    }

    /// Returns what lets the page, and only the page, read the response.
    fn headers(&self) -> [(&'static str, &str); 8] {
        [
            ("Access-Control-Allow-Origin", self.origin.as_str()),
            ("Access-Control-Allow-Methods", "GET"),
            ("Access-Control-Allow-Headers", "*"),
            // Browsers ask before a public page reaches the loopback interface.
            ("Access-Control-Allow-Private-Network", "true"),
            ("Cache-Control", "no-store"),
            ("Content-Type", "application/octet-stream"),
            ("Vary", "Origin"),
            ("X-Content-Type-Options", "nosniff"),
        ]
    }
}

/// Returns a flag that signals set.
pub(crate) fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
    }
    Ok(stop)
}

#[cfg(test)]
mod tests;
