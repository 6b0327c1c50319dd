//! The flight recorder (`overflow=ring`): the buffers keep the newest events, and no trace is
//! written. When room is needed, the oldest records are read and not written. Only the state of the
//! open calls is kept. On request or after a trigger, the events in the buffers are saved as a
//! trace. The trace begins with the calls that are open at its start.

use super::{Merged, WriterThread};
use crate::action::{NextTrace, SaveReason};
use crate::output::numbered;
use crate::preamble::hostname;
use crate::preamble::{self, Identity};
use crate::progress::{RingState, Saved};
use crate::setup::Setup;

use jtrail_formats::Format;
use jtrail_guard::log;
use jtrail_model::{Event, Timestamp};
use jtrail_options::{Options, Overflow, SaveMoments, Target};
use jtrail_records::OpenCalls;
use jtrail_records::spool::folder_of;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Time after a save in which an out-of-memory error causes no further save, because such errors
/// often follow each other.
const PAUSE: Duration = Duration::from_secs(10);

/// State of the flight recorder.
pub(super) struct Ring {
    /// Time of the last save.
    last: Option<Instant>,
    /// True if a trace has the name that the options give.
    has_first: bool,
    pub(super) newest: RingState,
    /// Opening events of a trace that is not written yet.
    opening: Vec<Event<'static>>,
    pub(super) identity: Identity,
    /// Ticks at which the program was asked to record objects again at their next mention, in
    /// order. When the second one is earlier than the oldest record, the first one is removed.
    redefinitions: VecDeque<u64>,
}

impl Ring {
    /// Returns a flight recorder if the options require one.
    pub(super) fn of(options: &Options) -> Option<Self> {
        (options.overflow == Overflow::Ring).then(|| Self {
            last: None,
            has_first: false,
            newest: RingState::default(),
            opening: Vec::new(),
            identity: Identity::default(),
            redefinitions: VecDeque::new(),
        })
    }

    /// Prepares the opening of a trace, when the JVM is live.
    pub(super) fn begin(&mut self, setup: &Setup, loaded: Timestamp, started: Timestamp) {
        let all = &mut self.opening;
        let keep = |event: &Event<'_>| all.push(event.clone().into_static());
        self.identity = preamble::opening(&setup.options, setup.clocks.cost, loaded, started, keep);
    }

    /// Returns the opening of a trace that begins at that time, as a trail.
    pub(super) fn opening(&mut self, begin: Timestamp) -> Vec<u8> {
        let mut encoder = Format::Trail.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for event in &mut self.opening {
            if let Event::TraceStart(start) = event {
                start.time = begin;
            }
            encoder.event(event, &mut out);
        }
        encoder.flush(&mut out);
        out
    }
}

impl WriterThread {
    /// Reads the oldest records, up to the tick `limit` at most, while few chunks are empty.
    pub(super) fn make_room(&mut self, limit: u64) {
        let some = self.merge.some_chunks();
        while self.merge.is_short_of_chunks() && !self.has_failed {
            let merged = self.merge_some(limit, some);
            self.note_skipped(limit);
            if matches!(merged, Merged::All) {
                break; // threads still own the other chunks
            }
        }
    }

    /// Notes that some records up to the tick `limit` were passed over.
    fn note_skipped(&mut self, limit: u64) {
        let next = self.merge.next();
        self.written = next.map_or(limit, |next| next.min(limit));
        if self.setup.options.events.name_objects() {
            self.have_objects_redefined();
        }
        self.commit();
    }

    /// Asks the program to record objects again at their next mention. A trace begins with the
    /// oldest record in the buffers, and may mention objects that were recorded earlier. Without
    /// such requests, the data of all objects would have to be kept. A thread may be about to
    /// mention an object that it recorded before the request. The data of such an object is kept
    /// until that mention is over.
    fn have_objects_redefined(&mut self) {
        let (Some(ring), Some(trace)) = (&mut self.ring, &mut self.trace) else {
            return;
        };
        let mut is_after = false;
        while ring
            .redefinitions
            .get(1)
            .is_some_and(|second| *second <= self.written)
        {
            ring.redefinitions.pop_front();
            is_after = true;
        }
        if let Some(first) = ring.redefinitions.front().filter(|_| is_after) {
            trace.translator.forget_objects_before(*first);
        }
        let before = self.setup.now();
        if self.setup.program.redefine_objects() {
            ring.redefinitions.push_back(before);
        }
    }

    /// Returns the path that the options give to the first saved trace, or its replacement if
    /// another process uses that path.
    pub(super) fn first_of_ring(&self) -> Option<PathBuf> {
        self.ring.as_ref()?;
        let file = &self.setup.options.file;
        match file.expand(std::process::id(), SystemTime::now(), &hostname()) {
            Target::Path(path) => Some(self.setup.names.instead_of(&path)),
            Target::Stdout => None,
        }
    }

    /// Names the spool after the next trace. If the process is killed from now on, the events in
    /// the buffers belong to that trace.
    fn name_spool_after_next(&mut self, first: &Path) {
        let next = match &self.ring {
            Some(ring) if !ring.has_first => first.to_owned(),
            _ => next_of(first),
        };
        self.go_to(&next);
    }

    /// Saves the events at the program's exit, if the options say so.
    pub(super) fn save_last(&mut self) {
        if self.setup.options.saves_at(SaveMoments::EXIT) {
            self.save(u64::MAX, SaveReason::Moment(SaveMoments::EXIT));
        }
    }

    /// Saves the recorded events up to the tick `at` that are still in the buffers, and reports the
    /// save.
    pub(super) fn save(&mut self, at: u64, reason: SaveReason) {
        let last = self.ring.as_ref().and_then(|ring| ring.last);
        let is_soon = last.is_some_and(|last| last.elapsed() < PAUSE);
        if is_soon && reason == SaveReason::Moment(SaveMoments::OUT_OF_MEMORY) {
            return;
        }
        let (reason, trigger) = match reason {
            SaveReason::Moment(moment) => (moment.to_string(), None),
            SaveReason::Trigger(number, thread) => {
                let bursts = self.setup.bursts.as_ref();
                let trigger = bursts.map_or_else(String::new, |all| all.trigger(number));
                (trigger.clone(), Some((trigger, thread)))
            }
        };
        match self.save_to(at, None, trigger) {
            Ok(saved) => {
                let (span, events) = (saved.span.as_secs_f64(), saved.progress.totals.events());
                let path = saved.path.display();
                log::say(&format!(
                    "the last {span:.3} s, {events} events, are in {path} ({reason})"
                ));
                self.setup.observer.saved(&reason, &saved);
            }
            Err(problem) => log::say(&format!(
                "{problem}; the program goes on, and so does recording"
            )),
        }
    }

    /// Saves the recorded events up to the tick `at` that are still in the buffers, to `file` or to
    /// the next numbered file. The trace contains the trigger and its thread.
    ///
    /// # Errors
    /// When the trace can't be written; the error is a sentence.
    pub(super) fn save_to(
        &mut self,
        at: u64,
        file: Option<PathBuf>,
        trigger: Option<(String, Option<u32>)>,
    ) -> Result<Saved, String> {
        let first = self.first_of_ring();
        let (Some(ring), Some(trace)) = (&mut self.ring, &self.trace) else {
            return Err("there is nothing to save".into());
        };
        let names = &self.setup.names;
        let timeline = trace.timeline;
        let begin = self.setup.now().min(at);
        let begin = self.merge.next().unwrap_or(begin).min(begin);
        let mut options = (*self.setup.options).clone();
        let Some(first) = first else {
            return Err("the standard output is the program's".into()); // the options prevent this
        };
        if let Some(filter) = self.setup.program.filter() {
            options.filter = filter;
        }
        // The first trace replaces a file with its name, as any trace does.
        let named = file.or_else(|| (!ring.has_first).then(|| first.clone()));
        let (path, output) = match named {
            Some(path) => {
                let output = names.open(&path);
                (path, output)
            }
            None => names.create_numbered(&first, &mut 1),
        };
        let output =
            output.map_err(|error| format!("cannot save to {}: {error}", path.display()))?;
        ring.has_first |= path == first;
        // If another process uses the name, the output has another one.
        let path = output.path().map_or(path, Path::to_owned);
        ring.last = Some(Instant::now());
        let next = NextTrace {
            options: Arc::new(options),
            output,
            target: path.display().to_string(),
        };
        self.open(begin, next, OpenCalls::Enter);
        self.merge_until(at);
        if let (Some((trigger, thread)), Some(trace)) = (trigger, &mut self.trace) {
            trace.translator.burst(at, thread, &trigger);
        }
        let end = self.setup.now().min(at);
        self.close(end);
        self.name_spool_after_next(&first);
        if let Some(error) = self.setup.target.unsaved.take() {
            let path = path.display();
            return Err(format!(
                "cannot write {path}: {error}; what is not in it of the newest events is lost"
            ));
        }
        let progress = *self.progress.lock();
        if let Some(ring) = &mut self.ring {
            ring.newest.bytes += progress.bytes;
        }
        Ok(Saved {
            path,
            span: timeline.time_of(end - begin),
            progress,
        })
    }
}

/// Returns the path that the next trace will get, if no other process takes it.
fn next_of(first: &Path) -> PathBuf {
    let is_taken = |path: &PathBuf| {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        is_there(path) || is_there(&folder_of(path))
    };
    let mut number = 2;
    loop {
        let path = numbered(first, number);
        if !is_taken(&path) {
            return path;
        }
        number += 1;
    }
}
