//! Events other than calls: allocations, collections, classes, threads, exceptions and monitors.

use super::*;
use crate::room::TextBudget;

impl Replay {
    pub(super) fn any(&mut self, at: At, raw: Raw<'_>) -> Option<Event<'static>> {
        let offset = at.offset;
        match raw {
            Raw::Alloc {
                class,
                object,
                size,
                stack,
            } => return Some(self.alloc(at, (class, object, size), &stack)),
            Raw::Gc { event, generation } => return self.gc(at, event, generation),
            Raw::HeapSize(size) => {
                self.heap_size = self.size(size, at);
                if let Some(place) = self.heap_size_at.replace(offset) {
                    self.remarks.add(Remarked::HeapSizes, place);
                }
            }
            Raw::Moves(addresses) => self.moves(&addresses, at),
            Raw::Class {
                state,
                id,
                name,
                image,
            } => {
                let name = self.text(name, at);
                return self.class(at, state, (id, image), &name);
            }
            Raw::Image { id, name, module } => {
                let (name, has_module) = (self.text(name, at), !module.is_empty());
                // In files that jtrail wrote, images, domains and assemblies stand for class
                // loaders. They are read, so they do not count as skipped.
                self.remarks.add_if(!self.own, Remarked::Metadata, offset);
                self.remarks.add_if(has_module, Remarked::ModuleIds, offset);
                self.definitions.image(id, &name);
            }
            Raw::OtherMetadata => self.remarks.add_if(!self.own, Remarked::Metadata, offset),
            Raw::VTable { id, domain, class } => {
                let has_domain = !self.own && domain != 0;
                self.remarks
                    .add_if(has_domain, Remarked::TableDomains, offset);
                if !self.definitions.table(id, class) {
                    self.remarks.add(Remarked::UndefinedClasses, offset);
                }
            }
            Raw::Thread { state, id, name } => return self.thread_state(at, state, id, name),
            Raw::Jit {
                method,
                address,
                size,
                name,
            } => self.code(at, (method, address, size), name),
            Raw::Throw { object, stack } => return self.throw(at, object, &stack),
            Raw::Clause {
                kind,
                number,
                method,
                object,
            } => return self.catch(at, (kind, number), method, object),
            Raw::Monitor {
                event,
                object,
                stack,
            } => return self.monitor(at, event, object, &stack),
            Raw::HeapStart => return Some(self.dump_start(at)),
            Raw::HeapEnd => return self.dump_end(at),
            Raw::HeapObject {
                object,
                class,
                size,
                generation,
            } => {
                self.remarks
                    .add_if(generation != 0, Remarked::ObjectGenerations, offset);
                return self.dump_object(at, (object, class, size));
            }
            Raw::Reference {
                offset: field,
                target,
            } => {
                self.remarks
                    .add_if(field != 0, Remarked::FieldOffsets, offset);
                return self.dump_reference(at, target);
            }
            Raw::Root { address, object } => return self.dump_root(at, address, object),
            Raw::Enter(method) => return self.enter(at, method),
            Raw::Leave {
                method,
                by_exception,
            } => return self.leave(at, method, by_exception),
            Raw::SyncPoint => self.remarks.add(Remarked::SyncPoints, offset),
            Raw::NoRoots => {}
        }
        None
    }

    /// Handles an event that holds a method's name, and its code if it is compiled.
    fn code(&mut self, at: At, (method, address, size): (u64, u64, u64), name: &[u8]) {
        let (name, size) = (self.text(name, at), self.size(size, at));
        let queue = &mut self.queue;
        let emit = &mut |event| queue.push_back(event);
        let code = (method, address, size);
        let in_time = self.definitions.method_def(code, &name, at.time, emit);
        self.remarks
            .add_if(!in_time, Remarked::LateMethods, at.offset);
    }

    pub(super) fn alloc(
        &mut self,
        at: At,
        (class, address, size): (u64, u64, u64),
        stack: &[u64],
    ) -> Event<'static> {
        let class = self.object_class(class, at);
        let object = self.new_object(address, class);
        let size = self.size(size, at);
        let method = match stack {
            [] => MethodId::NONE,
            [method, callers @ ..] => {
                self.remarks
                    .add_if(!callers.is_empty(), Remarked::Callers, at.offset);
                self.method(*method, at).method
            }
        };
        Event::ObjectAlloc(ObjectAlloc {
            thread: self.id(at),
            time: at.time,
            kind: kind_of(self.definitions.class_name(class)),
            object,
            size,
            line: 0,
            method,
            class,
        })
    }

    pub(super) fn gc(&mut self, at: At, event: u64, generation: u64) -> Option<Event<'static>> {
        let time = at.time;
        match (event, self.collection) {
            (GC_START, None) => {
                self.collection = Some((generation, time));
                return Some(Event::GcStart(GcStart { time }));
            }
            (GC_END, Some((begin, _))) => {
                self.collection = None;
                self.heap_size_at = None;
                self.remarks
                    .add_if(begin != generation, Remarked::BeginGenerations, at.offset);
                self.remarks
                    .add_if(generation > 1, Remarked::OldGenerations, at.offset);
                self.queue.push_back(Event::GcDetail(GcDetail {
                    time,
                    generation: match generation {
                        0 => Generation::Young,
                        _ => Generation::Full,
                    },
                    ..GcDetail::default()
                }));
                return Some(Event::GcFinish(GcFinish {
                    time,
                    total_space: self.heap_size,
                    ..GcFinish::default()
                }));
            }
            (GC_START, Some(_)) => self.remarks.add(Remarked::NestedCollections, at.offset),
            (GC_END, None) => self.remarks.add(Remarked::UnbegunCollections, at.offset),
            _ => self.remarks.add(Remarked::Phases, at.offset),
        }
        None
    }

    pub(super) fn class(
        &mut self,
        at: At,
        state: u8,
        (raw, image): (u64, u64),
        name: &str,
    ) -> Option<Event<'static>> {
        // In files that jtrail wrote, a class load in a thread's own buffer names the class of the
        // exception in the thread's next event.
        if self.own
            && at.thread != DEFINITIONS
            && state == METADATA_LOAD
            && let Some(class) = self.definitions.defined_class(raw)
        {
            self.threads.get_mut(at.place)?.exception = class;
            return None;
        }
        let time = at.time;
        match state {
            METADATA_UNLOAD => {
                let Some(class) = self.definitions.defined_class(raw) else {
                    self.remarks.add(Remarked::UndefinedClasses, at.offset);
                    return None;
                };
                return Some(Event::ClassUnload(ClassUnload { class, time }));
            }
            METADATA_FAILED => self.remarks.add(Remarked::FailedClasses, at.offset),
            _ => {
                let queue = &mut self.queue;
                let emit = &mut |event| queue.push_back(event);
                self.definitions.class_def((raw, image), name, time, emit);
            }
        }
        None
    }

    pub(super) fn thread_state(
        &mut self,
        at: At,
        state: u8,
        raw: u64,
        name: Option<&[u8]>,
    ) -> Option<Event<'static>> {
        let time = at.time;
        if self.own && matches!(raw, DEFINITIONS | VM | COMPILER) {
            match (state, raw) {
                (METADATA_LOAD, DEFINITIONS) => self.agent = Some(time),
                (METADATA_LOAD, VM) => self.trace = Some(time),
                (METADATA_UNLOAD, DEFINITIONS) => {
                    self.agent_end = Some(time);
                    self.has_agent_end = true;
                }
                (METADATA_UNLOAD, VM) => self.trace_end = Some(time),
                _ => {}
            }
            return None;
        }
        if state == METADATA_UNLOAD || state == METADATA_FAILED {
            return self.thread_end(at, raw);
        }
        let place = match raw == at.thread {
            true => at.place,
            false => {
                let load = Raw::Thread {
                    state,
                    id: raw,
                    name,
                };
                let file_time = time.0.wrapping_sub(self.epoch).cast_unsigned();
                self.thread(raw, file_time, &load)
            }
        };
        let name = name.map(|name| self.text(name, at));
        let thread = self.threads.get_mut(place)?;
        let id = thread.id;
        let defined = std::mem::replace(&mut thread.defined, true);
        match name {
            name if !defined => Some(Event::ThreadStart(ThreadStart {
                thread: id,
                time,
                name: name.unwrap_or_default().into(),
                ..ThreadStart::default()
            })),
            Some(name) => Some(Event::ThreadName(ThreadName {
                thread: id,
                time,
                name: name.into(),
            })),
            None => None,
        }
    }

    pub(super) fn thread_end(&mut self, at: At, raw: u64) -> Option<Event<'static>> {
        if raw != at.thread {
            self.remarks.add(Remarked::ThreadEnds, at.offset);
            return None;
        }
        let thread = std::mem::take(self.threads.get_mut(at.place)?);
        self.thread_indices.remove(&raw);
        self.free.push(at.place);
        self.at = None;
        Some(Event::ThreadEnd(ThreadEnd {
            thread: thread.id,
            time: at.time,
        }))
    }

    pub(super) fn frames(&mut self, stack: &[u64], at: At) -> Vec<Frame<'static>> {
        let mut frames = Vec::with_capacity(stack.len());
        let mut room = TextBudget::default();
        for &raw in stack {
            let of = self.method(raw, at);
            let frame = self.definitions.frame(of.method);
            if !room.takes(&frame.method) {
                self.remarks.add(Remarked::LongStacks, at.offset);
                break;
            }
            frames.push(frame);
        }
        frames
    }

    pub(super) fn throw(&mut self, at: At, address: u64, stack: &[u64]) -> Option<Event<'static>> {
        let mut frames = self.frames(stack, at);
        if frames.is_empty() && !self.own {
            // Without a stack, the method of the innermost open call is taken as the throwing
            // method.
            let calls = self.threads.get(at.place).map(|thread| &thread.calls);
            let call = calls.and_then(|calls| calls.last());
            let method = call.map_or(MethodId::NONE, |call| call.of.method);
            frames.push(self.definitions.frame(method));
        }
        let object = self.object(address);
        if !self.own {
            let known = self.objects.get(&address);
            let class = known.map_or(ClassId::NONE, |(_, class)| *class);
            self.threads.get_mut(at.place)?.exception = class;
        }
        let class = self.exception_class(at)?;
        Some(Event::ExceptionThrow(ExceptionThrow {
            thread: self.id(at),
            time: at.time,
            object,
            class,
            stack: frames,
        }))
    }

    pub(super) fn exception_class(&mut self, at: At) -> Option<ClassId> {
        let class = self.threads.get_mut(at.place)?.exception;
        match class.is_none() {
            true => Some(self.unresolved_class(0, at)),
            false => Some(class),
        }
    }

    pub(super) fn catch(
        &mut self,
        at: At,
        (kind, entry): (u64, u64),
        method: u64,
        address: u64,
    ) -> Option<Event<'static>> {
        let takes_all = match kind {
            CLAUSE_CATCH => false,
            CLAUSE_FINALLY => true,
            _ => {
                self.remarks.add(Remarked::OtherClauses, at.offset);
                return None;
            }
        };
        let of = self.method(method, at);
        let object = self.object(address);
        let class = self.exception_class(at)?;
        // In a file that jtrail wrote, type 0 and number 0 may mean that the handler was not
        // reported.
        if takes_all || entry != 0 || !self.own {
            self.queue.push_back(Event::CatchDetail(CatchDetail {
                thread: self.id(at),
                time: at.time,
                entry,
                takes_all,
            }));
        }
        Some(Event::ExceptionCatch(ExceptionCatch {
            thread: self.id(at),
            time: at.time,
            object,
            class,
            frame: self.definitions.frame(of.method),
        }))
    }

    pub(super) fn monitor(
        &mut self,
        at: At,
        event: u8,
        address: u64,
        stack: &[u64],
    ) -> Option<Event<'static>> {
        let (thread, time) = (self.id(at), at.time);
        let object = self.object(address);
        let stack = self.frames(stack, at);
        match event {
            CONTENTION => Some(Event::MonitorContendedEnter(MonitorContendedEnter {
                thread,
                time,
                object,
                owner: ThreadId::NONE,
                stack,
            })),
            DONE => Some(Event::MonitorContendedEntered(MonitorContendedEntered {
                thread,
                time,
                object,
                stack,
            })),
            _ => {
                self.remarks.add(Remarked::FailedContentions, at.offset);
                None
            }
        }
    }
}
