//! The encoder: which events become which packets.

use super::packets::{
    ALLOCATION_RATE, COLLECTIONS, HEAP_USED, LIVE_THREADS, PROCESS, PROCESS_CPU, Packets, Thread,
    number_annotation, text_annotation,
};
use super::wire::{event, event_type};
use crate::filter::CallFilter;
use crate::protobuf::{bytes, integer};
use crate::slices::{Slice, Slices, ThreadIndex};
use jtrail_analysis::Names;
use jtrail_formats::Encode;
use jtrail_model::{Event, GcFinish, Generation, Note, ThreadId, Timestamp};

/// Interval of the allocation rate in ns.
const RATE_INTERVAL: i64 = 10_000_000;

/// HotSpot's group of virtual threads.
const VIRTUAL: &str = "VirtualThreads";

/// Writes Perfetto traces.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    names: Names,
    slices: Slices,
    packets: Packets,
    collection: Option<Collection>,
    allocated: Allocated,
    live_threads: i64,
}

/// A collection that has begun.
#[derive(Debug)]
struct Collection {
    start: Timestamp,
    collector: String,
    cause: String,
    generation: Generation,
}

/// Bytes allocated in the current interval.
#[derive(Debug, Default)]
struct Allocated {
    /// Number of the interval since 1970-01-01 UTC.
    interval: i64,
    bytes: i64,
}

impl Encoder {
    /// Creates an encoder of the calls that the filter selects.
    pub(crate) fn new(filter: CallFilter) -> Self {
        Self {
            slices: Slices::new(filter),
            ..Self::default()
        }
    }

    fn thread_event(&mut self, event: &Event<'_>) {
        let (names, packets) = (&self.names, &mut self.packets);
        match event {
            Event::MethodEnter(e) => {
                packets.set_cpu(self.slices.thread(e.thread), e.cpu_time.0);
                let call = (e.method, e.ticket);
                self.slices.enter(names, (e.thread, e.time), call, packets);
            }
            Event::MethodLeave(e) => {
                packets.set_cpu(self.slices.thread(e.thread), e.cpu_time.0);
                let call = (e.method, e.ticket);
                self.slices.leave(names, (e.thread, e.time), call, packets);
            }
            Event::MonitorContendedEnter(e) => {
                let owner = (!e.owner.is_none()).then(|| (e.owner, self.slices.thread(e.owner)));
                let slice = Slice::Blocked {
                    object: e.object,
                    owner,
                };
                self.slices.wait(names, (e.thread, e.time), slice, packets);
            }
            Event::MonitorContendedEntered(e) => {
                let is_blocked = |slice| matches!(slice, Slice::Blocked { .. });
                self.slices
                    .resume(names, (e.thread, e.time), is_blocked, packets);
            }
            Event::MonitorWait(e) => {
                let slice = Slice::Waiting {
                    object: e.object,
                    timeout_ms: e.timeout_ms,
                };
                self.slices.wait(names, (e.thread, e.time), slice, packets);
            }
            Event::MonitorWaited(e) => {
                let is_waiting = |slice| matches!(slice, Slice::Waiting { .. });
                self.slices
                    .resume(names, (e.thread, e.time), is_waiting, packets);
            }
            Event::ThreadPark(e) => {
                let slice = Slice::Parked { object: e.object };
                self.slices.wait(names, (e.thread, e.time), slice, packets);
            }
            Event::ThreadUnpark(e) => {
                let is_parked = |slice| matches!(slice, Slice::Parked { .. });
                self.slices
                    .resume(names, (e.thread, e.time), is_parked, packets);
            }
            _ => {}
        }
    }

    fn define_thread(&mut self, id: ThreadId, define: impl FnOnce(&mut Thread)) {
        let index = self.slices.thread(id);
        let thread = self.packets.thread(index);
        define(thread);
        if thread.is_begun {
            self.packets.describe_thread(index);
        }
    }

    fn start_thread(&mut self, time: Timestamp, change: i64) {
        self.live_threads += change;
        let live = self.live_threads;
        self.packets.counter(LIVE_THREADS, time, live);
    }

    fn finish_collection(&mut self, time: Timestamp, end: Option<&GcFinish>) {
        let Some(collection) = self.collection.take() else {
            return;
        };
        let name = match collection.generation {
            Generation::Unknown => "collection".to_owned(),
            generation => format!("{} collection", generation.name()),
        };
        self.packets
            .describe_once(COLLECTIONS, "Garbage collections");
        let used = end.map_or(0, |end| end.used_space);
        self.packets.global(collection.start, |out| {
            integer(out, event::TYPE, event_type::SLICE_BEGIN);
            integer(out, event::TRACK_UUID, COLLECTIONS);
            bytes(out, event::NAME, name.as_bytes());
            text_annotation(out, "collector", &collection.collector);
            text_annotation(out, "cause", &collection.cause);
            if used > 0 {
                number_annotation(out, "bytes used after it", used);
            }
        });
        self.packets.global(time, |out| {
            integer(out, event::TYPE, event_type::SLICE_END);
            integer(out, event::TRACK_UUID, COLLECTIONS);
        });
        if used > 0 {
            self.packets.counter(HEAP_USED, time, used);
        }
    }

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
        if bytes > 0 {
            let start = interval.saturating_mul(RATE_INTERVAL);
            let rate = bytes.saturating_mul(1_000_000_000 / RATE_INTERVAL);
            self.packets
                .counter(ALLOCATION_RATE, Timestamp(start), rate);
            let end = Timestamp(start.saturating_add(RATE_INTERVAL));
            self.packets.counter(ALLOCATION_RATE, end, 0);
        }
        self.allocated.bytes = 0;
    }

    fn mark(&mut self, text: &str) {
        let name = match Note::parse(text) {
            None => text.to_owned(),
            Some(Note::Lost(lost)) => {
                format!(
                    "jtrail: {} events are missing ({})",
                    lost.events, lost.reason
                )
            }
            Some(_) => return,
        };
        let time = self.slices.latest();
        self.packets.global(time, |out| {
            integer(out, event::TYPE, event_type::INSTANT);
            integer(out, event::TRACK_UUID, PROCESS);
            bytes(out, event::NAME, name.as_bytes());
        });
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.packets.out);
    }
}

impl Encode for Encoder {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if let Some(time) = event.time() {
            self.slices.see(time);
        }
        match event {
            Event::ProcessCreate(e) => {
                self.packets.process_id = u64::try_from(e.pid).unwrap_or(0);
                self.packets.program = e.executable.to_string();
            }
            Event::ThreadStart(e) => {
                self.names.event(event);
                self.define_thread(e.thread, |thread| {
                    thread.name = e.name.to_string();
                    thread.is_virtual = e.group == VIRTUAL;
                });
                self.start_thread(e.time, 1);
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
                self.slices
                    .end_thread(&self.names, e.thread, e.time, &mut self.packets);
                self.start_thread(e.time, -1);
            }
            Event::ThreadCpu(e) => {
                let index = self.slices.thread(e.thread);
                self.packets.thread_cpu(index, e.time, e.cpu_time.0);
            }
            Event::ProcessCpu(e) => self.packets.counter(PROCESS_CPU, e.time, e.cpu_time.0),
            Event::ClassDef(_) | Event::MethodDef(_) => self.names.event(event),
            Event::GcStart(e) => {
                self.finish_collection(e.time, None);
                self.collection = Some(Collection {
                    start: e.time,
                    collector: String::new(),
                    cause: String::new(),
                    generation: Generation::Unknown,
                });
            }
            Event::GcDetail(e) => {
                if let Some(collection) = &mut self.collection {
                    collection.collector = e.collector.to_string();
                    collection.cause = e.cause.to_string();
                    collection.generation = e.generation;
                }
            }
            Event::GcFinish(e) => self.finish_collection(e.time, Some(e)),
            Event::ObjectAlloc(e) => self.allocate(e.time, e.size),
            Event::AllocationSum(e) => {
                self.allocate(e.time, i64::try_from(e.bytes).unwrap_or(i64::MAX));
            }
            Event::ExceptionThrow(e) => {
                let at = (e.thread, e.time);
                self.slices
                    .instant(&self.names, at, event, &mut self.packets);
            }
            Event::ExceptionCatch(e) => {
                let at = (e.thread, e.time);
                self.slices
                    .instant(&self.names, at, event, &mut self.packets);
            }
            Event::Sample(e) => {
                let at = (e.thread, e.time);
                self.slices
                    .instant(&self.names, at, event, &mut self.packets);
            }
            Event::Custom(e) => self.mark(&e.body),
            _ => self.thread_event(event),
        }
        self.take(out);
    }

    fn calls(&mut self, calls: &jtrail_model::Calls<'_>, out: &mut Vec<u8>) {
        let (names, packets) = (&self.names, &mut self.packets);
        packets.set_cpu(self.slices.thread(calls.thread), calls.cpu_time.0);
        for step in calls.steps {
            let (at, call) = ((calls.thread, step.time), (step.method, step.ticket));
            match step.ends {
                false => self.slices.enter(names, at, call, packets),
                true => self.slices.leave(names, at, call, packets),
            }
        }
        self.take(out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let latest = self.slices.latest();
        self.finish_collection(latest, None);
        self.write_rate();
        self.slices.finish(&self.names, &mut self.packets);
        for index in 0..self.slices.thread_count() {
            self.packets.begin_thread(ThreadIndex(index), latest);
        }
        self.take(out);
    }

    fn has_pending(&self) -> bool {
        true
    }
}
