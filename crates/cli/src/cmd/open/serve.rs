//! The server on the loopback interface, which offers one file to one page.
//!
//! Other pages in the user's browser, and other users of the machine, can reach the loopback
//! interface too. So the path has a random token, `Host` must be the server's own address (a page
//! whose name was redirected to this machine has another one), and `Origin` must be that of the
//! tool's page. Everything else is refused without a hint.

use anyhow::{Context, anyhow};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

/// Interval at which signals and the time are checked.
const TICK: Duration = Duration::from_millis(100);

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
    server: Server,
    file: PathBuf,
    port: u16,
    /// Path of the file in addresses, with the token.
    path: String,
    /// The only page that may load the file: scheme, host and port.
    origin: String,
    /// Set by signals.
    stop: Arc<AtomicBool>,
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
        let asked = port.unwrap_or(0);
        let server = Server::http(("127.0.0.1", asked)).map_err(|error| {
            anyhow!(
                "can't offer the file on port {asked}: {error}; end the program that uses the port, \
                 which may be another jtrail open, or see --port and --in"
            )
        })?;
        let address = server.server_addr().to_ip();
        let port = address.context("no address")?.port();
        let mut token = [0; 24];
        getrandom::fill(&mut token).map_err(|error| anyhow!("no random numbers: {error}"))?;
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            server,
            file: file.to_owned(),
            port,
            path: format!("/{token}/{name}"),
            origin: page.to_owned(),
            stop: stop_on_signals()?,
        })
    }

    /// Returns the address of the file.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    /// Answers requests until the page has loaded the file, a signal arrives, or the time is over.
    pub(super) fn serve(&self, time: Option<Duration>) -> anyhow::Result<Served> {
        let begin = Instant::now();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Served::Stopped);
            }
            if time.is_some_and(|time| begin.elapsed() >= time) {
                return Ok(Served::TimedOut);
            }
            let request = self
                .server
                .recv_timeout(TICK)
                .context("can't take requests")?;
            if let Some(request) = request
                && self.answer(request)?
            {
                return Ok(Served::Loaded);
            }
        }
    }

    /// Answers a request. Returns true if it was the one for the file, and the file was sent whole.
    fn answer(&self, request: Request) -> anyhow::Result<bool> {
        if !self.may_load(&request) {
            // The other end may have gone.
            let _ = request.respond(Response::empty(StatusCode(403)));
            return Ok(false);
        }
        match request.method() {
            Method::Options => {
                let _ = request.respond(self.with_headers(Response::empty(StatusCode(204))));
                Ok(false)
            }
            Method::Get => {
                let file = File::open(&self.file).context("can't read the export")?;
                let response = self.with_headers(Response::from_file(file));
                Ok(request.respond(response).is_ok())
            }
            _ => {
                let _ = request.respond(Response::empty(StatusCode(405)));
                Ok(false)
            }
        }
    }

    fn may_load(&self, request: &Request) -> bool {
        let only = |name: &'static str| {
            let mut values = request
                .headers()
                .iter()
                .filter(|header| header.field.equiv(name));
            let value = values.next().map(|header| header.value.as_str());
            value.filter(|_| values.next().is_none())
        };
        let host = only("Host").is_some_and(|host| {
            let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
            own.iter().any(|own| own == host)
        });
        host && request.url() == self.path && only("Origin") == Some(self.origin.as_str())
    }

    /// Adds what lets the page, and only the page, read the answer.
    fn with_headers<R: std::io::Read>(&self, response: Response<R>) -> Response<R> {
        let headers = [
            ("Access-Control-Allow-Origin", self.origin.as_str()),
            ("Access-Control-Allow-Methods", "GET"),
            ("Access-Control-Allow-Headers", "*"),
            // Browsers ask before a public page reaches the loopback interface.
            ("Access-Control-Allow-Private-Network", "true"),
            ("Cache-Control", "no-store"),
            ("Content-Type", "application/octet-stream"),
            ("Vary", "Origin"),
            ("X-Content-Type-Options", "nosniff"),
        ];
        headers.iter().fold(
            response,
            |response, (name, value)| match Header::from_bytes(*name, *value) {
                Ok(header) => response.with_header(header),
                Err(()) => response,
            },
        )
    }
}

/// Returns a flag that signals set.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
        }
    }
    Ok(stop)
}
