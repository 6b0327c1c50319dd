//! A fake agent without a JVM, served on a socket, for tests of the channel.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod trace;

use jtrail_control::*;
use jtrail_options::{BurstLimit, OutputFormat, TraceChange};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace::Writing;

/// The calls of the fake's methods, in order.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

/// An agent of an imaginary program with two methods. One method calls the other while a trace is
/// recorded.
pub(crate) struct Fake {
    folder: PathBuf,
    notifier: Notifier,
    shared: Arc<Mutex<Shared>>,
    began: Instant,
    pub(crate) calls: Calls,
}

#[derive(Default)]
struct Shared {
    running: Option<Running>,
    /// A trace that could not be written completely.
    broken: Option<Ended>,
    files: u32,
}

struct Running {
    trace: Trace,
    began: Instant,
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    events: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    stream: Option<DataStream>,
    thread: JoinHandle<io::Result<()>>,
}

/// An output that counts its bytes.
struct Counted(Box<dyn Write + Send>, Arc<AtomicU64>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.0.write(bytes)?;
        self.1.fetch_add(n as u64, SeqCst);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Shared {
    fn begin(
        &mut self,
        folder: &Path,
        request: TraceRequest,
        default: OutputFormat,
    ) -> Result<Trace, Failure> {
        let format = request.change.format.unwrap_or(default);
        let failed = |e: io::Error| Failure::new(ErrorCode::Failed, e.to_string());
        let stream = request.stream;
        let (to, file, output): (_, _, Box<dyn Write + Send>) = match &stream {
            Some(stream) => (Destination::Stream, None, Box::new(stream.clone())),
            None => {
                self.files += 1;
                let name = request.change.file;
                let name = name.unwrap_or_else(|| format!("trace-{}", self.files));
                let path = folder.join(name);
                let output = Box::new(File::create(&path).map_err(failed)?);
                (Destination::File, Some(path.display().to_string()), output)
            }
        };
        let trace = Trace { format, to, file };
        let (stop, paused) = (Arc::default(), Arc::default());
        let (events, bytes) = (Arc::default(), Arc::default());
        let output = Counted(output, Arc::clone(&bytes));
        let writing = Writing {
            stop: Arc::clone(&stop),
            paused: Arc::clone(&paused),
            events: Arc::clone(&events),
        };
        let thread = std::thread::spawn(move || writing.run(format, output));
        self.running = Some(Running {
            trace: trace.clone(),
            began: Instant::now(),
            stop,
            paused,
            events,
            bytes,
            stream,
            thread,
        });
        Ok(trace)
    }

    fn end(&mut self) -> Option<(Ended, io::Result<()>, Option<DataStream>)> {
        let running = self.running.take()?;
        running.stop.store(true, SeqCst);
        let mut ended = running.so_far();
        let result = running.thread.join().expect("no panic");
        ended.figures.events = running.events.load(SeqCst);
        ended.figures.bytes = running.bytes.load(SeqCst);
        Some((ended, result, running.stream))
    }
}

impl Running {
    fn so_far(&self) -> Ended {
        Ended {
            trace: self.trace.clone(),
            figures: Figures {
                elapsed: self.began.elapsed(),
                events: self.events.load(SeqCst),
                lost: 0,
                bytes: self.bytes.load(SeqCst),
            },
        }
    }
}

fn none() -> Failure {
    Failure::new(ErrorCode::State, "there is no trace")
}

impl Fake {
    pub(crate) fn new(folder: &Path, notifier: Notifier) -> Self {
        Self {
            folder: folder.to_owned(),
            notifier,
            shared: Arc::default(),
            began: Instant::now(),
            calls: Calls::default(),
        }
    }

    fn called(&self, what: impl Into<String>) {
        self.calls.lock().expect("no panic").push(what.into());
    }

    fn with<T>(&self, f: impl FnOnce(&mut Shared) -> T) -> T {
        f(&mut self.shared.lock().expect("no panic"))
    }

    fn pausing(&self, paused: bool) -> Result<(), Failure> {
        self.with(|s| match &s.running {
            Some(running) => {
                running.paused.store(paused, SeqCst);
                Ok(())
            }
            None => Err(none()),
        })
    }
}

impl Agent for Fake {
    fn state(&self) -> State {
        self.with(|s| match &s.running {
            Some(r) if r.thread.is_finished() => State::Idle,
            Some(r) if r.paused.load(SeqCst) => State::Paused,
            Some(_) => State::Recording,
            None => State::Idle,
        })
    }

    fn trace(&self) -> Option<Trace> {
        self.with(|s| {
            s.running
                .as_ref()
                .filter(|r| !r.thread.is_finished())
                .map(|r| r.trace.clone())
        })
    }

    fn start(&mut self, request: TraceRequest) -> Result<Trace, Failure> {
        self.called(format!(
            "start format={:?} events={:?} patterns={:?}",
            request.change.format, request.change.events, request.change.patterns
        ));
        self.with(|s| s.begin(&self.folder, request, OutputFormat::Binary))
    }

    fn stop(&mut self) -> Result<Ended, Failure> {
        self.called("stop");
        let (ended, result, _) = self.with(Shared::end).ok_or_else(none)?;
        result.map_err(|e| Failure::new(ErrorCode::Failed, e.to_string()))?;
        Ok(ended)
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.called("pause");
        self.pausing(true)
    }

    fn resume(&mut self) -> Result<(), Failure> {
        self.called("resume");
        self.pausing(false)
    }

    fn burst(
        &mut self,
        limit: BurstLimit,
        begin: Option<TraceRequest>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure> {
        self.called(format!("burst {limit}"));
        let own = begin.is_some();
        match begin {
            Some(request) => self
                .with(|s| s.begin(&self.folder, request, OutputFormat::Binary))
                .map(|_| ())?,
            None => self.pausing(false)?,
        }
        began(&self.trace().expect("it records"));
        let time = match limit {
            BurstLimit::Time(time) => time,
            BurstLimit::Events(_) => Duration::from_millis(20),
        };
        let (shared, notifier) = (Arc::clone(&self.shared), self.notifier.clone());
        std::thread::spawn(move || {
            std::thread::sleep(time);
            let mut shared = shared.lock().expect("no panic");
            if own && let Some((ended, ..)) = shared.end() {
                notifier.notify(&Notice::TraceEnded {
                    reason: EndReason::Burst,
                    ended,
                    message: String::new(),
                });
            } else if let Some(running) = &shared.running {
                running.paused.store(true, SeqCst);
                notifier.notify(&Notice::State(State::Paused));
            }
        });
        Ok(())
    }

    /// Succeeds the first time. After that, the program does not wait any longer.
    fn go(&mut self) -> Result<(), Failure> {
        let waits = !self.calls.lock().expect("no panic").contains(&"go".into());
        self.called("go");
        match waits {
            true => Ok(()),
            false => Err(Failure::new(ErrorCode::State, "it does not wait")),
        }
    }

    fn rotate(
        &mut self,
        file: Option<&str>,
        ended: &mut dyn FnMut(Ended),
    ) -> Result<Trace, Failure> {
        self.called(format!("rotate {file:?}"));
        self.with(|s| {
            let (last, _, stream) = s.end().ok_or_else(none)?;
            let request = TraceRequest {
                change: TraceChange {
                    format: Some(last.trace.format),
                    file: file.map(str::to_owned),
                    ..TraceChange::default()
                },
                stream,
            };
            ended(last);
            s.begin(&self.folder, request, OutputFormat::Binary)
        })
    }

    fn snapshot(
        &mut self,
        kind: SnapshotKind,
        file: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        self.called(format!("snapshot {kind} {file:?}"));
        match kind {
            SnapshotKind::Profile => Ok(Some(file.unwrap_or("trace-1.xml").to_owned())),
            SnapshotKind::Heap => Err(unavailable(
                "the heap is not recorded; start with events=+heap",
            )),
        }
    }

    fn force_gc(&mut self) -> Result<(), Failure> {
        self.called("force_gc");
        Ok(())
    }

    fn set_filters(&mut self, patterns: &[(bool, String)]) -> Result<u64, Failure> {
        self.called(format!("set_filters {patterns:?}"));
        Ok(patterns.len() as u64)
    }

    fn mark(&mut self, text: &str) -> Result<(), Failure> {
        self.called(format!("mark {text:?}"));
        Ok(())
    }

    fn status(&self) -> Status {
        let trace = self.with(|s| s.running.as_ref().map(Running::so_far));
        let events = trace.as_ref().map_or(0, |t| t.figures.events);
        Status {
            state: self.state(),
            pid: std::process::id(),
            version: "0.1.0".to_owned(),
            uptime: self.began.elapsed(),
            trace,
            buffer: 64 << 20,
            buffered: 0,
            memory: Some(3 << 20),
            overhead: Some(12_500),
            clients: 0,
            stream: StreamUse::Free,
            counts: vec![("calls".to_owned(), events / 2)],
            losses: vec![("overflow".to_owned(), 0)],
        }
    }

    fn stream_lost(&mut self) -> Option<Ended> {
        self.called("stream_lost");
        self.with(|s| {
            let streams = s
                .running
                .as_ref()
                .is_some_and(|r| r.trace.to == Destination::Stream);
            streams.then(|| s.end()).flatten().map(|(ended, ..)| ended)
        })
    }

    fn detach(&mut self) -> Result<Option<Ended>, Failure> {
        self.called("detach");
        Ok(self.with(Shared::end).map(|(ended, ..)| ended))
    }
}

/// A fake agent that is served on a socket until this value is dropped.
pub(crate) struct Served {
    pub(crate) socket: PathBuf,
    pub(crate) calls: Calls,
    pub(crate) notifier: Notifier,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    stopper: Stopper,
    thread: Option<JoinHandle<io::Result<Fake>>>,
}

impl Served {
    pub(crate) fn new(settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::at(folder.path().join("control.sock"), folder, settings)
    }

    pub(crate) fn at(socket: PathBuf, folder: tempfile::TempDir, settings: Settings) -> Self {
        let notifier = Notifier::default();
        let fake = Fake::new(folder.path(), notifier.clone());
        let calls = Arc::clone(&fake.calls);
        let listener = Listener::bind(&socket).expect("bound");
        let server = Server::new(fake, settings, notifier.clone());
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let (service, stopper) = Service::new(server, listener, move |line| {
            lines.lock().expect("no panic").push(line.to_owned());
        })
        .expect("descriptors");
        let thread = Some(std::thread::spawn(move || service.run()));
        Self {
            socket,
            calls,
            notifier,
            folder,
            log,
            stopper,
            thread,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::of_socket(&self.socket, LONG).expect("connected")
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.calls.lock().expect("no panic").clone()
    }

    /// Waits for the service to end by itself.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("served");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stopper.stop();
        self.join();
    }
}

/// A time limit that no test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Sends a command and returns its answer. Ignores other messages.
pub(crate) fn call(client: &mut Client, command: Command) -> Result<Answer, String> {
    client
        .call(command, |_| Ok(()))
        .map_err(|error| match error {
            ClientError::Refused(failure) => format!("{}: {}", failure.code, failure.message),
            error => error.to_string(),
        })
}

pub(crate) fn take_stream(client: &mut Client) {
    let take = Command::Stream { release: false };
    assert_eq!(call(client, take), Ok(Answer::Done));
}

pub(crate) fn start() -> Command {
    Command::Start(Start::default())
}

pub(crate) fn to_file(file: &str) -> Command {
    Command::Start(Start {
        to: Some(Destination::File),
        file: Some(file.to_owned()),
        ..Start::default()
    })
}

pub(crate) fn next_notice(client: &mut Client) -> Notice {
    loop {
        if let Incoming::Notice(notice) = client.receive(LONG).expect("connected").expect("in time")
        {
            return notice;
        }
    }
}
