//! Encoder: events to lines.

mod definitions;
mod dropped;
mod memory;
mod objects;
mod opening;
mod process;
mod stacks;
mod threads;

use super::settings::{Collection, Settings};
use super::{clock, value};
use crate::tally::DropTally;
use crate::{DropCount, Encode};
use definitions::Definitions;
use dropped::Dropped;
use jtrail_model::{Event, ThreadId, Timestamp};
use memory::Gc;
use objects::Objects;
use opening::Opening;
use process::Process;
use threads::Threads;

/// Maximum bytes that are buffered until the first call or sample.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Writes trace logs, with one record per line.
///
/// A default encoder takes its settings from the options of the trace, or else from the first call
/// or sample. Up to 64 KiB of lines wait for that event.
#[derive(Debug, Default)]
pub struct Encoder {
    settings: Settings,
    opening: Opening,
    state: State,
    base_ms: i64,
    definitions: Definitions,
    threads: Threads,
    objects: Objects,
    gc: Gc,
    process: Process,
    pending: Pending,
    /// Frames that the pending record pushes.
    frames: Vec<u32>,
    /// Kind, thread and millisecond of the pending samples or sums. The next event may be added to
    /// them.
    merged: Option<(Merged, ThreadId, u64)>,
    paused: bool,
    pause_ms: u64,
    dropped: DropTally<Dropped>,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is written yet.
    #[default]
    Head,
    /// These lines wait until the collection method is known.
    Held(Vec<u8>),
    Open,
}

/// A record that may still change with the next event.
#[derive(Debug, Default)]
enum Pending {
    #[default]
    None,
    /// Change of a thread's stack: the outermost `keep` of `size` frames stay, and
    /// [`Encoder::frames`] are pushed.
    Stack {
        thread: ThreadId,
        iid: u32,
        ms: u64,
        size: u64,
        keep: u64,
    },
    /// Start of a collection; an event with its cause and generation may follow.
    Gc { ms: u64, induced: bool, full: bool },
    /// CPU time of the process, as the sum over its threads. If an event with the CPU time of the
    /// process follows, it replaces the sum.
    ProcessCpu { ms: u64 },
}

/// Kind of events that one record can combine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Merged {
    Samples,
    Sums,
}

impl Encoder {
    /// Returns an encoder with fixed settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            opening: Opening::fixed(),
            ..Self::default()
        }
    }

    /// Returns whole milliseconds from the trace's start to `time`; 0 if `time` is earlier.
    #[inline]
    fn ms(&mut self, time: Timestamp) -> u64 {
        let ms = clock::whole_ms(time);
        self.dropped
            .part_if(time.0 != ms.wrapping_mul(1_000_000), Dropped::Fractions);
        u64::try_from(ms.saturating_sub(self.base_ms)).unwrap_or_else(|_| {
            self.dropped.part(Dropped::EarlyTimes);
            0
        })
    }

    /// Ends the head of the trace; `event` is the first event after the opening events.
    fn open(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.base_ms = self.opening.start_ms(event);
        self.definitions.by_text =
            !self.opening.has_settings || self.settings.collection == Collection::Sampling;
        self.objects.frees_recorded = self.opening.has_settings;
        self.paused = self.settings.suspended_on_start;
        if self.opening.has_settings {
            self.opening.write(&self.settings, out);
            self.state = State::Open;
        } else {
            self.state = State::Held(Vec::new());
        }
    }

    /// Sets the collection method, and writes the head and the lines that wait for it. Does nothing
    /// if the method is already known.
    fn decide(&mut self, collection: Collection, out: &mut Vec<u8>) {
        if let State::Held(held) = std::mem::replace(&mut self.state, State::Open) {
            self.settings.collection = collection;
            self.opening.write(&self.settings, out);
            out.extend_from_slice(&held);
        }
    }

    /// Returns the counts of what is dropped so far, including definitions that no line refers to.
    fn with_unused(&self) -> DropTally<Dropped> {
        let mut dropped = self.dropped.clone();
        let (classes, methods) = self.definitions.unused();
        dropped.many_events(Dropped::UnusedClasses, classes);
        dropped.many_events(Dropped::UnusedMethods, methods);
        dropped
    }

    /// Returns the collection method that an event implies. If too many bytes are buffered, returns
    /// a default.
    fn shown(event: &Event<'_>, waiting: usize) -> Option<Collection> {
        match event {
            Event::MethodEnter(_) => Some(Collection::Instrumentation),
            Event::Sample(_) => Some(Collection::Sampling),
            _ => (waiting > MAX_HELD_BYTES).then_some(Collection::Instrumentation),
        }
    }

    #[inline]
    fn line(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => self.enter(e, out),
            Event::MethodLeave(e) => self.leave(e, out),
            Event::Sample(e) => self.sample(e, out),
            Event::ThreadStart(e) => self.thread_start(e, out),
            Event::ThreadEnd(e) => self.thread_end(e, out),
            Event::ThreadOsId(e) => self.thread_os_id(e, out),
            Event::ThreadCpu(e) => self.thread_cpu(e, out),
            Event::ProcessCpu(e) => self.process_cpu(e, out),
            Event::ClassDef(e) => self.definitions.class_def(e, &mut self.dropped),
            Event::ClassDetail(e) => self.definitions.class_detail(e, &mut self.dropped),
            Event::MethodDef(e) => self.definitions.method_def(e, &mut self.dropped),
            Event::MethodCompile(e) => self.compiled(e, out),
            Event::ObjectAlloc(e) => self.alloc(e, out),
            Event::ObjectDef(e) => self.object(e, out),
            Event::ObjectFree(e) => self.free(e),
            Event::AllocationSum(e) => self.allocation_sum(e, out),
            Event::GcStart(e) => self.gc_start(e, out),
            Event::GcDetail(e) => self.gc_detail(e),
            Event::GcFinish(e) => self.gc_finish(e, out),
            Event::LiveObjects(e) => self.live_objects(e, out),
            Event::TracePause(e) => self.pause(e.time, out),
            Event::TraceResume(e) => self.resume(e.time, out),
            _ => self.dropped.event(Dropped::of(event)),
        }
    }

    /// Writes what is pending, except the change of a thread's stack. Called when an event is about
    /// to be written.
    ///
    /// Only an event that is written may end a pending record. The reason is that reading the log
    /// and writing it again must give the same lines, and an event that is not written is missing
    /// then. For the same reason, all delayed output has one order: definitions, the pending
    /// record, the line.
    #[inline]
    fn settle(&mut self, out: &mut Vec<u8>) {
        self.end_merged(out);
        if !matches!(self.pending, Pending::None | Pending::Stack { .. }) {
            self.flush(out);
        }
        self.table_after_frees(out);
    }

    /// Calls [`Self::settle`] unless the next sample or sum is added to the pending ones.
    fn flush_unless_merging(&mut self, merged: (Merged, ThreadId, u64), out: &mut Vec<u8>) {
        if self.merged != Some(merged) {
            self.settle(out);
        }
    }

    #[inline]
    fn end_merged(&mut self, out: &mut Vec<u8>) {
        if let Some((_, thread, _)) = self.merged.take() {
            self.end_interval(thread, out);
        }
    }

    /// Writes the pending record.
    fn flush(&mut self, out: &mut Vec<u8>) {
        match std::mem::take(&mut self.pending) {
            Pending::None => {}
            Pending::Stack {
                iid,
                ms,
                size,
                keep,
                ..
            } => {
                stacks::record(iid, ms, 0, (keep, size), &self.frames, out);
                self.frames.clear();
            }
            Pending::Gc { ms, induced, full } => self.write_gc_start(ms, induced, full, out),
            Pending::ProcessCpu { ms } => self.process.derived(ms, out),
        }
    }

    fn pause(&mut self, time: Timestamp, out: &mut Vec<u8>) {
        if self.paused {
            self.dropped.event(Dropped::Pauses);
            return;
        }
        let ms = self.ms(time).max(self.pause_ms);
        self.pause_ms = ms;
        self.settle(out);
        for thread in self.threads.take_dirty() {
            self.end_interval(thread, out);
            self.empty_stack(thread, ms, out);
        }
        self.gc_pause(ms, out);
        self.flush(out);
        out.extend_from_slice(b"prf tps ");
        value::dec(ms, out);
        out.push(b'\n');
        self.paused = true;
    }

    fn resume(&mut self, time: Timestamp, out: &mut Vec<u8>) {
        if !self.paused {
            self.dropped.event(Dropped::Pauses);
            return;
        }
        let ms = self.ms(time).max(self.pause_ms);
        self.pause_ms = ms;
        self.settle(out);
        self.flush(out);
        out.extend_from_slice(b"prf trs ");
        value::dec(ms, out);
        out.push(b'\n');
        self.paused = false;
    }
}

impl Encode for Encoder {
    fn has_pending(&self) -> bool {
        true
    }

    fn begin(&mut self, _out: &mut Vec<u8>) {}

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if matches!(self.state, State::Head) {
            if self
                .opening
                .take(event, &mut self.settings, &mut self.dropped)
            {
                return;
            }
            self.open(event, out);
        }
        if let State::Held(held) = &mut self.state {
            if let Some(collection) = Self::shown(event, held.len()) {
                self.decide(collection, out);
            } else {
                let mut held = std::mem::take(held);
                self.line(event, &mut held);
                self.state = State::Held(held);
                return;
            }
        }
        self.line(event, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Head) {
            self.opening.write(&self.settings, out);
            self.state = State::Open;
        }
        self.decide(Collection::None, out);
        for thread in self.threads.take_dirty() {
            self.end_interval(thread, out);
        }
        self.table_at_last(out);
        self.flush(out);
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.with_unused().counts()
    }

    fn dropped_events(&self) -> u64 {
        self.with_unused().events()
    }
}

/// Appends escaped text in quotes.
fn quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}
