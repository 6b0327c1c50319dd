//! Converts events to buffers.

mod definitions;
pub(super) mod dropped;
mod events;
mod heap;
mod output;

use super::header::Opening;
use super::wire::{
    ALLOC, ALLOC_BACKTRACE, CLAUSE, CLAUSE_CATCH, CLAUSE_FINALLY, CLOCK_START, COMPILER,
    CONTENTION, DEFINITIONS, DONE, ENTER, EXC_LEAVE, FARTHEST, FARTHEST_LEAVE, GC_END, GC_EVENT,
    GC_RESIZE, GC_START, JIT, LEAVE, METADATA_LOAD, METADATA_NAME, METADATA_UNLOAD, MONITOR,
    MONITOR_BACKTRACE, THREAD, THROW, THROW_BACKTRACE, VM,
};
use super::{DataVersion, kind_of};
use crate::tally::DropTally;
use crate::{DropCount, Encode};
use definitions::{Definitions, file_id, shortened};
use dropped::Dropped;
use heap::Dump;
use jtrail_model::{
    CatchDetail, ClassDetail, ClassId, ClassUnload, Event, ExceptionCatch, ExceptionThrow, Frame,
    GcDetail, GcFinish, Generation, MethodCompile, MethodDef, MethodEnter, MethodLeave,
    ObjectAlloc, ObjectId, Text, ThreadId, ThreadStart, Timestamp,
};
use output::{Buffer, COMPILED, DEFINING, Output, THREADLESS};

/// Encoder of log profiles.
#[derive(Debug, Default)]
pub struct Encoder {
    pub(super) version: DataVersion,
    opening: Opening,
    /// Time of [`CLOCK_START`] in nanoseconds since 1970. `None` until the header's contents are
    /// final.
    origin: Option<i64>,
    header_written: bool,
    pub(super) output: Output,
    /// Bytes of batches that ended before the current event. They are not yet in the output.
    ended: Vec<u8>,
    pub(super) definitions: Definitions,
    /// Method whose definition is held back until the next event, because this event may report the
    /// length of the method's bytecode.
    unnamed: Option<MethodDef<'static>>,
    /// Details of the handler of the next catch event.
    handler: Option<CatchDetail>,
    collection: Option<Collection>,
    /// Last collection that ended; `None` once its generation is reported.
    unreported: Option<Collection>,
    heap_size: i64,
    /// True if the reserved thread of compilations is named.
    has_compiler: bool,
    /// True if the end of the agent is written, or if the file must have no end because it is
    /// truncated.
    has_end: bool,
    pub(super) dump: Dump,
    pub(super) dropped: DropTally<Dropped>,
    frames: Vec<u64>,
}

/// Positions of a collection's generation bytes in the buffer, valid while `batch` is the current
/// batch.
#[derive(Clone, Copy, Debug)]
struct Collection {
    batch: u64,
    start: usize,
    end: Option<usize>,
    generation: u8,
}

impl Encoder {
    /// Creates an encoder for a data version.
    pub fn new(version: DataVersion) -> Self {
        Self {
            version,
            definitions: Definitions::new(version),
            ..Self::default()
        }
    }
}

impl Encode for Encoder {
    /// Writes nothing: the header holds data of the first events, so it is written later.
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn has_pending(&self) -> bool {
        true
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if self.unnamed.is_some() {
            let is_used = self.name_method(Some(event));
            self.written(DEFINING, out);
            if is_used {
                return;
            }
        }
        let place = match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            _ => self.any(event),
        };
        self.written(place, out);
    }

    /// Ends the batch as if it were full. If a method definition is held back, it is not written
    /// yet, because nothing uses the method so far.
    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.origin.is_some() && self.output.waits() {
            self.flush_batch(out);
        }
    }

    fn waiting(&self) -> usize {
        self.output.waiting()
    }

    fn mark_truncated(&mut self) {
        self.has_end = true;
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.name_method(None);
        self.dropped
            .event_if(self.handler.take().is_some(), Dropped::Handlers);
        self.settle(None);
        self.dump_end(None);
        self.output.grown(THREADLESS);
        out.append(&mut self.ended);
        if self.output.waits() {
            self.flush_batch(out);
        }
        if !self.has_end {
            // No end of the agent is reported, so an empty buffer of definitions marks the trace as
            // complete.
            self.output.flush_definitions(out);
        }
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }
}

impl Encoder {
    /// Appends finished batches to `out`, after bytes were appended to the buffer with index
    /// `place`.
    #[inline]
    fn written(&mut self, place: usize, out: &mut Vec<u8>) {
        if !self.ended.is_empty() {
            out.append(&mut self.ended);
        }
        if self.output.grown(place) && !self.is_held(place) {
            self.full(place, out);
        }
    }

    /// Like [`Self::written`], but for an event that the encoder adds to the trace. If the batch
    /// ends with this event, it ends at the same point when the trace is read and written again.
    #[cold]
    fn written_within(&mut self, place: usize) {
        let mut ended = std::mem::take(&mut self.ended);
        self.written(place, &mut ended);
        self.ended = ended;
    }

    /// True if a full batch is held back until a collection ends, because the generation of the
    /// collection is not reported earlier.
    #[cold]
    fn is_held(&self, place: usize) -> bool {
        place != DEFINING && self.collection.is_some() && !self.output.is_overfull()
    }

    /// Writes a full batch, of events or of definitions alone.
    fn full(&mut self, place: usize, out: &mut Vec<u8>) {
        if place == DEFINING {
            self.write_header(out);
            self.output.flush_definitions(out);
        } else {
            self.flush_batch(out);
        }
    }

    fn flush_batch(&mut self, out: &mut Vec<u8>) {
        self.finish_listed();
        self.write_header(out);
        self.output.flush(out);
    }

    fn write_header(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.header_written, true) {
            self.opening.write(self.version, self.origin, out);
        }
    }

    /// Determines the start of the trace from the opening events reported so far, or else from
    /// `first`, the time of the first other event.
    #[cold]
    fn settle(&mut self, first: Option<Timestamp>) {
        if self.origin.is_some() {
            return;
        }
        self.origin = Some(self.opening.origin(first));
        let (agent, trace) = self.opening.begins(first);
        for (id, time, name) in [(DEFINITIONS, agent, "jtrail"), (VM, trace, "VM")] {
            let time = self.clock(time);
            self.thread_metadata(DEFINING, time, METADATA_LOAD, id, None);
            self.thread_metadata(DEFINING, time, METADATA_NAME, id, Some(name));
        }
    }

    /// Converts a time to the clock of the file.
    #[inline]
    pub(super) fn clock(&mut self, time: Timestamp) -> u64 {
        let Some(origin) = self.origin else {
            self.settle(Some(time));
            return self.clock(time);
        };
        let clock = time.0.wrapping_sub(origin).wrapping_add(CLOCK_START as i64);
        match u64::try_from(clock) {
            Ok(clock @ 1..FARTHEST) => clock,
            _ => self.far_clock(time, origin),
        }
    }

    #[cold]
    fn far_clock(&mut self, time: Timestamp, origin: i64) -> u64 {
        self.dropped.part(Dropped::FarTimes);
        if time.0 < origin { 1 } else { FARTHEST - 1 }
    }

    /// Starts an event of a thread. Returns `None` if the format can't hold the thread's id.
    #[inline]
    fn event_of(&mut self, thread: ThreadId, time: Timestamp, first: u8) -> Option<usize> {
        let Some(place) = self.output.thread(thread.0) else {
            self.dropped.event(Dropped::WideThreads);
            return None;
        };
        self.define(place, thread, time);
        self.event_at(place, time, first);
        Some(place)
    }

    /// Defines a thread that the trace uses but does not define. Decoders define such threads, too.
    #[inline]
    fn define(&mut self, place: usize, thread: ThreadId, time: Timestamp) {
        if self.output.is_undefined(place) {
            self.thread_begin(place, thread, time, "");
            self.written_within(place);
        }
    }

    #[cold]
    fn thread_begin(&mut self, place: usize, thread: ThreadId, time: Timestamp, name: &str) {
        self.output.buffer(place).defined = true;
        let (time, id) = (self.clock(time), thread.0);
        self.thread_metadata(place, time, METADATA_LOAD, id, None);
        self.thread_metadata(place, time, METADATA_NAME, id, Some(name));
    }

    /// Starts an event in the buffer with index `place`.
    #[inline]
    pub(super) fn event_at(&mut self, place: usize, time: Timestamp, first: u8) -> &mut Buffer {
        let time = self.clock(time);
        self.finish_listed();
        self.batch_for(place, time);
        let (buffer, rises) = self.output.event(place, time, first);
        self.dropped.part_if(!rises, Dropped::FallingTimes);
        buffer
    }

    /// Ends the batch if it can't contain an event at `time`.
    #[inline]
    pub(super) fn batch_for(&mut self, place: usize, time: u64) {
        if self.output.is_before_latest(place, time) {
            self.end_batch();
        }
    }

    #[cold]
    fn end_batch(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        self.write_header(&mut ended);
        self.output.flush_before_event(&mut ended);
        self.ended = ended;
    }

    #[inline]
    fn enter(&mut self, e: &MethodEnter) -> usize {
        self.dropped.part_if(e.cpu_time.0 != 0, Dropped::CallCpu);
        if self.origin.is_none() {
            self.settle(Some(e.time));
        }
        let method = self.definitions.method(e.method, e.class, &mut self.output);
        let Some(place) = self.event_of(e.thread, e.time, ENTER) else {
            return DEFINING;
        };
        let buffer = self.output.buffer(place);
        buffer.method(file_id(method));
        buffer.calls.push((e.ticket, method as u32));
        place
    }

    #[inline]
    fn leave(&mut self, e: &MethodLeave) -> usize {
        self.dropped.part_if(e.cpu_time.0 != 0, Dropped::CallCpu);
        if self.origin.is_none() {
            self.settle(Some(e.time));
        }
        let method = self.definitions.method(e.method, e.class, &mut self.output);
        let Some(place) = self.output.thread(e.thread.0) else {
            self.dropped.event(Dropped::WideThreads);
            return DEFINING;
        };
        let call = (e.ticket, method as u32);
        let calls = &mut self.output.buffer(place).calls;
        if calls.last() == Some(&call) {
            calls.pop();
        } else if !self.leave_inner(place, call, e.time) {
            return DEFINING;
        }
        let first = if e.by_exception { EXC_LEAVE } else { LEAVE };
        self.event_at(place, e.time, first).method(file_id(method));
        place
    }

    /// Writes leaves for the calls inside `call` that have no leave of their own, and removes them
    /// and `call` from the stack. Returns `false` if `call` is not open.
    #[cold]
    fn leave_inner(&mut self, place: usize, call: (u32, u32), time: Timestamp) -> bool {
        let calls = &mut self.output.buffer(place).calls;
        let near = calls.len().saturating_sub(FARTHEST_LEAVE);
        let Some(at) = calls
            .iter()
            .rposition(|&c| c == call)
            .filter(|&at| at >= near)
        else {
            self.dropped.event(Dropped::Leaves);
            return false;
        };
        let inner = calls.split_off(at);
        for &(_, method) in inner.iter().skip(1).rev() {
            self.event_at(place, time, LEAVE)
                .method(file_id(method as usize));
            self.written_within(place);
        }
        true
    }

    /// Writes an event that is no call, or counts it as dropped. Returns the index of the buffer to
    /// which it was written.
    fn any(&mut self, event: &Event<'_>) -> usize {
        if self.origin.is_none() {
            if event.is_opening() {
                self.opening.event(event, self.version, &mut self.dropped);
                return DEFINING;
            }
            self.settle(event.time());
        }
        let kind = match event {
            Event::ThreadStart(e) => return self.thread_start(e),
            Event::ThreadEnd(e) => {
                let Some(place) = self.thread_state(e.thread, e.time, METADATA_UNLOAD, None) else {
                    return DEFINING;
                };
                self.output.thread_end(place);
                return place;
            }
            Event::ThreadName(e) => {
                return self
                    .thread_state(e.thread, e.time, METADATA_NAME, Some(&e.name))
                    .unwrap_or(DEFINING);
            }
            Event::ClassDef(e) => {
                let time = self.clock(e.time);
                self.definitions
                    .class_def(e, time, &mut self.output, &mut self.dropped);
                return DEFINING;
            }
            Event::ClassDetail(e) => return self.class_detail(e),
            Event::ClassUnload(e) => return self.class_unload(e),
            Event::MethodDef(e) => {
                self.unnamed = Some(MethodDef {
                    name: e.name.clone().into_owned().into(),
                    signature: e.signature.clone().into_owned().into(),
                    ..*e
                });
                return DEFINING;
            }
            Event::MethodDetail(_) => Dropped::LateLengths,
            Event::MethodCompile(e) => return self.compile(e),
            Event::ObjectAlloc(e) => return self.alloc(e),
            Event::GcStart(e) => return self.gc_start(e.time),
            Event::GcDetail(e) => return self.gc_detail(e),
            Event::GcFinish(e) => return self.gc_finish(e),
            Event::MonitorContendedEnter(e) => {
                self.dropped.part_if(!e.owner.is_none(), Dropped::Owners);
                return self.monitor(CONTENTION, (e.thread, e.time, e.object), &e.stack);
            }
            Event::MonitorContendedEntered(e) => {
                return self.monitor(DONE, (e.thread, e.time, e.object), &e.stack);
            }
            Event::ExceptionThrow(e) => return self.throw(e),
            Event::CatchDetail(e) => return self.catch_detail(e),
            Event::ExceptionCatch(e) => return self.catch(e),
            Event::HeapDump(e) => return self.dump_start(e),
            Event::HeapObject(e) => return self.dump_object(e),
            Event::ObjectReference(e) => return self.dump_reference(e),
            Event::GcRoot(e) => return self.dump_root(e),
            Event::HeapDumpEnd(e) => return self.dump_end(Some((e.dump, e.time))),
            Event::TraceEnd(e) => return self.reserved_end(VM, e.time, &e.trace_id),
            Event::AgentDestroy(e) => {
                self.has_end = true;
                return self.reserved_end(DEFINITIONS, e.time, &e.agent_id);
            }
            Event::Node(_)
            | Event::ProcessCreate(_)
            | Event::AgentCreate(_)
            | Event::TraceStart(_) => Dropped::Identities,
            Event::Filter(_) => Dropped::Filters,
            Event::Option(_) => Dropped::Options,
            Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => Dropped::Runtime,
            Event::Custom(_) => Dropped::Texts,
            Event::ThreadCpu(_) => Dropped::ThreadCpu,
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => Dropped::Mounts,
            Event::ThreadPark(_) | Event::ThreadUnpark(_) => Dropped::Parks,
            Event::Sample(e) => {
                self.dropped.event_of(Dropped::Samples, e.ticks.get());
                return DEFINING;
            }
            Event::ClassRedefine(_) => Dropped::ClassRedefinitions,
            Event::ClassInitStart(_) | Event::ClassInitEnd(_) => Dropped::ClassInits,
            Event::MethodUncompile(_) => Dropped::Uncompiles,
            Event::LineCounts(_) => Dropped::LineCounts,
            Event::AggregatedEnter(_) | Event::AggregatedLeave(_) => Dropped::Aggregated,
            Event::ObjectDef(_) => Dropped::Objects,
            Event::ObjectFree(_) => Dropped::Frees,
            Event::MonitorWait(_) | Event::MonitorWaited(_) => Dropped::Waits,
            _ => Dropped::Other,
        };
        self.dropped.event(kind);
        DEFINING
    }

    /// Writes the method definition that is held back. Returns true if `next` reports the length of
    /// this method's bytecode and needs no further handling.
    #[cold]
    fn name_method(&mut self, next: Option<&Event<'_>>) -> bool {
        let Some(method) = self.unnamed.take() else {
            return false;
        };
        let length = match next {
            Some(Event::MethodDetail(e)) if e.method == method.method => Some(e.size),
            _ => None,
        };
        self.definitions.method_def(
            &method,
            length.unwrap_or_default(),
            &mut self.output,
            &mut self.dropped,
        );
        self.dropped.part_if(length == Some(0), Dropped::Sizes);
        length.is_some()
    }

    fn thread_metadata(&mut self, place: usize, time: u64, first: u8, id: u64, name: Option<&str>) {
        self.finish_listed();
        self.batch_for(place, time);
        let (buffer, rises) = self.output.event(place, time, first);
        self.dropped
            .part_if(!rises && place > THREADLESS, Dropped::FallingTimes);
        self.definitions.metadata(buffer, THREAD, id);
        if let Some(name) = name {
            buffer.text(shortened(name, &mut self.dropped));
        }
    }

    fn thread_state(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        first: u8,
        name: Option<&str>,
    ) -> Option<usize> {
        let Some(place) = self.output.thread(thread.0) else {
            self.dropped.event(Dropped::WideThreads);
            return None;
        };
        self.define(place, thread, time);
        let time = self.clock(time);
        let id = if thread.is_none() { VM } else { thread.0 };
        self.thread_metadata(place, time, first, id, name);
        Some(place)
    }

    fn thread_start(&mut self, e: &ThreadStart<'_>) -> usize {
        let groups = !e.group.is_empty() || !e.parent_group.is_empty();
        self.dropped.part_if(groups, Dropped::ThreadGroups);
        self.dropped
            .part_if(!e.object.is_none(), Dropped::ThreadObjects);
        match self.output.thread(e.thread.0) {
            Some(place) if self.output.is_undefined(place) => {
                self.thread_begin(place, e.thread, e.time, &e.name);
                place
            }
            // The thread is already defined, so only its name is written.
            _ => self
                .thread_state(e.thread, e.time, METADATA_NAME, Some(&e.name))
                .unwrap_or(DEFINING),
        }
    }

    /// Writes the end of a reserved thread, which marks the end of the trace or of the agent.
    fn reserved_end(&mut self, id: u64, time: Timestamp, identity: &Text<'_>) -> usize {
        self.dropped
            .part_if(!identity.is_empty(), Dropped::Identities);
        self.dump_end(None);
        let time = self.clock(time);
        self.thread_metadata(THREADLESS, time, METADATA_UNLOAD, id, None);
        THREADLESS
    }

    /// Writes the object of a heap dump that was held back until its references are complete.
    #[inline]
    pub(super) fn finish_listed(&mut self) {
        if let Some(listed) = self.dump.listed.take() {
            self.batch_for(THREADLESS, listed.time());
            heap::put(&listed, self.version, &mut self.output);
        }
    }
}
