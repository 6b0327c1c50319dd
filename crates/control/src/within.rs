//! Commands from within the process: another thread passes them to the service, and waits for the
//! answer.

use crate::agent::Agent;
use crate::answer::Answer;
use crate::command::Command;
use crate::part::{ErrorCode, Failure};
use crate::server::Server;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// A command, and the channel for its answer.
type Call = (Command, SyncSender<Result<Answer, Failure>>);

/// Sends commands to the [`Service`](crate::Service) of the same process, from any thread.
#[derive(Debug)]
pub struct Caller {
    calls: std::sync::mpsc::Sender<Call>,
    bell: UnixStream,
}

/// The service's end of the channel for commands.
#[derive(Debug)]
pub struct Calls {
    calls: Receiver<Call>,
    pub(crate) bell: UnixStream,
}

/// Creates both ends of the channel. Commands wait until a service has the [`Calls`].
///
/// # Errors
/// If the system has no more descriptors.
pub fn calls() -> io::Result<(Caller, Calls)> {
    let (bell, rung) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    rung.set_nonblocking(true)?;
    let (sender, calls) = channel();
    let caller = Caller {
        calls: sender,
        bell,
    };
    Ok((caller, Calls { calls, bell: rung }))
}

impl Caller {
    /// Executes a command, after commands of clients that arrived earlier. Waits for its answer.
    ///
    /// # Errors
    /// The failure that a client would get as the answer, or a failure because the service has
    /// ended.
    pub fn call(&self, command: Command) -> Result<Answer, Failure> {
        let detached =
            || Failure::new(ErrorCode::Failed, "the agent has left, or the program ends");
        let (answer, answered) = sync_channel(1);
        self.calls.send((command, answer)).map_err(|_| detached())?;
        let _ = (&self.bell).write(&[1]); // fails if the buffer is full: the service wakes anyway
        answered.recv().map_err(|_| detached())?
    }
}

impl Calls {
    /// Executes the commands that have arrived.
    pub(crate) fn carry_out(&self, server: &mut Server<impl Agent>) {
        let _ = (&self.bell).read(&mut [0; 64]); // if there are more bytes, they wake the service again
        for (command, answer) in self.calls.try_iter() {
            let _ = answer.send(server.command(command)); // fails if the caller is gone
        }
    }
}
