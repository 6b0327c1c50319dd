//! Converts the file's events to events of the model.

mod events;
mod heap;

use super::definitions::{Definitions, MethodOf};
use super::merge::Next;
use super::raw::Raw;
use super::remarks::Remarked;
use crate::mlpd::header::Header;
use crate::mlpd::wire::{
    AGENT, ARCHITECTURE, CLAUSE_CATCH, CLAUSE_FINALLY, COMPILER, CONTENTION, DEFINITIONS, DONE,
    FARTHEST_LEAVE, GC_END, GC_START, METADATA_FAILED, METADATA_LOAD, METADATA_UNLOAD,
    OPERATING_SYSTEM, ROOT_KINDS, VM,
};
use crate::mlpd::{DataVersion, kind_of};
use crate::tally::RemarkTally;
use jtrail_model::{
    AgentCreate, AgentDestroy, CatchDetail, ClassId, ClassUnload, Duration, Event, ExceptionCatch,
    ExceptionThrow, Frame, GcDetail, GcFinish, GcRoot, GcStart, Generation, HeapDump, HeapDumpEnd,
    HeapDumpId, HeapObject, MethodEnter, MethodId, MethodLeave, MonitorContendedEnter,
    MonitorContendedEntered, Node, ObjectAlloc, ObjectId, ObjectReference, ProcessCreate,
    TIMER_OVERHEAD, ThreadEnd, ThreadId, ThreadName, ThreadStart, Timestamp, TraceEnd, TraceOption,
    TraceStart,
};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// Converter of the file's events. It takes them in the order in which the batches return them.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// True if jtrail wrote the file. Threads and objects then keep their ids.
    own: bool,
    /// True once the first buffer has started.
    begun: bool,
    version: DataVersion,
    header: Header,
    /// Offset from the file's clock to nanoseconds since 1970.
    epoch: i64,
    opened: bool,
    agent: Option<Timestamp>,
    trace: Option<Timestamp>,
    trace_end: Option<Timestamp>,
    agent_end: Option<Timestamp>,
    pub(super) has_agent_end: bool,
    threads: Vec<Thread>,
    free: Vec<usize>,
    thread_indices: HashMap<u64, usize>,
    /// Thread of the last event, and the index of this thread in `threads`.
    at: Option<(u64, usize)>,
    last_thread: u64,
    definitions: Definitions,
    /// Object at each address, and its class. Used for files that jtrail did not write.
    objects: HashMap<u64, (ObjectId, ClassId)>,
    last_object: u64,
    /// Generation and start time of the collection in progress.
    collection: Option<(u64, Timestamp)>,
    heap_size: i64,
    /// File offset of the last heap size event; `None` if a collection has ended since.
    heap_size_at: Option<u64>,
    /// Open heap dump, and the thread that writes it.
    dump: Option<(u64, HeapDumpId)>,
    last_dump: u64,
    /// Object whose references follow.
    source: Option<(ObjectId, HeapDumpId)>,
    queue: VecDeque<Event<'static>>,
    pub(super) remarks: RemarkTally<Remarked>,
}

#[derive(Debug, Default)]
struct Thread {
    id: ThreadId,
    defined: bool,
    time: u64,
    ticket: u32,
    calls: Vec<Call>,
    /// If jtrail wrote the file: class of the thread's next exception. Otherwise: class of the
    /// thread's last exception.
    exception: ClassId,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    of: MethodOf,
    ticket: u32,
}

/// Position and time of an event.
#[derive(Clone, Copy)]
struct At {
    /// Thread id in the file.
    thread: u64,
    /// Index in `Replay::threads`.
    place: usize,
    time: Timestamp,
    offset: u64,
}

impl Replay {
    pub(super) fn header(&mut self, header: &Header) {
        self.header = header.clone();
        self.version = header.version;
        self.epoch = self.header.startup;
    }

    pub(super) fn is_own(&self) -> bool {
        self.own
    }

    /// Handles the start of a buffer.
    pub(super) fn buffer(&mut self, thread: u64, time: u64, offset: u64) {
        if !std::mem::replace(&mut self.begun, true) {
            // The first buffer shows whether jtrail wrote the file. In version 1, its time is also
            // the start of the clock.
            self.own = thread == DEFINITIONS;
            let clock = self.header.clock.unwrap_or(time);
            self.epoch = self.header.startup.wrapping_sub(clock.cast_signed());
        }
        let before = self
            .thread_indices
            .get(&thread)
            .and_then(|&at| self.threads.get(at));
        if before.is_some_and(|before| time < before.time) {
            self.remarks.add(Remarked::FallingTimes, offset);
        }
    }

    /// Returns an event that must be reported before the next one of the file.
    pub(super) fn queued(&mut self) -> Option<Event<'static>> {
        self.queue.pop_front()
    }

    /// Returns the next event that is due at the end of the file.
    pub(super) fn last_event(&mut self) -> Option<Event<'static>> {
        self.open();
        self.settle();
        if let Some(event) = self.queued() {
            return Some(event);
        }
        if let Some(time) = self.trace_end.take() {
            return Some(Event::TraceEnd(TraceEnd {
                trace_id: "".into(),
                time,
            }));
        }
        let time = self.agent_end.take()?;
        Some(Event::AgentDestroy(AgentDestroy {
            agent_id: "".into(),
            time,
        }))
    }

    /// Handles data that was held back for the end of a collection, because this end is missing.
    /// Reports the generation of a full collection. Counts a heap size as skipped.
    fn settle(&mut self) {
        if let Some((1.., time)) = self.collection.take() {
            self.queue.push_back(Event::GcDetail(GcDetail {
                time,
                generation: Generation::Full,
                ..GcDetail::default()
            }));
        }
        if let Some(place) = self.heap_size_at.take() {
            self.remarks.add(Remarked::HeapSizes, place);
        }
    }

    /// Queues the events for the contents of the header, unless they are queued already. They come
    /// before any other event.
    fn open(&mut self) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let header = std::mem::take(&mut self.header);
        let time = self.agent.unwrap_or(Timestamp(header.startup));
        let (major, minor) = header.numbers;
        self.queue.extend([
            Event::Node(Node {
                time,
                ..Node::default()
            }),
            ProcessCreate {
                pid: header.pid,
                time,
                ..ProcessCreate::default()
            }
            .into(),
            AgentCreate {
                name: AGENT.into(),
                time,
                parameters: header.arguments.into(),
                version: format!("{major}.{minor}").into(),
                ..AgentCreate::default()
            }
            .into(),
            Event::TraceStart(TraceStart {
                time: self.trace.unwrap_or(time),
                ..TraceStart::default()
            }),
        ]);
        let number = |number: i64, usual: i64| match number == usual {
            true => String::new(),
            false => number.to_string(),
        };
        for (key, value) in [
            (TIMER_OVERHEAD, number(header.timer_overhead.into(), 0)),
            (ARCHITECTURE, header.architecture),
            (OPERATING_SYSTEM, header.operating_system),
            ("pointerSize", number(header.pointer_size.into(), 8)),
            ("system", number(header.system.into(), 0)),
        ] {
            if !value.is_empty() {
                self.queue.push_back(Event::Option(TraceOption {
                    key: key.into(),
                    value: value.into(),
                }));
            }
        }
        self.trace = Some(self.trace.unwrap_or(time));
    }

    fn wall(&self, time: u64) -> Timestamp {
        Timestamp(time.cast_signed().wrapping_add(self.epoch))
    }

    /// Converts an event of the file. If the conversion queues events, the event itself is queued
    /// after them.
    #[inline]
    pub(super) fn next(&mut self, next: Next<'_>) -> Option<Event<'static>> {
        let raw = match next.raw {
            Ok(raw) => raw,
            Err(fault) => {
                self.remarks.add(Remarked::from(fault), next.place);
                return None;
            }
        };
        if !self.opened && !self.begins(&raw) {
            self.open();
        }
        let place = match self.at {
            Some((thread, place)) if thread == next.thread => place,
            _ => self.thread(next.thread, next.time, &raw),
        };
        let state = self.threads.get_mut(place)?;
        state.time = next.time.max(state.time);
        let at = At {
            thread: next.thread,
            place,
            time: Timestamp(state.time.cast_signed().wrapping_add(self.epoch)),
            offset: next.place,
        };
        let event = match raw {
            Raw::Enter(method) => self.enter(at, method),
            Raw::Leave {
                method,
                by_exception,
            } => self.leave(at, method, by_exception),
            raw => self.any(at, raw),
        };
        if self.queue.is_empty() {
            return event;
        }
        self.queue.extend(event);
        self.queued()
    }

    /// True if an event holds the start of the agent or the trace.
    fn begins(&self, raw: &Raw<'_>) -> bool {
        self.own
            && matches!(
                raw,
                Raw::Thread {
                    id: DEFINITIONS | VM,
                    ..
                }
            )
    }

    /// Returns the index of a thread. Reports the start of a new thread, unless `first` is the
    /// event that defines it.
    #[cold]
    fn thread(&mut self, raw: u64, time: u64, first: &Raw<'_>) -> usize {
        if let Some(&place) = self.thread_indices.get(&raw) {
            self.at = Some((raw, place));
            return place;
        }
        let id = match raw {
            DEFINITIONS | VM | COMPILER if self.own => ThreadId::NONE,
            raw if self.own => ThreadId(raw),
            _ => {
                self.last_thread += 1;
                ThreadId(self.last_thread)
            }
        };
        let defines_itself =
            matches!(first, Raw::Thread { state: METADATA_LOAD, id, .. } if *id == raw);
        let defined = id.is_none() || !defines_itself;
        let thread = Thread {
            id,
            defined,
            ..Thread::default()
        };
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.threads.push(Thread::default());
                self.threads.len() - 1
            }
        };
        if let Some(free) = self.threads.get_mut(place) {
            *free = thread;
        }
        self.thread_indices.insert(raw, place);
        self.at = Some((raw, place));
        if defined && !id.is_none() {
            let start = ThreadStart {
                thread: id,
                time: self.wall(time),
                ..ThreadStart::default()
            };
            self.queue.push_back(Event::ThreadStart(start));
        }
        place
    }

    fn id(&self, at: At) -> ThreadId {
        let thread = self.threads.get(at.place);
        thread.map_or(ThreadId::NONE, |thread| thread.id)
    }

    #[inline]
    fn method(&mut self, raw: u64, at: At) -> MethodOf {
        let queue = &mut self.queue;
        let emit = &mut |event| queue.push_back(event);
        self.definitions
            .method(raw, at.time, emit)
            .unwrap_or_else(|of| {
                self.remarks.add(Remarked::UndefinedMethods, at.offset);
                of
            })
    }

    #[inline]
    fn enter(&mut self, at: At, method: u64) -> Option<Event<'static>> {
        let of = self.method(method, at);
        let thread = self.threads.get_mut(at.place)?;
        thread.ticket = thread.ticket.checked_add(1).unwrap_or(1);
        let ticket = thread.ticket;
        thread.calls.push(Call { of, ticket });
        Some(Event::MethodEnter(MethodEnter {
            thread: thread.id,
            time: at.time,
            method: of.method,
            class: of.class,
            ticket,
            cpu_time: Duration(0),
            stack_depth: thread.calls.len() as i64,
        }))
    }

    #[inline]
    fn leave(&mut self, at: At, method: u64, by_exception: bool) -> Option<Event<'static>> {
        let of = self.method(method, at);
        let thread = self.threads.get_mut(at.place)?;
        if thread.calls.last().is_none_or(|call| call.of != of) {
            self.leave_inner(at, of)?;
        }
        let thread = self.threads.get_mut(at.place)?;
        let call = thread.calls.pop()?;
        Some(leave(thread.id, at.time, call, by_exception))
    }

    /// Ends the calls inside the call that is left. Returns `None` if the call that is left is not
    /// open.
    #[cold]
    fn leave_inner(&mut self, at: At, of: MethodOf) -> Option<()> {
        let thread = self.threads.get_mut(at.place)?;
        let near = thread.calls.len().saturating_sub(FARTHEST_LEAVE);
        let found = thread.calls.iter().rposition(|call| call.of == of);
        let Some(found) = found.filter(|&found| found >= near) else {
            self.remarks.add(Remarked::Leaves, at.offset);
            return None;
        };
        for call in thread.calls.drain(found + 1..).rev() {
            self.queue.push_back(leave(thread.id, at.time, call, false));
        }
        self.remarks.add(Remarked::SkippedCalls, at.offset);
        Some(())
    }

    /// Returns the object at an address. In files that jtrail wrote, the address is the object id.
    fn object(&mut self, address: u64) -> ObjectId {
        if self.own || address == 0 {
            return ObjectId(address);
        }
        let next = self.last_object + 1;
        let entry = self.objects.entry(address);
        let (object, _) = *entry.or_insert((ObjectId(next), ClassId::NONE));
        self.last_object = self.last_object.max(object.0);
        object
    }

    /// Returns a new object at an address. It replaces an earlier object at this address.
    fn new_object(&mut self, address: u64, class: ClassId) -> ObjectId {
        if self.own {
            return ObjectId(address);
        }
        self.last_object += 1;
        let object = ObjectId(self.last_object);
        self.objects.insert(address, (object, class));
        object
    }

    fn moves(&mut self, addresses: &[u64], at: At) {
        if self.own {
            self.remarks.add(Remarked::Moves, at.offset);
            return;
        }
        // Remove all objects before inserting any: the target of one move may be the source of
        // another.
        let (pairs, _) = addresses.as_chunks::<2>();
        let moved: Vec<_> = pairs
            .iter()
            .filter_map(|[from, to]| Some((*to, self.objects.remove(from)?)))
            .collect();
        self.objects.extend(moved);
    }

    /// Returns the class that an object refers to. Counts a fault if the class is undefined.
    fn object_class(&mut self, raw: u64, at: At) -> ClassId {
        let by_table = self.version == DataVersion::V17;
        if let Some(class) = self.definitions.object_class(raw, by_table) {
            return class;
        }
        self.remarks.add(Remarked::UndefinedClasses, at.offset);
        self.unresolved_class(raw, at)
    }

    /// Converts a size of the file. A size above `i64::MAX` is counted, and becomes `i64::MAX`.
    fn size(&mut self, size: u64, at: At) -> i64 {
        size.try_into().unwrap_or_else(|_| {
            self.remarks.add(Remarked::Sizes, at.offset);
            i64::MAX
        })
    }

    /// Decodes a text of the file. Bytes that are not UTF-8 become U+FFFD and are counted.
    fn text(&mut self, bytes: &[u8], at: At) -> String {
        let text = String::from_utf8_lossy(bytes);
        self.remarks
            .add_if(matches!(text, Cow::Owned(_)), Remarked::Texts, at.offset);
        text.into_owned()
    }

    fn unresolved_class(&mut self, raw: u64, at: At) -> ClassId {
        let queue = &mut self.queue;
        let emit = &mut |event| queue.push_back(event);
        self.definitions.unresolved_class(raw, at.time, emit)
    }
}

fn leave(thread: ThreadId, time: Timestamp, call: Call, by_exception: bool) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread,
        time,
        method: call.of.method,
        class: call.of.class,
        ticket: call.ticket,
        cpu_time: Duration(0),
        by_exception,
    })
}
