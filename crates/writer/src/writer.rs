//! The agent's end of the writer.

use crate::action::{Acted, Action};
use crate::command::{Command, FirstTrace};
use crate::names::Names;
use crate::progress::Progress;
use crate::setup::Setup;
use crate::work::Work;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use jtrail_guard::guard;
use jtrail_guard::threads::{lower_priority, without_signals};
use jtrail_options::Priority;
use jtrail_recorder::bursts::Bursts;
use parking_lot::Mutex;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// The agent's end of the writer.
pub struct Writer {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Known from [`Self::open`] on.
    begun: OnceLock<Result<FirstTrace, String>>,
    /// Which files may be written.
    pub names: Arc<Names>,
    /// Where bursts begin by themselves.
    pub bursts: Option<Arc<Bursts>>,
    progress: Arc<Mutex<Progress>>,
}

impl Writer {
    /// Starts the thread. It only collects until [`Self::live`].
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(setup: Setup) -> io::Result<Self> {
        let (commands, receiver) = unbounded();
        let progress = Arc::<Mutex<Progress>>::default();
        let (bursts, names) = (setup.bursts.clone(), Arc::clone(&setup.names));
        let priority = setup.options.priority;
        let work = Work::new(setup, Arc::clone(&progress));
        let run = move || {
            if priority == Priority::Low {
                lower_priority();
            }
            guard::run("the writer", || work.run(&receiver));
        };
        let thread = without_signals(|| {
            std::thread::Builder::new()
                .name("jtrail writer".into())
                .spawn(run)
        })?;
        Ok(Self {
            commands,
            thread: Mutex::new(Some(thread)),
            begun: OnceLock::new(),
            names,
            bursts,
            progress,
        })
    }

    /// The JVM runs the program: has the file of the first trace opened, and waits for that. Only
    /// the first call does something.
    ///
    /// # Errors
    /// When the file can't be written, as a sentence. The writer ends then.
    pub fn open(&self) -> Result<(), String> {
        let begun = self.begun.get_or_init(|| {
            let (answer, answered) = bounded(1);
            let _ = self.commands.send(Command::Open(answer));
            let ended = |_| Err("the writer has ended".to_owned());
            answered.recv().unwrap_or_else(ended)
        });
        begun.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The JVM is ready; recording began at the tick `started`.
    pub fn live(&self, started: u64) {
        let _ = self.commands.send(Command::Live(started));
    }

    /// The first trace, if its file could be opened.
    pub fn begun(&self) -> Option<&FirstTrace> {
        self.begun.get()?.as_ref().ok()
    }

    /// Has something done when all is written that happened before the tick `at`, and waits for
    /// that.
    pub fn act(&self, at: u64, action: Action) -> Acted {
        self.begin(at, action).recv().unwrap_or(Acted::Off)
    }

    /// As [`Self::act`], without waiting for it. No answer comes when it is [`Acted::Off`].
    pub fn begin(&self, at: u64, action: Action) -> Receiver<Acted> {
        let (done, is_done) = bounded(1);
        let _ = self.commands.send(Command::At(at, action, done));
        is_done
    }

    /// How far the trace has come, or the last one did.
    pub fn progress(&self) -> Progress {
        *self.progress.lock()
    }

    /// Writes all that is recorded, closes the trace, and waits for that. Only the first call does
    /// something.
    pub fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}
