//! Turns the events of a trace into what happens on a time line.

mod encode;
mod notes;

use crate::dropped::DropTally;
use crate::filter::CallFilter;
use crate::per_thread::PerThread;
use crate::sink::{Collection, Counter, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use crate::slices::Slices;
use jtrail_model::names::Names;
use jtrail_model::{
    AggregatedEnter, ClassId, Event, GcFinish, Note, ObjectId, ThreadId, Timestamp,
};
use notes::describe;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What is dropped if the begin of a call is missing.
pub const UNMATCHED: &str = "leaves without an open call";

/// Interval of the allocation rate in ns.
const RATE_INTERVAL: i64 = 10_000_000;

/// HotSpot's group of virtual threads.
const VIRTUAL: &str = "VirtualThreads";

/// Maximum number of objects whose classes are kept, for monitors and blockers.
const MAX_OBJECTS: usize = 1 << 21;

/// Number of threads that have ended and are still known, as an event of theirs may come late. A
/// program may have millions of virtual threads, one after another.
const MAX_ENDED: usize = if cfg!(test) { 2 } else { 1_024 };

/// Encodes a trace as a time line.
pub(crate) struct Timeline<S> {
    names: Names,
    slices: Slices,
    sink: S,
    make_sink: Box<dyn Fn() -> S + Send>,
    process: Option<(u64, String)>,
    threads: PerThread<ThreadState>,
    /// Number of threads so far.
    thread_count: u32,
    /// Threads that have ended and are not forgotten yet, in the order of their ends.
    ended: VecDeque<ThreadIndex>,
    index: FxHashMap<ThreadId, u32>,
    last_thread: Option<(ThreadId, u32)>,
    /// Classes of the objects that may be monitors.
    classes: FxHashMap<ObjectId, ClassId>,
    collection: Option<Collection>,
    allocated: Allocated,
    /// Number of threads that have started and not ended. `None` before the first start or end.
    live_threads: Option<i64>,
    /// The first selected time, if there was an event that is not selected.
    selected_from: Option<Timestamp>,
    /// False while an event outside of the selected time is processed.
    is_in_time: bool,
    /// True if an event of the selected time was processed.
    has_begun: bool,
    /// Bytes in use after the latest collection that tells.
    heap_used: Option<i64>,
    dropped: DropTally,
    /// What events lacked in the files that have ended.
    dropped_before: DropTally,
    /// True if a sum of calls was written.
    has_sums: bool,
    /// What the user left out of the export.
    notes: Vec<String>,
    /// True if the end has begun.
    is_closed: bool,
    /// The first time of the trace.
    start: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct ThreadState {
    info: ThreadInfo,
    has_ended: bool,
    /// How many open calls, counted from the innermost, do not enclose the next aggregated calls.
    sums_above: usize,
    /// The open aggregated calls, the outermost first, and for each, true if it is selected.
    aggregated: Vec<(AggregatedEnter, bool)>,
}

/// Bytes allocated in the current interval.
#[derive(Debug, Default)]
struct Allocated {
    /// Number of the interval since 1970-01-01 UTC.
    interval: i64,
    bytes: i64,
}

impl<S: Sink> Timeline<S> {
    /// Creates an encoder of the calls that the filter selects. `make_sink` makes a sink for each
    /// file.
    pub(crate) fn new(filter: CallFilter, make_sink: impl Fn() -> S + Send + 'static) -> Self {
        Self {
            names: Names::default(),
            slices: Slices::new(filter),
            sink: make_sink(),
            make_sink: Box::new(make_sink),
            process: None,
            notes: Vec::new(),
            is_closed: false,
            threads: PerThread::default(),
            thread_count: 0,
            ended: VecDeque::new(),
            index: FxHashMap::default(),
            last_thread: None,
            classes: FxHashMap::default(),
            collection: None,
            allocated: Allocated::default(),
            live_threads: None,
            selected_from: None,
            is_in_time: true,
            has_begun: false,
            heap_used: None,
            dropped: DropTally::default(),
            dropped_before: DropTally::default(),
            has_sums: false,
            start: None,
        }
    }

    /// Returns the sink.
    pub(crate) fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink.
    pub(crate) fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Returns the sink, after the end.
    pub(crate) fn into_sink(self) -> S {
        self.sink
    }

    /// Adds what the user left out of the export. It becomes marks at the end.
    pub(crate) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Extends the time of the trace.
    #[inline]
    fn extend_time(&mut self, time: Timestamp) {
        if self.start.is_none() && time.0 != 0 {
            self.start = Some(time);
            self.sink.start(time);
        }
        self.slices.extend_time(time);
        if !self.has_begun && self.is_in_time {
            self.has_begun = true;
            let first = self.selected_from.max(self.start).unwrap_or(time);
            self.write_live_threads(first.min(time));
        }
    }

    /// Returns the thread's index. A new thread is defined by its id.
    #[inline]
    fn thread(&mut self, id: ThreadId) -> ThreadIndex {
        match self.last_thread {
            Some((last, index)) if last == id => ThreadIndex(index),
            _ => self.find_thread(id),
        }
    }

    fn find_thread(&mut self, id: ThreadId) -> ThreadIndex {
        let next = self.thread_count;
        let index = *self.index.entry(id).or_insert(next);
        if index == next {
            self.thread_count += 1;
            let name = match id.is_none() {
                true => "unknown thread".to_owned(),
                false => self.names.thread(id),
            };
            let info = ThreadInfo {
                id,
                name,
                ..ThreadInfo::default()
            };
            self.sink.thread(ThreadIndex(index), &info);
            self.threads[ThreadIndex(index)].info = info;
        }
        self.last_thread = Some((id, index));
        ThreadIndex(index)
    }

    /// Returns the thread and the time of an event that is no sum. The note on which calls enclose
    /// the next sums no longer holds.
    #[inline]
    fn thread_time(&mut self, id: ThreadId, time: Timestamp) -> ThreadTime {
        let thread = self.thread(id);
        self.threads[thread].sums_above = 0;
        ThreadTime {
            thread,
            time,
            cpu: 0,
        }
    }

    fn define_thread(&mut self, id: ThreadId, define: impl FnOnce(&mut ThreadInfo)) {
        let index = self.thread(id);
        let info = &mut self.threads[index].info;
        define(info);
        self.sink.thread(index, info);
    }

    /// Forgets the thread that ended first of those that are still known.
    fn forget_thread(&mut self) {
        let Some(index) = self.ended.pop_front() else {
            return;
        };
        let thread = &self.threads[index];
        // It may have started again.
        if !thread.has_ended {
            return;
        }
        let id = thread.info.id;
        // A call may have begun after the end.
        let at = ThreadTime {
            thread: index,
            time: Timestamp::default(),
            cpu: 0,
        };
        self.slices.end_thread(&self.names, at, &mut self.sink);
        self.sink.forget_thread(index);
        self.slices.forget_thread(index);
        self.threads.remove(index);
        self.index.remove(&id);
        self.names.threads.remove(&id);
        self.last_thread = None;
    }

    /// Counts starts and ends of threads, those outside of the selected time silently.
    fn count_threads(&mut self, time: Timestamp, change: i64) {
        self.live_threads = Some(self.live_threads.unwrap_or(0) + change);
        if self.is_in_time {
            self.write_live_threads(time);
        }
    }

    fn write_live_threads(&mut self, time: Timestamp) {
        if let Some(count) = self.live_threads {
            self.sink.counter(Counter::LiveThreads, time, count);
        }
    }

    /// Handles the definitions of the process and its threads. Returns false for other events.
    fn define(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::ProcessCreate(e) => {
                let id = u64::try_from(e.pid).unwrap_or(0);
                self.sink.process(id, &e.executable);
                self.process = Some((id, e.executable.to_string()));
            }
            Event::ThreadStart(e) => {
                self.names.event(event);
                let index = self.thread(e.thread);
                self.threads[index].has_ended = false;
                self.define_thread(e.thread, |thread| {
                    thread.name = e.name.to_string();
                    thread.group = e.group.to_string();
                    thread.is_virtual = e.group == VIRTUAL;
                    thread.start = Some(e.time);
                });
                self.count_threads(e.time, 1);
            }
            Event::ThreadName(e) => {
                self.names.event(event);
                self.define_thread(e.thread, |thread| thread.name = e.name.to_string());
            }
            Event::ThreadOsId(e) => {
                self.define_thread(e.thread, |thread| thread.os_id = e.os_id);
            }
            Event::ThreadEnd(e) => {
                self.names.event(event);
                let at = self.thread_time(e.thread, e.time);
                self.slices.end_thread(&self.names, at, &mut self.sink);
                self.sink.end_thread(at.thread, e.time);
                self.count_threads(e.time, -1);
                self.threads[at.thread].has_ended = true;
                self.ended.push_back(at.thread);
                if self.ended.len() > MAX_ENDED {
                    self.forget_thread();
                }
            }
            Event::ClassDef(_) | Event::ClassSource(_) | Event::MethodDef(_) => {
                self.names.event(event);
                let thread = event.thread().and_then(|id| self.index.get(&id));
                let thread = thread.copied().map(ThreadIndex);
                self.sink.define(&self.names, thread, event);
            }
            Event::ObjectDef(e) => self.define_object(e.object, e.class),
            _ => return false,
        }
        true
    }

    fn define_object(&mut self, object: ObjectId, class: ClassId) {
        if self.classes.len() < MAX_OBJECTS {
            self.classes.insert(object, class);
        }
    }

    fn class(&self, object: ObjectId) -> ClassId {
        self.classes.get(&object).copied().unwrap_or_default()
    }

    /// Handles the begins and ends of calls and waits. Returns false for other events.
    #[inline]
    fn slice(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::MethodEnter(e) => {
                let mut at = self.thread_time(e.thread, e.time);
                at.cpu = e.cpu_time.0;
                let call = (e.method, e.ticket);
                self.slices.enter(&self.names, at, call, &mut self.sink);
            }
            Event::MethodLeave(e) => {
                let mut at = self.thread_time(e.thread, e.time);
                at.cpu = e.cpu_time.0;
                let call = (e.method, e.ticket, e.by_exception);
                self.slices.leave(&self.names, at, call, &mut self.sink);
            }
            Event::MonitorContendedEnter(e) => {
                let owner = (!e.owner.is_none()).then(|| (e.owner, self.thread(e.owner)));
                let slice = Slice::Blocked {
                    object: e.object,
                    class: self.class(e.object),
                    owner,
                };
                self.wait(e.thread, event, slice);
            }
            Event::MonitorContendedEntered(e) => {
                let is_blocked = |slice| matches!(slice, Slice::Blocked { .. });
                self.resume(e.thread, event, is_blocked);
            }
            Event::MonitorWait(e) => {
                let slice = Slice::Waiting {
                    object: e.object,
                    class: self.class(e.object),
                    timeout_ms: e.timeout_ms,
                };
                self.wait(e.thread, event, slice);
            }
            Event::MonitorWaited(e) => {
                let is_waiting = |slice| matches!(slice, Slice::Waiting { .. });
                self.resume(e.thread, event, is_waiting);
            }
            Event::ThreadPark(e) => {
                let slice = Slice::Parked {
                    object: e.object,
                    class: self.class(e.object),
                };
                self.wait(e.thread, event, slice);
            }
            Event::ThreadUnpark(e) => {
                let is_parked = |slice| matches!(slice, Slice::Parked { .. });
                self.resume(e.thread, event, is_parked);
            }
            _ => return false,
        }
        true
    }

    fn wait(&mut self, id: ThreadId, event: &Event<'_>, slice: Slice) {
        let at = self.thread_time(id, event.time().unwrap_or_default());
        self.sink.wait_event(at.thread, event);
        self.slices.wait(&self.names, at, slice, &mut self.sink);
    }

    fn resume(&mut self, id: ThreadId, event: &Event<'_>, is_kind: impl Fn(Slice) -> bool) {
        let at = self.thread_time(id, event.time().unwrap_or_default());
        self.sink.wait_event(at.thread, event);
        self.slices.resume(&self.names, at, is_kind, &mut self.sink);
    }

    /// Handles everything else.
    fn other(&mut self, event: &Event<'_>) {
        let is_written = match event {
            Event::ThreadCpu(e) => {
                let counter = Counter::ThreadCpu(self.thread(e.thread));
                self.sink.counter(counter, e.time, e.cpu_time.0)
            }
            Event::ProcessCpu(e) => self.sink.counter(Counter::ProcessCpu, e.time, e.cpu_time.0),
            Event::GcStart(e) => {
                let is_written = self.finish_collection(e.time, None);
                self.collection = Some(Collection {
                    start: e.time,
                    ..Collection::default()
                });
                is_written
            }
            Event::GcDetail(e) => {
                if let Some(collection) = &mut self.collection {
                    collection.collector = e.collector.to_string();
                    collection.cause = e.cause.to_string();
                    collection.generation = e.generation;
                }
                true
            }
            Event::GcFinish(e) => self.finish_collection(e.time, Some(e)),
            Event::ObjectAlloc(e) => {
                self.define_object(e.object, e.class);
                self.allocate(e.time, e.size);
                self.allocation(event, e.thread, e.time)
            }
            Event::AllocationSum(e) => {
                let bytes = i64::try_from(e.bytes).unwrap_or(i64::MAX);
                self.allocate(e.time, bytes);
                self.allocation(event, e.thread, e.time)
            }
            Event::ExceptionThrow(e) => self.instant(event, e.thread, e.time),
            Event::ExceptionCatch(e) => self.instant(event, e.thread, e.time),
            Event::Sample(e) => self.instant(event, e.thread, e.time),
            Event::Custom(e) => self.mark(&e.body),
            Event::AggregatedEnter(_) | Event::AggregatedDetail(_) | Event::AggregatedLeave(_) => {
                self.aggregated(event);
                true
            }
            _ => self.sink.other(&self.names, event),
        };
        if !is_written {
            self.dropped.event(event.kind());
        }
    }

    fn instant(&mut self, event: &Event<'_>, id: ThreadId, time: Timestamp) -> bool {
        let at = self.thread_time(id, time);
        self.slices.instant(&self.names, at, event, &mut self.sink)
    }

    fn finish_collection(&mut self, time: Timestamp, end: Option<&GcFinish>) -> bool {
        let Some(mut collection) = self.collection.take() else {
            return end.is_none();
        };
        collection.end = time.max(collection.start);
        collection.used = end.map_or(0, |end| end.used_space);
        collection.total = end.map_or(0, |end| end.total_space);
        let mut is_written = self.sink.collection(&collection);
        if collection.used > 0 {
            self.heap_used = Some(collection.used);
            is_written |= self
                .sink
                .counter(Counter::HeapUsed, collection.end, collection.used);
        }
        is_written
    }

    /// Adds to the allocation rate.
    fn allocate(&mut self, time: Timestamp, bytes: i64) {
        let interval = time.0.div_euclid(RATE_INTERVAL);
        if interval > self.allocated.interval {
            self.write_rate();
            self.allocated.interval = interval;
        }
        self.allocated.bytes = self.allocated.bytes.saturating_add(bytes);
    }

    /// Writes the rate of the current interval, and that it is over.
    fn write_rate(&mut self) {
        let Allocated { interval, bytes } = self.allocated;
        self.allocated.bytes = 0;
        if bytes <= 0 || !S::TAKES_RATE {
            return;
        }
        let start = interval.saturating_mul(RATE_INTERVAL);
        let rate = bytes.saturating_mul(1_000_000_000 / RATE_INTERVAL);
        let end = Timestamp(start.saturating_add(RATE_INTERVAL));
        let rates = [(Timestamp(start), rate), (end, 0)];
        for (time, rate) in rates {
            self.sink.counter(Counter::AllocationRate, time, rate);
        }
    }

    fn allocation(&mut self, event: &Event<'_>, id: ThreadId, time: Timestamp) -> bool {
        let is_written = S::TAKES_ALLOCATIONS && self.instant(event, id, time);
        is_written || S::TAKES_RATE
    }

    fn mark(&mut self, text: &str) -> bool {
        let text = match Note::parse(text) {
            None => text.to_owned(),
            Some(Note::SumsAbove(note)) => {
                let index = self.thread(note.thread);
                let calls = usize::try_from(note.calls).unwrap_or(usize::MAX);
                self.threads[index].sums_above = calls;
                return true;
            }
            Some(note) => match describe(&note) {
                Some(text) => text,
                None => return true,
            },
        };
        self.sink.mark(self.slices.latest(), &text)
    }

    fn aggregated(&mut self, event: &Event<'_>) {
        let Some(id) = event.thread() else { return };
        let index = self.thread(id);
        let above = self.threads[index].sums_above;
        let is_selected = match event {
            Event::AggregatedEnter(e) => self.selects_aggregated(index, e),
            Event::AggregatedLeave(_) => {
                let ended = self.threads[index].aggregated.pop();
                ended.is_some_and(|(_, is_selected)| is_selected)
            }
            _ => {
                let innermost = self.threads[index].aggregated.last();
                innermost.is_some_and(|(_, is_selected)| *is_selected)
            }
        };
        if S::TAKES_HIDDEN || (S::TAKES_SUMS && is_selected) {
            let (place, event) = ((index, above), (event, is_selected));
            self.slices
                .aggregated(&self.names, place, event, &mut self.sink);
        }
        if let Event::AggregatedEnter(e) = event
            && is_selected
        {
            match S::TAKES_SUMS {
                true => self.has_sums |= e.calls > 0,
                false => self.dropped.summed_calls(e.calls),
            }
        }
    }

    /// Begins an aggregated call. Returns whether the filter selects it.
    fn selects_aggregated(&mut self, index: ThreadIndex, call: &AggregatedEnter) -> bool {
        let thread = &mut self.threads[index];
        let level = thread.aggregated.len();
        let average = call.base_time.0 / call.calls.max(1);
        let filter = self.slices.filter();
        // An aggregate of no calls stands for the caller of the aggregates in it.
        let is_long = call.calls == 0 || average >= filter.min.0;
        let is_selected = is_long && filter.selects(&self.names, call.method, level);
        thread.aggregated.push((*call, is_selected));
        is_selected
    }
}

#[cfg(test)]
mod tests;
