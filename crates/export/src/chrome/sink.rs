//! What becomes which events.

use super::events::TraceEvents;
use crate::json::{self, Fields};
use crate::sink::{
    Collection, Counter, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime, program_name,
};
use jtrail_model::names::{Names, with_line};
use jtrail_model::{ClassId, Event, Frame, ObjectId, Timestamp};

impl TraceEvents {
    /// Writes the begin of a wait.
    fn begin_wait(&mut self, names: &Names, begin: ThreadTime, slice: Slice) {
        let owner = match slice {
            Slice::Blocked {
                owner: Some((_, index)),
                ..
            } => Some((index, self.thread_name(index))),
            _ => None,
        };
        self.thread_event((b'B', begin), wait_name(slice), "", |args| match slice {
            Slice::Call(_) => {}
            Slice::Blocked { object, class, .. } => {
                object_args(args, ("object", object), class, names);
                if let Some((_, name)) = &owner {
                    args.text("owner", name);
                }
            }
            Slice::Waiting {
                object,
                class,
                timeout_ms,
            } => {
                object_args(args, ("object", object), class, names);
                if timeout_ms > 0 {
                    args.number("timeout_ms", timeout_ms);
                }
            }
            Slice::Parked { object, class } => {
                object_args(args, ("blocker", object), class, names);
            }
        });
        if let Some((owner, _)) = owner {
            self.flow(owner, begin);
        }
    }

    /// Writes a flow from the owner of a monitor to the begin of a blocked slice, unless readers
    /// could not bind it.
    fn flow(&mut self, owner: ThreadIndex, blocked: ThreadTime) {
        let thread = &self.threads[owner];
        if thread.open == 0 || thread.since > blocked.time {
            return;
        }
        self.last_flow += 1;
        let owning = ThreadTime {
            thread: owner,
            cpu: 0,
            ..blocked
        };
        let id = self.last_flow;
        for (phase, at, bind) in [
            (b's', owning, ""),
            (b'f', blocked, r#","bp":"e""#), // bind to the enclosing slice
        ] {
            let more = format!(r#","cat":"monitor","id":{id}{bind}"#);
            self.thread_event((phase, at), "monitor", &more, |_| {});
        }
    }

    /// Writes an instant of a thread.
    fn thread_instant(
        &mut self,
        (index, time): (ThreadIndex, Timestamp),
        name: &str,
        args: impl FnOnce(&mut Fields<'_>),
    ) {
        let at = ThreadTime {
            thread: index,
            time,
            cpu: 0,
        };
        self.thread_event((b'i', at), name, r#","s":"t""#, args);
    }
}

impl Sink for TraceEvents {
    const TAKES_RATE: bool = true;

    fn open(&mut self) {
        self.out.extend_from_slice(br#"{"traceEvents":["#);
    }

    fn start(&mut self, first: Timestamp) {
        self.first = Some(first);
    }

    fn process(&mut self, id: u64, program: &str) {
        self.process_id = id;
        let name = program_name(program);
        if !name.is_empty() {
            self.metadata(0, "process_name", |args| args.text("name", name));
        }
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        self.define(index, info);
    }

    fn forget_thread(&mut self, index: ThreadIndex) {
        self.threads.remove(index);
    }

    #[inline]
    fn begin(&mut self, names: &Names, begin: ThreadTime, slice: Slice) {
        match slice {
            Slice::Call(method) => self.call_event(b'B', begin, method, names).push(b'}'),
            wait => self.begin_wait(names, begin, wait),
        }
        let thread = &mut self.threads[begin.thread];
        if thread.open == 0 {
            thread.since = begin.time;
        }
        thread.open += 1;
    }

    #[inline]
    fn end(&mut self, names: &Names, end: &End) {
        self.threads[end.end.thread].open -= 1;
        let Slice::Call(method) = end.slice else {
            self.thread_event((b'E', end.end), wait_name(end.slice), "", |_| {});
            return;
        };
        let out = self.call_event(b'E', end.end, method, names);
        if end.by_exception {
            out.extend_from_slice(br#","args":{"ended by":"an exception"}"#);
        }
        out.push(b'}');
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        match event {
            Event::ExceptionThrow(e) => {
                let name = format!("throw {}", names.readable_class(e.class));
                self.thread_instant((index, e.time), &name, |args| stack(args, &e.stack));
            }
            Event::ExceptionCatch(e) => {
                let name = format!("catch {}", names.readable_class(e.class));
                let frame = std::slice::from_ref(&e.frame);
                self.thread_instant((index, e.time), &name, |args| stack(args, frame));
            }
            Event::Sample(e) => self.thread_instant((index, e.time), "sample", |args| {
                args.text("state", e.state.name());
                stack(args, &e.stack);
            }),
            _ => return false,
        }
        true
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        let (tid, name) = (self.collector(), collection.name());
        self.process_event("B", collection.start, |event| {
            event.id("tid", tid);
            event.text("name", &name);
            json::object(event.field("args"), |args| {
                args.text("collector", &collection.collector);
                args.text("cause", &collection.cause);
                if collection.used > 0 {
                    args.number("used", collection.used);
                }
            });
        });
        self.process_event("E", collection.end, |event| {
            event.id("tid", tid);
            event.text("name", &name);
        });
        true
    }

    fn counter(&mut self, counter: Counter, time: Timestamp, value: i64) -> bool {
        let (name, unit) = match counter {
            Counter::HeapUsed => (counter.name().to_owned(), "bytes"),
            Counter::AllocationRate => ("Allocation rate".to_owned(), "bytes per second"),
            // Perfetto's tracks are named after both.
            Counter::LiveThreads => ("Live".to_owned(), "threads"),
            Counter::ProcessCpu => (counter.name().to_owned(), "ns"),
            Counter::ThreadCpu(index) => {
                let (name, tid) = (self.thread_name(index), self.tid(index));
                (format!("CPU time of {name} ({tid})"), "ns")
            }
        };
        self.process_event("C", time, |event| {
            event.text("name", &name);
            json::object(event.field("args"), |args| args.number(unit, value));
        });
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        self.process_event("i", time, |event| {
            event.text("s", "p");
            json::string(event.field("name"), text);
        });
        true
    }

    fn close(&mut self, _: &Names, _: Timestamp) {
        let writer = concat!("jtrail ", env!("CARGO_PKG_VERSION"));
        let start = self.first.map(|first| first.0.to_string());
        let out = &mut self.out;
        out.extend_from_slice(b"\n],\"displayTimeUnit\":\"ns\",\"otherData\":");
        json::object(out, |data| {
            data.text("writer", writer);
            data.text("start", &start.unwrap_or_default());
        });
        out.extend_from_slice(b"}\n");
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        self.taken += self.out.len() as u64;
        out.append(&mut self.out);
    }

    fn size(&self) -> u64 {
        self.taken + self.out.len() as u64
    }
}

fn wait_name(slice: Slice) -> &'static str {
    match slice {
        Slice::Blocked { .. } => "blocked on a monitor",
        Slice::Waiting { .. } => "Object.wait",
        Slice::Parked { .. } => "parked",
        Slice::Call(_) => "",
    }
}

fn object_args(
    args: &mut Fields<'_>,
    (name, object): (&str, ObjectId),
    class: ClassId,
    names: &Names,
) {
    args.id(name, object.0);
    if !class.is_none() {
        args.text("class", &names.readable_class(class));
    }
}

/// Appends the frames of a stack, if there are some.
fn stack(args: &mut Fields<'_>, frames: &[Frame<'_>]) {
    if !frames.is_empty() {
        json::array(args.field("stack"), frames, |out, frame| {
            json::string(out, &with_line(&frame.method, frame.line));
        });
    }
}
