//! What becomes which packets.

use super::packets::{
    ALLOCATION_RATE, COLLECTIONS, HEAP_USED, LIVE_THREADS, PROCESS, PROCESS_CPU, Packets,
    number_annotation, text_annotation, thread_uuid,
};
use super::wire::{event, event_type};
use crate::protobuf::{bytes, fixed64, integer};
use crate::sink::{Collection, Counter, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::names::{Names, with_line};
use jtrail_model::{ClassId, Event, Frame, MethodId, ObjectId, Timestamp};

impl Packets {
    #[inline]
    fn begin_call(&mut self, names: &Names, begin: ThreadTime, method: MethodId) {
        let index = begin.thread;
        self.begin_thread(index, begin.time);
        let (iid, is_new) = self.method_name(index, method);
        let mut fields = self.take_fields();
        integer(&mut fields, event::TYPE, event_type::SLICE_BEGIN);
        integer(&mut fields, event::NAME_IID, iid.into());
        self.cpu(begin, &mut fields);
        let name = is_new.then(|| names.readable_method(method));
        let new_name = name.as_deref().map(|name| (iid, name));
        self.thread_packet(index, begin.time, new_name, &fields);
        self.fields = fields;
    }

    /// Writes the begin of a slice in which a thread is blocked, and where the flow to it comes
    /// from.
    fn begin_blocked(
        &mut self,
        names: &Names,
        at: ThreadTime,
        (object, class): (ObjectId, ClassId),
        owner: Option<ThreadIndex>,
    ) {
        self.last_flow += 1;
        let flow = self.last_flow;
        if let Some(owner) = owner {
            self.begin_thread(owner, at.time);
            self.global(at.time, |out| {
                integer(out, event::TYPE, event_type::INSTANT);
                integer(out, event::TRACK_UUID, thread_uuid(owner));
                let name = b"holds a monitor that another thread needs";
                bytes(out, event::NAME, name);
                fixed64(out, event::FLOW_IDS, flow);
            });
        }
        let owner = owner.map(|owner| self.thread(owner).info.label());
        self.text_event(at, event_type::SLICE_BEGIN, "blocked on a monitor", |out| {
            object_annotations(out, "object", object, class, names);
            if let Some(owner) = owner {
                text_annotation(out, "owner", &owner);
                fixed64(out, event::TERMINATING_FLOW_IDS, flow);
            }
        });
    }
}

impl Sink for Packets {
    const TAKES_RATE: bool = true;

    fn process(&mut self, id: u64, program: &str) {
        self.process_id = id;
        self.program = program.to_owned();
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let thread = self.thread(index);
        thread.info = info.clone();
        if thread.is_begun {
            self.describe_thread(index);
        }
    }

    fn forget_thread(&mut self, index: ThreadIndex) {
        self.threads.remove(index);
    }

    #[inline]
    fn begin(&mut self, names: &Names, begin: ThreadTime, slice: Slice) {
        self.slices += 1;
        let kind = event_type::SLICE_BEGIN;
        match slice {
            Slice::Call(method) => self.begin_call(names, begin, method),
            Slice::Blocked {
                object,
                class,
                owner,
            } => {
                let owner = owner.map(|(_, index)| index);
                self.begin_blocked(names, begin, (object, class), owner);
            }
            Slice::Waiting {
                object,
                class,
                timeout_ms,
            } => self.text_event(begin, kind, "Object.wait", |out| {
                object_annotations(out, "object", object, class, names);
                if timeout_ms > 0 {
                    number_annotation(out, "timeout in ms", timeout_ms);
                }
            }),
            Slice::Parked { object, class } => self.text_event(begin, kind, "parked", |out| {
                object_annotations(out, "blocker", object, class, names);
            }),
        }
    }

    #[inline]
    fn end(&mut self, _: &Names, end: &End) {
        let mut fields = self.take_fields();
        integer(&mut fields, event::TYPE, event_type::SLICE_END);
        self.cpu(end.end, &mut fields);
        if end.by_exception {
            text_annotation(&mut fields, "ended by", "an exception");
        }
        self.thread_packet(end.end.thread, end.end.time, None, &fields);
        self.fields = fields;
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        let mut write = |time, name: &str, fill: &dyn Fn(&mut Vec<u8>)| {
            let at = ThreadTime {
                thread: index,
                time,
                cpu: 0,
            };
            self.text_event(at, event_type::INSTANT, name, fill);
        };
        match event {
            Event::ExceptionThrow(e) => {
                let name = format!("throw {}", names.readable_class(e.class));
                write(e.time, &name, &|out| stack(out, &e.stack));
            }
            Event::ExceptionCatch(e) => {
                let name = format!("catch {}", names.readable_class(e.class));
                let frame = std::slice::from_ref(&e.frame);
                write(e.time, &name, &|out| stack(out, frame));
            }
            Event::Sample(e) => write(e.time, "sample", &|out| {
                text_annotation(out, "state", e.state.name());
                stack(out, &e.stack);
            }),
            _ => return false,
        }
        true
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        self.describe_once(COLLECTIONS, "Garbage collections");
        self.global(collection.start, |out| {
            integer(out, event::TYPE, event_type::SLICE_BEGIN);
            integer(out, event::TRACK_UUID, COLLECTIONS);
            bytes(out, event::NAME, collection.name().as_bytes());
            text_annotation(out, "collector", &collection.collector);
            text_annotation(out, "cause", &collection.cause);
            if collection.used > 0 {
                number_annotation(out, "bytes used after it", collection.used);
            }
        });
        self.global(collection.end, |out| {
            integer(out, event::TYPE, event_type::SLICE_END);
            integer(out, event::TRACK_UUID, COLLECTIONS);
        });
        true
    }

    fn counter(&mut self, counter: Counter, time: Timestamp, value: i64) -> bool {
        let uuid = match counter {
            Counter::HeapUsed => HEAP_USED,
            Counter::AllocationRate => ALLOCATION_RATE,
            Counter::LiveThreads => LIVE_THREADS,
            Counter::ProcessCpu => PROCESS_CPU,
            Counter::ThreadCpu(index) => {
                self.thread_cpu(index, time, value);
                return true;
            }
        };
        self.process_counter((uuid, counter.name()), time, value);
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        self.global(time, |out| {
            integer(out, event::TYPE, event_type::INSTANT);
            integer(out, event::TRACK_UUID, PROCESS);
            bytes(out, event::NAME, text.as_bytes());
        });
        true
    }

    fn close(&mut self, _: &Names, latest: Timestamp) {
        self.begin_global(latest); // an export without events has a process at least
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn size(&self) -> u64 {
        self.slices
    }
}

fn object_annotations(
    out: &mut Vec<u8>,
    name: &str,
    object: ObjectId,
    class: ClassId,
    names: &Names,
) {
    if !object.is_none() {
        number_annotation(out, name, object.0 as i64);
    }
    if !class.is_none() {
        text_annotation(out, "class", &names.readable_class(class));
    }
}

fn stack(out: &mut Vec<u8>, frames: &[Frame<'_>]) {
    let frames = frames.iter();
    let frames: Vec<_> = frames
        .map(|frame| with_line(&frame.method, frame.line))
        .collect();
    text_annotation(out, "stack", &frames.join("\n"));
}
