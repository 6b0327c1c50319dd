//! What becomes samples, markers and counters.

use super::Builder;
use super::counters;
use super::markers::{Data, MarkerKind};
use super::tables::NO_STACK;
use super::thread::Thread;
use crate::sink::{Collection, Counter, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::names::Names;
use jtrail_model::{ClassId, Event, Frame, ObjectId, Timestamp};

impl Sink for Builder {
    const TAKES_RATE: bool = true;
    const TAKES_ALLOCATIONS: bool = true;
    const TAKES_SUMS: bool = true;

    fn continue_from(&mut self, ended: Self) {
        self.file_start = Some(Timestamp(ended.latest));
        let is_paused = ended.pauses.last().is_some_and(|(_, end)| end.is_none());
        self.pauses
            .extend(is_paused.then_some((ended.latest, None)));
    }

    fn process(&mut self, id: u64, program: &str) {
        self.process_id = id;
        self.program = program.to_owned();
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let number = index.0 as usize;
        if self.threads.len() <= number {
            self.threads.resize_with(number + 1, Default::default);
        }
        let mut info = info.clone();
        if let Some(start) = &mut info.start {
            // A thread of an earlier file is in this one from the begin on.
            *start = self.file_start.map_or(*start, |begin| begin.max(*start));
            self.extend_time(*start);
        }
        self.threads[number].info = info;
    }

    fn end_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        self.extend_time(time);
        let thread = &mut self.threads[index.0 as usize];
        thread.stretch(time.0);
        thread.end = Some(time.0);
    }

    #[inline]
    fn begin(&mut self, _: &Names, begin: ThreadTime, slice: Slice) {
        self.extend_time(begin.time);
        let thread = &mut self.threads[begin.thread.0 as usize];
        self.items += u64::from(thread.stretch(begin.time.0));
        let call = thread.call();
        let stack = match slice {
            Slice::Call(method) => {
                let stack = self.tables.call(call, method);
                thread.calls.push(stack);
                stack
            }
            _ => {
                let kind = wait_kind(slice);
                self.tables.state(call, kind.kind(), kind.name())
            }
        };
        thread.open.push(stack);
    }

    #[inline]
    fn end(&mut self, names: &Names, end: &End) {
        self.extend_time(end.end.time);
        let thread = &mut self.threads[end.end.thread.0 as usize];
        self.items += u64::from(thread.stretch(end.end.time.0));
        thread.open.pop();
        match end.slice {
            Slice::Call(_) => _ = thread.calls.pop(),
            _ => self.end_wait(names, end),
        }
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        match event {
            Event::ExceptionThrow(e) => {
                let about = (e.object, e.class);
                self.exception(names, index, (MarkerKind::Throw, e.time), about, &e.stack);
            }
            Event::ExceptionCatch(e) => {
                let (about, stack) = ((e.object, e.class), std::slice::from_ref(&e.frame));
                self.exception(names, index, (MarkerKind::Catch, e.time), about, stack);
            }
            Event::Sample(e) => {
                let stack = self.text_stack(index, &e.stack);
                let ticks = i64::try_from(e.ticks.0.get()).unwrap_or(i64::MAX);
                self.moment(index, (MarkerKind::Sample, e.time), |data| {
                    data.text("state", e.state.name());
                    data.number("count", ticks);
                    data.stack(stack);
                });
            }
            Event::ObjectAlloc(e) => self.allocation(index, e.time, e.size),
            Event::AllocationSum(e) => {
                let bytes = i64::try_from(e.bytes).unwrap_or(i64::MAX);
                self.allocation(index, e.time, bytes);
            }
            _ => return false,
        }
        true
    }

    fn aggregated(&mut self, _: &Names, index: ThreadIndex, above: usize, event: &Event<'_>) {
        let thread = &mut self.threads[index.0 as usize];
        let time = thread.since.unwrap_or(self.latest);
        match event {
            Event::AggregatedEnter(e) => thread.begin_sum(&mut self.tables, (above, time), e),
            Event::AggregatedLeave(_) => thread.end_sum(above, time),
            _ => return,
        }
        self.items += 1;
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        let (start, end) = (collection.start.0, collection.end.0);
        self.extend_time(collection.start);
        let kind = MarkerKind::Collection.kind();
        let tables = &mut self.tables;
        let mut stack = tables.label(NO_STACK, kind, &collection.name());
        if !collection.cause.is_empty() {
            stack = tables.label(stack, kind, &collection.cause);
        }
        self.process.since.get_or_insert(self.first);
        self.process.stretch(start);
        self.process.open.push(stack);
        self.process.stretch(end);
        self.process.open.pop();
        let span = (start, Some(end));
        let markers = &mut self.process.markers;
        markers.push(tables, MarkerKind::Collection, span, |data| {
            data.text("generation", &collection.name());
            data.optional_text("collector", &collection.collector);
            data.optional_text("reason", &collection.cause);
            if collection.used > 0 {
                data.number("used", collection.used);
            }
        });
        true
    }

    fn counter(&mut self, counter: Counter, time: Timestamp, value: i64) -> bool {
        let Some(number) = counters::ALL.iter().position(|known| *known == counter) else {
            return false;
        };
        self.extend_time(time);
        self.counters[number].push(counter, time, value);
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        self.extend_time(time);
        let span = (time.0, None);
        let markers = &mut self.process.markers;
        markers.push(&mut self.tables, MarkerKind::Mark, span, |data| {
            data.text("text", text);
        });
        true
    }

    fn other(&mut self, _: &Names, event: &Event<'_>) -> bool {
        match event {
            Event::TracePause(e) => self.pauses.push((e.time.0, None)),
            Event::TraceResume(e) => {
                if let Some((_, end @ None)) = self.pauses.last_mut() {
                    *end = Some(e.time.0);
                }
            }
            _ => return false,
        }
        true
    }

    fn close(&mut self, names: &Names, latest: Timestamp) {
        self.extend_time(latest);
        self.out = self.write(names);
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn size(&self) -> u64 {
        self.items
    }
}

/// Returns the kind of marker of a wait.
fn wait_kind(slice: Slice) -> MarkerKind {
    match slice {
        Slice::Waiting { .. } => MarkerKind::Waiting,
        Slice::Parked { .. } => MarkerKind::Parked,
        Slice::Blocked { .. } | Slice::Call(_) => MarkerKind::Blocked,
    }
}

/// Appends an object and its class.
fn object(data: &mut Data<'_>, names: &Names, (object, class): (ObjectId, ClassId)) {
    if !class.is_none() {
        data.text("class", &names.readable_class(class));
    }
    if !object.is_none() {
        data.id("object", object.0);
    }
}

impl Builder {
    /// Adds the marker of a wait.
    fn end_wait(&mut self, names: &Names, end: &End) {
        let owner = match end.slice {
            Slice::Blocked { owner, .. } => owner.map(|(_, index)| index.0 as usize),
            _ => None,
        };
        // An owner that ended before the file began may be unknown in it.
        let owner = owner.and_then(|owner| self.threads.get(owner));
        let owner = owner.map(Thread::name);
        let owner = owner.unwrap_or_else(|| "an unknown thread".to_owned());
        let thread = &mut self.threads[end.end.thread.0 as usize];
        let (span, call) = ((end.begin.time.0, Some(end.end.time.0)), thread.call());
        let kind = wait_kind(end.slice);
        self.items += 1;
        thread.markers.push(&mut self.tables, kind, span, |data| {
            match end.slice {
                Slice::Blocked {
                    object: id, class, ..
                } => {
                    object(data, names, (id, class));
                    data.text("owner", &owner);
                }
                Slice::Parked { object: id, class } => object(data, names, (id, class)),
                Slice::Waiting {
                    object: id,
                    class,
                    timeout_ms,
                } => {
                    object(data, names, (id, class));
                    if timeout_ms > 0 {
                        data.number("timeout", timeout_ms);
                    }
                }
                Slice::Call(_) => {}
            }
            data.stack(call);
        });
    }

    /// Returns the stack of frames, or of the open calls if there are none.
    fn text_stack(&mut self, index: ThreadIndex, frames: &[Frame<'_>]) -> u32 {
        match frames {
            [] => self.threads[index.0 as usize].call(),
            _ => self.tables.text_stack(frames),
        }
    }

    /// Adds a marker of a moment.
    fn moment(
        &mut self,
        index: ThreadIndex,
        (kind, time): (MarkerKind, Timestamp),
        fill: impl FnOnce(&mut Data<'_>),
    ) {
        self.extend_time(time);
        self.items += 1;
        let markers = &mut self.threads[index.0 as usize].markers;
        markers.push(&mut self.tables, kind, (time.0, None), fill);
    }

    fn exception(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        (kind, time): (MarkerKind, Timestamp),
        about: (ObjectId, ClassId),
        frames: &[Frame<'_>],
    ) {
        let stack = self.text_stack(index, frames);
        self.moment(index, (kind, time), |data| {
            object(data, names, about);
            data.stack(stack);
        });
    }

    fn allocation(&mut self, index: ThreadIndex, time: Timestamp, bytes: i64) {
        self.extend_time(time);
        let thread = &mut self.threads[index.0 as usize];
        self.items += u64::from(thread.allocate(time.0, bytes));
    }
}
