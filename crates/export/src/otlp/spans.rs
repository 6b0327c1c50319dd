//! Open spans, names, batches.

use super::context::{Context, span_id};
use super::resource::Process;
use super::wire::{Message, Span, Value, Wire, nanoseconds};
use super::{MAX_BATCH, MAX_EVENTS};
use crate::per_thread::PerThread;
use crate::sink::{Slice, ThreadIndex, ThreadTime};
use jtrail_model::names::{NO_CLASS, Names};
use jtrail_model::{ClassId, MethodId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

/// What has been written, and what is open.
#[derive(Debug)]
pub(crate) struct Spans<W> {
    pub(super) wire: W,
    pub(super) process: Process,
    /// The process's number in ids.
    pub(super) process_hash: u64,
    pub(super) threads: PerThread<Thread>,
    methods: FxHashMap<MethodId, Named>,
    waits: FxHashMap<&'static str, Named>,
    /// Marks, with their times.
    pub(super) marks: Vec<(Timestamp, String)>,
    /// Spans of the current batch.
    batch: Vec<u8>,
    pub(super) out: Vec<u8>,
    /// Room for the attributes of one span.
    pub(super) attributes: Vec<u8>,
    /// Maximum number of spans in a trace.
    pub(super) largest: u64,
}

/// What spans of one name have in common, as the format writes it.
#[derive(Debug, Default)]
struct Named {
    name: Vec<u8>,
    attributes: Vec<u8>,
}

/// A thread with its open slices.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) name: String,
    /// The attributes of its spans, as the format writes them.
    pub(super) attributes: Vec<u8>,
    pub(super) open: Vec<Open>,
    /// The latest begin of a span.
    latest: Timestamp,
    /// What began at that time, and how often.
    begun: Vec<(u64, u64)>,
    /// Number of spans in the current trace.
    trace_len: u64,
    /// The latest throw.
    pub(super) thrown: Option<(Timestamp, ClassId)>,
    /// CPU time at the latest end of a call, in ns.
    pub(super) cpu: i64,
}

/// An open slice.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The span's ids. A wait outside of spans has the span id 0.
    pub(super) context: Context,
    /// The parent's span id; 0 for none.
    pub(super) parent: u64,
    pub(super) is_call: bool,
    pub(super) begin: Timestamp,
    /// Number and bytes of allocated objects.
    pub(super) objects: u64,
    pub(super) bytes: i64,
    /// What only few spans have.
    pub(super) details: Option<Box<Details>>,
}

/// Events, links and further attributes of a span, as the format writes them.
#[derive(Debug, Default)]
pub(super) struct Details {
    pub(super) attributes: Vec<u8>,
    events: Vec<u8>,
    event_count: u32,
    dropped_events: u32,
    pub(super) links: Vec<u8>,
}

impl Open {
    pub(super) fn is_span(&self) -> bool {
        self.context.span != 0
    }

    pub(super) fn details(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    /// Adds an event, if there is room for it.
    pub(super) fn add_event(
        &mut self,
        wire: &impl Wire,
        time: Timestamp,
        name: &str,
        attributes: &[u8],
    ) {
        let details = self.details();
        if details.event_count < MAX_EVENTS {
            details.event_count += 1;
            wire.event(&mut details.events, nanoseconds(time), name, attributes);
        } else {
            details.dropped_events = details.dropped_events.saturating_add(1);
        }
    }
}

impl Thread {
    /// Returns the innermost open call that is a span.
    pub(super) fn innermost_call(&mut self) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.is_call)
    }

    /// Returns the id of the next span. `what` identifies the method or the kind of wait.
    #[inline]
    fn next_id(&mut self, process_hash: u64, begin: Timestamp, what: u64) -> u64 {
        if self.latest != begin {
            self.latest = begin;
            self.begun.clear();
        }
        let repeated = match self.begun.iter_mut().find(|(begun, _)| *begun == what) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.begun.push((what, 0));
                0
            }
        };
        span_id([process_hash, self.id.0, begin.0 as u64, what, repeated])
    }

    /// Begins a slice, which is a span unless it is a wait outside of spans. Returns the number of
    /// spans in its trace.
    #[inline]
    pub(super) fn begin(&mut self, process_hash: u64, begin: ThreadTime, slice: Slice) -> u64 {
        let (is_call, what) = match slice {
            Slice::Call(method) => (true, method.0),
            Slice::Blocked { .. } => (false, u64::MAX),
            Slice::Waiting { .. } => (false, u64::MAX - 1),
            Slice::Parked { .. } => (false, u64::MAX - 2),
        };
        let mut open = Open {
            is_call,
            begin: begin.time,
            ..Open::default()
        };
        match self.open.last().filter(|open| open.is_span()) {
            Some(enclosing) => {
                let enclosing = enclosing.context;
                let id = self.next_id(process_hash, begin.time, what);
                (open.context, open.parent) = (enclosing.inner(id), enclosing.span);
                self.trace_len += 1;
            }
            None if is_call => {
                let id = self.next_id(process_hash, begin.time, what);
                open.context = Context::outermost(process_hash, id);
                self.trace_len = 1;
            }
            None => {}
        }
        self.open.push(open);
        self.trace_len
    }
}

impl<W: Wire> Spans<W> {
    /// Creates an empty export. An empty `service` stands for the name of the program.
    pub(crate) fn new(wire: W, service: String) -> Self {
        let process = Process::new(service);
        Self {
            wire,
            process_hash: process.hash(),
            process,
            threads: PerThread::default(),
            methods: FxHashMap::default(),
            waits: FxHashMap::default(),
            marks: Vec::new(),
            batch: Vec::new(),
            out: Vec::new(),
            attributes: Vec::new(),
            largest: 0,
        }
    }

    pub(super) fn thread_mut(&mut self, index: ThreadIndex) -> &mut Thread {
        &mut self.threads[index]
    }

    /// Writes a span of a thread, with the attributes in `self.attributes`.
    #[inline]
    pub(super) fn write(
        &mut self,
        names: &Names,
        (index, slice): (ThreadIndex, Slice),
        open: &Open,
        (end, error): (Timestamp, Option<&str>),
    ) {
        let wire = &self.wire;
        let named = match slice {
            Slice::Call(method) => {
                let new = || name_method(wire, names, method);
                self.methods.entry(method).or_insert_with(new)
            }
            wait => {
                let (name, _) = wait_name(wait);
                let new = || name_wait(wire, wait);
                self.waits.entry(name).or_insert_with(new)
            }
        };
        let none = Details::default();
        let details = open.details.as_deref().unwrap_or(&none);
        let thread = &self.threads[index].attributes;
        let span = Span {
            context: open.context,
            parent: open.parent,
            name: &named.name,
            start: nanoseconds(open.begin),
            end: nanoseconds(end),
            attributes: [&named.attributes, thread, &self.attributes],
            events: &details.events,
            dropped_events: details.dropped_events,
            links: &details.links,
            error,
        };
        wire.span(&mut self.batch, &span);
        if self.batch.len() >= MAX_BATCH {
            self.end_batch();
        }
    }

    /// Writes the spans of the current batch, if there are some.
    pub(super) fn end_batch(&mut self) {
        if !self.batch.is_empty() {
            let resource = self.process.attributes(&self.wire);
            self.wire.batch(&mut self.out, &resource, &self.batch);
            self.batch.clear();
        }
    }

    /// Writes the marks as a trace of one span.
    pub(super) fn write_marks(&mut self) {
        let marks = std::mem::take(&mut self.marks);
        let (Some((first, _)), Some((last, _))) = (marks.first(), marks.last()) else {
            return;
        };
        let id = span_id([self.process_hash, u64::MAX, first.0 as u64, 0, 0]);
        let mut name = Vec::new();
        self.wire.name(&mut name, "marks");
        let mut events = Vec::new();
        for (time, text) in &marks {
            let mut attributes = Vec::new();
            let text = Value::Text(text);
            self.wire
                .attribute(&mut attributes, Message::Event, "jtrail.text", text);
            let time = nanoseconds(*time);
            self.wire.event(&mut events, time, "mark", &attributes);
        }
        let span = Span {
            context: Context::outermost(self.process_hash, id),
            parent: 0,
            name: &name,
            start: nanoseconds(*first),
            end: nanoseconds(*last),
            attributes: [&[]; 3],
            events: &events,
            dropped_events: 0,
            links: &[],
            error: None,
        };
        self.wire.span(&mut self.batch, &span);
    }
}

/// Returns the name of a wait's span, and the kind of wait in a word.
fn wait_name(wait: Slice) -> (&'static str, &'static str) {
    match wait {
        Slice::Blocked { .. } => ("blocked on a monitor", "blocked"),
        Slice::Waiting { .. } => ("Object.wait", "waiting"),
        Slice::Parked { .. } | Slice::Call(_) => ("parked", "parked"),
    }
}

fn name_wait(wire: &impl Wire, wait: Slice) -> Named {
    let mut named = Named::default();
    let (name, kind) = wait_name(wait);
    wire.name(&mut named.name, name);
    let kind = Value::Text(kind);
    wire.attribute(&mut named.attributes, Message::Span, "jtrail.wait", kind);
    named
}

fn name_method(wire: &impl Wire, names: &Names, id: MethodId) -> Named {
    let mut named = Named::default();
    let mut attribute = |key, text: &str| {
        wire.attribute(&mut named.attributes, Message::Span, key, Value::Text(text));
    };
    let Some(method) = names.method(id) else {
        let name = names.readable_method(id);
        attribute("code.function.name", &name);
        wire.name(&mut named.name, &name);
        return named;
    };
    let class = names.class(method.class);
    let in_class = |class: &str| match class {
        NO_CLASS => method.name.clone(),
        class => format!("{class}.{}", method.name),
    };
    attribute("code.function.name", &in_class(&class));
    attribute("jtrail.descriptor", &method.signature);
    wire.name(&mut named.name, &in_class(without_package(&class)));
    named
}

/// Returns a class's name without its package.
pub(super) fn without_package(class: &str) -> &str {
    // The name of a hidden class has a dot after the `$`: `a.B$$Lambda.0x7f00`.
    let end = class.find('$').unwrap_or(class.len());
    match class[..end].rfind('.') {
        Some(dot) => &class[dot + 1..],
        None => class,
    }
}
