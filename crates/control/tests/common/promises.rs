//! The promises that the channel keeps whatever a client sends. The fuzz target uses them too.

use jtrail_control::frame::{Decoder, Frame, FrameError, FrameKind, MAX_DOCUMENT_BYTES, encode};
use jtrail_control::*;
use jtrail_options::{BurstLimit, OutputFormat, TraceChange};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sends the bytes as a client, and then each of their lines as a command.
///
/// The bytes must decode to the same frames in one piece and in two pieces, split at `cut`. A
/// document that is a valid command must be the same after it is parsed and written. The server
/// must answer each command exactly once, and refuse bytes that are not frames. Clients must be
/// able to read all of the server's output.
pub fn keep(data: &[u8], cut: usize) {
    let whole = frames(&[data]);
    let (begin, end) = data.split_at(cut);
    assert_eq!(frames(&[begin, end]), whole);
    serve(data, whole.0.len() + usize::from(whole.1.is_some()));

    let mut lines = Vec::new();
    let mut count = 0;
    for line in data
        .split(|&b| b == b'\n')
        .filter(|line| line.len() <= MAX_DOCUMENT_BYTES)
    {
        document(line);
        encode(FrameKind::Command, line, &mut lines);
        count += 1;
    }
    serve(&lines, count);
}

fn frames(pieces: &[&[u8]]) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = Decoder::for_agent();
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

/// Checks that a valid document is the same after it is parsed and written.
fn document(bytes: &[u8]) {
    if let Ok(request) = Request::parse(bytes) {
        assert_eq!(Request::parse(&request.to_bytes()), Ok(request));
    }
    if let Ok(reply) = Reply::parse(bytes) {
        assert_eq!(Reply::parse(&reply.to_bytes()), Ok(reply));
    }
    if let Ok(notice) = Notice::parse(bytes) {
        assert_eq!(Notice::parse(&notice.to_bytes()), Ok(notice));
    }
}

/// A client that stores all it gets.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Wire for Kept {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn wait(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) {}
}

/// Passes the bytes to the servers of an idle agent and of a flight recorder. Each server must send
/// `expected` answers, unless a client detaches the agent.
fn serve(data: &[u8], expected: usize) {
    for puppet in [Puppet::default(), Puppet::recorder()] {
        serve_by(puppet, data, expected);
    }
}

fn serve_by(puppet: Puppet, data: &[u8], expected: usize) {
    let kept = Kept::default();
    let mut server = Server::new(puppet, Settings::default(), Notifier::default());
    let id = server
        .connect(Box::new(kept.clone()))
        .expect("the first client");
    let now = Instant::now();
    for piece in data.chunks(1 << 10) {
        server.received(id, piece, now);
    }
    let detached = server.is_detached();
    server.disconnect(id);
    let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut decoder = Decoder::for_client();
    decoder.feed(&bytes);
    let mut answers = 0;
    while let Some(frame) = decoder
        .next_frame()
        .expect("what the server sends are frames")
    {
        if frame.kind == FrameKind::Notice {
            Notice::parse(&frame.payload).expect("a notice");
        } else {
            Reply::parse(&frame.payload).expect("an answer");
            answers += 1;
        }
    }
    assert!(!decoder.is_within_frame());
    assert!(answers == expected || (detached && answers < expected));
}

/// An agent that records nothing, and only keeps track of its state.
#[derive(Default)]
struct Puppet {
    trace: Option<Trace>,
    paused: bool,
}

impl Puppet {
    /// Creates a flight recorder.
    fn recorder() -> Self {
        let trace = Trace {
            format: OutputFormat::Trail,
            to: Destination::Ring,
            file: None,
        };
        Self {
            trace: Some(trace),
            paused: false,
        }
    }

    fn is_recorder(&self) -> bool {
        let is_ring = |trace: &Trace| trace.to == Destination::Ring;
        self.trace.as_ref().is_some_and(is_ring)
    }

    /// Checks that a trace is active and continuously written.
    fn assert_written(&self) {
        assert!(self.trace.is_some() && !self.is_recorder());
    }

    fn end(&mut self) -> Option<Ended> {
        let trace = self.trace.take()?;
        let figures = Figures::default();
        Some(Ended { trace, figures })
    }
}

impl Agent for Puppet {
    fn state(&self) -> State {
        match self.trace {
            None => State::Idle,
            Some(_) if self.paused => State::Paused,
            Some(_) => State::Recording,
        }
    }

    fn trace(&self) -> Option<Trace> {
        self.trace.clone()
    }

    fn start(&mut self, request: TraceRequest) -> Result<Trace, Failure> {
        assert_eq!(self.state(), State::Idle);
        let TraceChange { format, file, .. } = request.change;
        let (to, file) = match request.stream {
            None => (Destination::File, Some(file.unwrap_or_default())),
            Some(_) => {
                assert!(format.is_some() && file.is_none());
                (Destination::Stream, None)
            }
        };
        let format = format.unwrap_or(OutputFormat::Binary);
        let trace = Trace { format, to, file };
        self.paused = false;
        self.trace = Some(trace.clone());
        Ok(trace)
    }

    fn stop(&mut self) -> Result<Ended, Failure> {
        self.assert_written();
        Ok(self.end().expect("a trace"))
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.assert_written();
        assert_eq!(self.state(), State::Recording);
        self.paused = true;
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Failure> {
        assert_eq!(self.state(), State::Paused);
        self.paused = false;
        Ok(())
    }

    fn burst(
        &mut self,
        _: BurstLimit,
        begin: Option<TraceRequest>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure> {
        match begin {
            Some(request) => self.start(request).map(|_| ())?,
            None => self.resume()?,
        }
        began(&self.trace().expect("it records"));
        Ok(())
    }

    fn rotate(
        &mut self,
        file: Option<&str>,
        ended: &mut dyn FnMut(Ended),
    ) -> Result<Trace, Failure> {
        self.assert_written();
        let last = self.end().expect("a trace");
        let mut trace = last.trace.clone();
        assert!(trace.to == Destination::File || file.is_none());
        ended(last);
        trace.file = file.map(str::to_owned).or(trace.file);
        self.trace = Some(trace.clone());
        Ok(trace)
    }

    fn save(&mut self, file: Option<&str>) -> Result<Ended, Failure> {
        assert_ne!(self.state(), State::Idle);
        let mut trace = self.trace.clone().expect("a trace");
        if !self.is_recorder() {
            return Err(unavailable(NOT_KEPT));
        }
        (trace.to, trace.file) = (Destination::File, Some(file.unwrap_or("newest").to_owned()));
        let figures = Figures::default();
        Ok(Ended { trace, figures })
    }

    fn snapshot(&mut self, _: SnapshotKind, file: Option<&str>) -> Result<Option<String>, Failure> {
        self.assert_written();
        Ok(file.map(str::to_owned))
    }

    fn force_gc(&mut self) -> Result<(), Failure> {
        Err(unavailable("no heap"))
    }

    fn set_filters(&mut self, patterns: &[(bool, String)]) -> Result<u64, Failure> {
        Ok(patterns.len() as u64)
    }

    fn mark(&mut self, text: &str) -> Result<(), Failure> {
        assert!(self.state() != State::Idle && !text.is_empty());
        Ok(())
    }

    fn status(&self) -> Status {
        let trace = self.trace.clone().map(|trace| {
            let figures = Figures::default();
            Ended { trace, figures }
        });
        Status {
            state: self.state(),
            pid: 1,
            version: String::new(),
            uptime: Duration::ZERO,
            trace,
            buffer: 0,
            buffered: 0,
            memory: None,
            overhead: None,
            clients: 0,
            stream: StreamUse::Free,
            counts: Vec::new(),
            losses: Vec::new(),
        }
    }

    fn stream_lost(&mut self) -> Option<Ended> {
        let streams = self
            .trace
            .as_ref()
            .is_some_and(|t| t.to == Destination::Stream);
        streams.then(|| self.end()).flatten()
    }

    fn detach(&mut self) -> Result<Option<Ended>, Failure> {
        Ok(self.end())
    }
}
