//! The agent's side of the channel, for any number of clients, without input or output of its own.
//!
//! # States
//!
//! What a command may do depends on the agent's [`State`] and on who has the data stream. Any client may command; one
//! at a time has the stream.
//!
//! | Command | idle | recording | paused |
//! |---|---|---|---|
//! | `start` | yes | – | – |
//! | `stop`, `rotate`, `snapshot`, `mark` | – | yes | yes |
//! | `pause` | – | yes | – |
//! | `resume` | – | – | yes |
//! | `burst` | a trace of its own | – | resumes for a while |
//! | all others | yes | yes | yes |
//!
//! `setOutputFormat` decides as long as no trace goes to this client; later it is answered with the format in force.

use crate::agent::{Agent, Sink, TraceRequest};
use crate::answer::{Answer, EndReason, Notice, Reply, State, StreamUse};
use crate::command::{BadRequest, Command, Destination, Request, Start, unrecognized};
use crate::frame::{Decoder, FrameKind, LARGEST_DOCUMENT};
use crate::outbox::{DataStream, Outbox, Wire};
use crate::part::{ErrorCode, Failure};
use jtrail_options::{BurstLimit, Compat, OutputFormat, duration_text};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a client may take to read why it is sent away.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a [`Server`] behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// As which version of the agent.
    pub compat: Compat,
    /// How long each 64 KiB of data may wait for their client, before it is cut off. 10 s.
    pub patience: Duration,
    /// How long the rest of a frame may take. 30 s.
    pub frame_time: Duration,
    /// Clients at once; one more is answered by an error and sent away. 64.
    pub most_clients: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat: Compat::Current,
            patience: Duration::from_secs(10),
            frame_time: Duration::from_secs(30),
            most_clients: 64,
        }
    }
}

impl Settings {
    /// With this behaviour towards clients.
    #[must_use]
    pub fn with_compat(self, compat: Compat) -> Self {
        Self { compat, ..self }
    }

    /// With this patience.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// With this time for a frame.
    #[must_use]
    pub fn with_frame_time(self, frame_time: Duration) -> Self {
        Self { frame_time, ..self }
    }
}

/// Whether an agent of this version knows the command.
pub fn knows(compat: Compat, command: &str) -> bool {
    match compat {
        Compat::Current => Command::NAMES.contains(&command),
        Compat::Pre45 => command != "setOutputFormat" && Command::NAMES.contains(&command),
    }
}

/// A client's number; none is given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientId(u64);

struct Client {
    id: ClientId,
    outbox: Arc<Outbox>,
    decoder: Decoder,
    /// Since when a part of a frame is there.
    within_frame: Option<Instant>,
    /// No more is read from it; it may read its last words.
    refused: bool,
    /// Since when.
    refused_since: Option<Instant>,
    /// The format of data that go to it.
    format: OutputFormat,
}

/// The clients of an agent, and the agent.
pub struct Server<A> {
    agent: A,
    settings: Settings,
    clients: Vec<Client>,
    notifier: Notifier,
    /// Who has the data stream.
    streaming: Option<ClientId>,
    next: u64,
    detached: bool,
}

/// Tells all clients what happens by itself, from any thread.
#[derive(Clone, Default)]
pub struct Notifier {
    outboxes: Arc<Mutex<Vec<Arc<Outbox>>>>,
}

impl Notifier {
    /// Tells it. A client that does not read is not waited for.
    pub fn notify(&self, notice: &Notice) {
        let document = notice.to_bytes();
        for outbox in self.all() {
            outbox.put(FrameKind::Notice, &document);
        }
    }

    fn all(&self) -> Vec<Arc<Outbox>> {
        let outboxes = self.outboxes.lock();
        outboxes.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Outbox>>)) {
        change(&mut self.outboxes.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<A: Agent> Server<A> {
    /// A server without clients. The agent may need the notifier for itself.
    pub fn new(agent: A, settings: Settings, notifier: Notifier) -> Self {
        Self {
            agent,
            settings,
            clients: Vec::new(),
            notifier,
            streaming: None,
            next: 1,
            detached: false,
        }
    }

    /// The agent.
    pub fn agent(&self) -> &A {
        &self.agent
    }

    /// The agent, and nothing else.
    pub fn into_agent(self) -> A {
        self.agent
    }

    /// Whether a client has sent the agent away: there is nothing to serve any more.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// A client has come. One too many is told so, and none is answered.
    pub fn connect(&mut self, wire: Box<dyn Wire>) -> Option<ClientId> {
        let outbox = Outbox::new(wire);
        if self.clients.len() >= self.settings.most_clients {
            let message = format!("{} clients are connected already", self.clients.len());
            answer(
                &outbox,
                None,
                Answer::Error(Failure::new(ErrorCode::Busy, message)),
            );
            outbox.finish();
            outbox.close("there are too many");
            return None;
        }
        let id = ClientId(self.next);
        self.next += 1;
        self.notifier.change(|all| all.push(Arc::clone(&outbox)));
        self.clients.push(Client {
            id,
            outbox,
            decoder: Decoder::for_agent(),
            within_frame: None,
            refused: false,
            refused_since: None,
            // Without a wish it is XML, whatever the agent's options say: an old client expects that.
            format: OutputFormat::Xml,
        });
        Some(id)
    }

    /// A client has sent bytes, at most 64 KiB. Answers follow at once, unless too many of them wait to be read.
    pub fn received(&mut self, id: ClientId, bytes: &[u8], now: Instant) {
        if let Some(client) = self.client(id).filter(|c| !c.refused) {
            client.decoder.feed(bytes);
        }
        self.carry_out(id, now);
    }

    /// Carries out the commands that are there, as long as the client reads what it is answered.
    fn carry_out(&mut self, id: ClientId, now: Instant) {
        while let Some(client) = self
            .client(id)
            .filter(|c| !c.refused && !c.outbox.is_full())
        {
            match client.decoder.next_frame() {
                Ok(None) => {
                    let within = client.decoder.is_within_frame();
                    client.within_frame = within.then(|| client.within_frame.unwrap_or(now));
                    return;
                }
                Ok(Some(frame)) => {
                    client.within_frame = None;
                    self.document(id, &frame.payload);
                }
                Err(error) => self.refuse(id, error.to_string()),
            }
        }
    }

    /// A client has gone away, or nothing more can be sent to it.
    pub fn disconnect(&mut self, id: ClientId) {
        let Some(at) = self.clients.iter().position(|c| c.id == id) else {
            return;
        };
        let client = self.clients.remove(at);
        let message = client.outbox.closed();
        client.outbox.close("it is gone");
        self.notifier
            .change(|all| all.retain(|o| !Arc::ptr_eq(o, &client.outbox)));
        if self.streaming != Some(id) {
            return;
        }
        self.streaming = None;
        let ended = self.agent.stream_lost();
        let message = message.unwrap_or_else(|| "it is gone".to_owned());
        let message = format!("the client that had the data stream: {message}");
        if let Some(ended) = ended {
            self.tell(&Notice::TraceEnded {
                reason: EndReason::StreamLost,
                ended,
                message: message.clone(),
            });
        }
        self.tell(&Notice::StreamLost { message });
    }

    /// Time passes, or a client can take more: waiting bytes are sent, and commands that had to wait for that are carried
    /// out. Who leaves half a frame for too long is sent away.
    pub fn tick(&mut self, now: Instant) {
        for client in &self.clients {
            client.outbox.flush();
        }
        let ids: Vec<ClientId> = self.clients.iter().map(|c| c.id).collect();
        for id in ids {
            self.carry_out(id, now);
        }
        let time = self.settings.frame_time;
        let late: Vec<ClientId> = self
            .clients
            .iter()
            .filter(|c| {
                c.within_frame
                    .is_some_and(|since| now.saturating_duration_since(since) > time)
            })
            .map(|c| c.id)
            .collect();
        for id in late {
            self.refuse(
                id,
                format!(
                    "the rest of a frame did not come within {}",
                    duration_text(time)
                ),
            );
        }
        for client in &mut self.clients {
            let since = client
                .refused
                .then(|| *client.refused_since.get_or_insert(now));
            if since.is_some_and(|since| now.saturating_duration_since(since) > LAST_WORDS) {
                client.outbox.close("it does not read why it is sent away");
            }
        }
    }

    /// Whether the client is still there.
    pub fn has_client(&self, id: ClientId) -> bool {
        self.clients.iter().any(|c| c.id == id)
    }

    /// Whether more may be read from the client: not while it does not read its answers, nor after a wrong frame.
    pub fn wants_input(&self, id: ClientId) -> bool {
        let client = self.clients.iter().find(|c| c.id == id);
        client.is_some_and(|c| !c.refused && !c.outbox.is_full())
    }

    /// Whether bytes wait for the client; [`Self::tick`] sends them.
    pub fn has_output(&self, id: ClientId) -> bool {
        let client = self.clients.iter().find(|c| c.id == id);
        client.is_some_and(|c| c.outbox.is_waiting())
    }

    /// The agent leaves for a reason of its own: everyone is told, and sent away.
    pub fn end(&mut self, reason: EndReason) {
        self.tell(&Notice::Ending(reason));
        for client in &mut self.clients {
            client.refused = true;
            client.outbox.finish();
        }
    }

    fn client(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.iter_mut().find(|c| c.id == id)
    }

    fn tell(&self, notice: &Notice) {
        self.notifier.notify(notice);
    }

    fn refuse(&mut self, id: ClientId, message: String) {
        if let Some(client) = self.client(id) {
            client.refused = true;
            client.within_frame = None;
            let failure = Failure::new(ErrorCode::Frame, message);
            answer(&client.outbox, None, Answer::Error(failure));
            client.outbox.finish();
        }
    }

    /// Carries out what a document asks for, and answers it.
    fn document(&mut self, id: ClientId, document: &[u8]) {
        let (request_id, result) = match Request::parse(document) {
            Ok(request) => {
                let command = request.command;
                let result = match knows(self.settings.compat, command.name()) {
                    true => self.execute(id, command),
                    false => Err(unrecognized(command.name())),
                };
                (request.id, result)
            }
            Err(BadRequest { id, failure }) => (id, Err(failure)),
        };
        if let Some(client) = self.client(id) {
            answer(
                &client.outbox,
                request_id,
                result.unwrap_or_else(Answer::Error),
            );
        }
        if self.detached {
            self.end(EndReason::Detach);
        }
    }

    fn execute(&mut self, id: ClientId, command: Command) -> Result<Answer, Failure> {
        match command {
            Command::SetOutputFormat { format } => self.set_output_format(id, &format),
            Command::Start(start) => {
                self.idle()?;
                let request = self.trace_request(id, start)?;
                let trace = self.agent.start(request)?;
                self.tell(&Notice::TraceStarted(trace.clone()));
                Ok(Answer::Started(trace))
            }
            Command::Stop => {
                self.under_way()?;
                let ended = self.agent.stop()?;
                self.tell(&Notice::TraceEnded {
                    reason: EndReason::Stop,
                    ended: ended.clone(),
                    message: String::new(),
                });
                Ok(Answer::Ended(ended))
            }
            Command::Pause => {
                if self.under_way()? == State::Paused {
                    return Err(state("it is paused already"));
                }
                self.agent.pause()?;
                self.tell(&Notice::State(State::Paused));
                Ok(Answer::Done)
            }
            Command::Resume => {
                if self.under_way()? == State::Recording {
                    return Err(state("it is not paused"));
                }
                self.agent.resume()?;
                self.tell(&Notice::State(State::Recording));
                Ok(Answer::Done)
            }
            Command::Burst(limit) => self.burst(id, limit),
            Command::Rotate { file } => self.rotate(file.as_deref()),
            Command::Snapshot { kind, file } => {
                self.under_way()?;
                let file = self.agent.snapshot(kind, file.as_deref())?;
                Ok(Answer::Snapshot { kind, file })
            }
            Command::ForceGc => self.agent.force_gc().map(|()| Answer::Done),
            Command::SetFilters { patterns } => {
                let retransformed = self.agent.set_filters(&patterns)?;
                Ok(Answer::Filters { retransformed })
            }
            Command::Mark { text } => {
                self.under_way()?;
                self.agent.mark(&text).map(|()| Answer::Done)
            }
            Command::Status => {
                let mut status = self.agent.status();
                // There are never so many.
                status.clients = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
                status.stream = match self.streaming {
                    None => StreamUse::Free,
                    Some(other) if other != id => StreamUse::Taken,
                    Some(_) => StreamUse::Yours,
                };
                Ok(Answer::Status(status))
            }
            Command::Stream { release: false } => match self.streaming {
                Some(other) if other != id => Err(taken()),
                _ => {
                    self.streaming = Some(id);
                    Ok(Answer::Done)
                }
            },
            Command::Stream { release: true } => {
                if self.streaming != Some(id) {
                    return Err(state("this client does not have the data stream"));
                }
                if self.streamed_format().is_some() {
                    return Err(state("a trace goes to the stream; stop it first"));
                }
                self.streaming = None;
                Ok(Answer::Done)
            }
            Command::Detach => {
                let ended = self.agent.detach()?;
                if let Some(ended) = ended {
                    self.tell(&Notice::TraceEnded {
                        reason: EndReason::Detach,
                        ended,
                        message: String::new(),
                    });
                }
                self.detached = true;
                Ok(Answer::Done)
            }
        }
    }

    fn set_output_format(&mut self, id: ClientId, word: &str) -> Result<Answer, Failure> {
        let streamed = self
            .streamed_format()
            .filter(|_| self.streaming == Some(id));
        let wish = OutputFormat::parse(word)
            .ok()
            .filter(|f| *f != OutputFormat::None);
        let Some(client) = self.client(id) else {
            return Err(Failure::new(ErrorCode::Failed, "the client is gone"));
        };
        if let (None, Some(format)) = (streamed, wish) {
            client.format = format;
        }
        Ok(Answer::EnabledOutputFormat(
            streamed.unwrap_or(client.format),
        ))
    }

    /// What a `start` or a `burst` of this client asks of the agent.
    fn trace_request(&mut self, id: ClientId, start: Start) -> Result<TraceRequest, Failure> {
        let patience = self.settings.patience;
        let has_stream = self.streaming == Some(id);
        let stream = match start.to {
            Some(to) => to == Destination::Stream,
            None => has_stream && start.file.is_none(),
        };
        if stream && !has_stream {
            return Err(match self.streaming {
                Some(_) => taken(),
                None => state("take the data stream first"),
            });
        }
        let (sink, format) = match self.client(id) {
            Some(client) if stream => {
                if start.format == Some(OutputFormat::None) {
                    let problem = "nothing would go to the stream";
                    return Err(Failure::at(ErrorCode::Invalid, "start/@format", problem));
                }
                client.format = start.format.unwrap_or(client.format);
                let sink = DataStream::new(Arc::clone(&client.outbox), patience);
                (Sink::Stream(sink), Some(client.format))
            }
            _ => (Sink::File(start.file), start.format),
        };
        Ok(TraceRequest {
            sink,
            format,
            events: start.events,
            patterns: start.patterns,
        })
    }

    fn burst(&mut self, id: ClientId, limit: BurstLimit) -> Result<Answer, Failure> {
        match self.agent.state() {
            State::Recording => return Err(state("it is recording already")),
            State::Paused => {
                self.agent.burst(limit, None)?;
                self.tell(&Notice::State(State::Recording));
            }
            State::Idle => {
                let request = self.trace_request(id, Start::default())?;
                self.agent.burst(limit, Some(request))?;
                if let Some(trace) = self.agent.trace() {
                    self.tell(&Notice::TraceStarted(trace));
                }
            }
        }
        Ok(Answer::Done)
    }

    fn rotate(&mut self, file: Option<&str>) -> Result<Answer, Failure> {
        self.under_way()?;
        if file.is_some() && self.streamed_format().is_some() {
            let problem = "the trace goes to the stream, which has no file";
            return Err(Failure::at(ErrorCode::Invalid, "rotate/@file", problem));
        }
        let notifier = self.notifier.clone();
        let mut last = None;
        let started = self.agent.rotate(file, &mut |ended| {
            notifier.notify(&Notice::TraceEnded {
                reason: EndReason::Rotate,
                ended: ended.clone(),
                message: String::new(),
            });
            last = Some(ended);
        })?;
        let ended = last.ok_or_else(|| Failure::new(ErrorCode::Failed, "nothing has ended"))?;
        self.tell(&Notice::TraceStarted(started.clone()));
        Ok(Answer::Rotated { ended, started })
    }

    /// The format of the trace that goes to the stream, if there is one.
    fn streamed_format(&self) -> Option<OutputFormat> {
        let trace = self.agent.trace()?;
        (trace.to == Destination::Stream).then_some(trace.format)
    }

    fn idle(&self) -> Result<(), Failure> {
        match self.agent.state() {
            State::Idle => Ok(()),
            _ => Err(state("a trace is under way; stop it first")),
        }
    }

    fn under_way(&self) -> Result<State, Failure> {
        match self.agent.state() {
            State::Idle => Err(state("there is no trace")),
            state => Ok(state),
        }
    }
}

fn answer(outbox: &Outbox, id: Option<String>, answer: Answer) {
    let mut reply = Reply { id, answer };
    let mut document = reply.to_bytes();
    if document.len() > LARGEST_DOCUMENT {
        reply.answer = Answer::Error(Failure::new(ErrorCode::Failed, "the answer is too large"));
        document = reply.to_bytes();
    }
    outbox.put(FrameKind::Answer, &document);
}

fn state(message: &str) -> Failure {
    Failure::new(ErrorCode::State, message)
}

fn taken() -> Failure {
    Failure::new(ErrorCode::Busy, "another client has the data stream")
}
