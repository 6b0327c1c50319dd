//! What the writer's thread does.

use super::announce::{Announcement, Compilation};
use super::compilations::Compilations;
use super::merge::Merge;
use super::output::write_whole;
use super::preamble::{self, Identity};
use super::translate::{OpenCalls, Settings, Translator};
use super::windows::Windows;
use super::{Action, Burst, Command, NextTrace, Output, Progress, Setup, format, losses, stream};
use crate::buffer::Full;
use crate::buffer::record::Code;
use crate::clock::{self, Timeline};
use crate::control;
use crate::log;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use jtrail_control::State;
use jtrail_formats::Loss;
use jtrail_model::{
    AgentDestroy, Custom, Duration as CpuTime, Event, ProcessCpu, Timestamp, TraceEnd,
};
use jtrail_options::{BurstLimit, Events, Options, OutputFormat, Trigger};
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
    windows: Windows,
    /// It is recorded without a burst.
    goes_on: bool,
    /// The output did not take what we wrote.
    has_failed: bool,
    progress: Arc<Mutex<Progress>>,
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
    /// Bursts that are due at a tick, by their numbers.
    due: Vec<(u64, usize)>,
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
            windows: Windows::default(),
            goes_on: true,
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
            let interval = interval.min(self.begin_bursts());
            select! {
                recv(commands) -> command => if self.take(command.unwrap_or(Command::Stop)) {
                    break;
                },
                recv(self.setup.full) -> message => full.extend(message),
                default(interval) => {}
            }
            // All that is there, so that what happens behind an action's tick is not written before it is known.
            if commands.try_iter().any(|command| self.take(command)) {
                break;
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

    /// Takes a command in; whether it is the last.
    fn take(&mut self, command: Command) -> bool {
        match command {
            Command::Live(started) => self.begin(started),
            Command::At(at, action, done) => self.actions.push_back((at, action, done)),
            Command::Stop => return true,
        }
        false
    }

    /// Reads what there is to read. The last pass leaves nothing.
    fn pass(&mut self, full: &mut Vec<Full>, last: bool) {
        // In this order: all that a thread stored before the first moment is published by the third, also by threads
        // that had no buffer before; and all that it published before is in the chunks that are in the channel by
        // the fourth.
        let before = (self.setup.now)();
        // What has arrived is not on its way any more: else a pass that the end of a thread brings about would come to nothing, and with
        // threads that end all the time, each would.
        full.extend(self.setup.full.try_iter());
        self.take_announcements();
        for message in full.drain(..) {
            self.merge.add_full(&message);
        }
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
            if !self.setup.may_write() {
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
            let until = self.windows.until();
            match (action, until) {
                // The last pass has no limit, but does not end what would have gone on.
                (_, Some(until))
                    if until <= limit.min(before) && action.is_none_or(|at| until <= at) =>
                {
                    self.merge_until(until);
                    let ended = self.windows.passed(until);
                    self.have_ended(ended, until);
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
        let mut progress = self.progress.lock();
        progress.cpu = clock::thread_cpu();
        if let Some(trace) = &self.trace
            && let Some(output) = &self.setup.output
        {
            progress.totals = trace.translator.totals_so_far();
            progress.bytes = output.written();
        }
    }

    /// Writes what happened up to that tick.
    fn merge_until(&mut self, limit: u64) {
        let mut ended = None;
        if let Some(trace) = &mut self.trace {
            let mut sink = Flushing {
                translator: &mut trace.translator,
                setup: &mut self.setup,
                has_failed: &mut self.has_failed,
                windows: &mut self.windows,
                goes_on: self.goes_on,
                ended: Vec::new(),
                ended_at: 0,
            };
            for told in trace.compilations.until(limit) {
                self.merge.run(told.time(), &mut sink);
                match told {
                    _ if sink.translator.is_off(Events::JIT) => {}
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
            ended = Some((sink.ended, sink.ended_at));
        }
        if let Some((ended, at)) = ended {
            self.have_ended(ended, at);
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

    /// Bursts are over.
    fn have_ended(&mut self, ended: Vec<Burst>, at: u64) {
        if ended.is_empty() {
            return;
        }
        if ended.iter().any(|burst| burst.ends_trace) {
            self.close(at);
        } else if self.windows.is_empty()
            && !self.goes_on
            && let Some(trace) = &mut self.trace
        {
            trace.translator.pause(Timestamp(trace.timeline.at(at)));
        }
        self.note_progress();
        if let Some(last) = ended.into_iter().next_back()
            && self.windows.is_empty()
            && (last.ends_trace || !self.goes_on)
        {
            (last.over)(*self.progress.lock());
        }
    }

    /// Begins the bursts for which it is time, or for which a call has become too slow; how long until the next look.
    fn begin_bursts(&mut self) -> Duration {
        let (Some(bursts), Some(trace)) = (&self.setup.bursts, &mut self.trace) else {
            return DRAIN_INTERVAL;
        };
        if trace.is_over {
            return DRAIN_INTERVAL;
        }
        let now = (self.setup.now)();
        let actions = &mut self.actions;
        let mut begin = |number: usize| {
            if bursts.begin(number) {
                let at = (self.setup.now)(); // the gate is open
                let (done, _) = bounded(1);
                actions.push_back((at, Action::Triggered(number), done));
            }
        };
        let next_slow = bursts.watch(&mut begin);
        let timeline = trace.timeline;
        trace.due.retain_mut(|(at, number)| {
            if *at > now {
                return true;
            }
            begin(*number);
            match self
                .setup
                .options
                .bursts
                .get(*number)
                .map(|burst| &burst.trigger)
            {
                Some(&Trigger::Every(pause)) => {
                    let pause = timeline.ticks_in(pause).max(1);
                    *at += pause * (1 + (now - *at) / pause);
                    true
                }
                _ => false,
            }
        });
        let next_due = trace.due.iter().map(|(at, _)| timeline.time_of(*at - now));
        let next = next_due.chain(next_slow.map(Duration::from_nanos)).min();
        next.unwrap_or(DRAIN_INTERVAL)
    }

    fn act(&mut self, at: u64, action: Action) {
        let Some(trace) = &mut self.trace else { return };
        let time = Timestamp(trace.timeline.at(at));
        match action {
            Action::Pause if trace.is_over => {}
            Action::Pause => {
                self.windows.clear();
                self.goes_on = false;
                trace.translator.pause(time);
            }
            Action::Burst(_) if trace.is_over => {}
            Action::Burst(burst) => {
                trace.translator.resume(time);
                let ticks = match burst.limit {
                    BurstLimit::Time(time) => trace.timeline.ticks_in(time),
                    BurstLimit::Events(_) => 0,
                };
                let told = trace.translator.told();
                self.windows.open(at, told, burst, ticks);
            }
            Action::Triggered(number) => {
                let translator = &mut trace.translator;
                let is_over = trace.is_over;
                triggered(
                    &self.setup,
                    translator,
                    &mut self.windows,
                    is_over,
                    at,
                    number,
                    None,
                );
            }
            Action::Resume if trace.is_over => {}
            Action::Resume => {
                self.goes_on = true;
                trace.translator.resume(time);
            }
            Action::Mark(text) if !trace.is_over => trace
                .translator
                .event(&Event::Custom(Custom { body: text.into() })),
            Action::Mark(_) => {}
            Action::End => {
                self.windows.clear();
                self.close(at);
            }
            Action::Begin(next) => {
                self.windows.clear();
                self.goes_on = next.options.bursts.is_empty();
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
        let has_gate = self.setup.bursts.is_some();
        self.goes_on |= !has_gate;
        let is_paused = !self.goes_on && self.windows.is_empty();
        // What is open is only known while it is recorded.
        let calls = if is_paused { OpenCalls::Hide } else { calls };
        let settings = settings(&next.options, started, has_gate);
        trace.translator.restart(encoder, settings, calls);
        for (thread, events) in self.merge.unwritten() {
            trace.translator.forget_lost(thread, events);
        }
        trace.begin(&self.setup, at);
        if calls == OpenCalls::Enter {
            trace.translator.enter_open_calls(at);
        }
        if is_paused {
            trace.begin_paused(&self.setup, started);
        }
        self.flush();
    }

    fn take_announcements(&mut self) {
        for announcement in self.setup.announcements.try_iter() {
            match announcement {
                Announcement::Buffer(buffer) => self.merge.add_buffer(*buffer),
                other => match &mut self.trace {
                    Some(trace) => trace.announce(other),
                    None if self.setup.may_write() && !self.has_failed => self.waiting.push(other),
                    None => {}
                },
            }
        }
    }

    fn begin(&mut self, started: u64) {
        let options = Arc::clone(&self.setup.options);
        if !self.setup.may_write() {
            return;
        }
        // Without an output, another trace may begin later.
        let is_idle = self.setup.output.is_none();
        let encoder = format::encoder(&options).filter(|_| !is_idle);
        // This may sleep a little, which is why it is done here and not where the program waits for it.
        let timeline = Timeline::since(self.setup.loaded, self.setup.now);
        let at = started;
        let started = Timestamp(timeline.at(at));
        let mut trace = Trace {
            translator: Translator::new(
                encoder.unwrap_or_else(Translator::silent),
                timeline,
                settings(&options, started, self.setup.bursts.is_some()),
            ),
            compilations: Compilations::default(),
            identity: Identity::default(),
            timeline,
            window: timeline.ticks_in(MERGE_WINDOW),
            opening: Vec::new(),
            flushed: Instant::now(),
            cpu_told: None,
            due: Vec::new(),
            is_over: is_idle,
        };
        match is_idle {
            true => trace.translator.go_silent(),
            false => {
                trace.begin(&self.setup, at);
                self.goes_on = options.bursts.is_empty();
                if !self.goes_on {
                    trace.begin_paused(&self.setup, started);
                }
            }
        }
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
            let options = Arc::clone(&self.setup.options);
            for (thread, events) in self.merge.unwritten() {
                translator.lost_at_end(thread, now, events);
            }
            if let Some(counters) = crate::agent::if_loaded().and_then(|a| a.classes.lines.get())
                && options.events.contains(Events::LINES)
            {
                translator.tell_lines(counters, time);
            }
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
            // A client has its own word of what was lost, and the program's output is not the client's.
            let is_file = |output: &Output| !output.is_stream();
            if self.setup.output.as_ref().is_some_and(is_file) {
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
    let cpu_time = CpuTime(clock::process_cpu() as i64);
    Event::ProcessCpu(ProcessCpu { time, cpu_time })
}

/// What a translator has to know of a trace.
fn settings(options: &Options, started: Timestamp, has_gate: bool) -> Settings {
    Settings {
        tell_threads: options.events.contains(Events::THREADS),
        // This format adds them up itself.
        aggregate: !options.exec_details && options.format != OutputFormat::ProfilerJ,
        alloc_sites: options.alloc_sites,
        off: Some(Events::ALL.without(options.events)),
        heap_name: options.heap_name.clone(),
        started,
        has_gate,
    }
}

impl Trace {
    /// Writes what opens a trace.
    fn begin(&mut self, setup: &Setup, at: u64) {
        let started = Timestamp(self.timeline.at(at));
        let translator = &mut self.translator;
        translator.begin();
        let loaded = Timestamp(self.timeline.at(setup.loaded.ticks()));
        let emit = |event: &Event<'_>| translator.event(event);
        self.identity = preamble::opening(&setup.options, loaded, started, emit);
        self.opening = self.translator.losses();
        (self.flushed, self.cpu_told, self.is_over) = (Instant::now(), None, false);
        // What is due at once, whoever began the trace sees to.
        let due = |(number, burst): (usize, &jtrail_options::Burst)| match burst.trigger {
            Trigger::At(time) | Trigger::Every(time) if !time.is_zero() => {
                Some((at.saturating_add(self.timeline.ticks_in(time)), number))
            }
            _ => None,
        };
        self.due = setup
            .options
            .bursts
            .iter()
            .enumerate()
            .filter_map(due)
            .collect();
    }

    /// Only bursts are recorded.
    fn begin_paused(&mut self, setup: &Setup, started: Timestamp) {
        // A trace log says so in its first line.
        let is_told = setup.options.format != OutputFormat::TraceLog;
        self.translator.begin_paused(started, is_told);
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
            Announcement::ClassDetail(_) if translator.is_off(Events::DETAILS) => {}
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
            Announcement::Mark(mark) => translator.add_mark(mark),
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

/// A burst has begun by itself: on a thread, or by the clock.
fn triggered(
    setup: &Setup,
    translator: &mut Translator,
    windows: &mut Windows,
    is_over: bool,
    at: u64,
    number: usize,
    thread: Option<u32>,
) {
    let Some((burst, lasting)) = setup.bursts.as_ref().and_then(|all| all.burst(number)) else {
        return;
    };
    if is_over {
        return; // there is no trace for it any more
    }
    let ticks = match burst.limit {
        BurstLimit::Time(time) => translator.timeline().ticks_in(time),
        BurstLimit::Events(_) => 0,
    };
    if translator.resume_at(at) {
        control::tell_state(State::Recording);
    }
    translator.burst(at, thread, &burst.to_string());
    let told = translator.told();
    let burst = Burst {
        limit: burst.limit,
        ends_trace: false,
        over: Box::new(move |_| {
            drop(lasting);
            control::tell_state(State::Paused);
        }),
    };
    windows.open(at, told, burst, ticks);
}

/// The translator, which writes its output whenever there is much of it.
struct Flushing<'a> {
    translator: &'a mut Translator,
    setup: &'a mut Setup,
    has_failed: &'a mut bool,
    windows: &'a mut Windows,
    /// It is recorded without a burst.
    goes_on: bool,
    /// Bursts that are over, and when the last one was.
    ended: Vec<Burst>,
    ended_at: u64,
}

impl Flushing<'_> {
    /// Behind the last event of a burst, collection pauses.
    #[inline(always)]
    fn count(&mut self, time: u64) {
        if let Some(target) = self.windows.target() {
            self.count_to(target, time);
        }
    }

    #[inline(never)]
    fn count_to(&mut self, target: u64, time: u64) {
        let told = self.translator.told();
        if told < target {
            return;
        }
        self.ended.extend(self.windows.reached(told));
        self.ended_at = time;
        let ends_trace = self.ended.iter().any(|burst| burst.ends_trace);
        if ends_trace || self.windows.is_empty() && !self.goes_on {
            self.translator.pause_at(time);
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
            Code::Burst => {
                let is_over = self.setup.output.is_none();
                let number = payload[0] as usize;
                let (translator, windows) = (&mut *self.translator, &mut *self.windows);
                triggered(
                    self.setup,
                    translator,
                    windows,
                    is_over,
                    time,
                    number,
                    Some(thread),
                );
            }
            _ => self.count(time),
        }
        self.check();
    }
}
