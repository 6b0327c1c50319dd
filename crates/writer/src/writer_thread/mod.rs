//! The writer's thread.

mod actions;
mod committing;
mod flushing;
mod following;
mod ring;
mod trace;
mod traces;

use crate::action::{Acted, Action};
use crate::command::Command;
use crate::files::Files;
use crate::helpers::Pool;
use crate::merge::{Merge, PublishedChunk};
use crate::progress::{Progress, RingState};
use crate::setup::Setup;
use crate::windows::Windows;
use crossbeam_channel::{Receiver, Sender, select};
use flushing::{Flushing, write};
use jtrail_formats::trail;
use jtrail_options::OutputFormat;
use jtrail_recorder::buffer::Full;
use jtrail_recorder::clock;
use jtrail_recorder::message::Message;
use jtrail_records::Definition;
use parking_lot::Mutex;
use ring::Ring;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::Trace;

/// Maximum time that published records wait while no chunk is full.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time that a pass waits for a thread that is handing over a chunk. The chunk wakes the
/// writer before the thread has finished the handover. The end of the handover may not wake the
/// writer again: the thread may then be waiting for the writer.
const HAND_OVER: Duration = Duration::from_micros(100);
/// Like [`HAND_OVER`], for the last pass. A handover takes no time, unless the thread is preempted.
const LAST_HAND_OVER: Duration = Duration::from_secs(1);
/// Time until the next pass if a handover took longer.
const HAND_OVER_INTERVAL: Duration = Duration::from_millis(1);
/// Time until the next pass while an action waits for the records before its tick.
const ACTION_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum time by which calls may precede earlier events of other threads in a trail. Threads that
/// run at the same time make some ten calls per microsecond. Switching between threads for each
/// call would take the writer several times as long as the calls themselves.
const AHEAD: Duration = Duration::from_nanos(trail::CALLS_AHEAD.0.unsigned_abs());

pub(super) struct WriterThread {
    setup: Setup,
    merge: Merge,
    /// The trace. It exists from the moment when the JVM is live, as long as writing succeeds.
    /// Between two traces, it remains and writes nothing.
    trace: Option<Trace>,
    /// Definitions that came before the trace existed.
    waiting: Vec<Definition>,
    /// Requested actions: tick, action, and channel for the result.
    actions: VecDeque<(u64, Action, Sender<Acted>)>,
    windows: Windows,
    /// Tick up to which all records are written.
    written: u64,
    /// Number of definitions handled.
    defined: u64,
    /// The flight recorder, if there is one.
    ring: Option<Ring>,
    /// Files of the trace, if their size is limited.
    files: Option<Files>,
    /// True if recording continues without a burst.
    goes_on: bool,
    /// True if writing the output failed.
    has_failed: bool,
    helpers: Arc<Pool>,
    progress: Arc<Mutex<Progress>>,
}

/// Result of a merge.
enum Merged {
    All,
    /// Kept chunks must be committed first.
    ToCommit,
    FileFull,
}

impl WriterThread {
    pub(super) fn new(setup: Setup, progress: Arc<Mutex<Progress>>) -> Self {
        let merge = Merge::new(setup.input.empty.clone(), setup.commits.is_some());
        Self {
            ring: Ring::of(&setup.options),
            setup,
            merge,
            trace: None,
            waiting: Vec::new(),
            actions: VecDeque::new(),
            windows: Windows::default(),
            written: 0,
            defined: 0,
            files: None,
            goes_on: true,
            has_failed: false,
            helpers: Arc::default(),
            progress,
        }
    }

    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        let mut full = Vec::new();
        let mut is_complete = true;
        loop {
            let interval = match self.actions.is_empty() {
                true => DRAIN_INTERVAL,
                false => ACTION_INTERVAL,
            };
            let interval = interval.min(self.begin_bursts());
            let interval = match is_complete {
                true => interval,
                false => interval.min(HAND_OVER_INTERVAL),
            };
            select! {
                recv(commands) -> command => if self.take(command.unwrap_or(Command::Stop)) {
                    break;
                },
                recv(self.setup.input.woken) -> _ => {}
                default(interval) => {}
            }
            // Takes all waiting commands. So an action is known before events after its tick are
            // written.
            if commands.try_iter().any(|command| self.take(command)) {
                break;
            }
            is_complete = self.pass(&mut full, false);
            if self.has_failed {
                let progress = *self.progress.lock();
                let observer = &self.setup.observer;
                observer.failed(progress, "the output takes no more");
                if let Some(commits) = &self.setup.commits {
                    commits.leave();
                }
                break; // without the writer, no chunks are supplied, and recording ends
            }
        }
        self.pass(&mut full, true);
        self.end();
    }

    /// Handles a command. Returns true if it is the last one.
    fn take(&mut self, command: Command) -> bool {
        match command {
            Command::Open(answer) => _ = answer.send(self.open_first()), // the requester waits
            Command::Live(started) => self.begin(started),
            Command::At(at, action, done) => self.actions.push_back((at, action, done)),
            Command::Stop => return true,
        }
        false
    }

    /// Reads and writes what is available. Returns true if that is everything, and false if a
    /// thread was handing over a chunk. The last pass leaves nothing.
    fn pass(&mut self, full: &mut Vec<Full>, last: bool) -> bool {
        // If a burst counts events, it may end after any of them.
        let counts = self.windows.target().is_some();
        let trace = self.trace.as_ref().filter(|_| !counts);
        let follower = trace.and_then(|trace| trace.translator.follower());
        self.merge.follow_by(follower, &self.helpers);
        let (before, published) = self.look(full, last);
        let Some(trace) = &mut self.trace else {
            if !self.setup.may_write() {
                self.merge.discard();
            }
            return published.is_some();
        };
        match published {
            Some(published) => self.merge.add_published(published),
            None if last => {}
            None => return false,
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
        self.act_before(limit, before);
        match (&self.ring, last) {
            (None, _) => self.merge_until(limit),
            (Some(_), false) => self.make_room(limit),
            (Some(_), true) => self.save_last(),
        }
        if let Some(trace) = &mut self.trace
            && !last
            && !trace.is_over
        {
            trace.periodic(&self.setup);
        }
        self.flush();
        if self.merge.must_commit() {
            self.commit();
        }
        if let Some(trace) = &mut self.trace
            && self.setup.target.output.is_none()
            && !std::mem::replace(&mut trace.is_over, true)
        {
            // The client has disconnected.
            trace.translator.go_silent();
        }
        self.note_progress();
        true
    }

    /// Receives the chunks that threads have handed over, and looks at what else they have
    /// published. Returns a tick, and the chunks that are being filled. All records up to the tick
    /// are in received chunks or among the published words. In place of the chunks, returns `None`
    /// if a chunk is still being sent.
    fn look(&mut self, full: &mut Vec<Full>, last: bool) -> (u64, Option<Vec<PublishedChunk>>) {
        // The order of the steps matters. Records that were stored before the first step (`now`)
        // are published by the third step (`published`). The third step includes new buffers,
        // because the second step (`take_definitions`) has added them. Chunks that were handed over
        // before the third step are in the channel in the fourth step (`try_iter`).
        let before = self.setup.now();
        // Chunks that have arrived are handled first, because a finished buffer counts as in
        // transit until its last message is handled. Otherwise, passes that ending threads cause
        // would be in vain. If threads ended all the time, every pass would be in vain.
        full.extend(self.setup.input.full.try_iter());
        self.take_definitions();
        for message in full.drain(..) {
            self.merge.add_full(&message);
        }
        let until = Instant::now() + if last { LAST_HAND_OVER } else { HAND_OVER };
        let mut published = self.merge.published();
        while published.is_none() && Instant::now() < until {
            std::thread::yield_now();
            full.extend(self.setup.input.full.try_iter());
            published = self.merge.published();
        }
        full.extend(self.setup.input.full.try_iter());
        self.take_definitions();
        for message in full.drain(..) {
            self.merge.add_full(&message);
        }
        (before, published)
    }

    /// Ends the bursts and carries out the actions that are due by `limit`, each after all records
    /// before it are written. `before` is the current tick.
    fn act_before(&mut self, limit: u64, before: u64) {
        loop {
            let action = self.actions.front().map(|(at, ..)| *at);
            let until = self.windows.until();
            match (action, until) {
                // The last pass has no limit, but does not end bursts that would continue.
                (_, Some(until))
                    if until <= limit.min(before) && action.is_none_or(|at| until <= at) =>
                {
                    self.merge_until(until);
                    let ended = self.windows.passed(until);
                    self.have_ended(ended, until);
                }
                // The action may come late, when later records are already written.
                (Some(at), _) if at <= limit => self.next_action(at.max(self.written)),
                _ => break,
            }
        }
    }

    /// Updates the progress that other threads read.
    fn note_progress(&self) {
        let mut progress = self.progress.lock();
        progress.cpu = clock::thread_cpu();
        if let Some(trace) = &self.trace
            && let Some(output) = &self.setup.target.output
        {
            progress.totals = trace.translator.totals_so_far();
            // Losses since a thread's last record are not in the totals yet.
            let unwritten = self.merge.unwritten();
            progress.totals.lost += unwritten.iter().map(|(_, events)| events).sum::<u64>();
            progress.bytes = output.written();
        }
        if let (Some(ring), Some(trace)) = (&self.ring, &self.trace) {
            let ticks = self.setup.now().saturating_sub(self.written);
            let span = trace.timeline.time_of(ticks);
            progress.newest = Some(RingState {
                span,
                ..ring.newest
            });
        }
    }

    /// Writes all records up to the tick `limit`.
    fn merge_until(&mut self, limit: u64) {
        if limit != u64::MAX {
            self.written = limit;
        }
        while !self.has_failed {
            match self.merge_some(limit, usize::MAX) {
                Merged::All => break,
                Merged::ToCommit => self.commit(),
                Merged::FileFull => self.end_file(limit),
            }
        }
    }

    /// Like [`Self::merge_until`], but stops when another step is needed, or when `chunks` chunks
    /// have been read.
    fn merge_some(&mut self, limit: u64, chunks: usize) -> Merged {
        let bound = self.bound();
        let Some(trace) = &mut self.trace else {
            return Merged::All;
        };
        // A burst that is limited to a number of events consists of the first events in the order
        // of time.
        let ahead = match (self.setup.options.format, self.windows.target()) {
            (OutputFormat::Trail, None) => trace.timeline.ticks_in(AHEAD),
            _ => 0,
        };
        let mut sink = Flushing {
            translator: &mut trace.translator,
            setup: &mut self.setup,
            has_failed: &mut self.has_failed,
            windows: &mut self.windows,
            goes_on: self.goes_on,
            ended: Vec::new(),
            ended_at: 0,
            bound,
            is_full: false,
            read: 0,
        };
        let is_whole = loop {
            let emitted = trace.compilations.first().filter(|time| *time <= limit);
            let until = emitted.unwrap_or(limit);
            if !self.merge.run(until, ahead, &mut sink, chunks) {
                break false;
            }
            let Some(emitted) = emitted.and_then(|_| trace.compilations.take()) else {
                break true;
            };
            sink.translator.compilation(emitted);
            sink.check();
        };
        let (ended, at, is_full) = (sink.ended, sink.ended_at, sink.is_full);
        if let Some(ring) = &mut self.ring {
            ring.newest.read += sink.read;
        }
        self.have_ended(ended, at);
        match is_whole {
            _ if is_full => Merged::FileFull,
            true => Merged::All,
            false => Merged::ToCommit,
        }
    }

    fn take_definitions(&mut self) {
        for message in self.setup.input.definitions.try_iter() {
            let emitted = match message {
                Message::Buffer(buffer) => {
                    self.merge.add_buffer(buffer);
                    continue;
                }
                Message::Define(emitted) => emitted,
            };
            self.defined += 1;
            match &mut self.trace {
                Some(trace) => trace.define(emitted),
                None if self.setup.may_write() && !self.has_failed => self.waiting.push(emitted),
                None => {}
            }
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
