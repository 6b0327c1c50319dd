//! Converts events to records.

mod call;
mod definitions;
mod dropped;
mod memory;
mod objects;
mod stream;
mod texts;
mod threads;

use super::text::{Message, NOTE};
use super::wire::{
    END_FILE_RECORD, GC_START, GC_STOP, THREAD_DEFINE, THREAD_EXIT, THREAD_START, UNKNOWN_THREAD,
    USER_EVENT,
};
use crate::tally::DropTally;
use crate::{DropCount, Encode, Patch};
use definitions::{Classes, Sink, put_text};
use dropped::Dropped;
use jtrail_model::{
    Cost, Custom, Event, MethodEnter, Note, RECORD_OVERHEAD, ThreadEnd, ThreadId, ThreadStart,
    Timestamp,
};
use objects::Objects;
use std::fmt::Write as _;
use stream::Stream;
use threads::Threads;

/// Encoder of JinsightLive traces: little-endian, with ticks of one nanosecond.
#[derive(Debug, Default)]
pub struct Encoder {
    stream: Stream,
    classes: Classes,
    threads: Threads,
    objects: Objects,
    dropped: DropTally<Dropped>,
    /// True after JVM initialization. Threads that are reported after it are just starting.
    running: bool,
    /// True between the start and the end of a garbage collection.
    collecting: bool,
    /// True if a collection was in progress when the last pause began.
    collection_cut: bool,
    /// Time at which the last pause began.
    paused: Timestamp,
    /// Numbers of allocations and frees that are not in the file.
    unwritten_allocations: u64,
    unwritten_frees: u64,
    /// Time of the trace-end event, if reported.
    end: Option<Timestamp>,
    ended: bool,
    text: String,
    buffer: Vec<u8>,
}

impl Encode for Encoder {
    /// Writes nothing: the header holds the start of the trace, and the first events report this
    /// start.
    fn begin(&mut self, _: &mut Vec<u8>) {}

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => self.enter(e, out),
            Event::MethodLeave(e) => self.leave(e, out),
            _ => self.other(event, out),
        }
    }

    fn open_call(&mut self, call: &MethodEnter, out: &mut Vec<u8>) {
        self.enter_under_way(call, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if !self.stream.is_paused() {
            self.stream.open(0, out);
            self.emit_untracked(out);
            let latest = Timestamp(self.stream.latest().cast_signed());
            self.pause(self.end.unwrap_or(latest), out);
        }
        for _ in 0..self.stream.drop_held() {
            self.dropped.event(Dropped::Held);
        }
        out.extend_from_slice(&END_FILE_RECORD);
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }

    fn patches(&self) -> Vec<Patch> {
        let (threads, classes) = (self.threads.given(), self.classes.written());
        self.stream.patches(threads, classes)
    }
}

macro_rules! sink {
    ($encoder:ident, $out:ident) => {
        &mut Sink {
            stream: &mut $encoder.stream,
            dropped: &mut $encoder.dropped,
            out: $out,
        }
    };
}
use sink;

impl Encoder {
    fn other(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::ProcessCreate(e) => {
                let seconds = e.time.0.div_euclid(1_000_000_000);
                self.stream.process_start = u32::try_from(seconds).ok();
                self.dropped.event(Dropped::Opening);
            }
            Event::Node(_) | Event::AgentCreate(_) => self.dropped.event(Dropped::Opening),
            Event::TraceStart(e) => {
                let start = u64::try_from(e.time.0).unwrap_or(0);
                self.stream.open(start, out);
            }
            Event::TraceEnd(e) => self.end = Some(e.time),
            // This event needs no record: END_FILE stands for it.
            Event::AgentDestroy(_) => {}
            Event::TracePause(e) => {
                if self.stream.is_paused() {
                    self.dropped.event(Dropped::Again);
                } else {
                    self.stream.ticks(e.time, &mut self.dropped, out);
                    self.pause(e.time, out);
                }
            }
            Event::TraceResume(e) => {
                if self.stream.is_paused() {
                    let ticks = u64::try_from(e.time.0).unwrap_or(0);
                    self.resume(ticks, out);
                } else if self.stream.is_open() {
                    self.dropped.event(Dropped::Again);
                } else {
                    self.stream.ticks(e.time, &mut self.dropped, out);
                }
            }
            Event::Filter(_) => self.dropped.event(Dropped::Filter),
            Event::Option(e) => {
                let mut cost = Cost::default();
                if e.key != RECORD_OVERHEAD || !cost.take(e) {
                    self.dropped.event(Dropped::Option);
                } else if !self.stream.set_overhead(cost.record) {
                    self.dropped.part(Dropped::Option);
                }
            }
            Event::ThreadStart(e) => self.thread_start(e, out),
            Event::ThreadEnd(e) => self.thread_end(e, out),
            Event::ThreadName(_) => self.dropped.event(Dropped::ThreadName),
            Event::ThreadCpu(_) => self.dropped.event(Dropped::ThreadCpu),
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => self.dropped.event(Dropped::Mount),
            Event::ClassDef(e) => {
                let dropped = &mut self.dropped;
                dropped.part_if(!e.source_name.is_empty(), Dropped::ClassSource);
                dropped.part_if(!e.thread.is_none(), Dropped::ClassThread);
                dropped.part_if(!e.object.is_none(), Dropped::ClassObject);
                self.objects.imply_class(e.object);
                self.classes.define(e, sink!(self, out));
            }
            Event::ClassDetail(e) => self.classes.detail(e, sink!(self, out)),
            Event::MethodDef(e) => self.classes.method(e, sink!(self, out)),
            Event::ObjectAlloc(e) => self.alloc(e, out),
            Event::ObjectDef(e) => self.object(e, out),
            Event::ObjectFree(e) => self.free(e, out),
            Event::GcStart(e) => self.collection(GC_START, e.time, out),
            Event::GcFinish(e) => {
                let has_sizes = e.total_space != 0 || e.used_space != 0 || e.used_objects != 0;
                self.dropped.part_if(has_sizes, Dropped::GcSpace);
                self.collection(GC_STOP, e.time, out);
            }
            Event::GcDetail(_) => self.dropped.event(Dropped::GcDetail),
            Event::RuntimeInitDone(e) => {
                let thread = self.thread_if_any(e.thread, e.time, out);
                self.message(&Message::RuntimeInit { thread }, e.time, out);
                self.running = true;
            }
            Event::RuntimeShutdown(e) => {
                let thread = self.thread_if_any(e.thread, e.time, out);
                self.message(&Message::RuntimeShutdown { thread }, e.time, out);
            }
            Event::MonitorWait(_)
            | Event::MonitorWaited(_)
            | Event::MonitorContendedEnter(_)
            | Event::MonitorContendedEntered(_)
            | Event::ThreadPark(_)
            | Event::ThreadUnpark(_) => self.monitor(event, out),
            Event::Custom(e) => self.custom(e, out),
            Event::CatchDetail(_) => self.dropped.event(Dropped::Handler),
            Event::ExceptionThrow(_) | Event::ExceptionCatch(_) => {
                self.dropped.event(Dropped::Exception);
            }
            Event::Sample(e) => self.dropped.event_of(Dropped::Sample, e.ticks.get()),
            Event::AggregatedEnter(_) | Event::AggregatedLeave(_) => {
                self.dropped.event(Dropped::Aggregated);
            }
            Event::HeapDump(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::HeapDumpEnd(_) => self.dropped.event(Dropped::Heap),
            Event::MethodCompile(_) | Event::MethodUncompile(_) => {
                self.dropped.event(Dropped::Code)
            }
            Event::MethodDetail(_) => self.dropped.event(Dropped::Bytecode),
            Event::LineCounts(_) => self.dropped.event(Dropped::Lines),
            Event::ClassUnload(_) | Event::ClassRedefine(_) => {
                self.dropped.event(Dropped::ClassChange);
            }
            Event::ClassInitStart(_) | Event::ClassInitEnd(_) => {
                self.dropped.event(Dropped::ClassInit);
            }
            _ => self.dropped.event(Dropped::Event),
        }
    }

    fn thread_start(&mut self, e: &ThreadStart<'_>, out: &mut Vec<u8>) {
        if self.threads.get_mut(e.thread).is_some() {
            self.dropped.event(Dropped::Again);
            return;
        }
        let grouped = !e.group.is_empty() || !e.parent_group.is_empty();
        self.dropped.part_if(grouped, Dropped::ThreadGroup);
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let (object, class) = self.thread_object(e.object, ticks, out);
        let id = self.threads.insert(e.thread);
        self.thread_ticks(e.thread, ticks);
        self.buffer.clear();
        self.buffer.extend_from_slice(&id.to_le_bytes());
        self.buffer.extend_from_slice(&object.to_le_bytes());
        self.buffer.extend_from_slice(&class.to_le_bytes());
        put_text(&e.name, &mut self.buffer, &mut self.dropped);
        self.stream.put(THREAD_DEFINE, ticks, &self.buffer, out);
        if self.running {
            self.stream.put(THREAD_START, ticks, &id.to_le_bytes(), out);
        }
    }

    fn thread_end(&mut self, e: &ThreadEnd, out: &mut Vec<u8>) {
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let id = self.thread(e.thread, e.time, out);
        let Some(thread) = self.threads.get_mut(e.thread) else {
            return;
        };
        let ticks = thread.ticks(ticks, &mut self.dropped);
        let open = std::mem::take(&mut thread.calls).len();
        for _ in 0..open {
            self.dropped.part(Dropped::CallCut);
            // During a pause no leaves are needed: all open calls have leaves before END_BURST, and
            // the next burst does not enter the calls of this thread.
            if !self.stream.is_paused() {
                self.put_leave(id, ticks, out);
            }
        }
        self.stream.put(THREAD_EXIT, ticks, &id.to_le_bytes(), out);
    }

    /// Returns the id of a thread in the file. Defines the thread first if it was never defined. An
    /// event without a thread belongs to a thread named [`UNKNOWN_THREAD`].
    fn thread(&mut self, id: ThreadId, time: Timestamp, out: &mut Vec<u8>) -> u32 {
        if let Some(thread) = self.threads.get_mut(id) {
            return thread.id;
        }
        self.dropped.part_if(!id.is_none(), Dropped::Undefined);
        let name = if id.is_none() { UNKNOWN_THREAD } else { "" };
        let running = std::mem::replace(&mut self.running, false);
        self.thread_start(
            &ThreadStart {
                thread: id,
                time,
                name: name.into(),
                ..ThreadStart::default()
            },
            out,
        );
        self.running = running;
        self.threads.given()
    }

    /// Returns the ticks of a thread's next record, which never decrease.
    fn thread_ticks(&mut self, id: ThreadId, ticks: u64) -> u64 {
        match self.threads.get_mut(id) {
            Some(thread) => thread.ticks(ticks, &mut self.dropped),
            None => ticks,
        }
    }

    fn thread_if_any(&mut self, id: ThreadId, time: Timestamp, out: &mut Vec<u8>) -> Option<u32> {
        (!id.is_none()).then(|| self.thread(id, time, out))
    }

    fn collection(&mut self, kind: u8, time: Timestamp, out: &mut Vec<u8>) {
        let begins = kind == GC_START;
        let in_pause = self.stream.is_paused() && !begins;
        if in_pause && std::mem::take(&mut self.collection_cut) {
            // This event needs no record: a GC_STOP was written where the pause began.
            return;
        }
        if self.collecting == begins {
            self.dropped.event(Dropped::GcTurn);
            return;
        }
        self.collecting = begins;
        let ticks = self.stream.ticks(time, &mut self.dropped, out);
        self.stream.put(kind, ticks, &[], out);
    }

    /// Ends the burst. Writes a leave for each open call. In the encoder, these calls stay open.
    fn pause(&mut self, time: Timestamp, out: &mut Vec<u8>) {
        self.paused = time;
        let selected = u64::try_from(time.0).unwrap_or(0);
        let ticks = self.stream.end_ticks(selected, &mut self.dropped);
        self.collection_cut = std::mem::take(&mut self.collecting);
        if self.collection_cut {
            self.dropped.part(Dropped::GcCut);
            self.stream.put(GC_STOP, ticks, &[], out);
        }
        for (id, calls) in self.threads.open() {
            for _ in calls {
                self.stream.put_leave(id, ticks, out);
            }
        }
        self.stream.end_burst(ticks, out);
    }

    /// Begins the next burst. Writes an enter for each open call, and then the records that were
    /// held back during the pause.
    fn resume(&mut self, ticks: u64, out: &mut Vec<u8>) {
        let begin = self.stream.begin_burst(ticks, out);
        for (id, calls) in self.threads.open() {
            for call in calls {
                self.stream.put_enter(id, begin, call.place, out);
            }
        }
        if std::mem::take(&mut self.collection_cut) {
            self.collecting = true;
            self.stream.put(GC_START, begin, &[], out);
        }
        self.stream.release(out);
    }

    fn custom(&mut self, e: &Custom<'_>, out: &mut Vec<u8>) {
        let latest = Timestamp(self.stream.latest().cast_signed());
        self.text.clear();
        if e.body.starts_with(NOTE) {
            match Note::parse(&e.body) {
                // The thread id in the note becomes that of the file.
                Some(Note::Lost(mut lost)) => {
                    let thread = self.thread_if_any(lost.thread, latest, out);
                    lost.thread = ThreadId(thread.unwrap_or(0).into());
                    // Writing to a `String` does not fail.
                    let _ = write!(self.text, "{}", Note::Lost(lost));
                }
                Some(Note::Burst(mut burst)) => {
                    let thread = self.thread_if_any(burst.thread, latest, out);
                    burst.thread = ThreadId(thread.unwrap_or(0).into());
                    let _ = write!(self.text, "{}", Note::Burst(burst));
                }
                Some(Note::Totals(mut totals)) => {
                    // The file does not hold these events.
                    (totals.throws, totals.catches, totals.samples) = (0, 0, 0);
                    totals.initialisations = 0;
                    let (objects, frees) = (self.unwritten_allocations, self.unwritten_frees);
                    totals.objects = totals.objects.saturating_sub(objects);
                    totals.frees = totals.frees.saturating_sub(frees);
                    let _ = write!(self.text, "{}", Note::Totals(totals));
                }
                _ => self.text.push_str(&e.body),
            }
        } else {
            let _ = write!(self.text, "{}", Message::Mark(e.body.as_ref().into()));
        }
        self.put_text_event(latest, out);
    }

    fn message(&mut self, message: &Message<'_>, time: Timestamp, out: &mut Vec<u8>) {
        self.text.clear();
        let _ = write!(self.text, "{message}");
        self.put_text_event(time, out);
    }

    /// Writes `self.text` as a USER_EVENT record.
    fn put_text_event(&mut self, time: Timestamp, out: &mut Vec<u8>) {
        let ticks = self.stream.ticks(time, &mut self.dropped, out);
        self.buffer.clear();
        put_text(&self.text, &mut self.buffer, &mut self.dropped);
        self.stream.put(USER_EVENT, ticks, &self.buffer, out);
    }
}

#[cfg(test)]
mod tests;
