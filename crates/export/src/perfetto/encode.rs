//! The encoder.

use super::wire::*;
use crate::filter::CallFilter;
use crate::protobuf::{bytes, fixed64, integer, message, varint, varint_len};
use crate::slices::{Sink, Slice, Slices, ThreadIndex};
use jtrail_analysis::Names;
use jtrail_formats::Encode;
use jtrail_model::{Event, Frame, GcFinish, Generation, MethodId, Note, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

const PROCESS: u64 = 1;
const COLLECTIONS: u64 = 2;
const HEAP_USED: u64 = 3;
const ALLOCATION_RATE: u64 = 4;
const LIVE_THREADS: u64 = 5;
const PROCESS_CPU: u64 = 6;
const FIRST_THREAD: u64 = 16;

/// Sequence of what belongs to no thread.
const GLOBAL: u64 = 1;

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

/// What has been written.
#[derive(Debug, Default)]
struct Packets {
    out: Vec<u8>,
    has_global: bool,
    process_id: u64,
    program: String,
    has_counters: [bool; 8],
    threads: Vec<Thread>,
    methods: FxHashMap<MethodId, u32>,
    texts: FxHashMap<String, u32>,
    last_name: u32,
    last_flow: u64,
    /// Room for the fields of the next event.
    fields: Vec<u8>,
}

/// The sequence of a thread.
#[derive(Debug, Default)]
struct Thread {
    is_begun: bool,
    latest: i64,
    /// A bit for each name, set if the name is interned in this sequence.
    named: Vec<u64>,
    os_id: u64,
    name: String,
    is_virtual: bool,
    has_cpu: bool,
    /// CPU time of the next begin or end; 0 if not measured.
    cpu: i64,
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

impl Packets {
    fn thread(&mut self, index: ThreadIndex) -> &mut Thread {
        let index = index.0 as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    #[inline]
    fn set_cpu(&mut self, index: ThreadIndex, cpu: i64) {
        if cpu != 0 {
            self.thread(index).cpu = cpu;
        }
    }

    /// Writes an event of no thread, whose fields `fill` appends.
    fn global(&mut self, time: Timestamp, fill: impl FnOnce(&mut Vec<u8>)) {
        self.begin_global(time);
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::TIMESTAMP, nanoseconds(time));
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            integer(
                out,
                packet::SEQUENCE_FLAGS,
                sequence_flags::NEEDS_INCREMENTAL_STATE,
            );
            message(out, packet::TRACK_EVENT, fill);
        });
    }

    fn begin_global(&mut self, time: Timestamp) {
        if self.has_global {
            return;
        }
        self.has_global = true;
        begin_sequence(&mut self.out, GLOBAL, time, BOOT_TIME, |_| {});
        let (pid, name) = (self.process_id, std::mem::take(&mut self.program));
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, PROCESS);
                message(out, track::PROCESS, |out| {
                    integer(out, process::PID, pid);
                    bytes(out, process::NAME, name.as_bytes());
                });
            });
        });
    }

    /// Describes a track below the process, unless this was done before.
    fn describe_once(&mut self, uuid: u64, name: &str) {
        if !std::mem::replace(&mut self.has_counters[uuid as usize], true) {
            self.describe(uuid, name, |_| {});
        }
    }

    fn describe(&mut self, uuid: u64, name: &str, fill: impl FnOnce(&mut Vec<u8>)) {
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, uuid);
                integer(out, track::PARENT_UUID, PROCESS);
                bytes(out, track::NAME, name.as_bytes());
                fill(out);
            });
        });
    }

    /// Writes a value of a counter of the process.
    fn counter(&mut self, uuid: u64, time: Timestamp, value: i64) {
        self.begin_global(time);
        if !std::mem::replace(&mut self.has_counters[uuid as usize], true) {
            let (name, unit) = match uuid {
                HEAP_USED => ("Heap used", unit::SIZE_BYTES),
                ALLOCATION_RATE => ("Allocation rate (bytes per second)", unit::SIZE_BYTES),
                LIVE_THREADS => ("Live threads", unit::COUNT),
                _ => ("CPU time of the process", unit::TIME_NS),
            };
            self.describe(uuid, name, |out| counter_descriptor(out, unit));
        }
        self.global(time, |out| counter_value(out, uuid, value));
    }

    /// Writes the CPU time of a thread.
    fn thread_cpu(&mut self, index: ThreadIndex, time: Timestamp, cpu: i64) {
        self.begin_thread(index, time);
        self.describe_cpu(index);
        self.global(time, |out| counter_value(out, cpu_uuid(index), cpu));
    }

    fn describe_cpu(&mut self, index: ThreadIndex) {
        if !std::mem::replace(&mut self.thread(index).has_cpu, true) {
            message(&mut self.out, trace::PACKET, |out| {
                integer(out, packet::SEQUENCE_ID, GLOBAL);
                message(out, packet::TRACK_DESCRIPTOR, |out| {
                    integer(out, track::UUID, cpu_uuid(index));
                    integer(out, track::PARENT_UUID, thread_uuid(index));
                    bytes(out, track::NAME, b"CPU time");
                    counter_descriptor(out, unit::TIME_NS);
                });
            });
        }
    }

    /// Begins the sequence of a thread, unless it has begun.
    #[inline]
    fn begin_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        let is_begun = |thread: &Thread| thread.is_begun;
        if !self.threads.get(index.0 as usize).is_some_and(is_begun) {
            self.begin_new_thread(index, time);
        }
    }

    #[cold]
    fn begin_new_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        self.begin_global(time);
        let thread = self.thread(index);
        thread.is_begun = true;
        thread.latest = time.0;
        self.describe_thread(index);
        begin_sequence(
            &mut self.out,
            sequence(index),
            time,
            SEQUENCE_CLOCK,
            |out| {
                integer(out, track_defaults::TRACK_UUID, thread_uuid(index));
                integer(
                    out,
                    track_defaults::EXTRA_COUNTER_TRACK_UUIDS,
                    cpu_uuid(index),
                );
            },
        );
    }

    fn describe_thread(&mut self, index: ThreadIndex) {
        let pid = self.process_id;
        let thread = self.thread(index);
        let (name, tid) = (thread.name.clone(), thread.os_id);
        let is_virtual = thread.is_virtual;
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, thread_uuid(index));
                integer(out, track::PARENT_UUID, PROCESS);
                match is_virtual {
                    true => bytes(out, track::NAME, name.as_bytes()),
                    false => message(out, track::THREAD, |out| {
                        integer(out, thread::PID, pid);
                        integer(
                            out,
                            thread::TID,
                            if tid > 0 { tid } else { made_up_tid(index) },
                        );
                        bytes(out, thread::NAME, name.as_bytes());
                    }),
                }
            });
        });
    }

    /// Returns the id of a method's name in the sequence of a thread, and whether it is new there.
    #[inline]
    fn method_name(&mut self, index: ThreadIndex, method: MethodId) -> (u32, bool) {
        let next = self.last_name + 1;
        let iid = *self.methods.entry(method).or_insert(next);
        self.last_name = self.last_name.max(iid);
        (iid, self.intern(index, iid))
    }

    fn text_name(&mut self, index: ThreadIndex, text: &str) -> (u32, bool) {
        let iid = match self.texts.get(text) {
            Some(iid) => *iid,
            None => {
                self.last_name += 1;
                self.texts.insert(text.to_owned(), self.last_name);
                self.last_name
            }
        };
        (iid, self.intern(index, iid))
    }

    /// Returns true if the name is new in the sequence.
    #[inline]
    fn intern(&mut self, index: ThreadIndex, iid: u32) -> bool {
        let named = &mut self.threads[index.0 as usize].named;
        let (word, bit) = (iid as usize / 64, 1 << (iid % 64));
        if named.len() <= word {
            named.resize(word + 1, 0);
        }
        let is_new = named[word] & bit == 0;
        named[word] |= bit;
        is_new
    }

    /// Writes an event of a thread with an interned name, and further fields of its packet and
    /// event.
    #[inline]
    fn thread_packet(
        &mut self,
        index: ThreadIndex,
        time: Timestamp,
        new_name: Option<(u32, &str)>,
        event: &[u8],
    ) {
        let thread = &mut self.threads[index.0 as usize];
        let time = time.0.max(thread.latest);
        let delta = (time - thread.latest) as u64;
        thread.latest = time;
        let sequence = sequence(index);
        if let Some((iid, name)) = new_name {
            return self.named_packet(sequence, delta, (iid, name), event);
        }
        // The fields of all other packets have fixed sizes, but for these.
        let len = 1 + varint_len(delta) + 1 + varint_len(sequence) + 2 + 2 + event.len();
        let out = &mut self.out;
        integer_key_bytes(out, trace::PACKET, len as u64);
        integer(out, packet::TIMESTAMP, delta);
        integer(out, packet::SEQUENCE_ID, sequence);
        integer(
            out,
            packet::SEQUENCE_FLAGS,
            sequence_flags::NEEDS_INCREMENTAL_STATE,
        );
        bytes(out, packet::TRACK_EVENT, event);
    }

    #[cold]
    fn named_packet(&mut self, sequence: u64, delta: u64, name: (u32, &str), event: &[u8]) {
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::TIMESTAMP, delta);
            integer(out, packet::SEQUENCE_ID, sequence);
            integer(
                out,
                packet::SEQUENCE_FLAGS,
                sequence_flags::NEEDS_INCREMENTAL_STATE,
            );
            message(out, packet::INTERNED_DATA, |out| {
                message(out, interned::EVENT_NAMES, |out| {
                    integer(out, event_name::IID, name.0.into());
                    bytes(out, event_name::NAME, name.1.as_bytes());
                });
            });
            bytes(out, packet::TRACK_EVENT, event);
        });
    }

    fn take_fields(&mut self) -> Vec<u8> {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        fields
    }

    /// Appends the CPU time of the thread to an event, if it was measured.
    fn cpu(&mut self, index: ThreadIndex, fields: &mut Vec<u8>) {
        let cpu = std::mem::take(&mut self.threads[index.0 as usize].cpu);
        if cpu != 0 {
            self.describe_cpu(index);
            integer(fields, event::EXTRA_COUNTER_VALUES, cpu as u64);
        }
    }

    /// Writes an event of a thread whose name is a text, with further fields.
    fn text_event(
        &mut self,
        index: ThreadIndex,
        (time, kind): (Timestamp, u64),
        name: &str,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        self.begin_thread(index, time);
        let (iid, is_new) = self.text_name(index, name);
        let mut fields = Vec::new();
        integer(&mut fields, event::TYPE, kind);
        integer(&mut fields, event::NAME_IID, iid.into());
        fill(&mut fields);
        self.thread_packet(index, time, is_new.then_some((iid, name)), &fields);
    }
}

impl Sink for Packets {
    #[inline]
    fn begin(&mut self, names: &Names, index: ThreadIndex, time: Timestamp, slice: Slice) {
        let begin = (time, event_type::SLICE_BEGIN);
        match slice {
            Slice::Call(method) => {
                self.begin_thread(index, time);
                let (iid, is_new) = self.method_name(index, method);
                let mut fields = self.take_fields();
                integer(&mut fields, event::TYPE, event_type::SLICE_BEGIN);
                integer(&mut fields, event::NAME_IID, iid.into());
                self.cpu(index, &mut fields);
                let name = is_new.then(|| names.readable_method(method));
                let new_name = name.as_deref().map(|name| (iid, name));
                self.thread_packet(index, time, new_name, &fields);
                self.fields = fields;
            }
            Slice::Blocked { object, owner } => {
                self.last_flow += 1;
                let flow = self.last_flow;
                if let Some((_, owner)) = owner {
                    self.begin_thread(owner, time);
                    self.global(time, |out| {
                        integer(out, event::TYPE, event_type::INSTANT);
                        integer(out, event::TRACK_UUID, thread_uuid(owner));
                        bytes(
                            out,
                            event::NAME,
                            b"holds a monitor that another thread needs",
                        );
                        fixed64(out, event::FLOW_IDS, flow);
                    });
                }
                self.text_event(index, begin, "blocked on a monitor", |out| {
                    number_annotation(out, "object", object.0 as i64);
                    if let Some((owner, _)) = owner {
                        text_annotation(out, "owner", &names.thread(owner));
                        fixed64(out, event::TERMINATING_FLOW_IDS, flow);
                    }
                });
            }
            Slice::Waiting { object, timeout_ms } => {
                self.text_event(index, begin, "Object.wait", |out| {
                    number_annotation(out, "object", object.0 as i64);
                    if timeout_ms > 0 {
                        number_annotation(out, "timeout in ms", timeout_ms);
                    }
                });
            }
            Slice::Parked { object } => self.text_event(index, begin, "parked", |out| {
                if !object.is_none() {
                    number_annotation(out, "blocker", object.0 as i64);
                }
            }),
        }
    }

    #[inline]
    fn end(&mut self, index: ThreadIndex, time: Timestamp, _: Slice) {
        let mut fields = self.take_fields();
        integer(&mut fields, event::TYPE, event_type::SLICE_END);
        self.cpu(index, &mut fields);
        self.thread_packet(index, time, None, &fields);
        self.fields = fields;
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) {
        let instant = |time| (time, event_type::INSTANT);
        match event {
            Event::ExceptionThrow(e) => {
                let name = format!("throw {}", names.readable_class(e.class));
                self.text_event(index, instant(e.time), &name, |out| stack(out, &e.stack));
            }
            Event::ExceptionCatch(e) => {
                let name = format!("catch {}", names.readable_class(e.class));
                let frame = std::slice::from_ref(&e.frame);
                self.text_event(index, instant(e.time), &name, |out| stack(out, frame));
            }
            Event::Sample(e) => {
                self.text_event(index, instant(e.time), "sample", |out| {
                    text_annotation(out, "state", e.state.name());
                    stack(out, &e.stack);
                });
            }
            _ => {}
        }
    }
}

/// Appends the key and the length of a field of bytes.
#[inline]
fn integer_key_bytes(out: &mut Vec<u8>, field: u32, len: u64) {
    varint(out, u64::from(field << 3 | 2));
    varint(out, len);
}

/// Appends the first packet of a sequence: its clocks, and the defaults of its events.
fn begin_sequence(
    out: &mut Vec<u8>,
    sequence: u64,
    time: Timestamp,
    clock_id: u64,
    track_event: impl FnOnce(&mut Vec<u8>),
) {
    message(out, trace::PACKET, |out| {
        integer(out, packet::SEQUENCE_ID, sequence);
        integer(
            out,
            packet::SEQUENCE_FLAGS,
            sequence_flags::INCREMENTAL_STATE_CLEARED,
        );
        message(out, packet::CLOCK_SNAPSHOT, |out| {
            for id in [REAL_TIME, BOOT_TIME, SEQUENCE_CLOCK] {
                message(out, clock_snapshot::CLOCKS, |out| {
                    integer(out, clock::ID, id);
                    integer(out, clock::TIMESTAMP, nanoseconds(time));
                    if id == SEQUENCE_CLOCK {
                        integer(out, clock::IS_INCREMENTAL, 1);
                    }
                });
            }
            integer(out, clock_snapshot::PRIMARY_TRACE_CLOCK, BOOT_TIME);
        });
        message(out, packet::DEFAULTS, |out| {
            integer(out, defaults::TIMESTAMP_CLOCK_ID, clock_id);
            message(out, defaults::TRACK_EVENT, track_event);
        });
    });
}

fn counter_descriptor(out: &mut Vec<u8>, unit: u64) {
    message(out, track::COUNTER, |out| integer(out, counter::UNIT, unit));
}

fn counter_value(out: &mut Vec<u8>, uuid: u64, value: i64) {
    integer(out, event::TYPE, event_type::COUNTER);
    integer(out, event::TRACK_UUID, uuid);
    integer(out, event::COUNTER_VALUE, value as u64);
}

fn text_annotation(out: &mut Vec<u8>, name: &str, value: &str) {
    if !value.is_empty() {
        message(out, event::DEBUG_ANNOTATIONS, |out| {
            bytes(out, annotation::NAME, name.as_bytes());
            bytes(out, annotation::STRING_VALUE, value.as_bytes());
        });
    }
}

fn number_annotation(out: &mut Vec<u8>, name: &str, value: i64) {
    message(out, event::DEBUG_ANNOTATIONS, |out| {
        bytes(out, annotation::NAME, name.as_bytes());
        integer(out, annotation::INT_VALUE, value as u64);
    });
}

fn stack(out: &mut Vec<u8>, frames: &[Frame<'_>]) {
    let frame = |frame: &Frame<'_>| match frame.line {
        1.. => format!("{}:{}", frame.method, frame.line),
        _ => frame.method.to_string(),
    };
    let frames: Vec<_> = frames.iter().map(frame).collect();
    text_annotation(out, "stack", &frames.join("\n"));
}

/// Returns a time stamp of a packet. Times before 1970 become 0.
fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.0).unwrap_or(0)
}

fn sequence(index: ThreadIndex) -> u64 {
    GLOBAL + 1 + u64::from(index.0)
}

fn thread_uuid(index: ThreadIndex) -> u64 {
    FIRST_THREAD + 2 * u64::from(index.0)
}

fn cpu_uuid(index: ThreadIndex) -> u64 {
    thread_uuid(index) + 1
}

/// Returns an id for a thread whose id in the operating system is not in the trace. It is above all
/// that Linux assigns.
fn made_up_tid(index: ThreadIndex) -> u64 {
    (1 << 22) + 1 + u64::from(index.0)
}
