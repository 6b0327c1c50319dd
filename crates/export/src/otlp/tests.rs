use super::Format;
use crate::filter::CallFilter;
use crate::target::{Options, Target};
use crate::testing::*;
use jtrail_model::*;
use read::{ReadSpan, read_json, read_protobuf};
use std::collections::BTreeMap;

mod formats;
mod read;

/// Returns the bytes of an export.
fn encode(filter: CallFilter, format: Format, events: &[Event<'_>]) -> (Vec<u8>, u64) {
    let options = Options {
        filter,
        otlp_format: format,
        service: "shop".to_owned(),
        ..Options::default()
    };
    let (mut encoder, mut out) = (Target::Otlp.encoder(options), Vec::new());
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    (out, encoder.size())
}

/// Returns the spans of an export by name. Both formats have the same ones.
fn export(filter: impl Fn() -> CallFilter, events: &[Event<'_>]) -> Vec<ReadSpan> {
    let (protobuf, _) = encode(filter(), Format::Protobuf, events);
    let (json, _) = encode(filter(), Format::Json, events);
    let spans = read_protobuf(&protobuf);
    assert_eq!(spans, read_json(&json));
    spans
}

fn find<'s>(spans: &'s [ReadSpan], name: &str) -> &'s ReadSpan {
    let mut found = spans.iter().filter(|span| span.name == name);
    let span = found.next().expect("a span");
    assert_eq!(found.next(), None, "one span is named {name}");
    span
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    let owned = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    owned.into_iter().collect()
}

fn throws(thread: u64, ns: i64) -> Event<'static> {
    Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(thread),
        time: time(ns),
        class: ClassId(2),
        stack: vec![frame("a.B.inner(I)V", 7), frame("a.B.outer(I)V", -1)],
        ..ExceptionThrow::default()
    })
}

fn leave_by_exception(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    match leave(thread, ns, method, ticket) {
        Event::MethodLeave(leave) => Event::MethodLeave(MethodLeave {
            by_exception: true,
            ..leave
        }),
        other => other,
    }
}

/// Two threads, of which one holds a monitor that the other needs.
fn scene() -> Vec<Event<'static>> {
    vec![
        Event::Node(Node {
            hostname: "vm".into(),
            ..Node::default()
        }),
        Event::ProcessCreate(Box::new(ProcessCreate {
            pid: 42,
            ..ProcessCreate::default()
        })),
        Event::AgentCreate(Box::new(AgentCreate {
            process_id: "run-1".into(),
            version: "9.8".into(),
            ..AgentCreate::default()
        })),
        thread(1, 0, "main", "main"),
        thread(2, 0, "worker \"1\"", "main"),
        class(1, "a.B"),
        class(2, "a.Oops"),
        method(1, "outer"),
        method(2, "inner"),
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        enter(2, 25, 1, 1),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(2),
            time: time(26),
            object: ObjectId(5),
            owner: ThreadId(1),
            stack: Vec::new(),
        }),
        throws(1, 28),
        leave_by_exception(1, 30, 2, 2),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(2),
            time: time(31),
            object: ObjectId(5),
            stack: Vec::new(),
        }),
        leave(1, 40, 1, 1),
        park(1, 45),
        leave(2, 50, 1, 1),
    ]
}

#[test]
fn calls_and_waits_are_spans_of_one_trace_for_each_outermost_call() {
    let spans = export(CallFilter::default, &scene());
    let lengths = |span: &ReadSpan| (span.name.clone(), span.start - START, span.end - START);
    let expected = [
        ("B.inner", 20, 30),
        ("blocked on a monitor", 26, 31),
        ("B.outer", 10, 40),
        ("B.outer", 25, 50),
    ];
    let expected = expected.map(|(name, start, end)| (name.to_owned(), start, end));
    assert_eq!(spans.iter().map(lengths).collect::<Vec<_>>(), expected);
    let [inner, blocked, main, worker] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(
        (&main.parent, &worker.parent),
        (&String::new(), &String::new())
    );
    assert_eq!((&inner.parent, &inner.trace), (&main.id, &main.trace));
    assert_eq!(
        (&blocked.parent, &blocked.trace),
        (&worker.id, &worker.trace)
    );
    assert_ne!(main.trace, worker.trace);
    assert_eq!(main.trace[..16], worker.trace[..16]);
    let attributes = pairs([
        ("code.function.name", "a.B.inner"),
        ("jtrail.descriptor", "(I)V"),
        ("thread.id", "1"),
        ("thread.name", "main"),
        ("error.type", "a.Oops"),
    ]);
    assert_eq!(inner.attributes, attributes);
    assert_eq!(inner.error, Some("a.Oops".to_owned()));
    assert_eq!((&main.error, main.kind), (&None, 1));
    let attributes = pairs([
        ("jtrail.wait", "blocked"),
        ("jtrail.object", "5"),
        ("jtrail.owner", "main"),
        ("thread.id", "2"),
        ("thread.name", "worker \"1\""),
    ]);
    assert_eq!(blocked.attributes, attributes);
    let link = (inner.trace.clone(), inner.id.clone());
    assert_eq!(blocked.links, [link]);
    let thrown = pairs([
        ("exception.type", "a.Oops"),
        (
            "exception.stacktrace",
            "a.Oops\n\tat a.B.inner(int):7\n\tat a.B.outer(int)",
        ),
    ]);
    assert_eq!(inner.events, [(START + 28, "exception".to_owned(), thrown)]);
    assert_eq!((main.events.len(), main.links.len()), (0, 0));
    let resource = pairs([
        ("service.name", "shop"),
        ("service.instance.id", "run-1"),
        ("process.pid", "42"),
        ("host.name", "vm"),
        ("telemetry.sdk.name", "jtrail"),
        ("telemetry.sdk.language", "java"),
        ("telemetry.sdk.version", "9.8"),
    ]);
    assert_eq!(main.resource, resource);
    assert_eq!(main.scope, format!("jtrail {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_span_has_the_same_ids_with_any_selection() {
    let only = |name: &'static str| {
        move || {
            let selects = move |names: &jtrail_model::names::Names, id| {
                names.method(id).is_some_and(|method| method.name == name)
            };
            CallFilter::new(Duration(0), None, Some(Box::new(selects)))
        }
    };
    let (all, again) = (
        export(CallFilter::default, &scene()),
        export(CallFilter::default, &scene()),
    );
    assert_eq!(all, again);
    let outer = export(only("outer"), &scene());
    let ids = |spans: &[ReadSpan]| -> Vec<_> {
        let outer = spans.iter().filter(|span| span.name == "B.outer");
        outer.map(|s| (s.trace.clone(), s.id.clone())).collect()
    };
    assert_eq!(ids(&outer), ids(&all));
    // The outermost selected call begins a trace.
    let inner = export(only("inner"), &scene());
    let [inner] = &inner[..] else {
        panic!("waits outside of spans are omitted: {inner:?}");
    };
    assert_eq!((&inner.name[..], &inner.parent[..]), ("B.inner", ""));
    assert_eq!(inner.id, find(&all, "B.inner").id);
    // The link leads to what is a span.
    let link = (outer[1].trace.clone(), outer[1].id.clone());
    assert_eq!(find(&outer, "blocked on a monitor").links, [link]);
}

#[test]
fn the_nearest_selected_call_is_the_parent() {
    let events = [
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "hidden"),
        method(3, "inner"),
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        throws(1, 21),
        alloc(1, 22, 100),
        enter(1, 30, 3, 3),
        alloc(1, 32, 8),
        leave(1, 40, 3, 3),
        leave_by_exception(1, 50, 2, 2),
        leave_by_exception(1, 60, 1, 1),
        alloc(1, 70, 1000),
    ];
    let filter = || {
        let selects = |names: &jtrail_model::names::Names, id| {
            names
                .method(id)
                .is_some_and(|method| method.name != "hidden")
        };
        CallFilter::new(Duration(0), None, Some(Box::new(selects)))
    };
    let spans = export(filter, &events);
    let (outer, inner) = (find(&spans, "B.outer"), find(&spans, "B.inner"));
    assert_eq!((spans.len(), &inner.parent), (2, &outer.id));
    // What happens in the hidden call belongs to the span around it.
    assert_eq!(outer.events[0].1, "exception");
    assert_eq!(outer.error, Some("class-2".to_owned()));
    let allocated = |span: &ReadSpan| {
        let keys = ["jtrail.allocated_objects", "jtrail.allocated_bytes"];
        keys.map(|key| span.attributes[key].clone())
    };
    assert_eq!(allocated(outer), ["2", "108"]);
    assert_eq!(allocated(inner), ["1", "8"]);
}

#[test]
fn waits_and_collections_have_lengths() {
    let collect = [
        Event::GcStart(GcStart { time: time(22) }),
        Event::GcDetail(GcDetail {
            time: time(22),
            collector: "G1".into(),
            cause: "System.gc()".into(),
            generation: Generation::Full,
        }),
        Event::GcFinish(GcFinish {
            time: time(29),
            ..GcFinish::default()
        }),
    ];
    let mut events = vec![
        class(1, "a.B"),
        method(1, "m"),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(5),
            class: ClassId(1),
            ..ObjectDef::default()
        }),
        enter(1, 10, 1, 1),
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(1),
            time: time(20),
            object: ObjectId(5),
            timeout_ms: 3,
            stack: Vec::new(),
        }),
    ];
    events.extend(collect);
    events.extend([
        Event::MonitorWaited(MonitorWaited {
            thread: ThreadId(1),
            time: time(30),
            ..MonitorWaited::default()
        }),
        park(1, 40),
        leave(1, 60, 1, 1),
    ]);
    let spans = export(CallFilter::default, &events);
    let waited = find(&spans, "Object.wait");
    let attributes = pairs([
        ("jtrail.wait", "waiting"),
        ("jtrail.object", "5"),
        ("jtrail.class", "a.B"),
        ("jtrail.timeout_ms", "3"),
        ("thread.id", "1"),
        ("thread.name", "thread-1"),
    ]);
    assert_eq!(waited.attributes, attributes);
    assert_eq!(waited.end - waited.start, 10);
    let parked = find(&spans, "parked");
    assert_eq!((parked.start, parked.end), (START + 40, START + 60));
    let attributes = pairs([
        ("jtrail.duration_ns", "7"),
        ("jvm.gc.name", "G1"),
        ("jvm.gc.cause", "System.gc()"),
    ]);
    let collection = (START + 22, "full collection".to_owned(), attributes);
    assert_eq!(find(&spans, "B.m").events, [collection]);
}

#[test]
fn marks_are_events_of_the_last_span() {
    let lost = Note::Lost(Lost {
        events: 7,
        reason: "overflow".into(),
        ..Lost::default()
    });
    let lost = lost.to_string();
    let events = [
        enter(1, 10, 1, 1),
        mark("</script>\u{0}"),
        leave(1, 20, 1, 1),
        mark(&lost),
    ];
    let spans = export(CallFilter::default, &events);
    let marks = spans.last().expect("a span");
    let mark = |ns, text| {
        (
            START + ns,
            "mark".to_owned(),
            pairs([("jtrail.text", text)]),
        )
    };
    let texts = [
        mark(10, "</script>\u{0}"),
        mark(20, "jtrail: 7 events are missing (overflow)"),
    ];
    assert_eq!((&marks.name[..], &marks.events[..]), ("marks", &texts[..]));
    assert_eq!((marks.start, marks.end), (START + 10, START + 20));
    assert_eq!(spans[0].name, "method-1");
    assert_ne!(spans[0].trace, marks.trace);
}

#[test]
fn a_span_has_room_for_a_limited_number_of_events() {
    let mut events = vec![enter(1, 0, 1, 1)];
    events.extend((1..=130).map(|ns| throws(1, ns)));
    let spans = export(CallFilter::default, &events);
    let span = &spans[0];
    assert_eq!((span.events.len(), span.dropped_events), (128, 2));
}

#[test]
fn cpu_time_is_that_of_the_thread() {
    let with_cpu = |event, cpu| match event {
        Event::MethodEnter(e) => Event::MethodEnter(MethodEnter {
            cpu_time: Duration(cpu),
            ..e
        }),
        Event::MethodLeave(e) => Event::MethodLeave(MethodLeave {
            cpu_time: Duration(cpu),
            ..e
        }),
        other => other,
    };
    let events = [
        with_cpu(enter(1, 10, 1, 1), 1000),
        with_cpu(enter(1, 20, 2, 2), 1003),
        with_cpu(leave(1, 30, 2, 2), 1005),
        leave(1, 40, 1, 1),
    ];
    let spans = export(CallFilter::default, &events);
    let cpu = spans
        .iter()
        .map(|s| s.attributes["jtrail.cpu_time_ns"].as_str());
    assert_eq!(cpu.collect::<Vec<_>>(), ["2", "5"]);
}

/// A collector gets the spans of all files, so ids must differ.
#[test]
fn files_are_of_one_process() {
    let first = [
        Event::Node(Node {
            hostname: "machine".into(),
            ..Node::default()
        }),
        process(71),
        thread(1, 0, "main", "main"),
        class(1, "a.B"),
        class(2, "a.Oops"),
        method(1, "f"),
        enter(1, 10, 1, 1),
        leave(1, 10, 1, 1),
        enter(1, 20, 1, 2),
        leave(1, 30, 1, 2),
        throws(1, 30),
    ];
    let second = [
        enter(1, 30, 1, 3),
        leave_by_exception(1, 30, 1, 3),
        enter(1, 30, 1, 4),
        leave(1, 40, 1, 4),
    ];
    for at in 0..=second.len() {
        let (middle, last) = second.split_at(at);
        let parts = [&first[..], middle, last];
        let new = || super::Spans::new(super::Protobuf, "shop".to_owned());
        let files = encode_parts(new, &parts);
        let spans: Vec<_> = files.iter().flat_map(|file| read_protobuf(file)).collect();
        let mut ids: Vec<_> = spans.iter().map(|span| &span.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), spans.len(), "{at}");
        assert!(spans.iter().all(|span| span.resource == spans[0].resource));
        assert_eq!(spans[0].resource["host.name"], "machine");
        let error = spans.iter().find(|span| span.error.is_some());
        let error = error.expect("a call that an exception ended");
        assert_eq!(error.attributes["error.type"], "a.Oops", "{at}");
    }
}
