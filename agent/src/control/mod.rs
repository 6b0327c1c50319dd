//! The command channel's place in the agent: a thread that serves clients, and what it does for them.
//!
//! `crates/control` has the protocol, `docs/control.md` its specification.

mod commander;
mod overhead;

use crate::agent::{self, Agent};
use crate::buffer::live;
use crate::hooks::own_threads::{self, Leaves};
use crate::log;
use commander::Commander;
use crossbeam_channel::{Receiver, bounded};
use jni::sys::JNIEnv;
use jtrail_control::{
    EndReason, Listener, Notice, Notifier, Server, Service, Settings, Stopper, default_path,
};
use jtrail_options::{self as options, Control, Options, Target};
use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// How long the JVM's end waits for the thread, which may be in the middle of a command.
const LAST_COMMAND: Duration = Duration::from_secs(2);

/// The agent's end of the channel.
pub(crate) struct Channel {
    stopper: Arc<OnceLock<Stopper>>,
    notifier: Notifier,
    /// The trace that clients see.
    shown: Arc<Mutex<commander::Shown>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// Where the socket is.
fn path(options: &Options) -> io::Result<PathBuf> {
    match &options.control {
        Control::Path(pattern) => {
            let host = crate::writer::hostname();
            match pattern.expand(std::process::id(), SystemTime::now(), &host) {
                Target::Path(path) => Ok(path),
                Target::Stdout => Err(io::Error::other("a socket has a path")),
            }
        }
        Control::Usual | Control::Off => default_path(),
    }
}

/// Lets clients come, where the options say so.
pub(crate) fn start(env: *mut JNIEnv) {
    let Some(agent) = agent::get() else { return };
    if agent.options.server == options::Server::Standalone {
        return;
    }
    let told = path(&agent.options)
        .and_then(|path| Listener::bind(&path))
        .map_err(|error| error.to_string())
        .and_then(|listener| serve(agent, env, listener));
    if let Err(error) = told {
        log::say(&format!("no command channel: {error}; the program goes on"));
    }
}

fn serve(agent: &'static Agent, env: *mut JNIEnv, listener: Listener) -> Result<(), String> {
    let (alive, ended) = bounded::<()>(0);
    let notifier = Notifier::default();
    let stopper = Arc::<OnceLock<Stopper>>::default();
    let shown = Arc::new(Mutex::new(commander::Shown::of(agent)));
    let channel = Channel {
        stopper: Arc::clone(&stopper),
        notifier: notifier.clone(),
        shown: Arc::clone(&shown),
        ended,
    };
    if agent.channel.set(channel).is_err() {
        return Err("there is one".into());
    }
    let body = move |agent: &'static Agent, env| {
        let commander = Commander::new(agent, env, shown, notifier.clone());
        let settings = Settings::default().with_compat(agent.options.compat);
        let server = Server::new(commander, settings, notifier);
        let service = Service::new(server, listener, log::say);
        let result = service.and_then(|(service, stop)| {
            let _ = stopper.set(stop); // the first and only time
            service.run()
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
    own_threads::start(
        agent,
        env,
        "jtrail control",
        "the command channel",
        Box::new(body),
    )
}

/// The output takes no more, and tracing is off: tells clients, if there is a channel.
pub(crate) fn failed(progress: crate::writer::Progress, message: &str) {
    if let Some(channel) = agent::if_loaded().and_then(|agent| agent.channel.get()) {
        channel.tell_end(progress, EndReason::Failure, message);
    }
}

/// Has the channel's thread look what is to be done.
fn wake() {
    let channel = agent::if_loaded().and_then(|agent| agent.channel.get());
    if let Some(stopper) = channel.and_then(|channel| channel.stopper.get()) {
        stopper.wake();
    }
}

impl Channel {
    fn tell_end(&self, progress: crate::writer::Progress, reason: EndReason, message: &str) {
        let ended = self.shown.lock().end(progress);
        if let Some(ended) = ended {
            self.notifier.notify(&Notice::TraceEnded {
                reason,
                ended,
                message: message.to_owned(),
            });
        }
    }

    /// The JVM ends: no client is waited for any longer than need be.
    pub(crate) fn hurry(&self) {
        self.shown.lock().hurry();
    }

    /// The trace has ended with the JVM: tells clients, and sends them away.
    pub(crate) fn end(&self, progress: crate::writer::Progress) {
        self.tell_end(progress, EndReason::Shutdown, "");
        if let Some(stopper) = self.stopper.get() {
            stopper.stop();
            let _ = self.ended.recv_timeout(LAST_COMMAND); // nothing is ever sent
        }
    }
}
