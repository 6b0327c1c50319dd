//! What becomes which events.

use super::constants::AFTER_GC;
use super::encoding::{integer, signed, text};
use super::events::MAX_TICKS;
use super::recording::Recording;
use super::schema::Type;
use super::threads::OpenCall;
use crate::sink::{Collection, Counter, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_formats::DropCount;
use jtrail_model::names::Names;
use jtrail_model::{ClassDetail, Event, Generation, MethodId, Timestamp, TraceOption};

impl Recording {
    #[inline]
    fn begin_call(&mut self, names: &Names, begin: ThreadTime, method: MethodId) {
        let key = self.constants.method(names, method);
        let thread = &mut self.threads[begin.thread];
        let path = self.paths.callee(thread.path(), key, 0);
        thread.calls.push(OpenCall { method, path });
    }

    fn describe_class(&mut self, names: &Names, detail: &ClassDetail<'_>) {
        self.constants.describe_class(detail);
        if self.defined.is_some_and(|(id, ..)| id == detail.class) {
            self.load_class(names);
        }
    }

    fn option(&mut self, option: &TraceOption<'_>) {
        if option.key == "stackdepth" {
            self.stack_limit = option.value.parse().ok();
        }
    }
}

impl Sink for Recording {
    const TAKES_ALLOCATIONS: bool = true;
    const TAKES_SUMS: bool = true;

    fn continue_from(&mut self, ended: Self) {
        *self = ended.continued();
    }

    fn process(&mut self, id: u64, program: &str) {
        self.process = Some((id, program.to_owned()));
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let old = self.describe_thread(index, info);
        if let (None, Some(start)) = (old.start, info.start) {
            let thread = self.used_thread(index);
            self.event(Type::ThreadStart, start, |out| {
                integer(out, thread);
                integer(out, 0); // stack trace
                integer(out, thread);
                integer(out, 0); // parent
            });
        }
    }

    fn end_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        let thread = self.used_thread(index);
        self.event(Type::ThreadEnd, time, |out| {
            integer(out, thread);
            integer(out, thread);
        });
    }

    fn forget_thread(&mut self, index: ThreadIndex) {
        self.forget(index);
    }

    fn wait_event(&mut self, index: ThreadIndex, event: &Event<'_>) {
        let thread = self.state(index);
        match event {
            Event::MonitorContendedEnter(e) => thread.keep_stack(e.time, &e.stack),
            Event::MonitorWait(e) => thread.keep_stack(e.time, &e.stack),
            Event::ThreadPark(e) => thread.keep_stack(e.time, &e.stack),
            Event::MonitorWaited(e) => thread.timed_out = e.timed_out != 0,
            _ => {}
        }
    }

    #[inline]
    fn begin(&mut self, names: &Names, begin: ThreadTime, slice: Slice) {
        self.make_room(names);
        self.ticks(begin.time);
        self.sample_until(names, begin);
        match slice {
            Slice::Call(method) => self.begin_call(names, begin, method),
            _ => self.state(begin.thread).waits += 1,
        }
    }

    #[inline]
    fn end(&mut self, names: &Names, end: &End) {
        self.make_room(names);
        self.sample_until(names, end.end);
        match end.slice {
            Slice::Call(_) => self.end_call(end),
            _ => self.end_wait(names, end),
        }
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        self.make_room(names);
        match event {
            Event::ExceptionThrow(e) => self.throw(names, index, e),
            Event::Sample(e) => self.sample(names, index, e),
            Event::ObjectAlloc(e) => self.object(names, index, e),
            Event::AllocationSum(e) => {
                let class = self.class(names, e.class);
                let trace = self.trace(names, index, &[]);
                let bytes = i64::try_from(e.bytes).unwrap_or(i64::MAX);
                self.allocation((index, e.time), (trace, class), bytes);
            }
            _ => return false,
        }
        true
    }

    fn aggregated(&mut self, names: &Names, index: ThreadIndex, above: usize, event: &Event<'_>) {
        self.make_room(names);
        match event {
            Event::AggregatedEnter(e) => self.begin_sum(names, (index, above), e),
            Event::AggregatedLeave(_) => _ = self.state(index).aggregated.pop(),
            _ => {}
        }
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        let Collection { start, end, .. } = *collection;
        let length = end.since(start).0;
        self.collections += 1;
        let number = self.collections;
        let name = match collection.collector.is_empty() {
            true => collection.name(),
            false => collection.collector.clone(),
        };
        let collector = self.constants.collectors.used_key(&name);
        let cause = self.constants.causes.used_key(&collection.cause);
        self.ticks(end);
        self.event(Type::GarbageCollection, start, |out| {
            for number in [
                length,
                number,
                collector.into(),
                cause.into(),
                length,
                length,
            ] {
                signed(out, number);
            }
        });
        let generation = match collection.generation {
            Generation::Young => Some(Type::YoungCollection),
            Generation::Full => Some(Type::OldCollection),
            Generation::Unknown | Generation::Concurrent => None,
        };
        if let Some(generation) = generation {
            self.event(generation, start, |out| {
                signed(out, length);
                signed(out, number);
            });
        }
        self.event(Type::GcPause, start, |out| {
            signed(out, length);
            signed(out, number);
            text(out, Some("GC Pause"));
        });
        if collection.used > 0 {
            self.event(Type::GcHeapSummary, end, |out| {
                signed(out, number);
                integer(out, AFTER_GC);
                // Start, end and size of what is committed, end and size of what is reserved.
                for number in [0, 0, collection.total, 0, 0, collection.used] {
                    signed(out, number);
                }
            });
        }
        true
    }

    fn counter(&mut self, counter: Counter, time: Timestamp, value: i64) -> bool {
        let thread = match counter {
            Counter::ProcessCpu => 0,
            Counter::ThreadCpu(index) => self.used_thread(index),
            // They follow from other events.
            Counter::HeapUsed | Counter::AllocationRate | Counter::LiveThreads => return true,
        };
        self.event(Type::CpuTime, time, |out| {
            integer(out, thread);
            signed(out, value);
        });
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        self.note(time, text);
        true
    }

    fn define(&mut self, names: &Names, index: Option<ThreadIndex>, event: &Event<'_>) {
        if let Event::ClassDef(e) = event {
            self.make_room(names);
            self.load_class(names);
            self.constants.define_class(e.class, &e.name);
            // The event is written later, when the latest time may be another one.
            let time = if e.time.0 == 0 { self.latest } else { e.time };
            self.defined = Some((e.class, time, index));
        }
    }

    fn other(&mut self, names: &Names, event: &Event<'_>) -> bool {
        match event {
            Event::ClassDetail(e) => self.describe_class(names, e),
            Event::ClassUnload(e) => self.unload_class(names, e),
            Event::Option(e) => self.option(e),
            Event::RuntimeShutdown(e) => self.event(Type::Shutdown, e.time, |out| {
                integer(out, 0); // thread
                integer(out, 0); // stack trace
                text(out, None); // reason
            }),
            _ => return false,
        }
        true
    }

    fn close(&mut self, names: &Names, latest: Timestamp) {
        self.load_class(names);
        self.finish(latest);
        self.write_chunk(names, true);
    }

    fn flush(&mut self, names: &Names) {
        self.write_waiting(names);
    }

    fn waiting(&self) -> usize {
        self.waiting_bytes()
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn dropped(&self) -> Option<DropCount> {
        const { assert!(MAX_TICKS == 65_536) };
        (self.dropped_ticks > 0).then_some(DropCount {
            what: "ticks of samples with more than 65,536",
            count: self.dropped_ticks,
        })
    }

    fn size(&self) -> u64 {
        self.count()
    }
}
