//! The agent's interface of the writer.

use crate::action::{Acted, Action};
use crate::command::{Command, FirstTrace};
use crate::names::Names;
use crate::progress::Progress;
use crate::setup::Setup;
use crate::writer_thread::WriterThread;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use jtrail_guard::guard;
use jtrail_guard::threads::{lower_priority, without_signals};
use jtrail_options::Priority;
use jtrail_recorder::bursts::Bursts;
use parking_lot::Mutex;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// The agent's handle of the writer.
pub struct Writer {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The first trace, or its error; set by [`Self::open`].
    begun: OnceLock<Result<FirstTrace, String>>,
    /// The files that the agent writes.
    pub names: Arc<Names>,
    /// The triggers that begin bursts.
    pub bursts: Option<Arc<Bursts>>,
    progress: Arc<Mutex<Progress>>,
}

impl Writer {
    /// Starts the writer's thread. Until [`Self::live`], the thread only collects definitions and
    /// records.
    ///
    /// # Errors
    /// When the system has no thread.
    pub fn start(setup: Setup) -> io::Result<Self> {
        let (commands, receiver) = unbounded();
        let progress = Arc::<Mutex<Progress>>::default();
        let (bursts, names) = (setup.bursts.clone(), Arc::clone(&setup.names));
        let priority = setup.options.priority;
        let work = WriterThread::new(setup, Arc::clone(&progress));
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

    /// Opens the file of the first trace when the JVM starts the program, and waits until it is
    /// open. Has an effect only the first time.
    ///
    /// # Errors
    /// When the file can't be written; the error is a sentence. The writer ends in that case.
    pub fn open(&self) -> Result<(), String> {
        let begun = self.begun.get_or_init(|| {
            let (answer, answered) = bounded(1);
            let _ = self.commands.send(Command::Open(answer));
            let ended = |_| Err("the writer has ended".to_owned());
            answered.recv().unwrap_or_else(ended)
        });
        begun.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Notifies the writer that the JVM is live. Recording began at the tick `started`.
    pub fn live(&self, started: u64) {
        let _ = self.commands.send(Command::Live(started));
    }

    /// Returns the first trace, if its file could be opened.
    pub fn begun(&self) -> Option<&FirstTrace> {
        self.begun.get()?.as_ref().ok()
    }

    /// Carries out an action after all records before the tick `at` are written, and waits for its
    /// result.
    pub fn act(&self, at: u64, action: Action) -> Acted {
        self.begin(at, action).recv().unwrap_or(Acted::Off)
    }

    /// Like [`Self::act`], but does not wait for the result. The channel is closed without a
    /// message if the result would be [`Acted::Off`].
    pub fn begin(&self, at: u64, action: Action) -> Receiver<Acted> {
        let (done, is_done) = bounded(1);
        let _ = self.commands.send(Command::At(at, action, done));
        is_done
    }

    /// Returns the progress of the current trace, or of the last one.
    pub fn progress(&self) -> Progress {
        *self.progress.lock()
    }

    /// Writes all records, ends the trace, and waits for the writer's thread. Has an effect only
    /// the first time.
    pub fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}
