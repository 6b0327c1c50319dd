//! Events to buffers.

use super::define::{Definitions, file_id, shortened};
use super::header::Opening;
use super::heap::Dump;
use super::losses::{Lack, Losses};
use super::output::{Buffer, DEFINING, Output, THREADLESS};
use super::{
    ALLOC, ALLOC_BACKTRACE, CLAUSE, CLOCK_START, CONTENTION, DEFINITIONS, DONE, DataVersion, ENTER,
    EXC_LEAVE, FARTHEST, FARTHEST_LEAVE, GC_END, GC_EVENT, GC_RESIZE, GC_START, JIT, LEAVE,
    METADATA_LOAD, METADATA_NAME, METADATA_UNLOAD, MONITOR, MONITOR_BACKTRACE, THREAD, THROW,
    THROW_BACKTRACE, VM, kind_of,
};
use crate::{Encode, Loss};
use jtrail_model::{
    ClassDetail, ClassId, ClassUnload, Event, ExceptionCatch, ExceptionThrow, Frame, GcDetail,
    GcFinish, Generation, MethodCompile, MethodEnter, MethodLeave, ObjectAlloc, ObjectId, Text,
    ThreadId, ThreadStart, Timestamp,
};

/// Writes a log profile.
#[derive(Debug, Default)]
pub struct Encoder {
    pub(super) version: DataVersion,
    opening: Opening,
    /// Nanoseconds since 1970 that [`CLOCK_START`] stands for, once the header is settled.
    origin: Option<i64>,
    header_written: bool,
    pub(super) output: Output,
    pub(super) definitions: Definitions,
    collection: Option<Collection>,
    /// The last collection that ended, as long as nothing was told of it.
    untold: Option<Collection>,
    heap_size: i64,
    pub(super) dump: Dump,
    pub(super) losses: Losses,
    frames: Vec<u64>,
}

/// Where the generation of a collection was written, in the buffer of a batch.
#[derive(Clone, Copy, Debug)]
struct Collection {
    batch: u64,
    start: usize,
    end: Option<usize>,
    generation: u8,
}

impl Encoder {
    /// Writes that data version.
    pub fn new(version: DataVersion) -> Self {
        Self {
            version,
            definitions: Definitions::new(version),
            ..Self::default()
        }
    }
}

impl Encode for Encoder {
    /// Nothing yet: the header tells what the first events do.
    fn begin(&mut self, _: &mut Vec<u8>) {}

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let place = match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            _ => self.any(event),
        };
        if self.output.grown(place) {
            self.full(place, out);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.settle(None);
        self.dump_end(None);
        self.output.grown(THREADLESS);
        if self.output.waits() {
            self.flush(out);
        }
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.all()
    }
}

impl Encoder {
    /// A batch is full: of events, or of definitions alone.
    fn full(&mut self, place: usize, out: &mut Vec<u8>) {
        if place == DEFINING {
            self.write_header(out);
            self.output.flush_definitions(out);
        } else {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.finish_listed();
        self.write_header(out);
        self.output.flush(out);
    }

    fn write_header(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.header_written, true) {
            self.opening.write(self.version, self.origin, out);
        }
    }

    /// Settles when the trace began, with what the events told so far, or else with the time of the
    /// first one.
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

    /// A time on the clock of the file.
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
        self.losses.one(Lack::FarTimes);
        if time.0 < origin { 1 } else { FARTHEST - 1 }
    }

    /// Begins an event of a thread. None when the thread can't be written.
    #[inline]
    fn event_of(&mut self, thread: ThreadId, time: Timestamp, first: u8) -> Option<usize> {
        let Some(place) = self.output.thread(thread.0) else {
            self.losses.one(Lack::WideThreads);
            return None;
        };
        self.event_at(place, time, first);
        Some(place)
    }

    /// Begins an event in the buffer of that place.
    #[inline]
    pub(super) fn event_at(&mut self, place: usize, time: Timestamp, first: u8) -> &mut Buffer {
        let time = self.clock(time);
        if place == THREADLESS {
            self.finish_listed();
        }
        let (buffer, rises) = self.output.event(place, time, first);
        self.losses.one_if(!rises, Lack::FallingTimes);
        buffer
    }

    #[inline]
    fn enter(&mut self, e: &MethodEnter) -> usize {
        self.losses.one_if(e.cpu_time.0 != 0, Lack::CallCpu);
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
        self.losses.one_if(e.cpu_time.0 != 0, Lack::CallCpu);
        if self.origin.is_none() {
            self.settle(Some(e.time));
        }
        let method = self.definitions.method(e.method, e.class, &mut self.output);
        let Some(place) = self.output.thread(e.thread.0) else {
            self.losses.one(Lack::WideThreads);
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

    /// Leaves the calls inside of `call`, which have no leave of their own, and takes it off the stack.
    /// `false` when it is not open.
    #[cold]
    fn leave_inner(&mut self, place: usize, call: (u32, u32), time: Timestamp) -> bool {
        let calls = &mut self.output.buffer(place).calls;
        let near = calls.len().saturating_sub(FARTHEST_LEAVE);
        let Some(at) = calls
            .iter()
            .rposition(|&c| c == call)
            .filter(|&at| at >= near)
        else {
            self.losses.one(Lack::Leaves);
            return false;
        };
        let inner = calls.split_off(at);
        for &(_, method) in inner.iter().skip(1).rev() {
            self.event_at(place, time, LEAVE)
                .method(file_id(method as usize));
        }
        true
    }

    /// Writes any event, or counts it. Answers with the place of the buffer that it went to.
    fn any(&mut self, event: &Event<'_>) -> usize {
        if self.origin.is_none() {
            if self.opening.takes(event) {
                self.opening.event(event, self.version, &mut self.losses);
                return DEFINING;
            }
            self.settle(event.time());
        }
        let lack = match event {
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
                    .class_def(e, time, &mut self.output, &mut self.losses);
                return DEFINING;
            }
            Event::ClassDetail(e) => return self.class_detail(e),
            Event::ClassUnload(e) => return self.class_unload(e),
            Event::MethodDef(e) => {
                self.definitions
                    .method_def(e, &mut self.output, &mut self.losses);
                return DEFINING;
            }
            Event::MethodCompile(e) => return self.compile(e),
            Event::ObjectAlloc(e) => return self.alloc(e),
            Event::GcStart(e) => return self.gc_start(e.time),
            Event::GcDetail(e) => return self.gc_detail(e),
            Event::GcFinish(e) => return self.gc_finish(e),
            Event::MonitorContendedEnter(e) => {
                self.losses.one_if(!e.owner.is_none(), Lack::Owners);
                return self.monitor(CONTENTION, (e.thread, e.time, e.object), &e.stack);
            }
            Event::MonitorContendedEntered(e) => {
                return self.monitor(DONE, (e.thread, e.time, e.object), &e.stack);
            }
            Event::ExceptionThrow(e) => return self.throw(e),
            Event::ExceptionCatch(e) => return self.catch(e),
            Event::HeapDump(e) => return self.dump_start(e),
            Event::HeapObject(e) => return self.dump_object(e),
            Event::ObjectReference(e) => return self.dump_reference(e),
            Event::GcRoot(e) => return self.dump_root(e),
            Event::HeapDumpEnd(e) => return self.dump_end(Some((e.dump, e.time))),
            Event::TraceEnd(e) => return self.reserved_end(VM, e.time, &e.trace_id),
            Event::AgentDestroy(e) => return self.reserved_end(DEFINITIONS, e.time, &e.agent_id),
            Event::Node(_)
            | Event::ProcessCreate(_)
            | Event::AgentCreate(_)
            | Event::TraceStart(_) => Lack::Identities,
            Event::Filter(_) => Lack::Filters,
            Event::Option(_) => Lack::Options,
            Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => Lack::Runtime,
            Event::Custom(_) => Lack::Texts,
            Event::ThreadCpu(_) => Lack::ThreadCpu,
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => Lack::Mounts,
            Event::ThreadPark(_) | Event::ThreadUnpark(_) => Lack::Parks,
            Event::Sample(_) => Lack::Samples,
            Event::ClassRedefine(_) => Lack::ClassRedefinitions,
            Event::MethodUncompile(_) => Lack::Uncompiles,
            Event::LineCounts(_) => Lack::LineCounts,
            Event::AggregatedEnter(_) | Event::AggregatedLeave(_) => Lack::Aggregated,
            Event::ObjectDef(_) => Lack::Objects,
            Event::ObjectFree(_) => Lack::Frees,
            Event::MonitorWait(_) | Event::MonitorWaited(_) => Lack::Waits,
            _ => Lack::Other,
        };
        self.losses.one(lack);
        DEFINING
    }

    fn thread_metadata(&mut self, place: usize, time: u64, first: u8, id: u64, name: Option<&str>) {
        let (buffer, rises) = self.output.event(place, time, first);
        self.losses
            .one_if(!rises && place > THREADLESS, Lack::FallingTimes);
        self.definitions.metadata(buffer, THREAD, id);
        if let Some(name) = name {
            buffer.text(shortened(name, &mut self.losses));
        }
    }

    fn thread_state(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        first: u8,
        name: Option<&str>,
    ) -> Option<usize> {
        let time = self.clock(time);
        let Some(place) = self.output.thread(thread.0) else {
            self.losses.one(Lack::WideThreads);
            return None;
        };
        if place == THREADLESS {
            self.finish_listed();
        }
        let id = if thread.is_none() { VM } else { thread.0 };
        self.thread_metadata(place, time, first, id, name);
        Some(place)
    }

    fn thread_start(&mut self, e: &ThreadStart<'_>) -> usize {
        let groups = !e.group.is_empty() || !e.parent_group.is_empty();
        self.losses.one_if(groups, Lack::ThreadGroups);
        self.losses.one_if(!e.object.is_none(), Lack::ThreadObjects);
        if self
            .thread_state(e.thread, e.time, METADATA_LOAD, None)
            .is_none()
        {
            return DEFINING;
        }
        self.thread_state(e.thread, e.time, METADATA_NAME, Some(&e.name))
            .unwrap_or(DEFINING)
    }

    /// The end of a reserved thread is that of the trace, or of the agent.
    fn reserved_end(&mut self, id: u64, time: Timestamp, identity: &Text<'_>) -> usize {
        self.losses.one_if(!identity.is_empty(), Lack::Identities);
        self.dump_end(None);
        let time = self.clock(time);
        self.thread_metadata(THREADLESS, time, METADATA_UNLOAD, id, None);
        THREADLESS
    }

    fn class_detail(&mut self, e: &ClassDetail<'_>) -> usize {
        let only_loader = ClassDetail {
            class: e.class,
            time: e.time,
            loader: e.loader.clone(),
            ..ClassDetail::default()
        };
        self.losses.one_if(*e != only_loader, Lack::ClassDetails);
        if !e.loader.is_empty() {
            let time = self.clock(e.time);
            let loader = shortened(&e.loader, &mut self.losses);
            self.definitions
                .class_loader(e.class, loader, time, &mut self.output);
        }
        DEFINING
    }

    fn class_unload(&mut self, e: &ClassUnload) -> usize {
        if self.version == DataVersion::V17 {
            self.losses.one(Lack::ClassUnloads);
            return DEFINING;
        }
        let class = self.definitions.class(e.class, &mut self.output);
        self.event_at(THREADLESS, e.time, METADATA_UNLOAD);
        let buffer = self.output.buffer(THREADLESS);
        self.definitions.put_class(buffer, class);
        THREADLESS
    }

    fn compile(&mut self, e: &MethodCompile<'_>) -> usize {
        self.losses.one_if(!e.ranges.is_empty(), Lack::CodeLines);
        let method = self
            .definitions
            .method(e.method, ClassId::NONE, &mut self.output);
        let id = file_id(method);
        let size = u64::try_from(e.size).unwrap_or(0).min(i32::MAX as u64);
        if e.address == 0 || e.address == id {
            self.losses.one(Lack::Compiles);
            return DEFINING;
        }
        self.losses
            .one_if(size.cast_signed() != e.size, Lack::Sizes);
        let full = self.definitions.full_name(method).to_owned();
        let buffer = self.event_at(THREADLESS, e.time, JIT);
        buffer.method(id);
        buffer.pointer(e.address);
        buffer.uleb(size);
        buffer.text(&full);
        THREADLESS
    }

    /// A size that the format can hold.
    pub(super) fn size(&mut self, size: i64) -> u64 {
        u64::try_from(size).unwrap_or_else(|_| {
            self.losses.one(Lack::Sizes);
            0
        })
    }

    fn alloc(&mut self, e: &ObjectAlloc) -> usize {
        self.losses.one_if(e.line != 0, Lack::AllocLines);
        let class = self.definitions.class(e.class, &mut self.output);
        let kind = kind_of(self.definitions.class_name(class));
        self.losses.one_if(kind != e.kind, Lack::ObjectKinds);
        let size = self.size(e.size);
        self.frames.clear();
        if !e.method.is_none() {
            let method = self
                .definitions
                .method(e.method, ClassId::NONE, &mut self.output);
            self.frames.push(file_id(method));
        }
        let first = if self.frames.is_empty() {
            ALLOC
        } else {
            ALLOC_BACKTRACE
        };
        let Some(place) = self.event_of(e.thread, e.time, first) else {
            return DEFINING;
        };
        let buffer = self.output.buffer(place);
        buffer.pointer(file_id(class));
        buffer.object(e.object.0);
        buffer.uleb(size);
        self.put_backtrace(place);
        place
    }

    fn gc_event(&mut self, time: Timestamp, event: u64, generation: u8) -> usize {
        let buffer = self.event_at(THREADLESS, time, GC_EVENT);
        buffer.uleb(event);
        let place = buffer.place();
        buffer.byte(generation);
        place
    }

    fn gc_start(&mut self, time: Timestamp) -> usize {
        if self.collection.is_some() {
            self.losses.one(Lack::Collections);
            return DEFINING;
        }
        let start = self.gc_event(time, GC_START, 0);
        self.collection = Some(Collection {
            batch: self.output.batches,
            start,
            end: None,
            generation: 0,
        });
        THREADLESS
    }

    /// The generation is told when the collection's start was written already.
    fn gc_detail(&mut self, e: &GcDetail<'_>) -> usize {
        let words = !e.collector.is_empty() || !e.cause.is_empty();
        self.losses.one_if(words, Lack::GcDetails);
        let generation = match e.generation {
            Generation::Unknown | Generation::Young => 0,
            Generation::Full | Generation::Concurrent => 1,
        };
        let exact = matches!(e.generation, Generation::Young | Generation::Full);
        let ended = self.collection.is_none();
        let collection = if ended {
            self.untold.take()
        } else {
            self.collection
        };
        let Some(mut collection) = collection else {
            self.losses.one(Lack::Generations);
            return DEFINING;
        };
        let waits = collection.batch == self.output.batches;
        self.losses
            .one_if(!exact || (!waits && generation != 0), Lack::Generations);
        if waits {
            collection.generation = generation;
            let buffer = self.output.buffer(THREADLESS);
            for place in std::iter::once(collection.start).chain(collection.end) {
                buffer.patch(place, generation);
            }
        }
        if !ended {
            self.collection = Some(collection);
        }
        DEFINING
    }

    fn gc_finish(&mut self, e: &GcFinish) -> usize {
        let Some(collection) = self.collection.take() else {
            self.losses.one(Lack::Collections);
            return DEFINING;
        };
        let figures = e.used_space != 0 || e.used_objects != 0;
        self.losses.one_if(figures, Lack::GcFigures);
        if e.total_space != self.heap_size {
            self.heap_size = e.total_space;
            let size = self.size(e.total_space);
            self.event_at(THREADLESS, e.time, GC_RESIZE).uleb(size);
        }
        let end = self.gc_event(e.time, GC_END, collection.generation);
        self.untold = Some(Collection {
            end: Some(end),
            ..collection
        });
        THREADLESS
    }

    fn monitor(
        &mut self,
        event: u8,
        (thread, time, object): (ThreadId, Timestamp, ObjectId),
        stack: &[Frame<'_>],
    ) -> usize {
        let v17 = self.version == DataVersion::V17;
        let has_stack = !stack.is_empty() && (v17 || event == CONTENTION);
        self.losses
            .one_if(!stack.is_empty() && !has_stack, Lack::EnteredStacks);
        self.set_frames(if has_stack { stack } else { &[] });
        let mut first = MONITOR;
        if has_stack {
            first |= MONITOR_BACKTRACE;
        }
        if !v17 {
            first |= event << 4;
        }
        let Some(place) = self.event_of(thread, time, first) else {
            return DEFINING;
        };
        let buffer = self.output.buffer(place);
        if v17 {
            buffer.byte(event);
        }
        buffer.object(object.0);
        self.put_backtrace(place);
        place
    }

    /// The class of an exception stands before it, in its thread's buffer.
    fn exception_class(&mut self, thread: ThreadId, time: Timestamp, class: ClassId) {
        let class = self.definitions.class(class, &mut self.output);
        if let Some(place) = self.event_of(thread, time, METADATA_LOAD) {
            let buffer = self.output.buffer(place);
            self.definitions.put_class(buffer, class);
        }
    }

    fn throw(&mut self, e: &ExceptionThrow<'_>) -> usize {
        self.set_frames(&e.stack);
        self.exception_class(e.thread, e.time, e.class);
        let first = if e.stack.is_empty() {
            THROW
        } else {
            THROW_BACKTRACE
        };
        let Some(place) = self.event_of(e.thread, e.time, first) else {
            return DEFINING;
        };
        self.output.buffer(place).object(e.object.0);
        self.put_backtrace(place);
        place
    }

    fn catch(&mut self, e: &ExceptionCatch<'_>) -> usize {
        let v17 = self.version == DataVersion::V17;
        self.losses
            .one_if(!v17 && !e.object.is_none(), Lack::CaughtObjects);
        self.set_frames(std::slice::from_ref(&e.frame));
        let method = self.frames.first().copied().unwrap_or_default();
        self.exception_class(e.thread, e.time, e.class);
        let Some(place) = self.event_of(e.thread, e.time, CLAUSE) else {
            return DEFINING;
        };
        let buffer = self.output.buffer(place);
        // A catch, of unknown place in the method's table.
        buffer.uleb(0);
        buffer.uleb(0);
        buffer.method(method);
        if v17 {
            buffer.object(e.object.0);
        }
        place
    }

    /// Finds the methods of a stack, or defines them.
    fn set_frames(&mut self, stack: &[Frame<'_>]) {
        self.frames.clear();
        for frame in stack {
            self.losses.one_if(frame.line != -1, Lack::FrameLines);
            let method = self
                .definitions
                .frame(&frame.method, &mut self.output, &mut self.losses);
            self.frames.push(file_id(method));
        }
    }

    fn put_backtrace(&mut self, place: usize) {
        if self.frames.is_empty() {
            return;
        }
        let buffer = self.output.buffer(place);
        if self.version == DataVersion::V1 {
            buffer.uleb(0);
        }
        buffer.uleb(self.frames.len() as u64);
        for &frame in &self.frames {
            match self.version {
                DataVersion::V1 => buffer.pointer(frame),
                DataVersion::V17 => buffer.method(frame),
            }
        }
    }

    /// Writes the object of a heap dump that waits for its references.
    pub(super) fn finish_listed(&mut self) {
        if let Some(listed) = self.dump.listed.take() {
            super::heap::put(&listed, self.version, &mut self.output);
        }
    }
}
