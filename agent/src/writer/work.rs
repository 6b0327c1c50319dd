//! What the writer's thread does.

use super::announce::{Announcement, Compilation};
use super::compilations::Compilations;
use super::merge::Merge;
use super::output::write_whole;
use super::preamble::{self, Identity};
use super::translate::{OpenCalls, Settings, Translator};
use super::{Action, Burst, Command, NextTrace, Progress, Setup, format, losses, stream};
use crate::buffer::Full;
use crate::buffer::record::Code;
use crate::clock::Timeline;
use crate::log;
use crossbeam_channel::{Receiver, Sender, select};
use jtrail_formats::Loss;
use jtrail_model::{
    AgentDestroy, Custom, Duration as CpuTime, Event, ProcessCpu, Timestamp, TraceEnd,
};
use jtrail_options::{BurstLimit, Events, Options, OutputFormat};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
/// How long records are waited for that happened before something that is to be done.
const ACTION_INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Work {
    setup: Setup,
    merge: Merge,
    /// There is one from the moment that the JVM is live, while the output takes what we write. Between two traces it goes on, and
    /// writes nothing.
    trace: Option<Trace>,
    /// Announcements that came before there was a trace.
    waiting: Vec<Announcement>,
    /// What is to be done, at which tick, and whom to tell.
    actions: VecDeque<(u64, Action, Sender<()>)>,
    /// The burst under way.
    burst: Option<Running>,
    /// The output did not take what we wrote.
    has_failed: bool,
    progress: Arc<Mutex<Progress>>,
}

/// A burst under way.
struct Running {
    /// At which tick it is over.
    until: Option<u64>,
    /// How many events are still to come.
    left: Option<u64>,
    burst: Burst,
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
    /// It has ended, and no other has begun yet.
    is_over: bool,
}

impl Work {
    pub(super) fn new(setup: Setup, progress: Arc<Mutex<Progress>>) -> Self {
        let merge = Merge::new(setup.empty.clone());
        Self {
            setup,
            merge,
            trace: None,
            waiting: Vec::new(),
            actions: VecDeque::new(),
            burst: None,
            has_failed: false,
            progress,
        }
    }

    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        let mut full = Vec::new();
        loop {
            let interval = match self.actions.is_empty() {
                true => DRAIN_INTERVAL,
                false => ACTION_INTERVAL,
            };
            select! {
                recv(commands) -> command => match command {
                    Ok(Command::Live(started)) => self.begin(started),
                    Ok(Command::At(at, action, done)) => self.actions.push_back((at, action, done)),
                    Ok(Command::Stop) | Err(_) => break,
                },
                recv(self.setup.full) -> message => full.extend(message),
                default(interval) => {}
            }
            self.pass(&mut full, false);
            if self.has_failed {
                let progress = *self.progress.lock();
                crate::control::failed(progress, "the output takes no more");
                break; // without us, no chunk is supplied, and recording ends
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
        loop {
            let action = self.actions.front().map(|(at, ..)| *at);
            let until = self.burst.as_ref().and_then(|running| running.until);
            match (action, until) {
                // The last pass has no limit, but does not end what would have gone on.
                (_, Some(until))
                    if until <= limit.min(before) && action.is_none_or(|at| until <= at) =>
                {
                    self.merge_until(until);
                    self.end_burst(until);
                }
                (Some(at), _) if at <= limit => self.next_action(at),
                _ => break,
            }
        }
        self.merge_until(limit);
        if let Some(trace) = &mut self.trace
            && !last
            && !trace.is_over
        {
            trace.now_and_then(&self.setup);
        }
        self.flush();
        if let Some(trace) = &mut self.trace
            && self.setup.output.is_none()
            && !std::mem::replace(&mut trace.is_over, true)
        {
            // The client is gone.
            trace.translator.go_silent();
        }
        self.note_progress();
    }

    /// Lets others see how far the trace has come.
    fn note_progress(&self) {
        if let Some(trace) = &self.trace
            && let Some(output) = &self.setup.output
        {
            *self.progress.lock() = Progress {
                totals: trace.translator.totals_so_far(),
                bytes: output.written(),
            };
        }
    }

    /// Writes what happened up to that tick.
    fn merge_until(&mut self, limit: u64) {
        let left = self.burst.as_ref().and_then(|running| running.left);
        let mut ended = None;
        if let Some(trace) = &mut self.trace {
            let mut sink = Flushing {
                translator: &mut trace.translator,
                setup: &mut self.setup,
                has_failed: &mut self.has_failed,
                left,
                ended: None,
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
            if let Some(running) = &mut self.burst {
                running.left = sink.left;
            }
            ended = sink.ended;
        }
        if let Some(ended) = ended {
            self.end_burst(ended);
        }
    }

    /// Does what is to be done next, at that tick.
    fn next_action(&mut self, at: u64) {
        self.merge_until(at);
        if let Some((_, action, done)) = self.actions.pop_front() {
            self.act(at, action);
            if !self.has_failed {
                let _ = done.send(()); // nobody may wait for it any more
            }
        }
    }

    /// The burst is over.
    fn end_burst(&mut self, at: u64) {
        let Some(Running { burst, .. }) = self.burst.take() else {
            return;
        };
        if burst.ends_trace {
            self.close(at);
        } else if let Some(trace) = &mut self.trace {
            trace.translator.pause(Timestamp(trace.timeline.at(at)));
        }
        self.note_progress();
        (burst.over)(*self.progress.lock());
    }

    fn act(&mut self, at: u64, action: Action) {
        let Some(trace) = &mut self.trace else { return };
        let time = Timestamp(trace.timeline.at(at));
        match action {
            Action::Pause if trace.is_over => {}
            Action::Pause => {
                self.burst = None;
                trace.translator.pause(time);
            }
            Action::Burst(_) if trace.is_over => {}
            Action::Burst(burst) => {
                let (until, left) = match burst.limit {
                    BurstLimit::Time(time) => (Some(at + trace.timeline.ticks_in(time)), None),
                    BurstLimit::Events(events) => (None, Some(events)),
                };
                self.burst = Some(Running { until, left, burst });
            }
            Action::Resume if trace.is_over => {}
            Action::Resume => trace.translator.resume(time),
            Action::Mark(text) if !trace.is_over => trace
                .translator
                .event(&Event::Custom(Custom { body: text.into() })),
            Action::Mark(_) => {}
            Action::End => {
                self.burst = None;
                self.close(at);
            }
            Action::Begin(next) => {
                self.burst = None;
                self.close(at);
                self.open(at, next, OpenCalls::Hide);
            }
            Action::Rotate(next, closed, go_on) => {
                let calls = match trace.is_over {
                    true => OpenCalls::Hide,
                    false => OpenCalls::Enter,
                };
                self.close(at);
                let progress = *self.progress.lock();
                if closed.send(progress).is_ok() && go_on.recv().is_ok() {
                    self.open(at, next, calls);
                }
            }
            Action::Document(path, answer) => {
                let _ = answer.send(self.write_document(at, path)); // nobody may wait for it any more
            }
        }
    }

    /// Writes what the trace would be if it ended now.
    fn write_document(&mut self, at: u64, path: Option<PathBuf>) -> Result<PathBuf, String> {
        let (Some(trace), Some(output)) = (&mut self.trace, &self.setup.output) else {
            return Err("there is no trace".into());
        };
        let document = trace.translator.snapshot(at);
        let (number, document) = document.ok_or("the format is not one of totals")?;
        let written = match path {
            None => output.write_beside(number, &document),
            Some(path) => write_whole(&path, &document).map(|()| path),
        };
        written.map_err(|error| error.to_string())
    }

    /// Begins another trace.
    fn open(&mut self, at: u64, next: NextTrace, calls: OpenCalls) {
        let Some(trace) = &mut self.trace else { return };
        let Some(encoder) = format::encoder(&next.options) else {
            return;
        };
        self.setup.options = Arc::clone(&next.options);
        (self.setup.output, self.setup.target) = (Some(next.output), next.target);
        let started = Timestamp(trace.timeline.at(at));
        let settings = settings(&next.options, started);
        trace.translator.restart(encoder, settings, calls);
        trace.begin(&self.setup, started);
        if calls == OpenCalls::Enter {
            trace.translator.enter_open_calls(at);
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
        let started = Timestamp(timeline.at(started));
        let mut trace = Trace {
            translator: Translator::new(encoder, timeline, settings(&options, started)),
            compilations: Compilations::default(),
            identity: Identity::default(),
            timeline,
            window: timeline.ticks_in(MERGE_WINDOW),
            opening: Vec::new(),
            flushed: Instant::now(),
            cpu_told: None,
            is_over: false,
        };
        trace.begin(&self.setup, started);
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
        self.close((self.setup.now)());
    }

    /// Ends the trace, if there is one, and its output.
    fn close(&mut self, now: u64) {
        if let Some(trace) = &mut self.trace
            && !std::mem::replace(&mut trace.is_over, true)
        {
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
                write(&mut self.setup, &mut translator.out, &mut self.has_failed);
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
        self.note_progress();
        self.setup.output = None;
        if let Some(trace) = &mut self.trace {
            trace.translator.go_silent();
        }
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
            write(
                &mut self.setup,
                &mut trace.translator.out,
                &mut self.has_failed,
            );
            if self.has_failed {
                self.trace = None;
            }
        }
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

/// What a translator has to know of a trace.
fn settings(options: &Options, started: Timestamp) -> Settings {
    Settings {
        tell_threads: options.events.contains(Events::THREADS),
        // This format adds them up itself.
        aggregate: !options.exec_details && options.format != OutputFormat::ProfilerJ,
        alloc_sites: options.alloc_sites,
        heap_name: options.heap_name.clone(),
        started,
    }
}

impl Trace {
    /// Writes what opens a trace.
    fn begin(&mut self, setup: &Setup, started: Timestamp) {
        let translator = &mut self.translator;
        translator.begin();
        let loaded = Timestamp(self.timeline.at(setup.loaded.ticks()));
        let emit = |event: &Event<'_>| translator.event(event);
        self.identity = preamble::opening(&setup.options, loaded, started, emit);
        self.opening = self.translator.losses();
        (self.flushed, self.cpu_told, self.is_over) = (Instant::now(), None, false);
    }

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
fn write(setup: &mut Setup, bytes: &mut Vec<u8>, has_failed: &mut bool) {
    if let Some(output) = &mut setup.output
        && !bytes.is_empty()
        && let Err(error) = output.write(bytes, format::reads_cut(setup.options.format))
    {
        if output.is_stream() {
            // The channel tells; the trace is over, and another one may follow.
            setup.output = None;
            bytes.clear();
            return;
        }
        log::say(&format!(
            "cannot write {}: {error}; tracing is off, the program goes on, and what was written before can be read",
            setup.target
        ));
        setup.output = None;
        *has_failed = true;
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
    has_failed: &'a mut bool,
    /// Events until the end of a burst; none where it does not end by their number.
    left: Option<u64>,
    /// When it ended.
    ended: Option<u64>,
}

impl Flushing<'_> {
    /// Counts an event of a burst; behind the last one, collection pauses.
    #[inline(always)]
    fn count(&mut self, time: u64) {
        if let Some(left) = &mut self.left {
            *left -= 1;
            if *left == 0 {
                (self.left, self.ended) = (None, Some(time));
                self.translator.pause_at(time);
            }
        }
    }

    #[inline(always)]
    fn check(&mut self) {
        if self.translator.out.len() >= OUTPUT_BYTES {
            write(self.setup, &mut self.translator.out, self.has_failed);
        }
    }
}

impl stream::Sink for Flushing<'_> {
    #[inline]
    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.enter(thread, time, method);
        self.count(time);
        self.check();
    }

    #[inline]
    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.leave(thread, time, method);
        self.count(time);
        self.check();
    }

    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        self.translator.coded(thread, time, code, payload);
        match code {
            Code::Snapshot => snapshot(self.translator, self.setup, time),
            Code::Cpu | Code::SuperCall | Code::SuperReturned | Code::Caught => {} // parts of calls
            _ => self.count(time),
        }
        self.check();
    }
}
