//! The agent's side of the command channel: the thread that serves clients, and the commands that
//! it carries out.
//!
//! The protocol is in `crates/control`; its specification is `docs/control.md`.

mod commander;
mod observer;
mod overhead;
pub(crate) mod program;
mod shown;
mod waiting;

use crate::error::Error;
use crate::sources::own_threads::{self, Leaves};
use crate::sources::{Tracer, trace};
use commander::{Commander, Parts};
use crossbeam_channel::{Receiver, bounded};
use jtrail_control::{
    Beacon, Caller, Command, EndReason, ErrorCode, Failure, Listener, Notice, Notifier, Server,
    Service, Settings, State, Stopper, calls,
};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::Env;
use jtrail_options::{self as options, Control, Options, OutputFormat, Target};
use jtrail_recorder::buffer::live;
use jtrail_writer::has_notes;
pub(crate) use observer::Clients;
use parking_lot::Mutex;
use shown::Shown;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use waiting::ClientWait;

/// The prefix of jtrail's own notes in a trace.
const NOTE: &str = "jtrail ";
/// At the JVM's end: how long we wait for the channel's thread, which may be carrying out a
/// command.
const LAST_COMMAND: Duration = Duration::from_secs(2);

/// The channel; empty until it is started.
pub(crate) type ChannelSlot = Arc<OnceLock<Channel>>;

/// The agent's end of the channel.
pub(crate) struct Channel {
    stopper: Arc<OnceLock<Stopper>>,
    notifier: Notifier,
    /// The trace that clients see.
    shown: Arc<Mutex<Shown>>,
    /// Passes commands of the program itself to the channel's thread.
    caller: Caller,
    waiting: Arc<ClientWait>,
    /// True when the agent is set up. Only from then on does time without a client count towards
    /// `linger`.
    is_set_up: Arc<AtomicBool>,
    /// Path of the socket; none if only the program gives commands.
    socket: Option<PathBuf>,
    /// Disconnected when the channel's thread has ended.
    ended: Receiver<()>,
}

/// Shows clients how to reach the agent. Set from the start of the channel until the agent
/// detaches.
static BEACON: Mutex<Option<Beacon>> = Mutex::new(None);

/// Makes the agent discoverable by clients.
fn light_beacon(listener: Option<&Listener>) {
    match Beacon::publish(env!("CARGO_PKG_VERSION"), listener.map(Listener::path)) {
        Ok(beacon) => *BEACON.lock() = Some(beacon),
        Err(error) => log::say(&format!(
            "clients can't find the agent by the process id: {error}; give them the path of its socket"
        )),
    }
}

/// Creates the socket.
fn listen(options: &Options) -> io::Result<Listener> {
    let Control::Path(pattern) = &options.control else {
        return Listener::bind_usual();
    };
    let host = jtrail_writer::hostname();
    match pattern.expand(std::process::id(), SystemTime::now(), &host) {
        Target::Path(path) => Listener::bind(&path),
        Target::Stdout => Err(io::Error::other("a socket has a path")),
    }
}

/// Starts the channel, if the options ask for one.
pub(crate) fn start(tracer: &'static Tracer, slot: &ChannelSlot, env: &mut Env<'_>) {
    if guard::is_off() {
        return; // the trace could not begin, so recording is off
    }
    let options = &tracer.session.options;
    if options.server == options::Server::Standalone {
        return light_beacon(None);
    }
    let listener = match options.control {
        Control::Off => None,
        _ => listen(options)
            .inspect_err(|error| report(&error.to_string()))
            .ok(),
    };
    light_beacon(listener.as_ref());
    // The thread is needed even without a socket if the program itself gives commands. With
    // `linger`, the thread detaches the agent when the time is over.
    let is_served = listener.is_some()
        || options.server == options::Server::Application
        || options.linger.is_some();
    if is_served && let Err(error) = serve(tracer, slot, env, listener) {
        light_beacon(None);
        report(&error.to_string());
    }
}

fn report(error: &str) {
    log::say(&format!("no command channel: {error}; the program goes on"));
}

fn serve(
    tracer: &'static Tracer,
    slot: &ChannelSlot,
    env: &mut Env<'_>,
    listener: Option<Listener>,
) -> Result<(), Error> {
    let options = &tracer.session.options;
    let (alive, ended) = bounded::<()>(0);
    let notifier = Notifier::default();
    let stopper = Arc::<OnceLock<Stopper>>::default();
    let shown = Arc::new(Mutex::new(Shown::of(tracer)));
    let waits = options.server == options::Server::Controlled;
    let waiting = Arc::new(ClientWait::new(waits));
    let is_set_up = Arc::<AtomicBool>::default();
    let (caller, calls) = calls().map_err(|error| error.to_string())?;
    let channel = Channel {
        caller,
        waiting: Arc::clone(&waiting),
        is_set_up: Arc::clone(&is_set_up),
        socket: listener.as_ref().map(|listener| listener.path().to_owned()),
        stopper: Arc::clone(&stopper),
        notifier: notifier.clone(),
        shown: Arc::clone(&shown),
        ended,
    };
    if slot.set(channel).is_err() {
        return Err("there is one".into());
    }
    let body = move |tracer: &'static Tracer, env: &mut Env<'_>| {
        let parts = Parts {
            shown,
            waiting,
            notifier: notifier.clone(),
            stopper: Arc::clone(&stopper),
        };
        let commander = Commander::new(tracer, env, parts);
        let options = &tracer.session.options;
        let settings = Settings::default().with_compat(options.compat);
        let server = Server::new(commander, settings, notifier);
        let service = Service::new(server, listener, log::say);
        let result = service.and_then(|(service, stop)| {
            let _ = stopper.set(stop); // can't fail: set only once
            let service = service.serving(calls);
            match options.linger {
                Some(time) => service.lingering(time, is_set_up).run(),
                None => service.run(),
            }
        });
        let leaves = match result {
            Ok(commander) => commander.leaves(),
            Err(error) => {
                log::say(&format!("the command channel ends: {error}"));
                Leaves::No
            }
        };
        live::finish();
        drop(alive);
        leaves
    };
    let (name, place) = ("jtrail control", "the command channel");
    own_threads::start(tracer, env, name, place, Box::new(body))
}

/// Returns true if there is an active trace that is not paused.
pub(crate) fn is_recording(tracer: &Tracer, channel: Option<&Channel>) -> bool {
    match channel {
        Some(channel) => channel.shown.lock().state() == State::Recording,
        None => {
            let session = &tracer.session;
            let bursts = session.bursts.as_ref();
            session.is_live()
                && session.options.format != OutputFormat::None
                && bursts.is_none_or(|bursts| bursts.is_recording())
        }
    }
}

/// Checks that a text of the program may go into the active trace.
pub(crate) fn check_mark(
    tracer: &Tracer,
    channel: Option<&Channel>,
    text: &str,
) -> Result<(), Failure> {
    match channel {
        Some(channel) => check_note(channel.shown.lock().format(), text),
        None => check_note(Some(tracer.session.options.format), text),
    }
}

/// Checks that a text may go into a trace of that format. `None` means that there is no trace.
fn check_note(format: Option<OutputFormat>, text: &str) -> Result<(), Failure> {
    let problem = match format {
        None | Some(OutputFormat::None) => (ErrorCode::State, "there is no trace".to_owned()),
        Some(format) if has_notes(format) => {
            if !text.starts_with(NOTE) {
                return Ok(());
            }
            let problem = format!("texts that begin with {NOTE:?} are the agent's own");
            (ErrorCode::Invalid, problem)
        }
        Some(format) => (
            ErrorCode::Unavailable,
            format!("{format} has no field for texts"),
        ),
    };
    Err(Failure::new(problem.0, problem.1))
}

impl Channel {
    /// Notes that the program already runs, so it does not wait for a client.
    pub(crate) fn does_not_wait(&self) {
        self.waiting.end();
        self.is_set_up.store(true, Ordering::Release);
    }

    /// Waits until a client has begun a trace, if the options say so.
    pub(crate) fn wait_for_client(&self, options: &Options) {
        self.is_set_up.store(true, Ordering::Release);
        let (Some(socket), options::Server::Controlled) = (&self.socket, options.server) else {
            return;
        };
        let time = options::duration_text(options.wait);
        if !options.wait.is_zero() {
            let socket = socket.display();
            log::say(&format!(
                "the program waits up to {time} for a client at {socket}"
            ));
        }
        if !self.waiting.wait(options.wait) {
            log::say(&format!(
                "no client began a trace within {time}; the program goes on without one, and a client may still come"
            ));
        }
    }

    /// Wakes the channel's thread.
    fn wake(&self) {
        if let Some(stopper) = self.stopper.get() {
            stopper.wake();
        }
    }

    /// Carries out a command of the program like a command of a client.
    pub(crate) fn command(&self, command: Command) -> Result<(), Failure> {
        self.caller.call(command).map(|_| ())
    }

    fn notify_end(&self, progress: jtrail_writer::Progress, reason: EndReason, message: &str) {
        let ended = self.shown.lock().end(progress);
        if let Some(ended) = ended {
            self.notifier.notify(&Notice::TraceEnded {
                reason,
                ended,
                message: message.to_owned(),
            });
        }
    }

    /// Shortens the writer's waits for clients, because the JVM ends.
    pub(crate) fn hurry(&self) {
        self.shown.lock().hurry();
    }

    /// Sets a deadline for the client that reads the stream, because nothing more is recorded.
    pub(crate) fn finish(&self) {
        self.shown.lock().finish();
    }

    /// Notifies clients that the trace has ended with the JVM, and disconnects them.
    pub(crate) fn end(&self, progress: jtrail_writer::Progress) {
        self.notify_end(progress, EndReason::Shutdown, "");
        if let Some(stopper) = self.stopper.get() {
            stopper.stop();
            let _ = self.ended.recv_timeout(LAST_COMMAND); // ends when the sender is dropped
        }
    }
}

/// True while the agent is detaching.
static IS_LEAVING: AtomicBool = AtomicBool::new(false);

/// Returns true while an agent is detaching.
pub(crate) fn is_leaving() -> bool {
    IS_LEAVING.load(Ordering::Acquire)
}

/// Notes whether the agent is detaching. While it is detaching, clients don't find it. Once it has
/// detached, a new agent may be loaded.
pub(crate) fn set_leaving(is_leaving: bool) {
    IS_LEAVING.store(is_leaving, Ordering::Release);
    if is_leaving {
        BEACON.lock().take();
    }
}

/// Restores the program's own code, after the end of the trace. The agent detaches later, when the
/// channel's thread ends.
fn begin_leaving(tracer: &Tracer, env: &mut Env<'_>) {
    set_leaving(true);
    trace::give_back(tracer, env);
}

/// Ends recording and the trace. Java code may still run afterwards.
pub(crate) fn stop(tracer: &Tracer, channel: Option<&Channel>) {
    if let Some(channel) = channel {
        channel.finish();
    }
    trace::stop_writer(tracer);
    if let Some(channel) = channel {
        channel.end(tracer.writer.progress());
    }
    guard::switch_off();
}
