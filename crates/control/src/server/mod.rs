//! The agent's side of the channel for any number of clients, without input or output of its own.
//!
//! # States
//!
//! Which commands are allowed depends on the agent's [`State`](crate::State) and on the use of the
//! data stream. Any client may send commands. Only one client at a time has the stream.
//!
//! | Command | idle | recording | paused |
//! |---|---|---|---|
//! | `start` | yes | – | – |
//! | `stop`, `rotate`, `snapshot`, `mark` | – | yes | yes |
//! | `pause` | – | yes | – |
//! | `resume` | – | – | yes |
//! | `burst` | begins a trace of its own | – | resumes for a limited time |
//! | `save` | – | only with a flight recorder | – |
//! | all others | yes | yes | yes |
//!
//! `setOutputFormat` has an effect only while no trace goes to this client. Otherwise, the answer
//! is the format of that trace.

mod execute;
mod settings;

pub use settings::{Settings, knows};

use crate::agent::Agent;
use crate::answer::{Answer, EndReason, Notice, Reply};
use crate::command::{BadRequest, Request, unrecognized};
use crate::frame::{Decoder, FrameKind, MAX_DOCUMENT_BYTES};
use crate::outbox::{Outbox, Wire};
use crate::part::{ErrorCode, Failure};
use jtrail_options::{OutputFormat, duration_text};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time that a refused client gets to read the reason, before it is disconnected.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of a client, never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientId(u64);

struct Client {
    id: ClientId,
    outbox: Arc<Outbox>,
    decoder: Decoder,
    /// The time since which a frame is incomplete.
    within_frame: Option<Instant>,
    /// True if the server reads nothing more from the client. The client may still read the bytes
    /// that are queued for it.
    refused: bool,
    /// The time of the first [`Server::tick`] after the refusal.
    refused_since: Option<Instant>,
    /// The format of data for the client.
    format: OutputFormat,
}

/// An agent with its clients.
pub struct Server<A> {
    agent: A,
    settings: Settings,
    clients: Vec<Client>,
    notifier: Notifier,
    /// The client that has the data stream.
    streaming: Option<ClientId>,
    next: u64,
    detached: bool,
}

/// Sends notices to all clients, from any thread.
#[derive(Clone, Default)]
pub struct Notifier {
    outboxes: Arc<Mutex<Vec<Arc<Outbox>>>>,
}

impl Notifier {
    /// Sends a notice. Does not wait for clients that don't read.
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
    /// Creates a server without clients. The agent may need a copy of the notifier for itself.
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

    /// Returns the agent.
    pub fn agent(&self) -> &A {
        &self.agent
    }

    /// Returns the agent, and drops the rest.
    pub fn into_agent(self) -> A {
        self.agent
    }

    /// Returns true if a client has detached the agent. The server has nothing more to do then.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Handles a new client. If there are too many clients, sends an error to the new one, and
    /// returns `None`.
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
            // The format is XML until the client requests another one, whatever the agent's options
            // are. Old clients expect XML.
            format: OutputFormat::Xml,
        });
        Some(id)
    }

    /// Handles bytes from a client, at most 64 KiB. Commands are answered immediately, unless too
    /// many answers are queued.
    pub fn received(&mut self, id: ClientId, bytes: &[u8], now: Instant) {
        if let Some(client) = self.client(id).filter(|c| !c.refused) {
            client.decoder.feed(bytes);
        }
        self.carry_out(id, now);
    }

    /// Executes the received commands, as long as the client reads its answers.
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

    /// Handles the end of a connection: the client has disconnected, or can't be reached any more.
    pub fn disconnect(&mut self, id: ClientId) {
        let Some(at) = self.clients.iter().position(|c| c.id == id) else {
            return;
        };
        let client = self.clients.remove(at);
        let message = client.outbox.closed();
        client.outbox.close("it has disconnected");
        self.notifier
            .change(|all| all.retain(|o| !Arc::ptr_eq(o, &client.outbox)));
        if self.streaming != Some(id) {
            return;
        }
        self.streaming = None;
        let ended = self.agent.stream_lost();
        let message = message.unwrap_or_else(|| "it has disconnected".to_owned());
        let message = format!("the client that had the data stream: {message}");
        if let Some(ended) = ended {
            self.notify(&Notice::TraceEnded {
                reason: EndReason::StreamLost,
                ended,
                message: message.clone(),
            });
        }
        self.notify(&Notice::StreamLost { message });
    }

    /// Makes the agent complete a trace that has ended without a command.
    pub fn settle(&mut self) {
        self.agent.settle();
    }

    /// Does what is due at the time `now`: sends queued bytes to clients that can take them,
    /// executes commands that had to wait for these bytes, and disconnects clients whose frame is
    /// incomplete for too long.
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
            if since.is_some_and(|since| now.saturating_duration_since(since) > CLOSE_TIMEOUT) {
                client.outbox.close("it does not read why it is sent away");
            }
        }
    }

    /// Returns true if the client is still connected.
    pub fn has_client(&self, id: ClientId) -> bool {
        self.clients.iter().any(|c| c.id == id)
    }

    /// Returns true if more may be read from the client. It is false while the client does not read
    /// its answers, and after an invalid frame.
    pub fn wants_input(&self, id: ClientId) -> bool {
        let client = self.clients.iter().find(|c| c.id == id);
        client.is_some_and(|c| !c.refused && !c.outbox.is_full())
    }

    /// Returns true if bytes are queued for the client. [`Self::tick`] sends them.
    pub fn has_output(&self, id: ClientId) -> bool {
        let client = self.clients.iter().find(|c| c.id == id);
        client.is_some_and(|c| c.outbox.is_waiting())
    }

    /// Notifies all clients that the agent ends, and disconnects them.
    pub fn end(&mut self, reason: EndReason) {
        self.notify(&Notice::Ending(reason));
        for client in &mut self.clients {
            client.refused = true;
            client.outbox.finish();
        }
    }

    fn client(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.iter_mut().find(|c| c.id == id)
    }

    fn notify(&self, notice: &Notice) {
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

    /// Executes the command in a document, and answers it.
    fn document(&mut self, id: ClientId, document: &[u8]) {
        let (request_id, result) = match Request::parse(document) {
            Ok(request) => {
                let command = request.command;
                let result = match knows(self.settings.compat, command.name()) {
                    true => {
                        self.agent.settle();
                        self.execute(id, command)
                    }
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
}

fn answer(outbox: &Outbox, id: Option<String>, answer: Answer) {
    let mut reply = Reply { id, answer };
    let mut document = reply.to_bytes();
    if document.len() > MAX_DOCUMENT_BYTES {
        reply.answer = Answer::Error(Failure::new(ErrorCode::Failed, "the answer is too large"));
        document = reply.to_bytes();
    }
    outbox.put(FrameKind::Answer, &document);
}
