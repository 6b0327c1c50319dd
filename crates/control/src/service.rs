//! A [`Server`] on a socket: one thread that waits for clients and their messages.

use crate::agent::Agent;
use crate::answer::EndReason;
use crate::command::Command;
use crate::outbox::Wire;
use crate::server::{ClientId, Server};
use crate::socket::Listener;
use crate::within::Calls;
use jtrail_options::duration_text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of bytes read from one client before the next one's turn.
const PIECE: usize = 64 << 10;
/// While there are clients, incomplete frames and queued bytes are checked at this interval.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};
/// The pause after a failed accept, for instance for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// The time that clients get to read the last messages.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// The messages of a [`Stopper`].
const STOP: u8 = 1;
const WAKE: u8 = 2;

struct Socket(UnixStream);

impl Wire for Socket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // Suppresses SIGPIPE: the program's handler must not run because of the agent.
        Ok(send(
            &self.0,
            bytes,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        )?)
    }

    fn wait(&self, at_most: Duration) -> io::Result<()> {
        let time = Timespec::try_from(at_most).unwrap_or(TICK);
        match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both); // fails if already closed
    }
}

/// Ends or wakes a [`Service`], from any thread. Dropping it has no effect.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// Makes [`Service::run`] return soon.
    pub fn stop(&self) {
        let _ = (&self.0).write_all(&[STOP]); // fails if the service has ended or was already notified
    }

    /// Makes the service call [`Agent::settle`] soon.
    pub fn wake(&self) {
        let _ = (&self.0).write_all(&[WAKE]); // fails if the service has ended or was already notified
    }
}

/// A server together with its socket.
pub struct Service<A> {
    server: Server<A>,
    /// The listening socket; `None` if the agent accepts no clients.
    listener: Option<Listener>,
    /// Commands from within the process.
    calls: Option<Calls>,
    clients: Vec<(ClientId, UnixStream)>,
    stop: UnixStream,
    log: Box<dyn Fn(&str) + Send>,
    /// True if refused connections were logged.
    refusal_reported: bool,
    /// The rule for detaching without clients; `None` if the agent stays.
    linger: Option<Linger>,
}

/// The rule by which an agent without clients detaches.
struct Linger {
    /// The time that the agent stays without clients.
    time: Duration,
    /// True after the agent was set up. Before that, the time does not count.
    is_set_up: Arc<AtomicBool>,
    /// The time since which there are no clients.
    since: Option<Instant>,
}

impl Linger {
    /// Returns true if it is time to detach.
    fn is_over(&mut self, has_clients: bool, now: Instant) -> bool {
        if has_clients || !self.is_set_up.load(Ordering::Acquire) {
            self.since = None;
            return false;
        }
        now.duration_since(*self.since.get_or_insert(now)) >= self.time
    }
}

impl<A: Agent> Service<A> {
    /// Creates a service that is ready to [`Self::run`]. Without a listener, it accepts no clients.
    /// `log` gets messages for users, each kind of message once.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub fn new(
        server: Server<A>,
        listener: impl Into<Option<Listener>>,
        log: impl Fn(&str) + Send + 'static,
    ) -> io::Result<(Self, Stopper)> {
        let (stop, stopper) = UnixStream::pair()?;
        stop.set_nonblocking(true)?;
        stopper.set_nonblocking(true)?;
        let service = Self {
            server,
            listener: listener.into(),
            calls: None,
            clients: Vec::new(),
            stop,
            log: Box::new(log),
            refusal_reported: false,
            linger: None,
        };
        Ok((service, Stopper(stopper)))
    }

    /// Makes the service also execute commands from within the process.
    #[must_use]
    pub fn serving(mut self, calls: Calls) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Makes the agent detach, as with [`Command::Detach`], when no client was connected for
    /// `time`. The time begins after the agent was set up.
    #[must_use]
    pub fn lingering(mut self, time: Duration, is_set_up: Arc<AtomicBool>) -> Self {
        self.linger = Some(Linger {
            time,
            is_set_up,
            since: None,
        });
        self
    }

    /// Serves clients until a client detaches the agent or [`Stopper::stop`] is called. Then closes
    /// all connections and the socket, and returns the agent.
    ///
    /// # Errors
    /// If waiting for clients fails.
    pub fn run(mut self) -> io::Result<A> {
        let result = self.serve();
        if !self.server.is_detached() {
            self.server.end(EndReason::Shutdown);
        }
        self.drain_output();
        for (id, _) in std::mem::take(&mut self.clients) {
            self.server.disconnect(id);
        }
        result.map(|()| self.server.into_agent())
    }

    fn serve(&mut self) -> io::Result<()> {
        while !self.server.is_detached() {
            let (reported, waiting, ready) = self.wait()?;
            if reported {
                let mut words = [0; 64];
                let count = (&self.stop).read(&mut words).unwrap_or(0);
                if words[..count].contains(&STOP) {
                    return Ok(());
                }
                self.server.settle();
            }
            if let Some(calls) = &self.calls {
                calls.carry_out(&mut self.server);
            }
            let now = Instant::now();
            for at in ready {
                self.read(at, now);
            }
            self.server.tick(now);
            // A disconnected client's socket is shut down, so it counts as readable; then the
            // client is removed here.
            self.clients.retain(|(id, _)| self.server.has_client(*id));
            if waiting {
                self.accept();
            }
            self.leave_if_alone(now);
        }
        Ok(())
    }

    fn leave_if_alone(&mut self, now: Instant) {
        let has_clients = !self.clients.is_empty();
        let Some(linger) = self.linger.as_mut() else {
            return;
        };
        if self.server.is_detached() || !linger.is_over(has_clients, now) {
            return;
        }
        let time = duration_text(linger.time);
        let trace = self.server.agent().trace().and_then(|trace| trace.file);
        match self.server.command(Command::Detach) {
            Ok(_) => {
                let trace = trace.map_or(String::new(), |file| format!("; the trace is in {file}"));
                (self.log)(&format!(
                    "no client was connected for {time} (linger), so the agent leaves{trace}"
                ));
            }
            Err(failure) => {
                self.linger = None;
                (self.log)(&format!(
                    "no client was connected for {time} (linger), but the agent can't leave: {failure}"
                ));
            }
        }
    }

    /// Waits for something to do. The first result is true if a [`Stopper`] has sent a message, the
    /// second is true if a client waits to be accepted. The third has the clients that have sent
    /// something.
    fn wait(&self) -> io::Result<(bool, bool, Vec<usize>)> {
        // If there is no listener or no bell, the stopper's socket takes its place in the list.
        let listener = self.listener.as_ref().map(Listener::socket);
        let bell = self.calls.as_ref().map_or(&self.stop, |calls| &calls.bell);
        let mut fds = vec![PollFd::new(&self.stop, PollFlags::IN)];
        fds.push(match listener {
            Some(listener) => PollFd::new(listener, PollFlags::IN),
            None => PollFd::new(&self.stop, PollFlags::IN),
        });
        fds.push(PollFd::new(bell, PollFlags::IN));
        let first = fds.len();
        for (id, socket) in &self.clients {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.server.wants_input(*id));
            flags.set(PollFlags::OUT, self.server.has_output(*id));
            fds.push(PollFd::new(socket, flags));
        }
        let is_timed = !self.clients.is_empty() || self.linger.is_some();
        let time = is_timed.then_some(&TICK);
        match poll(&mut fds, time) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok((false, false, Vec::new())),
            Err(error) => return Err(error.into()),
        }
        let something = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let readable = |fd: &PollFd<'_>| {
            let ends = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
            fd.revents().intersects(ends)
        };
        let ready = (0..self.clients.len())
            .filter(|at| readable(&fds[at + first]))
            .collect();
        Ok((something(&fds[0]), something(&fds[1]), ready))
    }

    fn read(&mut self, at: usize, now: Instant) {
        let (id, socket) = &self.clients[at];
        let id = *id;
        let mut piece = [0; PIECE];
        match recv(socket, &mut piece, RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.server.disconnect(id),
            Ok((n, _)) => self.server.received(id, &piece[..n], now),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.server.disconnect(id),
        }
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok(None) => return,
                Ok(Some(socket)) => self.welcome(socket),
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    if !std::mem::replace(&mut self.refusal_reported, true) {
                        (self.log)(&e.to_string());
                    }
                }
                Err(_) => {
                    // The listener stays readable, so without a pause this would be a busy loop.
                    std::thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, socket: UnixStream) {
        // If the socket can't be copied for lack of descriptors, the client is disconnected.
        if let Ok(sending) = socket.try_clone()
            && let Some(id) = self.server.connect(Box::new(Socket(sending)))
        {
            self.clients.push((id, socket));
        }
    }

    /// Gives clients a short time to read the last messages.
    fn drain_output(&mut self) {
        let end = Instant::now() + DRAIN_TIME;
        loop {
            self.server.tick(Instant::now());
            let mut fds: Vec<_> = self
                .clients
                .iter()
                .filter(|(id, _)| self.server.has_output(*id))
                .map(|(_, socket)| PollFd::new(socket, PollFlags::OUT))
                .collect();
            let left = end.saturating_duration_since(Instant::now());
            if fds.is_empty() || left.is_zero() {
                return;
            }
            let time = Timespec::try_from(left).unwrap_or(TICK);
            if poll(&mut fds, Some(&time)).is_err_and(|e| e != Errno::INTR) {
                return;
            }
        }
    }
}
