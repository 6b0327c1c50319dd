//! Events, processes and threads.

use crate::json::{self, Fields};
use crate::per_thread::PerThread;
use crate::sink::{ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::names::Names;
use jtrail_model::{MethodId, Timestamp};
use rustc_hash::FxHashMap;

/// Id of the thread that stands for the collector.
const COLLECTOR: u64 = i32::MAX as u64;

/// What has been written.
#[derive(Debug, Default)]
pub(crate) struct TraceEvents {
    pub(super) out: Vec<u8>,
    /// Number of bytes that were taken.
    pub(super) taken: u64,
    pub(super) has_events: bool,
    /// The first time of the trace.
    pub(super) first: Option<Timestamp>,
    pub(super) process_id: u64,
    pub(super) threads: PerThread<Thread>,
    pub(super) has_collector: bool,
    /// The fields with the names of methods: `,"name":"…"`.
    names: Vec<Box<[u8]>>,
    methods: FxHashMap<MethodId, u32>,
    pub(super) last_flow: u64,
}

/// A thread that was defined.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) info: ThreadInfo,
    pub(super) is_described: bool,
    /// What precedes the time in the thread's events: `,"pid":71,"tid":1,"ts":`.
    place: Box<[u8]>,
    /// Number of open slices.
    pub(super) open: usize,
    /// Begin of the outermost open slice.
    pub(super) since: Timestamp,
}

impl TraceEvents {
    /// Begins an event after the preceding one.
    #[inline]
    fn separate(&mut self) {
        let separator = match self.has_events {
            true => b",\n".as_slice(),
            false => b"\n",
        };
        self.has_events = true;
        self.out.extend_from_slice(separator);
    }

    /// Returns a time in ns since the first one.
    #[inline]
    pub(super) fn since_first(&self, time: Timestamp) -> u64 {
        let first = self.first.unwrap_or(time);
        u64::try_from(time.0.saturating_sub(first.0)).unwrap_or(0)
    }

    /// Writes an event of the process, with further fields.
    pub(super) fn process_event(
        &mut self,
        phase: &str,
        time: Timestamp,
        fill: impl FnOnce(&mut Fields<'_>),
    ) {
        self.separate();
        let (pid, ns) = (self.process_id(), self.since_first(time));
        json::object(&mut self.out, |event| {
            event.text("ph", phase);
            event.id("pid", pid);
            json::microseconds(event.field("ts"), ns);
            fill(event);
        });
    }

    /// Returns the process id that is written. Perfetto takes 0 for the kernel.
    fn process_id(&self) -> u64 {
        self.process_id.max(1)
    }

    /// Writes what a tool shows of the process, or of the thread `tid` of it, above 0.
    pub(super) fn metadata(&mut self, tid: u64, name: &str, args: impl FnOnce(&mut Fields<'_>)) {
        self.separate();
        let pid = self.process_id();
        json::object(&mut self.out, |event| {
            event.text("ph", "M");
            event.id("pid", pid);
            event.id("tid", tid);
            event.text("name", name);
            json::object(event.field("args"), args);
        });
    }

    /// Defines a thread, or updates its definition.
    pub(super) fn define(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let process_id = self.process_id();
        let thread = &mut self.threads[index];
        if thread.place.is_empty() {
            let tid = tid(index, info);
            let place = format!(r#","pid":{process_id},"tid":{tid},"ts":"#);
            thread.place = place.into_bytes().into_boxed_slice();
        }
        thread.info = info.clone();
        if thread.is_described {
            self.describe(index);
        }
    }

    /// Returns what a thread is called.
    pub(super) fn thread_name(&self, index: ThreadIndex) -> String {
        self.threads[index].info.label()
    }

    /// Returns the number of a thread in its events.
    pub(super) fn tid(&self, index: ThreadIndex) -> u64 {
        tid(index, &self.threads[index].info)
    }

    /// Writes the metadata of a thread.
    #[cold]
    fn describe(&mut self, index: ThreadIndex) {
        let (name, tid) = (self.thread_name(index), self.tid(index));
        let thread = &mut self.threads[index];
        let os_id = thread.info.os_id;
        let was_described = std::mem::replace(&mut thread.is_described, true);
        self.metadata(tid, "thread_name", |args| {
            args.text("name", &name);
            args.id("os_id", os_id);
        });
        if !was_described {
            let rank = i64::from(index.0) + 1;
            self.metadata(tid, "thread_sort_index", |args| {
                args.number("sort_index", rank);
            });
        }
    }

    /// Returns a thread whose metadata are written.
    #[inline]
    pub(super) fn thread(&mut self, index: ThreadIndex) -> &mut Thread {
        if !self.threads[index].is_described {
            self.describe(index);
        }
        &mut self.threads[index]
    }

    /// Returns the id of the thread that stands for the collector.
    pub(super) fn collector(&mut self) -> u64 {
        if !std::mem::replace(&mut self.has_collector, true) {
            self.metadata(COLLECTOR, "thread_name", |args| {
                args.text("name", "Garbage collections");
            });
            self.metadata(COLLECTOR, "thread_sort_index", |args| {
                args.number("sort_index", 0);
            });
        }
        COLLECTOR
    }

    /// Writes an event of a thread up to its times. The caller appends further fields, and `}`.
    #[inline]
    pub(super) fn open_event(&mut self, phase: u8, at: ThreadTime) -> &mut Vec<u8> {
        self.thread(at.thread);
        self.separate();
        let ns = self.since_first(at.time);
        let out = &mut self.out;
        out.extend_from_slice(&[b'{', b'"', b'p', b'h', b'"', b':', b'"', phase, b'"']);
        out.extend_from_slice(&self.threads[at.thread].place);
        json::microseconds(out, ns);
        if at.cpu > 0 {
            out.extend_from_slice(br#","tts":"#);
            json::microseconds(out, at.cpu as u64);
        }
        out
    }

    /// Writes an event of a thread with a name, `args`, and fields `more`, which begin with a comma
    /// unless they are empty.
    pub(super) fn thread_event(
        &mut self,
        (phase, at): (u8, ThreadTime),
        name: &str,
        more: &str,
        args: impl FnOnce(&mut Fields<'_>),
    ) {
        let out = self.open_event(phase, at);
        out.extend_from_slice(br#","name":"#);
        json::string(out, name);
        out.extend_from_slice(more.as_bytes());
        out.extend_from_slice(br#","args":"#);
        json::object(out, args);
        out.push(b'}');
    }

    /// Writes the begin or end of a call up to its name. The caller appends `}`.
    #[inline]
    pub(super) fn call_event(
        &mut self,
        phase: u8,
        at: ThreadTime,
        method: MethodId,
        names: &Names,
    ) -> &mut Vec<u8> {
        let number = self.method_number(method, names);
        self.open_event(phase, at);
        self.out.extend_from_slice(&self.names[number as usize]);
        &mut self.out
    }

    /// Returns the number of a method's name.
    #[inline]
    fn method_number(&mut self, method: MethodId, names: &Names) -> u32 {
        match self.methods.get(&method) {
            Some(number) => *number,
            None => self.add_method(method, names),
        }
    }

    #[cold]
    fn add_method(&mut self, method: MethodId, names: &Names) -> u32 {
        let number = self.names.len() as u32;
        let mut field = br#","name":"#.to_vec();
        json::string(&mut field, &names.readable_method(method));
        self.names.push(field.into_boxed_slice());
        self.methods.insert(method, number);
        number
    }
}

/// Returns the number of a thread in its events: its id in the trace, or a number that no such id
/// is.
fn tid(index: ThreadIndex, info: &ThreadInfo) -> u64 {
    match info.id.0 {
        id @ 1..COLLECTOR => id,
        _ => COLLECTOR + 1 + u64::from(index.0),
    }
}
