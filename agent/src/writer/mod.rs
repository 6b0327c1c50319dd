//! The writer: one thread that reads full and published chunks, merges them by time, and writes the trace.
//!
//! Application threads only wait for it when no chunk is empty. It touches no Java object and is not
//! attached to the JVM, so no safepoint waits for it.

mod announce;
mod compilations;
mod files;
mod format;
mod losses;
mod merge;
mod names;
mod output;
mod preamble;
mod stream;
#[cfg(test)]
mod tests;
mod windows;
mod work;

pub(crate) use announce::{BufferHandle, Message};
pub(crate) use format::has_notes;
pub(crate) use jtrail_records::Announcement;
pub(crate) use jtrail_records::announce::{
    ClassDetailInfo, ClassInfo, Compilation, CompiledInfo, MarkInfo, MethodInfo, ThreadInfo,
};
pub(crate) use names::Names;
pub(crate) use output::{Output, part};
pub(crate) use preamble::hostname;

use crate::buffer::{Full, Returns};
use crate::bursts::Bursts;
use crate::clock::Reading;
use crate::spool::Commits;
use crate::ticks::Ticks;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use jtrail_model::{Cost, Totals};
use jtrail_options::{BurstLimit, Options, OutputFormat, SaveMoments};
use jtrail_records::ownership::FileId;
use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use work::Work;

/// The agent's end of the writer.
pub(crate) struct Writer {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Known from [`Self::open`] on.
    begun: OnceLock<Result<Begun, String>>,
    pub(crate) names: Arc<Names>,
    /// Where bursts begin by themselves.
    pub(crate) bursts: Option<Arc<Bursts>>,
    progress: Arc<Mutex<Progress>>,
}

/// The first trace, which begins when the JVM runs the program.
pub(crate) struct Begun {
    /// Where it goes.
    pub(crate) target: String,
    /// Which file that is, if it is a regular one.
    pub(crate) file: Option<FileId>,
}

enum Command {
    /// The answer comes when the first trace has its file, or is why it has none.
    Open(Sender<Result<Begun, String>>),
    /// With the tick at which recording began.
    Live(u64),
    /// Something to do when all is written that happened before this tick; and whom to tell then.
    At(u64, Action, Sender<Acted>),
    Stop,
}

/// What becomes of the trace while the program runs on.
pub(crate) enum Action {
    /// Collection pauses.
    Pause,
    /// It goes on.
    Resume,
    /// The trace ends here. What happens until the next one is in none.
    End,
    /// A trace begins. Calls that are open are not in it. With a burst, it is for that one alone. They meet when it has begun, before
    /// anything is in it.
    Begin(NextTrace, Option<Burst>, Handshake),
    /// The trace ends here, and another one goes on with the calls that are open, paused if this one is. They meet when the first one is
    /// written, before anything of the second one is.
    Rotate(NextTrace, Handshake),
    /// The file is full, and all that was recorded by then is in it: the trace goes on in another one.
    Follow,
    /// What is in the buffers becomes a trace, at that moment, where they keep the newest events.
    Save(SaveReason),
    /// The same on command: into a file of that name, or of one that we find.
    SaveTo(Option<PathBuf>, Sender<Result<Saved, String>>),
    /// From here on, a burst: it ends by itself.
    Burst(Burst),
    /// A burst that began by itself, by the number of what began it.
    Triggered(usize),
    /// A text of the user's.
    Mark(String),
    /// The document of a format of totals as it is now, into a file of that name, or of one beside the trace.
    Document(Option<PathBuf>, Sender<Result<PathBuf, String>>),
}

/// What became of something that the writer was to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acted {
    Done,
    /// There is no trace for it any more.
    TraceOver,
    /// The writer is gone, or its output failed.
    Off,
}

/// Why the newest events are saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SaveReason {
    /// The moment has come.
    Moment(SaveMoments),
    /// A trigger, by its number, and the thread on which it happened, if it did on one.
    Trigger(usize, Option<u32>),
}

/// The newest events, which are a trace now.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    /// How far back they go.
    pub(crate) span: Duration,
    pub(crate) progress: Progress,
}

/// The writer comes to a point, says how far it has come, and waits there for whoever asked it.
pub(crate) struct Handshake {
    reached: Sender<Progress>,
    go_on: Receiver<()>,
}

/// The other side of it.
pub(crate) struct Meeting {
    reached: Receiver<Progress>,
    go_on: Sender<()>,
}

impl Handshake {
    pub(crate) fn new() -> (Self, Meeting) {
        let (sender, reached) = bounded(1);
        let (go_on, receiver) = bounded(1);
        let handshake = Self {
            reached: sender,
            go_on: receiver,
        };
        (handshake, Meeting { reached, go_on })
    }

    /// For the writer. It waits for nobody who is gone.
    fn meet(self, progress: Progress) {
        if self.reached.send(progress).is_ok() {
            let _ = self.go_on.recv();
        }
    }
}

impl Meeting {
    /// Waits until the writer is there, and has it wait during `f`. `None` if it never comes there.
    pub(crate) fn meet<T>(self, f: impl FnOnce(Progress) -> T) -> Option<T> {
        let result = f(self.reached.recv().ok()?);
        let _ = self.go_on.send(()); // it waits
        Some(result)
    }
}

/// A part of a trace, or a trace, that ends by itself.
pub(crate) struct Burst {
    pub(crate) limit: BurstLimit,
    /// The trace ends with it; otherwise, collection pauses.
    pub(crate) ends_trace: bool,
    /// Called on the writer's thread when it is over, and no other lasts. Not when it is cut short: by a pause, or by the trace's end.
    pub(crate) over: Box<dyn FnOnce(Progress) + Send>,
}

#[cfg(test)]
impl Burst {
    /// A burst in a trace that is there.
    fn within(limit: BurstLimit) -> Self {
        Self {
            limit,
            ends_trace: false,
            over: Box::new(|_| {}),
        }
    }
}

/// How far a trace has come.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Progress {
    pub(crate) totals: Totals,
    /// Bytes written.
    pub(crate) bytes: u64,
    /// CPU time that the writer has used since it was started, in ns.
    pub(crate) cpu: u64,
    /// Where only the newest events are kept.
    pub(crate) newest: Option<Newest>,
}

/// The newest events, and what was before them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Newest {
    /// How far back they go.
    pub(crate) span: Duration,
    /// Records that were read since the agent came: passed, or saved.
    pub(crate) read: u64,
    /// Bytes that were saved.
    pub(crate) bytes: u64,
}

/// A trace to be begun.
pub(crate) struct NextTrace {
    pub(crate) options: Arc<Options>,
    pub(crate) output: Output,
    /// For messages.
    pub(crate) target: String,
}

/// What the writer works on.
pub(crate) struct Setup {
    pub(crate) options: Arc<Options>,
    /// None where nothing is written, and when it failed.
    pub(crate) output: Option<Output>,
    /// The regular file that the first trace goes to. It is not opened before the JVM runs the program, since that may not come about.
    pub(crate) pending: Option<PathBuf>,
    pub(crate) names: Arc<Names>,
    /// For messages.
    pub(crate) target: String,
    pub(crate) now: fn() -> u64,
    /// What recording takes.
    pub(crate) cost: Cost,
    /// Where calls get a stamp only where the clock has ticked.
    pub(crate) ticks: Option<Arc<Ticks>>,
    /// Where bursts begin by themselves.
    pub(crate) bursts: Option<Arc<Bursts>>,
    /// The clocks when the agent was loaded.
    pub(crate) loaded: Reading,
    pub(crate) announcements: Receiver<Message>,
    pub(crate) full: Receiver<Full>,
    /// Several chunks wait, or somebody waits for one.
    pub(crate) woken: Receiver<()>,
    pub(crate) empty: Returns,
    /// Where what is not written outlives the process.
    pub(crate) commits: Option<Commits>,
    /// Why the newest events could not be saved.
    pub(crate) unsaved: Option<io::Error>,
}

impl Setup {
    /// The time now. What is recorded behind it is not earlier, where no thread is in the middle of recording.
    fn now(&self) -> u64 {
        match &self.ticks {
            Some(ticks) => ticks.advance(),
            None => (self.now)(),
        }
    }

    /// Whether there may ever be a trace: one is asked for, or may be later.
    fn may_write(&self) -> bool {
        self.options.format != OutputFormat::None || self.options.begins_idle()
    }
}

impl Writer {
    /// Starts the thread. It only collects until [`Self::live`].
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(crate) fn start(setup: Setup) -> io::Result<Self> {
        let (commands, receiver) = unbounded();
        let progress = Arc::<Mutex<Progress>>::default();
        let (bursts, names) = (setup.bursts.clone(), Arc::clone(&setup.names));
        let work = Work::new(setup, Arc::clone(&progress));
        let thread = without_signals(|| {
            std::thread::Builder::new()
                .name("jtrail writer".into())
                .spawn(move || crate::guard::run("the writer", || work.run(&receiver)))
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

    /// The JVM runs the program: has the file of the first trace opened, and waits for that. Only the first call does something.
    ///
    /// # Errors
    /// When the file can't be written, as a sentence. The writer ends then.
    pub(crate) fn open(&self) -> Result<(), String> {
        let begun = self.begun.get_or_init(|| {
            let (answer, answered) = bounded(1);
            let _ = self.commands.send(Command::Open(answer));
            let gone = |_| Err("the writer has ended".to_owned());
            answered.recv().unwrap_or_else(gone)
        });
        begun.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The JVM is ready; recording began at the tick `started`.
    pub(crate) fn live(&self, started: u64) {
        let _ = self.commands.send(Command::Live(started));
    }

    /// The first trace, if its file could be opened.
    pub(crate) fn begun(&self) -> Option<&Begun> {
        self.begun.get()?.as_ref().ok()
    }

    /// Has something done when all is written that happened before the tick `at`, and waits for that.
    pub(crate) fn act(&self, at: u64, action: Action) -> Acted {
        self.begin(at, action).recv().unwrap_or(Acted::Off)
    }

    /// As [`Self::act`], without waiting for it. No answer comes when it is [`Acted::Off`].
    pub(crate) fn begin(&self, at: u64, action: Action) -> Receiver<Acted> {
        let (done, is_done) = bounded(1);
        let _ = self.commands.send(Command::At(at, action, done));
        is_done
    }

    /// How far the trace has come, or the last one did.
    pub(crate) fn progress(&self) -> Progress {
        *self.progress.lock()
    }

    /// Writes all that is recorded, closes the trace, and waits for that. Only the first call does something.
    pub(crate) fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

/// Runs `f` with all signals blocked, so that a thread it starts leaves them to the JVM's threads.
pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised before they are read; the old mask is put back.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let result = f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        result
    }
}
