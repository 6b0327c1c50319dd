//! Events for tests of targets.

use crate::filter::CallFilter;
use crate::sink::Sink;
use crate::target::Export;
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::*;
use std::sync::Mutex;

/// The time that tests count from.
pub(crate) const START: i64 = 1_700_000_000_000_000_000;

/// Returns what a sink writes for all calls of a trace.
pub(crate) fn encode(sink: impl Sink + 'static, events: &[Event<'_>]) -> Vec<u8> {
    encode_selected(CallFilter::default(), sink, events)
}

/// Returns what a sink writes for the selected calls of a trace.
pub(crate) fn encode_selected(
    filter: CallFilter,
    sink: impl Sink + 'static,
    events: &[Event<'_>],
) -> Vec<u8> {
    let sink = Mutex::new(Some(sink));
    let only_sink = move || sink.lock().expect("one thread").take().expect("one file");
    let (mut encoder, mut out) = (Timeline::new(filter, only_sink), Vec::new());
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    out
}

/// Returns the files that sinks write for a trace, each from one part of the trace.
pub(crate) fn encode_parts<S: Sink + 'static>(
    make_sink: impl Fn() -> S + Send + 'static,
    parts: &[&[Event<'_>]],
) -> Vec<Vec<u8>> {
    let mut encoder = Timeline::new(CallFilter::default(), make_sink);
    let (mut files, mut out) = (Vec::new(), Vec::new());
    encoder.begin(&mut out);
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            let mut begin = Vec::new();
            encoder.split(&mut out, &mut begin);
            files.push(std::mem::replace(&mut out, begin));
        }
        for event in *part {
            encoder.event(event, &mut out);
        }
    }
    encoder.end(&mut out);
    files.push(out);
    files
}

/// Returns a time of a trace from its distance to [`START`] in ns.
pub(crate) fn time(ns: i64) -> Timestamp {
    Timestamp(START + ns)
}

/// Tells the process `/opt/jdk/bin/java`.
pub(crate) fn process(pid: i32) -> Event<'static> {
    Event::ProcessCreate(Box::new(ProcessCreate {
        pid,
        time: time(0),
        executable: "/opt/jdk/bin/java".into(),
        ..ProcessCreate::default()
    }))
}

/// Starts a thread.
pub(crate) fn thread(id: u64, ns: i64, name: &'static str, group: &'static str) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        time: time(ns),
        name: name.into(),
        group: group.into(),
        ..ThreadStart::default()
    })
}

/// Defines a method `name(int)` of class 1.
pub(crate) fn method(id: u64, name: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(1),
        name: name.into(),
        signature: "(I)V".into(),
        ..MethodDef::default()
    })
}

/// Defines a class.
pub(crate) fn class(id: u64, name: &'static str) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class: ClassId(id),
        name: name.into(),
        ..ClassDef::default()
    })
}

/// Begins a call.
pub(crate) fn enter(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        ticket,
        ..MethodEnter::default()
    })
}

/// Ends a call.
pub(crate) fn leave(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        ticket,
        ..MethodLeave::default()
    })
}

/// Allocates an object of this size.
pub(crate) fn alloc(thread: u64, ns: i64, size: i64) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        thread: ThreadId(thread),
        time: time(ns),
        size,
        ..ObjectAlloc::default()
    })
}

/// Parks a thread, without a blocker.
pub(crate) fn park(thread: u64, ns: i64) -> Event<'static> {
    Event::ThreadPark(ThreadPark {
        thread: ThreadId(thread),
        time: time(ns),
        ..ThreadPark::default()
    })
}

/// Ends the park of a thread.
pub(crate) fn unpark(thread: u64, ns: i64) -> Event<'static> {
    Event::ThreadUnpark(ThreadUnpark {
        thread: ThreadId(thread),
        time: time(ns),
    })
}

/// Begins calls of a method that were recorded as a sum, with their self time in ns.
pub(crate) fn begin_sum(thread: u64, method: u64, calls: i64, ns: i64) -> Event<'static> {
    Event::AggregatedEnter(AggregatedEnter {
        thread: ThreadId(thread),
        method: MethodId(method),
        base_time: Duration(ns),
        calls,
        ..AggregatedEnter::default()
    })
}

/// Ends calls of a method that were recorded as a sum.
pub(crate) fn end_sum(thread: u64, method: u64) -> Event<'static> {
    Event::AggregatedLeave(AggregatedLeave {
        thread: ThreadId(thread),
        method: MethodId(method),
    })
}

/// Marks the trace with a text.
pub(crate) fn mark(text: &str) -> Event<'_> {
    Event::Custom(Custom { body: text.into() })
}

/// Returns a frame of a recorded stack.
pub(crate) fn frame(method: &'static str, line: i64) -> Frame<'static> {
    let method = method.into();
    Frame { method, line }
}

/// Returns calls of `a.B.outer` and `a.B.inner` on the threads `main` and `second`. Thread `main`
/// allocates in a call, and outside of calls.
pub(crate) fn program(second: &'static str) -> Vec<Event<'static>> {
    vec![
        thread(1, 0, "main", "main"),
        thread(2, 0, second, "main"),
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "inner"),
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        alloc(1, 25, 48),
        leave(1, 30, 2, 2),
        leave(1, 40, 1, 1),
        alloc(1, 41, 16),
        enter(2, 50, 1, 1),
        leave(2, 57, 1, 1),
    ]
}

/// Names that break careless writers.
pub(crate) const ODD_NAMES: [&str; 8] = [
    "\"quoted\"",
    "back\\slash\\",
    "</script><!--",
    "\0\u{1}\u{8}\t\r\n\u{1f}\u{7f}",
    "\u{2028}\u{2029}",
    "😀 é 名前",
    "a,b;c:d{e}[f]",
    "",
];
