//! The segment of events that is being filled.

use super::packing::Gathered;
use crate::hash::Seed;
use crate::trail::calls::Thread;
use crate::trail::columns::{Column, MAX_THREADS};
use crate::trail::open::{OpenCalls, WrittenCall};
use crate::trail::record;
use crate::trail::symbols::{EXCEPTION_STEP, Methods, Step, record_step};
use crate::trail::value::{Last, MAX_RECORD_BYTES, Sink, Texts, put_number, put_signed};
use jtrail_model::{
    CallRun, Calls, Duration, Event, MethodEnter, MethodLeave, ThreadId, Timestamp,
};
use std::collections::HashMap;

/// Number of events at which a segment is written.
const EVENTS: u32 = (1 << 18) - 4096; // another row fits without doubling buffers
/// Number of bytes of records, before compression, at which a segment is written.
const BYTES: usize = 2 << 20;
/// Number of listed open calls at which a segment is written.
const OPEN: usize = 1 << 17;
/// Maximum encoded size of a listed open call, in bytes, unless its ids are extremely large.
const OPEN_BYTES: usize = 16;

/// Shorter runs are copied even if their steps are kept elsewhere: a reference would take as much
/// memory.
const WORTH_KEEPING: usize = 64;

/// The segment of events that is being filled.
#[derive(Default)]
pub(super) struct Block {
    events: u32,
    /// The first time.
    base: i64,
    /// The smallest and the largest time.
    times: Option<[i64; 2]>,
    /// True if calls have CPU times; the first call decides.
    has_cpu: Option<bool>,
    /// State of the threads with events in this segment.
    streams: Vec<Stream>,
    /// State of all other threads.
    others: HashMap<u64, (Thread, OpenCalls), Seed>,
    by_thread: HashMap<u64, u32, Seed>,
    ended: Vec<u64>,
    /// Estimate of the number of calls that the segment lists as open at its start: the sum of the
    /// numbers that [`OpenCalls::begin`] returned.
    open_listed: usize,
    /// Index of the stream of the latest events.
    current: usize,
    /// Number of events that were added to the current stream since the last change of streams.
    run: u64,
    methods: Methods,
    texts: Texts,
    gathered: Gathered,
}

/// Events of a thread in the segment.
struct Stream {
    /// State of the thread at the start of the segment.
    begin: Thread,
    /// Current state of the thread.
    thread: Thread,
    open: OpenCalls,
    last: Last,
    cpu: i64,
}

impl Block {
    pub(super) fn enter(&mut self, e: &MethodEnter) {
        self.choose(e.thread, Some(e.time.0));
        let has_cpu = *self.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let method = self.methods.number(e.method, e.class);
        let usual = (e.ticket, e.stack_depth) == self.streams[self.current].thread.next_call();
        if usual && (has_cpu || e.cpu_time.0 == 0) {
            self.put_call(method << 1, e.time.0, e.cpu_time.0);
        } else {
            self.put_record(record::METHOD_ENTER, &Event::MethodEnter(*e));
        }
        let Stream { thread, open, .. } = &mut self.streams[self.current];
        (thread.ticket, thread.depth) = (e.ticket, e.stack_depth);
        open.push(WrittenCall {
            method,
            ticket: e.ticket,
            start: e.time.0,
        });
        self.count_timed(1, e.time.0, e.time.0);
    }

    pub(super) fn leave(&mut self, e: &MethodLeave) {
        self.choose(e.thread, Some(e.time.0));
        let has_cpu = *self.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let methods = &self.methods;
        let is_it = |call: &WrittenCall| {
            call.ticket == e.ticket && methods.is(call.method, e.method, e.class)
        };
        let innermost = self.streams[self.current].open.last().copied();
        match innermost {
            Some(call) if is_it(&call) && (has_cpu || e.cpu_time.0 == 0) => {
                let step = match e.by_exception {
                    false => call.method << 1 | 1,
                    true => EXCEPTION_STEP,
                };
                self.streams[self.current].open.pop(1);
                self.put_call(step, e.time.0, e.cpu_time.0);
            }
            _ => {
                self.streams[self.current].open.end(is_it);
                self.put_record(record::METHOD_LEAVE, &Event::MethodLeave(*e));
            }
        }
        let thread = &mut self.streams[self.current].thread;
        thread.depth = thread.depth.wrapping_sub(1);
        self.count_timed(1, e.time.0, e.time.0);
    }

    /// Appends a run of calls if it continues from the thread's state. Returns false if it does not
    /// continue from there.
    pub(super) fn run(&mut self, run: &CallRun<'_>) -> bool {
        let ([first, ..], Some(newest)) = (run.times, run.times.last()) else {
            return true;
        };
        if !self.continues(run.thread, run.cpu_time, (run.ticket, run.depth), *first) {
            return false;
        }
        self.methods.name_by(run.methods);
        let Stream {
            thread, open, last, ..
        } = &mut self.streams[self.current];
        let Gathered {
            steps, times, kept, ..
        } = &mut self.gathered;
        match run.kept.filter(|_| run.steps.len() >= WORTH_KEEPING) {
            Some(at) => kept.push(at, run.times, steps.len(), times, &mut last.time),
            None => {
                steps.extend(run.steps.iter().map(|step| step.0));
                times.push_all(&mut last.time, run.times);
            }
        }
        open.pop(run.before.len());
        let begun = run.begun.iter().enumerate();
        open.extend(begun.map(|(at, call)| WrittenCall {
            method: call.method,
            ticket: run.ticket_of_begun(at),
            start: call.time.0,
        }));
        thread.ticket = thread.ticket.wrapping_add(run.enters() as u32);
        thread.depth = open.len() as i64;
        self.count_timed(run.steps.len() as u32, first.0, newest.0);
        true
    }

    /// Appends calls up to the first unexpected one. Returns the number of appended calls.
    pub(super) fn calls(&mut self, calls: &Calls<'_>) -> usize {
        let Some(first) = calls.steps.first() else {
            return 0;
        };
        let at = (calls.ticket, calls.depth);
        if !self.continues(calls.thread, calls.cpu_time, at, first.time) {
            return 0;
        }
        let Stream {
            thread, open, last, ..
        } = &mut self.streams[self.current];
        let Gathered { steps, times, .. } = &mut self.gathered;
        let mut count = 0;
        for step in calls.steps {
            let method = self.methods.number(step.method, step.class);
            if !step.ends {
                thread.ticket = step.ticket;
                open.push(WrittenCall {
                    method,
                    ticket: step.ticket,
                    start: step.time.0,
                });
            } else if open.last().is_some_and(|call| call.ticket == step.ticket) {
                open.pop(1);
            } else {
                break;
            }
            steps.push(method << 1 | u32::from(step.ends));
            times.push(&mut last.time, step.time.0);
            count += 1;
        }
        thread.depth = open.len() as i64;
        if let Some(newest) = calls.steps[..count].last() {
            self.count_timed(count as u32, first.time.0, newest.time.0);
        }
        count
    }

    /// Returns true if calls with this ticket and depth continue from the thread's state, and if
    /// neither the calls nor the segment have CPU times.
    fn continues(
        &mut self,
        thread: ThreadId,
        cpu_time: Duration,
        (ticket, depth): (u32, u32),
        first: Timestamp,
    ) -> bool {
        self.choose(thread, Some(first.0));
        let has_cpu = *self.has_cpu.get_or_insert(cpu_time.0 != 0);
        let Stream { thread, open, .. } = &self.streams[self.current];
        let is_there = (thread.ticket, thread.depth) == (ticket, depth.into());
        !has_cpu && cpu_time.0 == 0 && is_there && open.len() == depth as usize
    }

    /// Appends an event as a record with the code `code`. Returns false if readers would reject the
    /// record as too large. Then nothing is appended, and the caller must end the segment.
    pub(super) fn record(&mut self, code: u8, event: &Event<'_>) -> bool {
        let thread = event.thread().unwrap_or_default();
        let time = event.time().map(|time| time.0);
        self.choose(thread, time);
        let start = self.gathered.columns[Column::Records as usize].len();
        let last = self.streams[self.current].last;
        let named = self.put_fields(event);
        let records = &mut self.gathered.columns[Column::Records as usize];
        if records.len() - start + named > MAX_RECORD_BYTES || self.texts.are_too_many() {
            records.truncate(start);
            self.streams[self.current].last = last;
            return false;
        }
        self.gathered.steps.push(record_step(code));
        if let Event::ThreadEnd(_) = event {
            self.ended.push(thread.0);
        }
        match time {
            Some(time) => self.count_timed(1, time, time),
            None => self.count(1),
        }
        true
    }

    /// Selects the stream of a thread.
    #[inline]
    fn choose(&mut self, thread: ThreadId, time: Option<i64>) {
        if self.events == 0 {
            self.begin(time.unwrap_or(0));
        } else if self.streams[self.current].last.thread == thread {
            return;
        }
        self.end_run();
        let Self {
            streams,
            others,
            base,
            open_listed,
            ..
        } = self;
        let at = *self.by_thread.entry(thread.0).or_insert_with(|| {
            let (state, mut open) = others.remove(&thread.0).unwrap_or_default();
            *open_listed += open.begin();
            streams.push(Stream {
                begin: state,
                thread: state,
                open,
                last: Last {
                    thread,
                    time: *base,
                    object: 0,
                },
                cpu: 0,
            });
            (streams.len() - 1) as u32
        });
        self.current = at as usize;
    }

    pub(super) fn begin(&mut self, time: i64) {
        self.base = time;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    pub(super) fn events(&self) -> u32 {
        self.events
    }

    /// Returns the smallest and the largest time; 0 and 0 if the segment has no times.
    pub(super) fn times(&self) -> [i64; 2] {
        self.times.unwrap_or_default()
    }

    /// Returns the threads that have events in the segment, in the order of their first events.
    pub(super) fn threads(&self) -> Vec<u64> {
        let streams = self.streams.iter();
        streams.map(|stream| stream.last.thread.0).collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.events >= EVENTS
            || self.gathered.columns[Column::Records as usize].len() >= BYTES
            || self.streams.len() >= MAX_THREADS
            || self.open_listed >= OPEN
    }

    /// Returns the maximum encoded size, in bytes.
    pub(super) fn most_bytes(&self) -> usize {
        self.gathered.most_bytes() + self.open_listed * OPEN_BYTES + 32 * self.streams.len()
    }

    fn count(&mut self, events: u32) {
        self.events += events;
        self.run += u64::from(events);
        self.streams[self.current].thread.events += u64::from(events);
    }

    fn count_timed(&mut self, events: u32, first: i64, newest: i64) {
        self.count(events);
        let [earliest, latest] = self.times.get_or_insert([first, newest]);
        *earliest = first.min(*earliest);
        *latest = newest.max(*latest);
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            let runs = &mut self.gathered.columns[Column::Runs as usize];
            put_number(self.current as u64, runs);
            put_number(self.run, runs);
        }
        self.run = 0;
    }

    /// Appends an ordinary call, which needs no record.
    fn put_call(&mut self, step: Step, time: i64, cpu: i64) {
        let Stream { last, cpu: of, .. } = &mut self.streams[self.current];
        self.gathered.steps.push(step);
        self.gathered.times.push(&mut last.time, time);
        if self.has_cpu == Some(true) {
            let out = &mut self.gathered.columns[Column::Records as usize];
            put_signed(cpu.wrapping_sub(*of), out);
            *of = cpu;
        }
    }

    /// Appends an unexpected call as a record.
    fn put_record(&mut self, code: u8, event: &Event<'_>) {
        self.gathered.steps.push(record_step(code));
        self.put_fields(event);
    }

    /// Appends an event's fields. Returns the total bytes of the texts that the fields name by
    /// number.
    fn put_fields(&mut self, event: &Event<'_>) -> usize {
        let mut sink = Sink {
            out: &mut self.gathered.columns[Column::Records as usize],
            texts: &mut self.texts,
            last: &mut self.streams[self.current].last,
            named: 0,
        };
        record::put(event, &mut sink);
        sink.named
    }

    /// Completes the segment of events with the number `number`, counted from 0. Returns its
    /// contents.
    pub(super) fn finish(&mut self, number: u64) -> Gathered {
        self.end_run();
        let columns = &mut self.gathered.columns;
        let mut open = std::mem::take(&mut columns[Column::Open as usize]);
        let out = &mut columns[Column::Threads as usize];
        put_signed(self.base, out);
        out.push(self.has_cpu.unwrap_or(false).into());
        put_number(self.streams.len() as u64, out);
        let mut last = 0;
        for stream in &mut self.streams {
            let (thread, begin) = (stream.last.thread.0, stream.begin);
            put_signed(thread.wrapping_sub(last) as i64, out);
            put_number(begin.events, out);
            put_number(begin.ticket.into(), out);
            put_signed(begin.depth, out);
            last = thread;
            let ids = |number| self.methods.ids(number);
            stream.open.put(number, self.base, ids, &mut open);
        }
        columns[Column::Open as usize] = open;
        self.gathered.named = self.methods.named();
        std::mem::take(&mut self.gathered)
    }

    /// Begins the next segment. `gathered` provides empty buffers for its contents.
    pub(super) fn begin_with(&mut self, gathered: Gathered) {
        self.gathered = gathered;
        for mut stream in self.streams.drain(..) {
            let thread = stream.last.thread.0;
            stream.open.rest();
            self.others.insert(thread, (stream.thread, stream.open));
        }
        for thread in self.ended.drain(..) {
            self.others.remove(&thread);
        }
        if self.methods.should_renumber() {
            let former = std::mem::take(&mut self.methods);
            let calls = self
                .others
                .values_mut()
                .flat_map(|(_, open)| open.iter_mut());
            for call in calls {
                call.method = self.methods.renumber(&former, call.method);
            }
            self.methods.keep_program(former);
        }
        self.events = 0;
        self.times = None;
        self.has_cpu = None;
        self.by_thread.clear();
        self.open_listed = 0;
        self.current = 0;
        self.texts.clear();
    }
}
