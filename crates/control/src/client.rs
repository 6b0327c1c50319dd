//! The client's side of the channel: blocking calls with timeouts.

use crate::answer::{Answer, Notice, Reply, Unreadable};
use crate::command::{Command, Request};
use crate::frame::{Decoder, FrameError, FrameKind, MAX_DOCUMENT_BYTES, encode};
use crate::part::{ErrorCode, Failure};
use crate::socket::{connect_to_path, connect_to_process, peer};
use jtrail_options::OutputFormat;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The agent closed the connection.
    #[error("the agent has closed the connection")]
    Closed,
    /// The agent did not answer in time.
    #[error("the agent did not answer within {0:?}")]
    TimedOut(Duration),
    /// The agent refused the command, or failed to execute it.
    #[error("{0}")]
    Refused(Failure),
    /// The received bytes are not a frame.
    #[error("what answers is no jtrail agent")]
    Frame(#[from] FrameError),
    /// The received document is not a valid answer or notice.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The command is too large.
    #[error("the command has {0} bytes, at most {MAX_DOCUMENT_BYTES} are allowed")]
    TooLarge(usize),
}

/// A message from the agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// An answer to a command.
    Reply(Reply),
    /// An unsolicited notice.
    Notice(Notice),
    /// Bytes of the trace.
    Data(Vec<u8>),
}

/// A connection to an agent.
#[derive(Debug)]
pub struct Client {
    socket: UnixStream,
    decoder: Decoder,
    timeout: Duration,
    next: u64,
}

impl Client {
    /// Connects to the agent of a process. Calls fail if nothing arrives for `timeout`.
    ///
    /// # Errors
    /// If the process does not exist, no agent listens, or the listener belongs to another user.
    pub fn of_process(pid: u32, timeout: Duration) -> Result<Self, ClientError> {
        Self::new(connect_to_process(pid, timeout)?, timeout)
    }

    /// Connects to the agent whose socket has this path. Calls fail if nothing arrives for
    /// `timeout`.
    ///
    /// # Errors
    /// If nothing listens there, or the listener belongs to another user.
    pub fn of_socket(path: &Path, timeout: Duration) -> Result<Self, ClientError> {
        Self::new(connect_to_path(path, timeout)?, timeout)
    }

    /// Returns the id of the agent's process; `None` if it is not visible from here.
    pub fn pid(&self) -> Option<u32> {
        peer(&self.socket).ok()?.pid
    }

    fn new(socket: UnixStream, timeout: Duration) -> Result<Self, ClientError> {
        socket.set_write_timeout(Some(timeout.max(Duration::from_millis(1))))?;
        Ok(Self {
            socket,
            decoder: Decoder::for_client(),
            timeout,
            next: 1,
        })
    }

    /// Sends a command and waits for its answer. Other messages that arrive in between are passed
    /// to `other`.
    ///
    /// # Errors
    /// If there is no answer, or the answer is an error.
    pub fn call(
        &mut self,
        command: Command,
        mut other: impl FnMut(Incoming) -> io::Result<()>,
    ) -> Result<Answer, ClientError> {
        let id = self.send(command)?;
        loop {
            match self.receive(self.timeout)? {
                None => return Err(ClientError::TimedOut(self.timeout)),
                Some(Incoming::Reply(reply)) if reply.id.as_ref() == Some(&id) => {
                    return answered(reply);
                }
                // An answer without an id: the agent could not parse the command, or it is about to
                // disconnect.
                Some(Incoming::Reply(reply @ Reply { id: None, .. })) => return answered(reply),
                Some(incoming) => other(incoming)?,
            }
        }
    }

    /// Requests a format for the data. Returns the format that the data will have. It is XML if the
    /// agent does not know the command or gives an unexpected answer.
    ///
    /// # Errors
    /// If there is no answer at all.
    pub fn set_output_format(&mut self, format: OutputFormat) -> Result<OutputFormat, ClientError> {
        let format = format.word().to_owned();
        match self.call(Command::SetOutputFormat { format }, |_| Ok(())) {
            Ok(Answer::EnabledOutputFormat(format)) => Ok(format),
            Ok(_) | Err(ClientError::Refused(_) | ClientError::Unreadable(_)) => {
                Ok(OutputFormat::Xml)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a command. Returns the `id` that its answer will have.
    ///
    /// # Errors
    /// If the command can't be sent.
    pub fn send(&mut self, command: Command) -> Result<String, ClientError> {
        let id = self.next.to_string();
        self.next += 1;
        let request = Request {
            id: Some(id.clone()),
            command,
        };
        let document = request.to_bytes();
        if document.len() > MAX_DOCUMENT_BYTES {
            return Err(ClientError::TooLarge(document.len()));
        }
        let mut frame = Vec::new();
        encode(FrameKind::Command, &document, &mut frame);
        // A broken pipe is not reported here. Before closing the connection, the agent may have
        // sent the reason, which can still be read.
        match self.socket.write_all(&frame) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.into()),
            _ => Ok(id),
        }
    }

    /// Waits for the next message, at most for `time`. Returns `None` if none arrived.
    ///
    /// # Errors
    /// If the connection has ended, or a message is not understood.
    pub fn receive(&mut self, time: Duration) -> Result<Option<Incoming>, ClientError> {
        let start = Instant::now();
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(Some(match frame.kind {
                    FrameKind::Data => Incoming::Data(frame.payload),
                    FrameKind::Notice => match Notice::parse(&frame.payload) {
                        Ok(notice) => Incoming::Notice(notice),
                        // A kind of notice that only later versions of the agent send.
                        Err(e) if e.0.code == ErrorCode::Unrecognized => continue,
                        Err(e) => return Err(e.into()),
                    },
                    _ => Incoming::Reply(Reply::parse(&frame.payload)?),
                }));
            }
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(n) => self.decoder.feed(&piece[..n]),
                Err(e) => match e.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Ok(None),
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::ConnectionReset => return Err(ClientError::Closed),
                    _ => return Err(e.into()),
                },
            }
        }
    }
}

fn answered(reply: Reply) -> Result<Answer, ClientError> {
    match reply.answer {
        Answer::Error(failure) => Err(ClientError::Refused(failure)),
        answer => Ok(answer),
    }
}
