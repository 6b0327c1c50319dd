//! What becomes spans, and what events of spans.

use super::spans::{Open, Spans};
use super::wire::{Message, Value, Wire};
use crate::sink::{Collection, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::names::{Names, readable_signature, with_line};
use jtrail_model::{Event, Frame, Timestamp};
use std::fmt::Write;

/// Maximum number of marks that are kept until the end.
const MAX_MARKS: usize = 10_000;

impl<W: Wire> Spans<W> {
    /// Adds what is known of a wait to its span, which is the innermost one of the thread.
    fn describe_wait(&mut self, names: &Names, index: ThreadIndex, wait: Slice) {
        let (object, class) = match wait {
            Slice::Call(_) => return,
            Slice::Blocked { object, class, .. }
            | Slice::Waiting { object, class, .. }
            | Slice::Parked { object, class } => (object, class),
        };
        let wire = &self.wire;
        let (mut attributes, mut links) = (Vec::new(), Vec::new());
        let mut add =
            |key, value: Value<'_>| wire.attribute(&mut attributes, Message::Span, key, value);
        if !object.is_none() {
            add("jtrail.object", Value::Number(object.0 as i64));
        }
        if !class.is_none() {
            add("jtrail.class", Value::Text(&names.readable_class(class)));
        }
        match wait {
            Slice::Waiting { timeout_ms, .. } if timeout_ms > 0 => {
                add("jtrail.timeout_ms", Value::Number(timeout_ms));
            }
            Slice::Blocked {
                owner: Some((_, owner)),
                ..
            } => {
                let owner = &mut self.threads[owner];
                add("jtrail.owner", Value::Text(&owner.name));
                if let Some(call) = owner.innermost_call() {
                    let mut attributes = Vec::new();
                    let role = Value::Text("owner of the monitor");
                    wire.attribute(&mut attributes, Message::Link, "jtrail.link", role);
                    wire.link(&mut links, call.context, &attributes);
                }
            }
            _ => {}
        }
        let open = &mut self.threads[index].open;
        if let Some(open) = open.last_mut().filter(|open| open.is_span()) {
            let details = open.details();
            (details.attributes, details.links) = (attributes, links);
        }
    }

    /// Collects the attributes that only this span has.
    fn span_attributes(&mut self, open: &Open, cpu: i64, error: Option<&str>) {
        self.attributes.clear();
        if let Some(details) = &open.details {
            self.attributes.extend(&details.attributes);
        }
        let (wire, out) = (&self.wire, &mut self.attributes);
        let bytes = (open.objects > 0).then_some(open.bytes);
        for (key, number) in [
            ("jtrail.cpu_time_ns", Some(cpu).filter(|cpu| *cpu > 0)),
            (
                "jtrail.allocated_objects",
                bytes.map(|_| open.objects as i64),
            ),
            ("jtrail.allocated_bytes", bytes),
        ] {
            if let Some(number) = number {
                wire.attribute(out, Message::Span, key, Value::Number(number));
            }
        }
        if let Some(class) = error.filter(|class| !class.is_empty()) {
            wire.attribute(out, Message::Span, "error.type", Value::Text(class));
        }
    }

    /// Adds an event to the innermost call of a thread, if there is one.
    fn add_event(
        &mut self,
        index: ThreadIndex,
        (time, name): (Timestamp, &str),
        attributes: &[(&str, Value<'_>)],
    ) {
        let wire = &self.wire;
        if let Some(call) = self.threads[index].innermost_call() {
            let mut out = Vec::new();
            for (key, value) in attributes {
                wire.attribute(&mut out, Message::Event, key, *value);
            }
            call.add_event(wire, time, name, &out);
        }
    }

    /// Adds allocated objects to the innermost slice of a thread, if there is one.
    fn allocate(&mut self, index: ThreadIndex, objects: u64, bytes: i64) {
        if let Some(open) = self.threads[index].open.last_mut() {
            open.objects = open.objects.saturating_add(objects);
            open.bytes = open.bytes.saturating_add(bytes);
        }
    }
}

impl<W: Wire> Sink for Spans<W> {
    const TAKES_ALLOCATIONS: bool = true;

    fn continue_from(&mut self, ended: Self) {
        *self = ended;
        self.largest = 0;
    }

    fn process(&mut self, id: u64, program: &str) {
        (self.process.id, self.process.program) = (id, program.to_owned());
        self.process_hash = self.process.hash();
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let mut attributes = Vec::new();
        let mut add = |key, value| {
            self.wire
                .attribute(&mut attributes, Message::Span, key, value);
        };
        add("thread.id", Value::Number(info.id.0 as i64));
        if !info.name.is_empty() {
            add("thread.name", Value::Text(&info.name));
        }
        let thread = self.thread_mut(index);
        (thread.id, thread.name) = (info.id, info.name.clone());
        thread.attributes = attributes;
    }

    fn forget_thread(&mut self, index: ThreadIndex) {
        self.threads.remove(index);
    }

    #[inline]
    fn begin(&mut self, names: &Names, begin: ThreadTime, slice: Slice) {
        let thread = &mut self.threads[begin.thread];
        let trace_len = thread.begin(self.process_hash, begin, slice);
        self.largest = self.largest.max(trace_len);
        if !slice.is_call() {
            self.describe_wait(names, begin.thread, slice);
        }
    }

    #[inline]
    fn end(&mut self, names: &Names, end: &End) {
        let index = end.end.thread;
        let thread = &mut self.threads[index];
        let Some(open) = thread.open.pop() else {
            return;
        };
        if let Some(enclosing) = thread.open.last_mut() {
            enclosing.objects = enclosing.objects.saturating_add(open.objects);
            enclosing.bytes = enclosing.bytes.saturating_add(open.bytes);
        }
        if !open.is_span() {
            return;
        }
        thread.cpu = thread.cpu.max(end.end.cpu);
        let cpu = match end.begin.cpu {
            0 => 0,
            begin => thread.cpu.saturating_sub(begin),
        };
        let error = end.by_exception.then(|| {
            let thrown = thread.thrown.filter(|(time, _)| *time >= open.begin);
            thrown.map_or(String::new(), |(_, class)| names.readable_class(class))
        });
        self.span_attributes(&open, cpu, error.as_deref());
        let ended = (end.end.time, error.as_deref());
        self.write(names, (index, end.slice), &open, ended);
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        match event {
            Event::ExceptionThrow(e) => {
                self.threads[index].thrown = Some((e.time, e.class));
                let class = names.readable_class(e.class);
                let stack = stack_trace(&class, &e.stack);
                let class = ("exception.type", Value::Text(&class));
                let stack = ("exception.stacktrace", Value::Text(&stack));
                self.add_event(index, (e.time, "exception"), &[class, stack]);
            }
            Event::ExceptionCatch(e) => {
                let class = names.readable_class(e.class);
                let handler = site(&e.frame);
                let class = ("exception.type", Value::Text(&class));
                let handler = ("jtrail.handler", Value::Text(&handler));
                self.add_event(index, (e.time, "catch"), &[class, handler]);
            }
            Event::ObjectAlloc(e) => self.allocate(index, 1, e.size),
            Event::AllocationSum(e) => {
                let bytes = i64::try_from(e.bytes).unwrap_or(i64::MAX);
                self.allocate(index, e.objects, bytes);
            }
            _ => return false,
        }
        true
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        let Collection { start, end, .. } = *collection;
        let name = collection.name();
        let mut attributes = vec![("jtrail.duration_ns", Value::Number(end.since(start).0))];
        for (key, text) in [
            ("jvm.gc.name", &collection.collector),
            ("jvm.gc.cause", &collection.cause),
        ] {
            if !text.is_empty() {
                attributes.push((key, Value::Text(text)));
            }
        }
        for index in self.threads.indices() {
            let call = self.threads[index].innermost_call();
            if call.is_some_and(|call| call.begin <= start) {
                self.add_event(index, (start, &name), &attributes);
            }
        }
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        let has_room = self.marks.len() < MAX_MARKS;
        if has_room {
            self.marks.push((time, text.to_owned()));
        }
        has_room
    }

    fn other(&mut self, _: &Names, event: &Event<'_>) -> bool {
        let is_known = self.process.event(event);
        if is_known {
            self.process_hash = self.process.hash();
        }
        is_known
    }

    fn close(&mut self, _: &Names, _: Timestamp) {
        self.write_marks();
        self.end_batch();
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn size(&self) -> u64 {
        self.largest
    }
}

/// Returns a stack like `Throwable.printStackTrace` prints it, but with the parameters of methods.
fn stack_trace(class: &str, stack: &[Frame<'_>]) -> String {
    let mut text = class.to_owned();
    for frame in stack {
        let _ = write!(text, "\n\tat {}", site(frame)); // writing to a String can't fail
    }
    text
}

/// Returns a frame as text: `com.acme.Shop.pay(Order, int):12`.
fn site(frame: &Frame<'_>) -> String {
    let method = match frame.method.find('(') {
        Some(at) => {
            let (name, signature) = frame.method.split_at(at);
            format!("{name}{}", readable_signature(signature))
        }
        None => frame.method.to_string(),
    };
    with_line(&method, frame.line)
}
