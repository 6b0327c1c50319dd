//! The writer: one thread that reads full and published chunks, merges them by time, and writes the trace.
//!
//! Application threads only wait for it when no chunk is empty. It touches no Java object and is not
//! attached to the JVM, so no safepoint waits for it.

mod announce;
mod compilations;
mod format;
mod losses;
mod merge;
mod output;
mod preamble;
mod stream;
#[cfg(test)]
mod tests;
mod translate;

pub(crate) use announce::{
    Announcement, BufferHandle, ClassDetailInfo, ClassInfo, Compilation, CompiledInfo, MethodInfo,
    ThreadInfo,
};
pub(crate) use output::Output;
pub(crate) use preamble::hostname;

use crate::buffer::record::Code;
use crate::buffer::{Chunk, Full};
use crate::clock::{Reading, Timeline};
use crate::log;
use compilations::Compilations;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use jtrail_formats::Loss;
use jtrail_model::{AgentDestroy, Duration as CpuTime, Event, ProcessCpu, Timestamp, TraceEnd};
use jtrail_options::{Events, Options, OutputFormat};
use merge::Merge;
use parking_lot::Mutex;
use preamble::Identity;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use translate::{Settings, Translator};

/// How long published records may wait when no chunk is full.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);
/// How long records are held back, so that one that was stamped, and stored a little later, still finds its
/// place among those of other threads.
const MERGE_WINDOW: Duration = Duration::from_millis(10);
/// How long the end of the trace waits for chunks that threads are about to send.
const LAST_CHUNKS: Duration = Duration::from_secs(1);
/// How long events may wait in the encoder for more of their kind.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of output that are collected before they are written.
const OUTPUT_BYTES: usize = 1 << 20;

/// The agent's end of the writer.
pub(crate) struct Writer {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Command {
    /// With the tick at which recording began.
    Live(u64),
    Stop,
}

/// What the writer works on.
pub(crate) struct Setup {
    pub(crate) options: Arc<Options>,
    /// None where nothing is written, and when it failed.
    pub(crate) output: Option<Output>,
    /// For messages.
    pub(crate) target: String,
    pub(crate) now: fn() -> u64,
    /// The clocks when the agent was loaded.
    pub(crate) loaded: Reading,
    pub(crate) announcements: Receiver<Announcement>,
    pub(crate) full: Receiver<Full>,
    pub(crate) empty: Sender<Chunk>,
}

impl Writer {
    /// Starts the thread. It only collects until [`Self::live`].
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(crate) fn start(setup: Setup) -> io::Result<Self> {
        let (commands, receiver) = unbounded();
        let thread = without_signals(|| {
            std::thread::Builder::new()
                .name("jtrail writer".into())
                .spawn(move || crate::guard::run("the writer", || Work::new(setup).run(&receiver)))
        })?;
        Ok(Self {
            commands,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The JVM is ready; recording began at the tick `started`.
    pub(crate) fn live(&self, started: u64) {
        let _ = self.commands.send(Command::Live(started));
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

struct Work {
    setup: Setup,
    merge: Merge,
    /// There is one from the moment that the JVM is live, while the output takes what we write.
    trace: Option<Trace>,
    /// Announcements that came before there was a trace.
    waiting: Vec<Announcement>,
}

struct Trace {
    translator: Translator,
    compilations: Compilations,
    identity: Identity,
    timeline: Timeline,
    window: u64,
    /// What the format has no place for, of the opening events.
    opening: Vec<Loss>,
    /// When the encoder was last asked for what waits.
    flushed: Instant,
    /// When the CPU time of the process was last told.
    cpu_told: Option<Instant>,
}

impl Work {
    fn new(setup: Setup) -> Self {
        let merge = Merge::new(setup.empty.clone());
        Self {
            setup,
            merge,
            trace: None,
            waiting: Vec::new(),
        }
    }

    fn run(mut self, commands: &Receiver<Command>) {
        let mut full = Vec::new();
        loop {
            select! {
                recv(commands) -> command => match command {
                    Ok(Command::Live(started)) => self.begin(started),
                    Ok(Command::Stop) | Err(_) => break,
                },
                recv(self.setup.full) -> message => full.extend(message),
                default(DRAIN_INTERVAL) => {}
            }
            self.pass(&mut full, false);
            if self.setup.output.is_none() && self.setup.writes() {
                break; // it failed; without us, no chunk is supplied, and recording ends
            }
        }
        self.pass(&mut full, true);
        self.end();
    }

    /// Reads what there is to read. The last pass leaves nothing.
    fn pass(&mut self, full: &mut Vec<Full>, last: bool) {
        // In this order: all that a thread stored before the first moment is published by the third, also by threads
        // that had no buffer before; and all that it published before is in the chunks that are in the channel by
        // the fourth.
        let before = (self.setup.now)();
        self.take_announcements();
        let mut published = self.merge.published();
        full.extend(self.setup.full.try_iter());
        self.take_announcements();
        if last {
            // A thread that is about to send a chunk does so at once, unless it is kept from running.
            let until = Instant::now() + LAST_CHUNKS;
            while published.is_none() && Instant::now() < until {
                std::thread::yield_now();
                full.extend(self.setup.full.try_iter());
                full.drain(..)
                    .for_each(|message| self.merge.add_full(&message));
                published = self.merge.published();
            }
            full.extend(self.setup.full.try_iter());
        }
        for message in full.drain(..) {
            self.merge.add_full(&message);
        }
        let Some(trace) = &mut self.trace else {
            if !self.setup.writes() {
                self.merge.discard();
            }
            return;
        };
        match published {
            Some(published) => self.merge.add_published(published),
            None if last => {}
            None => return, // its arrival wakes us
        }
        let window = match last || self.merge.is_short_of_chunks() {
            true => 0,
            false => trace.window,
        };
        let limit = if last {
            u64::MAX
        } else {
            before.saturating_sub(window)
        };
        let mut sink = Flushing {
            translator: &mut trace.translator,
            setup: &mut self.setup,
        };
        for told in trace.compilations.until(limit) {
            self.merge.run(told.time(), &mut sink);
            match told {
                Compilation::Made(info) => sink.translator.compiled(&info),
                Compilation::Gone {
                    method,
                    time,
                    address,
                } => sink.translator.uncompiled(method, time, address),
            }
            sink.check();
        }
        self.merge.run(limit, &mut sink);
        if !last {
            trace.now_and_then(&self.setup);
        }
        self.flush();
    }

    fn take_announcements(&mut self) {
        for announcement in self.setup.announcements.try_iter() {
            match announcement {
                Announcement::Buffer(buffer) => self.merge.add_buffer(*buffer),
                other => match &mut self.trace {
                    Some(trace) => trace.announce(other),
                    None if self.setup.output.is_some() => self.waiting.push(other),
                    None => {}
                },
            }
        }
    }

    fn begin(&mut self, started: u64) {
        let options = Arc::clone(&self.setup.options);
        let Some(encoder) = format::encoder(&options) else {
            return;
        };
        // This may sleep a little, which is why it is done here and not where the program waits for it.
        let timeline = Timeline::since(self.setup.loaded, self.setup.now);
        let loaded = Timestamp(timeline.at(self.setup.loaded.ticks()));
        let started = Timestamp(timeline.at(started));
        let settings = Settings {
            tell_threads: options.events.contains(Events::THREADS),
            // This format adds them up itself.
            aggregate: !options.exec_details && options.format != OutputFormat::ProfilerJ,
            alloc_sites: options.alloc_sites,
            heap_name: options.heap_name.clone(),
            started,
        };
        let mut translator = Translator::new(encoder, timeline, settings);
        translator.begin();
        let identity =
            preamble::opening(&options, loaded, started, |event| translator.event(event));
        let window = timeline.ticks_in(MERGE_WINDOW);
        let opening = translator.losses();
        let mut trace = Trace {
            translator,
            compilations: Compilations::default(),
            identity,
            timeline,
            window,
            opening,
            flushed: Instant::now(),
            cpu_told: None,
        };
        for announcement in self.waiting.drain(..) {
            trace.announce(announcement);
        }
        self.trace = Some(trace);
        self.flush();
    }

    fn end(&mut self) {
        if self.trace.is_none() && self.setup.output.is_some() {
            // The JVM ended before it was ready.
            self.begin((self.setup.now)());
        }
        if let Some(trace) = &mut self.trace {
            let now = (self.setup.now)();
            let time = Timestamp(trace.timeline.at(now));
            let translator = &mut trace.translator;
            for (thread, events) in self.merge.unwritten() {
                translator.lost_at_end(thread, now, events);
            }
            if let Some(counters) = crate::agent::if_loaded().and_then(|a| a.classes.lines.get()) {
                translator.tell_lines(counters, time);
            }
            let options = Arc::clone(&self.setup.options);
            if options.events.contains(Events::CPU) && options.format == OutputFormat::TraceLog {
                translator.event(&process_cpu(time));
            }
            let told = translator.losses();
            let tells = !format::is_ours(options.format);
            if tells && format::has_notes(options.format) {
                let told = losses::without(told.clone(), &trace.opening);
                translator.left_out(options.no_place, &told);
            }
            translator.totals(time);
            translator.event(&Event::TraceEnd(TraceEnd {
                trace_id: "".into(),
                time,
            }));
            let agent_id = (&*trace.identity.agent_id).into();
            translator.event(&Event::AgentDestroy(AgentDestroy { agent_id, time }));
            let closing = losses::without(translator.losses(), &told);
            while translator.end_part() {
                write(&mut self.setup, &mut translator.out);
            }
            let all = losses::without(translator.losses(), &trace.opening);
            let all = losses::without(all, &closing);
            let message = losses::message(options.format, options.no_place, &all);
            let lost = translator.lost_events();
            let patches = translator.patches();
            let has_notes = format::has_notes(options.format);
            self.flush();
            if self.setup.output.is_some() {
                self.patch(&patches);
                if lost > 0 && !has_notes {
                    log::say(&format!(
                        "{lost} events were lost (overflow=drop); the trace can't say where"
                    ));
                }
                if tells && let Some(message) = message {
                    log::say(&message);
                }
            }
        }
        self.flush();
    }

    fn patch(&mut self, patches: &[jtrail_formats::Patch]) {
        if let Some(output) = &mut self.setup.output
            && let Err(error) = output.patch(patches)
        {
            log::say(&format!(
                "cannot complete the header of {}: {error}",
                self.setup.target
            ));
        }
    }

    fn flush(&mut self) {
        if let Some(trace) = &mut self.trace {
            write(&mut self.setup, &mut trace.translator.out);
            if self.setup.output.is_none() {
                self.trace = None;
            }
        }
    }
}

impl Setup {
    /// Whether a trace is asked for.
    fn writes(&self) -> bool {
        self.options.format != OutputFormat::None
    }
}

/// The CPU time of the process at this moment, which is `time`.
fn process_cpu(time: Timestamp) -> Event<'static> {
    let mut used = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `used` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) };
    let cpu_time = CpuTime(used.tv_sec * 1_000_000_000 + used.tv_nsec);
    Event::ProcessCpu(ProcessCpu { time, cpu_time })
}

impl Trace {
    /// What is due while the program runs.
    fn now_and_then(&mut self, setup: &Setup) {
        let now = Instant::now();
        if now.duration_since(self.flushed) >= FLUSH_INTERVAL {
            self.flushed = now;
            self.translator.flush();
        }
        let options = &setup.options;
        let is_due = |told: Instant| now.duration_since(told) >= options.cpu_interval;
        if options.format == OutputFormat::TraceLog
            && options.events.contains(Events::CPU)
            && self.cpu_told.is_none_or(is_due)
        {
            self.cpu_told = Some(now);
            let time = Timestamp(self.timeline.at((setup.now)()));
            self.translator.event(&process_cpu(time));
        }
    }

    fn announce(&mut self, announcement: Announcement) {
        let translator = &mut self.translator;
        match announcement {
            Announcement::Buffer(_) => unreachable!("buffers are the merge's"),
            Announcement::Compilation(told) => self.compilations.add(told),
            Announcement::Thread(info) => translator.add_thread(*info),
            Announcement::ThreadName { number, name } => translator.add_name(number, name),
            Announcement::Class(info) => translator.add_class(info),
            Announcement::Methods { class, methods } => translator.add_methods(class, methods),
            Announcement::ClassDetail(info) => translator.class_detail(&info),
            Announcement::Lines {
                method,
                counters,
                entry,
            } => translator.add_lines(method, &counters, entry),
            Announcement::AllocSites {
                method,
                first,
                lines,
            } => translator.add_sites(method, first, &lines),
            Announcement::AllocClass {
                site,
                class,
                sizing,
            } => translator.set_site(site, class, sizing),
            Announcement::Text { number, text } => translator.add_text(number, text),
            Announcement::Instrumented { methods } => translator.count_instrumented(methods),
            Announcement::Uncovered {
                class,
                method,
                reason,
            } => {
                translator.uncovered(&class, &method, &reason);
            }
        }
    }
}

/// Writes what is encoded. When that fails, says so once, and gives the output up.
fn write(setup: &mut Setup, bytes: &mut Vec<u8>) {
    if let Some(output) = &mut setup.output
        && !bytes.is_empty()
        && let Err(error) = output.write(bytes, setup.options.format == OutputFormat::ProfilerJ)
    {
        log::say(&format!(
            "cannot write {}: {error}; tracing is off, the program goes on, and what was written before can be read",
            setup.target
        ));
        setup.output = None;
    }
    bytes.clear();
}

/// Writes what the trace would be if it ended now, into a file of its own.
fn snapshot(translator: &mut Translator, setup: &Setup, ticks: u64) {
    let Some(output) = &setup.output else { return };
    let Some((number, document)) = translator.snapshot(ticks) else {
        return;
    };
    match output.write_beside(number, &document) {
        Ok(path) => log::say(&format!("snapshot {number} is in {}", path.display())),
        Err(error) => log::say(&format!("no snapshot {number}: {error}")),
    }
}

/// The translator, which writes its output whenever there is much of it.
struct Flushing<'a> {
    translator: &'a mut Translator,
    setup: &'a mut Setup,
}

impl Flushing<'_> {
    #[inline(always)]
    fn check(&mut self) {
        if self.translator.out.len() >= OUTPUT_BYTES {
            write(self.setup, &mut self.translator.out);
        }
    }
}

impl stream::Sink for Flushing<'_> {
    #[inline]
    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.enter(thread, time, method);
        self.check();
    }

    #[inline]
    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.leave(thread, time, method);
        self.check();
    }

    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        self.translator.coded(thread, time, code, payload);
        if code == Code::Snapshot {
            snapshot(self.translator, self.setup, time);
        }
        self.check();
    }
}
