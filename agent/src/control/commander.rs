//! Carries out the commands of clients.

use super::shown::{Shown, counts};
use super::waiting::ClientWait;
use crate::allocated;
use crate::sources::own_threads::Leaves;
use crate::sources::{Tracer, jit, late, program, sampler, switch, trace};
use crossbeam_channel::bounded;
use jtrail_control::{
    self as control, DataStream, Destination, EndReason, Ended, ErrorCode, Failure, Notice,
    Notifier, SnapshotKind, State, Status, Stopper, StreamUse, Trace, TraceRequest, unavailable,
};
use jtrail_jvm::jni::Env;
use jtrail_options::{
    BurstLimit, Events, FilePattern, Filter, Options, OutputFormat, Overflow, Target, TraceChange,
};
use jtrail_writer::{Acted, Action, Burst, Handshake, NextTrace, Output, hostname, part};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// The agent's side of the commands: changes the trace as clients command.
pub(super) struct Commander<'t, 'e> {
    tracer: &'static Tracer,
    env: &'t mut Env<'e>,
    parts: Parts,
    /// The options of the active trace, or of the last one.
    options: Arc<Options>,
    /// Number of files that were named by the agent, not by a client.
    files: u64,
    /// Whether the agent is to detach when the channel's thread ends.
    leaves: Leaves,
}

/// The state that a commander shares with the channel.
pub(super) struct Parts {
    pub(super) shown: Arc<Mutex<Shown>>,
    pub(super) waiting: Arc<ClientWait>,
    pub(super) notifier: Notifier,
    pub(super) stopper: Arc<OnceLock<Stopper>>,
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::Failed, message)
}

fn invalid(problem: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::Invalid, problem)
}

/// Returns the path that a client's file pattern stands for.
fn expand(pattern: &FilePattern) -> Result<PathBuf, Failure> {
    match pattern.expand(std::process::id(), SystemTime::now(), &hostname()) {
        Target::Path(path) => Ok(path),
        Target::Stdout => Err(unavailable("the standard output is the program's")),
    }
}

impl<'t, 'e> Commander<'t, 'e> {
    pub(super) fn new(tracer: &'static Tracer, env: &'t mut Env<'e>, parts: Parts) -> Self {
        Self {
            tracer,
            env,
            parts,
            options: Arc::clone(&tracer.session.options),
            files: 0,
            leaves: Leaves::No,
        }
    }

    /// Returns whether the agent is to detach.
    pub(super) fn leaves(&self) -> Leaves {
        self.leaves
    }

    /// Makes the writer carry out an action now, and waits for it.
    fn act(&self, action: Action) -> Result<(), Failure> {
        acted(self.tracer.writer.act(self.tracer.session.moment(), action))
    }

    /// Returns the agent's options with these changes, for a new trace. Acquires the kinds of
    /// events that the new options need.
    fn options_of(&mut self, change: &TraceChange) -> Result<Options, Failure> {
        let mut options = self
            .tracer
            .session
            .options
            .changed(change)
            .map_err(invalid)?;
        if change.events.is_none() {
            // A format may add kinds by default. They are left out unless the agent's options
            // request them. Details of classes are never left out, because they cost the program
            // nothing.
            let asked = self.tracer.session.options.events.union(Events::DETAILS);
            let more = options.events.without(asked);
            options.events = options.events.without(more);
        }
        late::acquire(self.tracer, self.env, options.events).map_err(unavailable)?;
        if change.patterns.is_empty() {
            options.filter = (*self.tracer.session.filter()).clone();
        }
        Ok(options)
    }

    /// Switches the kinds that a trace needs on, and all other kinds off. Returns how many classes
    /// were retransformed.
    fn switch(&mut self, kinds: Events, filters: bool) -> Result<u64, Failure> {
        switch::switch(self.tracer, self.env, kinds, filters).map_err(failed)
    }

    /// Opens the trace file. `is_named` is true if the client named the file. Otherwise, the file
    /// gets a name that no trace of this agent has had yet.
    fn open(&mut self, options: &Options, is_named: bool) -> Result<(Output, PathBuf), Failure> {
        let path = expand(&options.file)?;
        let (path, output) = match is_named {
            true => {
                // There can be an active trace only if the command is a rotation.
                self.keep_trace(&path, "rotate/@file")?;
                let output = self.tracer.writer.names.open(&path);
                (path, output)
            }
            false => {
                let names = &self.tracer.writer.names;
                names.create_numbered(&names.instead_of(&path), &mut self.files)
            }
        };
        let output = output.map_err(|e| failed(format!("cannot write {}: {e}", path.display())))?;
        // If another process has taken that name, the file has a different one.
        let path = output.path().map_or(path, Path::to_owned);
        Ok((output, path))
    }

    /// Fails if `path` is the file of the active trace, because its data would be overwritten.
    fn keep_trace(&self, path: &Path, place: &str) -> Result<(), Failure> {
        match self.parts.shown.lock().is_written_to(path) {
            true => {
                let message = format!("{} is the file of the active trace", path.display());
                Err(Failure::at(ErrorCode::Invalid, place, message))
            }
            false => Ok(()),
        }
    }

    /// Prepares a trace with these options. If there is a stream, the trace goes there. Otherwise,
    /// opens a file for it.
    fn next(
        &mut self,
        options: Options,
        is_named: bool,
        stream: Option<DataStream>,
    ) -> Result<(NextTrace, Trace), Failure> {
        if options.format == OutputFormat::None {
            return Err(Failure::new(ErrorCode::Invalid, "format=none is no trace"));
        }
        let (output, file, to) = match stream {
            None => {
                let (output, path) = self.open(&options, is_named)?;
                (output, Some(path.display().to_string()), Destination::File)
            }
            Some(stream) => (Output::stream(stream), None, Destination::Stream),
        };
        let trace = Trace {
            format: options.format,
            to,
            file: file.clone(),
        };
        let next = NextTrace {
            options: Arc::new(options),
            output,
            target: file.unwrap_or_else(|| "to the client".into()),
        };
        Ok((next, trace))
    }

    /// Makes the JVM report all existing compiled code again, for a trace that has just begun.
    fn replay_code(&self) {
        if self.options.events.contains(Events::JIT) {
            jit::replay(self.tracer);
        }
    }

    /// Marks all objects as unreported, because the next trace does not know them.
    fn begin_objects(&self) {
        if let Some(objects) = self.tracer.objects.get() {
            objects.begin_trace();
        }
    }

    /// Begins a trace. If there is a `burst`, the trace consists of that burst alone. Calls `began`
    /// before anything is written to the trace.
    fn begin(
        &mut self,
        request: TraceRequest,
        burst: Option<Burst>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure> {
        let TraceRequest { change, stream } = request;
        let has_filters = !change.patterns.is_empty();
        let mut options = self.options_of(&change)?;
        if burst.is_some() {
            options.bursts.clear(); // no trigger may begin another burst
        }
        let (next, trace) = self.next(options, change.file.is_some(), stream.clone())?;
        let (options, file) = (Arc::clone(&next.options), next.output.file_id());
        let begins_paused = !options.bursts.is_empty();
        if has_filters {
            self.tracer.session.set_filter(options.filter.clone());
        }
        if let Some(bursts) = &self.tracer.session.bursts {
            bursts.keep_stacks(options.format);
        }
        sampler::set_samples(self.tracer, &options);
        self.switch(options.events, has_filters)?;
        self.begin_objects();
        let triggers = self
            .tracer
            .session
            .bursts
            .as_ref()
            .filter(|_| begins_paused);
        let (handshake, meeting) = Handshake::new();
        let begin = Action::Begin(next, burst, handshake);
        self.parts.shown.lock().open(stream); // must precede the trace's first byte
        let done = self
            .tracer
            .writer
            .begin(self.tracer.session.moment(), begin);
        let met = meeting.meet(|progress| {
            let mut shown = self.parts.shown.lock();
            shown.begin(&trace, file, progress);
            if let Some(bursts) = triggers {
                shown.set_state(State::Paused);
                bursts.arm();
            }
            drop(shown);
            began(&trace);
        });
        if met.is_none() {
            self.parts.shown.lock().open(None);
            return Err(off());
        }
        acted(done.recv().unwrap_or(Acted::Off))?;
        self.options = options;
        self.replay_code();
        if let Some(bursts) = triggers {
            for number in bursts.begin_at_once() {
                self.act(Action::Triggered(number))?;
            }
        }
        self.parts.waiting.end();
        Ok(())
    }

    /// Disables the triggers of bursts, because the trace is about to end.
    fn disarm(&self) {
        if let Some(bursts) = &self.tracer.session.bursts {
            bursts.disarm();
        }
    }

    /// Notes whether recording is on because of the command `resume`.
    fn resumed(&self, resumed: bool) {
        if let Some(bursts) = &self.tracer.session.bursts {
            bursts.resume(resumed);
        }
    }

    fn shown_end(&self) -> Option<Ended> {
        self.parts.shown.lock().end(self.tracer.writer.progress())
    }
}

fn off() -> Failure {
    failed("tracing is off; the reason is on the program's standard error")
}

/// Converts the outcome of an action into an answer for the client.
fn acted(acted: Acted) -> Result<(), Failure> {
    match acted {
        Acted::Done => Ok(()),
        Acted::TraceOver => Err(Failure::new(ErrorCode::State, "the trace has ended")),
        Acted::Off => Err(off()),
    }
}

impl control::Agent for Commander<'_, '_> {
    fn state(&self) -> State {
        self.parts.shown.lock().state()
    }

    fn settle(&mut self) {
        if self.state() == State::Idle && self.tracer.session.kinds.on() != Events::NONE {
            let _ = self.switch(Events::NONE, false); // kinds that stay on after an error are not recorded
        }
    }

    fn trace(&self) -> Option<Trace> {
        self.parts.shown.lock().trace.clone()
    }

    fn start(&mut self, request: TraceRequest) -> Result<Trace, Failure> {
        let mut trace = None;
        self.begin(request, None, &mut |begun| trace = Some(begun.clone()))?;
        trace.ok_or_else(off)
    }

    fn stop(&mut self) -> Result<Ended, Failure> {
        self.disarm();
        let done = self.act(Action::End);
        self.resumed(false);
        let ended = self.shown_end();
        done?;
        self.switch(Events::NONE, false)?;
        ended.ok_or_else(off)
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.act(Action::Pause)?;
        self.resumed(false);
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Failure> {
        self.resumed(true); // must precede the tick at which recording resumes
        let done = self.act(Action::Resume);
        if done.is_err() {
            self.resumed(false);
        }
        done
    }

    fn burst(
        &mut self,
        limit: BurstLimit,
        begin: Option<TraceRequest>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure> {
        let ends_trace = begin.is_some();
        let guard = self
            .tracer
            .session
            .bursts
            .as_ref()
            .map(|bursts| bursts.begin_on_command());
        let (shown, notifier) = (Arc::clone(&self.parts.shown), self.parts.notifier.clone());
        let stopper = Arc::clone(&self.parts.stopper);
        let over = move |progress| {
            drop(guard);
            let notice = match ends_trace {
                true => shown.lock().end(progress).map(|ended| Notice::TraceEnded {
                    reason: EndReason::Burst,
                    ended,
                    message: String::new(),
                }),
                false => {
                    shown.lock().set_state(State::Paused);
                    Some(Notice::State(State::Paused))
                }
            };
            if let Some(notice) = notice {
                notifier.notify(&notice);
            }
            if ends_trace && let Some(stopper) = stopper.get() {
                stopper.wake(); // the channel's thread then switches the kinds off
            }
        };
        let burst = Burst {
            limit,
            ends_trace,
            over: Box::new(over),
        };
        if let Some(request) = begin {
            return self.begin(request, Some(burst), began);
        }
        if let Some(trace) = self.trace() {
            began(&trace);
        }
        self.act(Action::Burst(burst))
    }

    fn go(&mut self) -> Result<(), Failure> {
        match self.parts.waiting.end() {
            true => Ok(()),
            false => Err(Failure::new(ErrorCode::State, "the program does not wait")),
        }
    }

    fn rotate(
        &mut self,
        file: Option<&str>,
        ended: &mut dyn FnMut(Ended),
    ) -> Result<Trace, Failure> {
        let stream = self.parts.shown.lock().stream.clone();
        let mut options = (*self.options).clone();
        options.filter = (*self.tracer.session.filter()).clone();
        if let Some(file) = file {
            options.file = FilePattern::parse(file).map_err(invalid)?;
        }
        let (next, trace) = self.next(options, file.is_some(), stream.clone())?;
        let (options, file) = (Arc::clone(&next.options), next.output.file_id());
        self.begin_objects();
        let (handshake, meeting) = Handshake::new();
        let action = Action::Rotate(next, handshake);
        let done = self
            .tracer
            .writer
            .begin(self.tracer.session.moment(), action);
        meeting.meet(|progress| {
            let mut shown = self.parts.shown.lock();
            let state = shown.state();
            let old = shown.end(progress);
            shown.open(stream);
            shown.begin(&trace, file, progress);
            shown.set_state(state);
            drop(shown);
            if let Some(old) = old {
                ended(old);
            }
        });
        acted(done.recv().unwrap_or(Acted::Off))?;
        self.options = options;
        self.replay_code();
        Ok(trace)
    }

    fn save(&mut self, file: Option<&str>) -> Result<Ended, Failure> {
        if self.options.overflow != Overflow::Ring {
            return Err(unavailable(control::NOT_KEPT));
        }
        let file = file.map(|file| expand(&FilePattern::parse(file).map_err(invalid)?));
        let file = file.transpose()?;
        trace::record_final(self.tracer, self.env);
        let (answer, answered) = bounded(1);
        self.act(Action::SaveTo(file, answer))?;
        let saved = answered.recv().map_err(|_| off())?.map_err(failed)?;
        Ok(super::shown::saved(self.options.format, &saved))
    }

    fn snapshot(
        &mut self,
        kind: SnapshotKind,
        file: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        match kind {
            SnapshotKind::Heap if file.is_some() => {
                Err(unavailable("a heap snapshot goes into the trace"))
            }
            SnapshotKind::Heap => match trace::take_heap_snapshot(self.tracer, self.env) {
                true => Ok(None),
                false => Err(unavailable("this trace has no events=heap")),
            },
            SnapshotKind::Profile => {
                if self.options.format != OutputFormat::ProfilerJ {
                    let problem = "only format=profilerj has a document of totals";
                    return Err(unavailable(problem));
                }
                let path = match file {
                    Some(file) => {
                        let path = expand(&FilePattern::parse(file).map_err(invalid)?)?;
                        // The document is first written under another name: `part(&path)`.
                        for path in [&path, &part(&path)] {
                            self.keep_trace(path, "snapshot/@file")?;
                        }
                        Some(path)
                    }
                    None => None,
                };
                trace::record_final(self.tracer, self.env);
                let (answer, answered) = bounded(1);
                self.act(Action::Document(path, answer))?;
                let path = answered.recv().map_err(|_| off())?;
                path.map(|path| Some(path.display().to_string()))
                    .map_err(failed)
            }
        }
    }

    fn force_gc(&mut self) -> Result<(), Failure> {
        trace::force_gc(self.tracer, self.env).map_err(failed)
    }

    fn set_filters(&mut self, patterns: &[(bool, String)]) -> Result<u64, Failure> {
        let filter = Filter::from_patterns(patterns);
        let filter = filter.map_err(|(_, problem)| invalid(problem))?;
        self.tracer.session.set_filter(filter);
        self.switch(self.tracer.session.kinds.on(), true)
    }

    fn mark(&mut self, text: &str) -> Result<(), Failure> {
        super::check_note(self.parts.shown.lock().format(), text)?;
        if self.options.overflow == Overflow::Ring {
            // The mark is recorded like an event. So it is kept or dropped together with the events
            // around it.
            return program::mark_from_outside(self.tracer, text.to_owned()).map_err(failed);
        }
        self.act(Action::Mark(text.to_owned()))
    }

    fn status(&self) -> Status {
        let shown = self.parts.shown.lock();
        let progress = self.tracer.writer.progress();
        let trace = shown.ended(progress);
        let recording = trace.is_some();
        let overhead = shown.overhead.so_far(progress).filter(|_| recording);
        let (counts, losses) = match trace {
            // The events that a flight recorder drops are not counted by kind.
            Some(_) if progress.newest.is_none() => (
                counts(&progress.totals)
                    .into_iter()
                    .filter(|(_, n)| *n > 0)
                    .map(|(kind, n)| (kind.to_owned(), n))
                    .collect(),
                match progress.totals.lost {
                    0 => Vec::new(),
                    lost => vec![("overflow".to_owned(), lost)],
                },
            ),
            _ => (Vec::new(), Vec::new()),
        };
        Status {
            state: shown.state(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: shown.uptime(),
            trace,
            buffer: self.tracer.session.options.buffer_bytes,
            buffered: self.tracer.session.buffered(),
            memory: Some(allocated::bytes()),
            overhead,
            clients: 0,
            stream: StreamUse::Free,
            counts,
            losses,
        }
    }

    fn stream_lost(&mut self) -> Option<Ended> {
        let to_stream = self.trace()?.to == Destination::Stream;
        if !to_stream {
            return None;
        }
        self.disarm();
        let _ = self.act(Action::End); // fails if a failed write has ended the trace
        self.resumed(false);
        let _ = self.switch(Events::NONE, false); // kinds that stay on after an error are not recorded
        self.shown_end()
    }

    fn detach(&mut self) -> Result<Option<Ended>, Failure> {
        self.parts.waiting.end();
        self.disarm();
        trace::end_own_work(self.tracer, self.env);
        trace::record_final(self.tracer, self.env);
        let _ = self.act(Action::End); // a failure of the trace was reported earlier
        let ended = self.shown_end();
        super::begin_leaving(self.tracer, self.env);
        self.leaves = Leaves::Yes;
        Ok(ended)
    }
}
