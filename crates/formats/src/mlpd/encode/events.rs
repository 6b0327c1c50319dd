//! Events other than calls: classes, code, allocations, collections, monitors and exceptions.

use super::*;

impl Encoder {
    pub(super) fn class_detail(&mut self, e: &ClassDetail<'_>) -> usize {
        let only_loader = ClassDetail {
            class: e.class,
            time: e.time,
            loader: e.loader.clone(),
            ..ClassDetail::default()
        };
        self.dropped
            .part_if(*e != only_loader, Dropped::ClassDetails);
        if !e.loader.is_empty() {
            let time = self.clock(e.time);
            let loader = shortened(&e.loader, &mut self.dropped);
            self.definitions
                .class_loader(e.class, loader, time, &mut self.output);
        }
        DEFINING
    }

    pub(super) fn class_unload(&mut self, e: &ClassUnload) -> usize {
        if self.version == DataVersion::V17 {
            self.dropped.event(Dropped::ClassUnloads);
            return DEFINING;
        }
        let class = self.definitions.class(e.class, &mut self.output);
        self.event_at(THREADLESS, e.time, METADATA_UNLOAD);
        let buffer = self.output.buffer(THREADLESS);
        self.definitions.put_class(buffer, class);
        THREADLESS
    }

    pub(super) fn compile(&mut self, e: &MethodCompile<'_>) -> usize {
        self.dropped
            .part_if(!e.ranges.is_empty(), Dropped::CodeLines);
        let method = self
            .definitions
            .method(e.method, ClassId::NONE, &mut self.output);
        let id = file_id(method);
        let size = u64::try_from(e.size).unwrap_or(0).min(i32::MAX as u64);
        if e.address == 0 || e.address == id {
            self.dropped.event(Dropped::Compiles);
            return DEFINING;
        }
        self.dropped
            .part_if(size.cast_signed() != e.size, Dropped::Sizes);
        let full = self.definitions.full_name(method);
        self.name_compiler(e.time);
        let buffer = self.event_at(COMPILED, e.time, JIT);
        buffer.method(id);
        buffer.pointer(e.address);
        buffer.uleb(size);
        buffer.text(&full);
        COMPILED
    }

    /// Writes the name of the thread of compilations before the thread's first event, to the
    /// thread's own buffer. The name is not in the buffer of definitions, because readers take this
    /// buffer first: the name would move when the trace is read and written again.
    fn name_compiler(&mut self, time: Timestamp) {
        if !std::mem::replace(&mut self.has_compiler, true) {
            let time = self.clock(time);
            self.thread_metadata(COMPILED, time, METADATA_LOAD, COMPILER, None);
            self.thread_metadata(COMPILED, time, METADATA_NAME, COMPILER, Some("compiler"));
        }
    }

    /// Converts a size. A negative size is counted as dropped and becomes 0.
    pub(super) fn size(&mut self, size: i64) -> u64 {
        u64::try_from(size).unwrap_or_else(|_| {
            self.dropped.part(Dropped::Sizes);
            0
        })
    }

    pub(super) fn alloc(&mut self, e: &ObjectAlloc) -> usize {
        self.dropped.part_if(e.line != 0, Dropped::AllocLines);
        let class = self.definitions.class(e.class, &mut self.output);
        let kind = kind_of(self.definitions.class_name(class));
        self.dropped.part_if(kind != e.kind, Dropped::ObjectKinds);
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

    pub(super) fn gc_event(&mut self, time: Timestamp, event: u64, generation: u8) -> usize {
        let buffer = self.event_at(THREADLESS, time, GC_EVENT);
        buffer.uleb(event);
        let place = buffer.place();
        buffer.byte(generation);
        place
    }

    pub(super) fn gc_start(&mut self, time: Timestamp) -> usize {
        if self.collection.is_some() {
            self.dropped.event(Dropped::Collections);
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

    /// Sets the generation of a collection in events that are already in the buffer, because the
    /// trace reports the generation only after the start of the collection.
    pub(super) fn gc_detail(&mut self, e: &GcDetail<'_>) -> usize {
        let words = !e.collector.is_empty() || !e.cause.is_empty();
        self.dropped.part_if(words, Dropped::GcDetails);
        let generation = match e.generation {
            Generation::Unknown | Generation::Young => 0,
            Generation::Full | Generation::Concurrent => 1,
        };
        let exact = matches!(e.generation, Generation::Young | Generation::Full);
        let ended = self.collection.is_none();
        let collection = if ended {
            self.unreported.take()
        } else {
            self.collection
        };
        let Some(mut collection) = collection else {
            self.dropped.event(Dropped::Generations);
            return DEFINING;
        };
        let waits = collection.batch == self.output.batches;
        self.dropped
            .part_if(!exact || (!waits && generation != 0), Dropped::Generations);
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

    pub(super) fn gc_finish(&mut self, e: &GcFinish) -> usize {
        let Some(collection) = self.collection.take() else {
            self.dropped.event(Dropped::Collections);
            return DEFINING;
        };
        let figures = e.used_space != 0 || e.used_objects != 0;
        self.dropped.part_if(figures, Dropped::GcFigures);
        if e.total_space != self.heap_size {
            self.heap_size = e.total_space;
            let size = self.size(e.total_space);
            self.event_at(THREADLESS, e.time, GC_RESIZE).uleb(size);
        }
        let end = self.gc_event(e.time, GC_END, collection.generation);
        self.unreported = Some(Collection {
            end: Some(end),
            ..collection
        });
        THREADLESS
    }

    pub(super) fn monitor(
        &mut self,
        event: u8,
        (thread, time, object): (ThreadId, Timestamp, ObjectId),
        stack: &[Frame<'_>],
    ) -> usize {
        let v17 = self.version == DataVersion::V17;
        let has_stack = !stack.is_empty() && (v17 || event == CONTENTION);
        self.dropped
            .part_if(!stack.is_empty() && !has_stack, Dropped::EnteredStacks);
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

    /// Writes the class of an exception to the thread's buffer. The throw or catch of the exception
    /// follows it.
    pub(super) fn exception_class(&mut self, thread: ThreadId, time: Timestamp, class: ClassId) {
        let class = self.definitions.class(class, &mut self.output);
        if let Some(place) = self.event_of(thread, time, METADATA_LOAD) {
            let buffer = self.output.buffer(place);
            self.definitions.put_class(buffer, class);
        }
    }

    pub(super) fn throw(&mut self, e: &ExceptionThrow<'_>) -> usize {
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

    /// Stores the details of a handler until the next event, which is the catch.
    pub(super) fn catch_detail(&mut self, e: &CatchDetail) -> usize {
        let unused = self.handler.replace(*e);
        self.dropped.event_if(unused.is_some(), Dropped::Handlers);
        DEFINING
    }

    pub(super) fn catch(&mut self, e: &ExceptionCatch<'_>) -> usize {
        let v17 = self.version == DataVersion::V17;
        let is_of = |handler: &CatchDetail| (handler.thread, handler.time) == (e.thread, e.time);
        let handler = self.handler.take();
        self.dropped
            .event_if(handler.is_some_and(|h| !is_of(&h)), Dropped::Handlers);
        let handler = handler.filter(is_of).unwrap_or_default();
        self.dropped
            .part_if(!v17 && !e.object.is_none(), Dropped::CaughtObjects);
        self.set_frames(std::slice::from_ref(&e.frame));
        let method = self.frames.first().copied().unwrap_or_default();
        self.exception_class(e.thread, e.time, e.class);
        let Some(place) = self.event_of(e.thread, e.time, CLAUSE) else {
            return DEFINING;
        };
        let buffer = self.output.buffer(place);
        buffer.uleb(if handler.takes_all {
            CLAUSE_FINALLY
        } else {
            CLAUSE_CATCH
        });
        buffer.uleb(handler.entry);
        buffer.method(method);
        if v17 {
            buffer.object(e.object.0);
        }
        place
    }

    /// Sets `frames` to the methods of a stack. Defines methods that are new.
    pub(super) fn set_frames(&mut self, stack: &[Frame<'_>]) {
        self.frames.clear();
        for frame in stack {
            self.dropped.part_if(frame.line != -1, Dropped::FrameLines);
            let method = self
                .definitions
                .frame(&frame.method, &mut self.output, &mut self.dropped);
            self.frames.push(file_id(method));
        }
    }

    pub(super) fn put_backtrace(&mut self, place: usize) {
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
}
