//! Begins and ends traces.

use super::WriterThread;
use super::flushing::write;
use super::trace::{Trace, process_cpu};
use crate::action::NextTrace;
use crate::command::FirstTrace;
use crate::compilations::Compilations;
use crate::files::Files;
use crate::output::Output;
use crate::preamble::Identity;
use crate::setup::Setup;
use crate::{dropped, format};
use jtrail_guard::log;
use jtrail_model::{AgentDestroy, ClockNote, Event, Timestamp, TraceEnd};
use jtrail_options::{Events, Options, OutputFormat, Overflow, Server};
use jtrail_recorder::clock;
use jtrail_records::{OpenCalls, Settings, Timeline, Translator};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which records are held back. So a record that is stored a little after it was stamped
/// can still be merged in the right order.
const MERGE_WINDOW: Duration = Duration::from_millis(10);

impl WriterThread {
    pub(super) fn open(&mut self, at: u64, next: NextTrace, calls: OpenCalls) {
        let Some(trace) = &mut self.trace else { return };
        let Some(encoder) = format::encoder(&next.options, &self.helpers) else {
            return;
        };
        self.setup.options = Arc::clone(&next.options);
        (self.setup.target.output, self.setup.target.name) = (Some(next.output), next.target);
        if calls == OpenCalls::Hide {
            self.files = Files::of(&next.options, self.setup.target.output.as_ref());
        }
        let started = Timestamp(trace.timeline.at(at));
        let settings = settings(&next.options, started, &self.setup);
        let is_paused = !self.goes_on && self.windows.is_empty();
        // With a gate, open calls are only known while the trace is not paused.
        let calls = if is_paused && settings.has_gate {
            OpenCalls::Hide
        } else {
            calls
        };
        trace.translator.restart(encoder, settings, calls);
        self.merge.report_lost(); // losses so far belong to the preceding trace, or to none
        trace.begin(&self.setup, at);
        if let Some((number, before)) = self.files.as_ref().and_then(Files::part) {
            trace.emit_part(number, &before);
        }
        trace.translator.emit_present_state(at, calls);
        if is_paused {
            trace.begin_paused(&self.setup, started);
        }
        self.flush();
        self.note_opening();
        if let Some(commits) = &mut self.setup.commits {
            commits.begin_trace();
        }
        // The state is committed before the spool gets the trace's name. A recovery finds the spool
        // by that name, and then needs the state of this trace.
        self.commit();
        let (commits, output) = (&mut self.setup.commits, &self.setup.target.output);
        if let (Some(commits), Some(path)) = (commits, output.as_ref().and_then(Output::path))
            && let Err(error) = commits.go_to(path)
            // A spool can't be moved to another file system. A flight recorder's buffers are for
            // further traces, so its spool stays where those traces are written.
            && !(self.ring.is_some() && error.kind() == io::ErrorKind::CrossesDevices)
        {
            self.give_spool_up(&error);
        }
    }

    /// Opens the file of the first trace, and names the spool, when the JVM starts the program.
    ///
    /// # Errors
    /// When the file can't be written; the error is a sentence. The spool is removed in that case.
    pub(super) fn open_first(&mut self) -> Result<FirstTrace, String> {
        if let Some(path) = self.setup.target.pending.take() {
            let opened = self.setup.names.open(&path);
            let output = opened.map_err(|error| {
                self.has_failed = true;
                if let Some(commits) = self.setup.commits.take() {
                    commits.remove();
                }
                format!("cannot write {}: {error}", path.display())
            })?;
            self.setup.target.output = Some(output);
        }
        let output = self.setup.target.output.as_ref();
        let file = output.and_then(Output::file_id);
        let path = match output {
            Some(output) => output.path().map(Path::to_owned),
            None => self
                .first_of_ring()
                .map(|first| self.setup.names.reserve(&first)),
        };
        if let Some(path) = path {
            self.setup.target.name = path.display().to_string();
            self.go_to(&path);
        }
        Ok(FirstTrace {
            target: self.setup.target.name.clone(),
            file,
        })
    }

    /// Names the spool, if there is one, after the trace at `path`.
    pub(super) fn go_to(&mut self, path: &Path) {
        if let Some(commits) = &mut self.setup.commits
            && let Err(error) = commits.go_to(path)
        {
            self.give_spool_up(&error);
        }
    }

    pub(super) fn begin(&mut self, started: u64) {
        let options = Arc::clone(&self.setup.options);
        if !self.setup.may_write() {
            return;
        }
        // Without an output, a trace may begin later.
        let is_idle = self.setup.target.output.is_none();
        let encoder = format::encoder(&options, &self.helpers).filter(|_| !is_idle);
        // The call may sleep a little. So it is made on the writer's thread, not on a thread of the
        // program.
        let timeline = clock::timeline(self.setup.clocks.loaded, self.setup.clocks.now);
        let at = started;
        let started = Timestamp(timeline.at(at));
        let mut trace = Trace {
            translator: Translator::new(
                encoder.unwrap_or_else(Translator::silent),
                timeline,
                settings(&options, started, &self.setup),
            ),
            compilations: Compilations::default(),
            identity: Identity::default(),
            timeline,
            window: timeline.ticks_in(MERGE_WINDOW),
            opening: Vec::new(),
            flushed: Instant::now(),
            cpu_reported: None,
            due: Vec::new(),
            is_over: is_idle,
        };
        let program = Arc::clone(&self.setup.program);
        let counters = move || program.line_counters();
        trace.translator.count_lines_by(Box::new(counters));
        match is_idle {
            true => {
                trace.translator.go_silent();
                if let Some(ring) = &mut self.ring {
                    let loaded = Timestamp(timeline.at(self.setup.clocks.loaded.ticks()));
                    ring.begin(&self.setup, loaded, started);
                    self.written = at;
                }
            }
            false => {
                trace.begin(&self.setup, at);
                self.files = Files::of(&options, self.setup.target.output.as_ref());
                self.goes_on = !options.has_bursts();
                if !self.goes_on {
                    trace.begin_paused(&self.setup, started);
                }
            }
        }
        for definition in self.waiting.drain(..) {
            trace.define(definition);
        }
        self.trace = Some(trace);
        self.flush();
        self.note_opening();
        self.commit();
    }

    pub(super) fn end(&mut self) {
        if self.trace.is_none() && self.setup.target.output.is_some() {
            // The JVM ended before it was live, and the output is not a file, so its reader needs a
            // complete trace.
            self.begin(self.setup.now());
        }
        self.close(self.setup.now());
        if !self.has_failed
            && let Some(commits) = self.setup.commits.take()
        {
            commits.remove();
        }
    }

    /// Ends the trace, if there is one, and closes its output.
    pub(super) fn close(&mut self, now: u64) {
        let last = self.setup.target.output.as_ref().and_then(Output::path);
        let message = last.and_then(|last| self.files.as_ref()?.message(last));
        self.end_trace(now, false);
        self.files = None;
        if let Some(message) = message {
            log::say(&message);
        }
        self.commit();
    }

    /// Like [`Self::close`], without a commit. With `follows`, the trace continues in another file,
    /// and messages about losses are left to the last file.
    pub(super) fn end_trace(&mut self, now: u64, follows: bool) {
        if let Some(trace) = &mut self.trace
            && !std::mem::replace(&mut trace.is_over, true)
        {
            let time = Timestamp(trace.timeline.at(now));
            let translator = &mut trace.translator;
            translator.close_cut();
            let options = Arc::clone(&self.setup.options);
            for (thread, events) in self.merge.unwritten() {
                translator.lost_at_end(thread, now, events);
            }
            self.merge.report_lost();
            if options.events.contains(Events::LINES) {
                translator.emit_lines(time);
            }
            if options.events.contains(Events::CPU) && options.format == OutputFormat::TraceLog {
                translator.event(&process_cpu(time));
            }
            let of_trace = translator.dropped();
            let writes_notes = !format::is_ours(options.format);
            if writes_notes && format::has_notes(options.format) {
                let of_trace = dropped::without(of_trace.clone(), &trace.opening);
                translator.note_dropped(options.unsupported, &of_trace);
            }
            translator.emit_frees(time); // if the trace ends in the middle of a collection
            let clock = clock_note(&self.setup, &trace.timeline);
            translator.totals(time, clock);
            translator.event(&Event::TraceEnd(TraceEnd {
                trace_id: "".into(),
                time,
            }));
            let agent_id = (&*trace.identity.agent_id).into();
            translator.event(&Event::AgentDestroy(AgentDestroy { agent_id, time }));
            let closing = dropped::without(translator.dropped(), &of_trace);
            while translator.end_part() {
                write(&mut self.setup, &mut translator.out, &mut self.has_failed);
            }
            let all = dropped::without(translator.dropped(), &trace.opening);
            let mut all = dropped::without(all, &closing);
            let mut lost = translator.lost_events();
            if let Some(files) = &mut self.files {
                files.add_dropped(&mut all, &mut lost);
            }
            let message = dropped::message(options.format, options.unsupported, &all);
            let patches = translator.patches();
            let has_notes = format::has_notes(options.format);
            self.flush();
            // A client learns about losses from the command channel, and the program's standard
            // error is not the client's.
            let is_file = |output: &Output| !output.is_stream();
            if self.setup.target.output.as_ref().is_some_and(is_file) {
                self.patch(&patches);
                if lost > 0 && !has_notes && !follows {
                    log::say(&format!(
                        "{lost} events were lost (overflow=drop); the trace can't say where"
                    ));
                }
                if writes_notes
                    && !follows
                    && let Some(message) = message
                {
                    log::say(&message);
                }
            }
        }
        self.flush();
        self.note_progress();
        self.setup.target.output = None;
        if let Some(trace) = &mut self.trace {
            trace.translator.go_silent();
        }
    }

    fn patch(&mut self, patches: &[jtrail_formats::Patch]) {
        if let Some(output) = &mut self.setup.target.output
            && let Err(error) = output.patch(patches)
        {
            log::say(&format!(
                "cannot complete the header of {}: {error}",
                self.setup.target.name
            ));
        }
    }
}

/// Returns what the coarse clock did so far, if there is one.
pub(super) fn clock_note(setup: &Setup, timeline: &Timeline) -> Option<ClockNote> {
    let ticks = setup.clocks.ticks.as_ref()?;
    Some(ClockNote {
        tick: span(setup.options.tick),
        longest: span(timeline.time_of(ticks.longest())),
    })
}

/// Converts a length of time to that of traces.
fn span(time: Duration) -> jtrail_model::Duration {
    jtrail_model::Duration(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns the settings of a translator for a trace.
fn settings(options: &Options, started: Timestamp, setup: &Setup) -> Settings {
    let has_bursts = setup.bursts.as_ref().is_some_and(|bursts| !bursts.saves());
    let is_one_of_many = options.max_size.is_some() || options.overflow == Overflow::Ring;
    let keeps_stacks = options.format.keeps_stacks();
    Settings {
        emit_threads: options.events.contains(Events::THREADS),
        // The format ProfilerJ aggregates calls itself.
        aggregate: !options.exec_details && options.format != OutputFormat::ProfilerJ,
        alloc_sites: options.alloc_sites,
        off: Some(Events::ALL.without(options.events)),
        keeps_details: options.server != Server::Standalone || is_one_of_many,
        keeps_code: is_one_of_many,
        keeps_objects: options.overflow == Overflow::Ring && options.events.name_objects(),
        heap_name: options.heap_name.clone(),
        started,
        has_gate: has_bursts && !keeps_stacks,
        shows_open_calls: keeps_stacks && options.exec_details,
        keeps_names: setup.commits.is_some(),
    }
}
