//! ProfilerJ snapshots of random traces: rules that hold for each, checked with a second parser.

use crate::common::{decode_pieces, random, recoded, written_by};
use jtrail_formats::{Encode, Format, profilerj};
use jtrail_model::*;
use proptest::prelude::*;
use quick_xml::events::Event as Markup;
use quick_xml::{Reader, XmlVersion};
use std::collections::{BTreeMap, HashSet};

fn written(events: &[Event<'_>]) -> String {
    let mut encoder = profilerj::Encoder::default();
    let out = written_by(&mut encoder, events);
    let lost = encoder
        .dropped()
        .iter()
        .map(|kind| u128::from(kind.count))
        .sum();
    assert!(u128::from(encoder.dropped_events()) <= lost);
    String::from_utf8(out).unwrap()
}

/// An element, from the second parser.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn text(&self, attribute: &str) -> &str {
        &self.attributes[attribute]
    }

    fn number(&self, attribute: &str) -> u64 {
        let text = self.text(attribute);
        let number: u64 = text.parse().unwrap();
        assert_eq!(number.to_string(), text);
        number
    }

    fn sum(&self, attribute: &str) -> u64 {
        self.children.iter().map(|c| c.number(attribute)).sum()
    }

    fn all<'e>(&'e self, found: &mut Vec<&'e Element>) {
        found.push(self);
        self.children.iter().for_each(|child| child.all(found));
    }
}

fn parsed(document: &str) -> Element {
    let mut reader = Reader::from_str(document);
    reader.config_mut().check_comments = true;
    let mut open = vec![Element::default()];
    let element = |tag: &quick_xml::events::BytesStart<'_>| {
        let mut element = Element {
            name: tag.name().as_ref().to_owned(),
            ..Element::default()
        };
        for attribute in tag.attributes() {
            let attribute = attribute.expect("an attribute");
            let value = attribute
                .normalized_value(XmlVersion::Explicit1_0)
                .expect("a value");
            let name = attribute.key.as_ref().to_owned();
            element.attributes.insert(name, value.into_owned());
        }
        element
    };
    loop {
        match reader.read_event().expect("well-formed XML") {
            Markup::Start(tag) => open.push(element(&tag)),
            Markup::Empty(tag) => open.last_mut().unwrap().children.push(element(&tag)),
            Markup::End(_) => {
                let closed = open.pop().unwrap();
                open.last_mut().unwrap().children.push(closed);
            }
            Markup::Text(text) => open.last_mut().unwrap().text += &text,
            Markup::Decl(_) => {}
            Markup::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    let [top] = &mut open[..] else {
        panic!("open elements")
    };
    assert_eq!(top.children.len(), 1);
    top.children.remove(0)
}

/// Tests the specification's rules for every document.
fn keeps_the_rules(doc: &Element) {
    assert_eq!(doc.name, "doc");
    let [profile, sampler, memory, coverage] = &doc.children[..] else {
        panic!("{} sections", doc.children.len())
    };
    for thread in &profile.children {
        assert!(!thread.children.is_empty());
        let mut nodes = Vec::new();
        thread.all(&mut nodes);
        for node in nodes {
            distinct(&node.children, &["name", "signature"]);
            if node.name == "thread" {
                continue;
            }
            for (with, own) in [
                ("cumulatedElapsed", "methodElapsed"),
                ("cumulated", "method"),
                ("overheadCumulated", "overheadMethod"),
            ] {
                assert_eq!(
                    node.number(with),
                    node.number(own) + node.sum(with),
                    "{with}"
                );
            }
            assert!(node.number("exceptions") <= node.number("count"));
        }
    }
    for thread in &sampler.children {
        assert_eq!(thread.number("cumulated"), thread.sum("cumulated"));
        assert_eq!(
            thread.number("cumulatedElapsed"),
            thread.sum("cumulatedElapsed")
        );
        let mut nodes = Vec::new();
        thread.all(&mut nodes);
        for node in nodes {
            distinct(&node.children, &["name"]);
            if node.name == "thread" {
                continue;
            }
            assert_eq!(
                node.number("cumulated"),
                node.number("hits") + node.sum("cumulated")
            );
            assert_eq!(
                node.number("cumulatedElapsed"),
                node.number("elapsed") + node.sum("cumulatedElapsed")
            );
            assert!(node.number("hits") <= node.number("elapsed"));
            assert!(node.number("cumulatedElapsed") >= 1);
        }
    }
    for thread in &memory.children {
        assert!(!thread.children.is_empty());
        distinct(&thread.children, &["class"]);
        let key = |row: &Element| {
            (
                std::cmp::Reverse(row.number("count")),
                row.text("class").to_owned(),
            )
        };
        assert!(thread.children.is_sorted_by_key(key));
        for row in &thread.children {
            assert!(row.number("count") <= row.number("max") && row.number("max") >= 1);
        }
    }
    for method in coverage.children.iter().flat_map(|class| &class.children) {
        let [footprints] = &method.children[..] else {
            panic!("no footprints")
        };
        let counts: Vec<i64> = footprints
            .text
            .split(' ')
            .filter(|c| !c.is_empty())
            .map(|c| c.parse().unwrap())
            .collect();
        assert_eq!(method.number("firstline") == 0, counts.is_empty());
        assert!(counts.iter().all(|c| *c >= -1));
        assert!(counts.first().is_none_or(|c| *c >= 0) && counts.last().is_none_or(|c| *c >= 0));
    }
}

fn distinct(elements: &[Element], attributes: &[&str]) {
    let key = |e: &Element| {
        attributes
            .iter()
            .map(|a| e.text(a).to_owned())
            .collect::<Vec<_>>()
    };
    let keys: HashSet<_> = elements.iter().map(key).collect();
    assert_eq!(keys.len(), elements.len());
}

/// Tests that the document is read without remarks, and that encoding its events gives the same
/// document.
fn comes_back(document: &str, piece: usize) {
    let decoding = decode_pieces(Format::ProfilerJ, document.as_bytes(), piece);
    assert!(
        decoding.is_clean(),
        "{:?} {:?}\n{document}",
        decoding.remarks,
        decoding.error
    );
    let again = recoded(Format::ProfilerJ, document.as_bytes(), Format::ProfilerJ);
    assert_eq!(String::from_utf8(again).unwrap(), document);
}

const THREADS: u64 = 3;
const CLASSES: u64 = 3;
const METHODS: u64 = 6;

/// An action of a thread.
#[derive(Clone, Debug)]
enum Act {
    Enter(u64),
    Leave(bool),
    Alloc(u64),
    Free(prop::sample::Index),
    Sample(Vec<u64>, ThreadState, Ticks),
    /// Method, number of calls, and hits by line.
    Lines(u64, u64, BTreeMap<u32, u64>),
    Cpu,
    /// Pauses or resumes the trace.
    Turn,
    End,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..METHODS).prop_map(Act::Enter),
        7 => prop::bool::weighted(0.2).prop_map(Act::Leave),
        3 => (0..CLASSES).prop_map(Act::Alloc),
        2 => any::<prop::sample::Index>().prop_map(Act::Free),
        3 => (prop::collection::vec(0..METHODS, 0..5), prop::sample::select(&ThreadState::ALL[..]), 0_u64..8)
            .prop_map(|(stack, state, more)| Act::Sample(stack, state, Ticks::new(more.saturating_sub(5) + 1).expect("a tick"))),
        1 => (0..METHODS, 0_u64..9, prop::collection::btree_map(1_u32..40, 0_u64..1000, 0..6))
            .prop_map(|(method, calls, lines)| Act::Lines(method, calls, lines)),
        1 => Just(Act::Cpu),
        1 => Just(Act::Turn),
        1 => Just(Act::End),
    ]
}

/// Calls of a call path: their number, how many ended by an exception, and their time and CPU time
/// with callees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    count: u64,
    exceptions: u64,
    elapsed: u64,
    cpu: u64,
}

/// Figures that a naive count finds in a trace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    /// Calls by thread and call path, outermost method first.
    calls: BTreeMap<(u64, Vec<u64>), Calls>,
    /// CPU time of threads with calls, and whether the threads are alive.
    threads: BTreeMap<u64, (u64, bool)>,
    /// Ticks of the samples at each call path, by thread and path, outermost frame first. The first
    /// number counts samples of a runnable thread, the second one counts all.
    samples: BTreeMap<(u64, Vec<String>), (u64, u64)>,
    objects: BTreeMap<(u64, u64), (u64, u64)>,
    /// Number of calls, and hits by line, of each method.
    lines: BTreeMap<u64, (u64, BTreeMap<u32, u64>)>,
}

/// An open call.
struct Open {
    method: u64,
    ticket: u32,
    began: i64,
    began_cpu: i64,
    /// True if a pause has ended the call.
    is_over: bool,
}

/// State of a thread.
struct Running {
    stack: Vec<Open>,
    /// CPU time that the thread has used; `reported` is the last value in the trace.
    cpu: i64,
    reported: i64,
    alive: bool,
}

impl Running {
    /// Returns the methods of the calls that are not over.
    fn path(&self) -> Vec<u64> {
        let open = self.stack.iter().filter(|open| !open.is_over);
        open.map(|open| open.method).collect()
    }

    /// Ends all calls that are not over, outermost first.
    fn end_calls(&mut self, id: u64, time: i64, expected: &mut Expected) {
        let mut path = Vec::new();
        for open in self.stack.iter_mut().filter(|open| !open.is_over) {
            path.push(open.method);
            let calls = expected.calls.entry((id, path.clone())).or_default();
            calls.elapsed += (time - open.began) as u64;
            calls.cpu += (self.reported - open.began_cpu) as u64;
            open.is_over = true;
        }
    }
}

fn thread_name(thread: u64) -> String {
    format!("thread {thread}")
}

const METHOD_NAMES: [(&str, &str); METHODS as usize] = [
    ("run", "()V"),
    ("run", "(I)V"),
    ("<init>", "([[Ljava/lang/String;)V"),
    ("<clinit>", "()V"),
    ("get", "()Ljava/lang/Object;"),
    ("odd (name)", "(Z)Z"),
];

fn profile_name(method: u64) -> &'static str {
    [
        "a.C0.run()",
        "a.C1.run(int)",
        "a.C2(java.lang.String[][])",
        "a.C0.<clinit>()",
        "a.C1.get()",
        "a.C2.odd (name)(boolean)",
    ][method as usize]
}

fn sampler_name(method: u64) -> String {
    match method {
        0 => "a.C.m0(native)".to_owned(),
        _ => format!("a.C.m{method}()"),
    }
}

/// Returns a sound trace of these actions, and its expected figures.
fn trace(acts: &[(u64, i64, Act)]) -> (Vec<Event<'static>>, Expected) {
    let mut events = Vec::new();
    let mut expected = Expected::default();
    let mut time = 1_700_000_000_000_000_000;
    for thread in 1..=THREADS {
        events.push(Event::ThreadStart(ThreadStart {
            thread: ThreadId(thread),
            time: Timestamp(time),
            name: thread_name(thread).into(),
            ..Default::default()
        }));
    }
    for class in 0..CLASSES {
        events.push(Event::ClassDef(ClassDef {
            class: ClassId(10 + class),
            name: format!("a.C{class}").into(),
            ..Default::default()
        }));
    }
    for (method, (name, signature)) in (0..).zip(METHOD_NAMES) {
        events.push(Event::MethodDef(MethodDef {
            method: MethodId(20 + method),
            class: ClassId(10 + method % CLASSES),
            name: name.into(),
            signature: signature.into(),
            ..Default::default()
        }));
    }
    let begin = || Running {
        stack: Vec::new(),
        cpu: 1,
        reported: 0,
        alive: true,
    };
    let mut threads: Vec<Running> = (0..=THREADS).map(|_| begin()).collect();
    let mut live = Vec::new();
    let (mut objects, mut ticket) = (0, 0);
    let mut paused = false;
    for (id, passed, act) in acts {
        let id = *id;
        let thread = ThreadId(id);
        time += passed;
        let now = Timestamp(time);
        if matches!(act, Act::Turn) {
            paused = !paused;
            events.push(match paused {
                true => Event::TracePause(TracePause { time: now }),
                false => Event::TraceResume(TraceResume { time: now }),
            });
            for (id, running) in (0..).zip(&mut threads) {
                running.end_calls(id, time, &mut expected);
            }
            continue;
        }
        let running = &mut threads[id as usize];
        if !running.alive {
            continue;
        }
        running.cpu += passed / 2;
        let cpu_time = Duration(running.cpu);
        match act {
            Act::Enter(_) if paused => {}
            Act::Enter(method) => {
                ticket += 1;
                running.reported = running.cpu;
                running.stack.push(Open {
                    method: *method,
                    ticket,
                    began: time,
                    began_cpu: running.cpu,
                    is_over: false,
                });
                let path = (id, running.path());
                expected.calls.entry(path).or_default().count += 1;
                events.push(Event::MethodEnter(MethodEnter {
                    thread,
                    time: now,
                    method: MethodId(20 + method),
                    class: ClassId(10 + method % CLASSES),
                    ticket,
                    cpu_time,
                    stack_depth: running.stack.len() as i64,
                }));
            }
            Act::Leave(by_exception) => {
                let path = (id, running.path());
                let Some(open) = running.stack.pop() else {
                    continue;
                };
                running.reported = running.cpu;
                if !open.is_over {
                    let calls = expected.calls.entry(path).or_default();
                    calls.exceptions += u64::from(*by_exception);
                    calls.elapsed += (time - open.began) as u64;
                    calls.cpu += (running.cpu - open.began_cpu) as u64;
                }
                events.push(Event::MethodLeave(MethodLeave {
                    thread,
                    time: now,
                    method: MethodId(20 + open.method),
                    class: ClassId(10 + open.method % CLASSES),
                    ticket: open.ticket,
                    cpu_time,
                    by_exception: *by_exception,
                }));
            }
            Act::Alloc(class) => {
                objects += 1;
                live.push((objects, id, *class));
                let count = live
                    .iter()
                    .filter(|(_, t, c)| (*t, *c) == (id, *class))
                    .count() as u64;
                let entry = expected.objects.entry((id, *class)).or_default();
                entry.1 = entry.1.max(count);
                events.push(Event::ObjectAlloc(ObjectAlloc {
                    thread,
                    time: now,
                    object: ObjectId(objects),
                    class: ClassId(10 + class),
                    ..Default::default()
                }));
            }
            Act::Free(which) => {
                if live.is_empty() {
                    continue;
                }
                let (object, ..) = live.swap_remove(which.index(live.len()));
                events.push(Event::ObjectFree(ObjectFree {
                    time: now,
                    object: ObjectId(object),
                    age: 1,
                }));
            }
            Act::Sample(stack, state, ticks) => {
                if !stack.is_empty() {
                    let name = |method: &u64| sampler_name(*method);
                    let path = stack.iter().rev().map(name).collect();
                    let (runnable, all) = expected.samples.entry((id, path)).or_default();
                    if *state == ThreadState::Runnable {
                        *runnable += ticks.get();
                    }
                    *all += ticks.get();
                }
                let frame = |method: &u64| Frame {
                    method: format!("a.C.m{method}(I)V").into(),
                    line: if *method == 0 { -2 } else { 5 },
                };
                events.push(Event::Sample(Sample {
                    thread,
                    time: now,
                    state: *state,
                    ticks: *ticks,
                    stack: stack.iter().map(frame).collect(),
                }));
            }
            Act::Lines(method, calls, lines) => {
                expected.lines.insert(*method, (*calls, lines.clone()));
                let line = |(line, count): (&u32, &u64)| LineCount {
                    line: *line,
                    count: *count,
                };
                events.push(Event::LineCounts(LineCounts {
                    method: MethodId(20 + method),
                    time: now,
                    calls: *calls,
                    lines: lines.iter().map(line).collect(),
                }));
            }
            Act::Cpu => {
                running.reported = running.cpu;
                events.push(Event::ThreadCpu(ThreadCpu {
                    thread,
                    time: now,
                    cpu_time,
                }));
            }
            Act::End => {
                running.end_calls(id, time, &mut expected);
                running.alive = false;
                events.push(Event::ThreadEnd(ThreadEnd { thread, time: now }));
            }
            Act::Turn => {}
        }
    }
    time += 12_345;
    events.push(Event::TraceEnd(TraceEnd {
        trace_id: "".into(),
        time: Timestamp(time),
    }));
    for (id, running) in (0..).zip(&mut threads) {
        if running.alive {
            running.end_calls(id, time, &mut expected);
        }
        if expected.calls.keys().any(|(thread, _)| *thread == id) {
            let reported = (running.reported as u64, running.alive);
            expected.threads.insert(id, reported);
        }
    }
    // Nanoseconds are added up first and rounded down once.
    for calls in expected.calls.values_mut() {
        calls.elapsed /= 1000;
        calls.cpu /= 1000;
    }
    for (_, thread, class) in live {
        expected.objects.entry((thread, class)).or_default().0 += 1;
    }
    (events, expected)
}

/// Calls `f` for each nested element, with the path to the element. The outermost element is first
/// in the path, and the nested element itself is last.
fn walk<'e>(parent: &'e Element, path: &mut Vec<&'e Element>, f: &mut impl FnMut(&[&Element])) {
    for child in &parent.children {
        path.push(child);
        f(path);
        walk(child, path, f);
        path.pop();
    }
}

/// Returns the figures of a document.
fn found(doc: &Element) -> Expected {
    let mut found = Expected::default();
    let thread = |e: &Element| {
        (1..=THREADS)
            .find(|t| thread_name(*t) == e.text("name"))
            .unwrap()
    };
    let method = |node: &&Element| {
        let fits = |m: &u64| {
            profile_name(*m) == node.text("name")
                && METHOD_NAMES[*m as usize].1 == node.text("signature")
        };
        (0..METHODS).find(fits).unwrap()
    };
    for t in &doc.children[0].children {
        let reported = (t.number("cpuTime"), t.text("isAlive") == "true");
        found.threads.insert(thread(t), reported);
        walk(t, &mut Vec::new(), &mut |path| {
            let node = path[path.len() - 1];
            let calls = Calls {
                count: node.number("count"),
                exceptions: node.number("exceptions"),
                elapsed: node.number("cumulatedElapsed"),
                cpu: node.number("cumulated"),
            };
            let key = (thread(t), path.iter().map(method).collect());
            found.calls.insert(key, calls);
        });
    }
    for t in &doc.children[1].children {
        walk(t, &mut Vec::new(), &mut |path| {
            let node = path[path.len() - 1];
            let names = path.iter().map(|node| node.text("name").to_owned());
            let hits = (node.number("hits"), node.number("elapsed"));
            if hits.1 > 0 {
                found.samples.insert((thread(t), names.collect()), hits);
            }
        });
    }
    for class in &doc.children[3].children {
        for row in &class.children {
            let fits = |m: &u64| {
                METHOD_NAMES[*m as usize] == (row.text("name"), row.text("signature"))
                    && format!("a.C{}", m % CLASSES) == class.text("name")
            };
            let method = (0..METHODS).find(fits).unwrap();
            let counts = row.children[0].text.split_whitespace();
            let lines = (row.number("firstline") as u32..).zip(counts);
            let reached = lines.filter(|(_, count)| *count != "-1");
            let reached = reached.map(|(line, count)| (line, count.parse().unwrap()));
            let reported = (row.number("count"), reached.collect());
            found.lines.insert(method, reported);
        }
    }
    for t in &doc.children[2].children {
        for row in &t.children {
            let class = row
                .text("class")
                .strip_prefix("a.C")
                .unwrap()
                .parse()
                .unwrap();
            found
                .objects
                .insert((thread(t), class), (row.number("count"), row.number("max")));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sums_are_those_of_the_trace(
        acts in prop::collection::vec((1..=THREADS, 0_i64..5000, act()), 0..200),
        piece in 1_usize..400,
    ) {
        let (events, expected) = trace(&acts);
        let document = written(&events);
        let doc = parsed(&document);
        keeps_the_rules(&doc);
        prop_assert_eq!(found(&doc), expected);
        comes_back(&document, piece);
    }

    /// Whatever the events are, the document keeps the rules and is recoded without change.
    #[test]
    fn events_of_all_kinds_make_a_sound_document(
        events in prop::collection::vec(random::event(), 0..60),
        piece in 1_usize..400,
    ) {
        let events: Vec<_> = events.into_iter().map(few_ids).collect();
        let document = written(&events);
        keeps_the_rules(&parsed(&document));
        comes_back(&document, piece);
    }

    #[test]
    fn bytes_without_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        for head in ["", "<doc>", "<doc><profile><thread name=\"", "<doc><coverage><class name=\"x\"><method "] {
            decode_pieces(Format::ProfilerJ, &[head.as_bytes(), &bytes].concat(), piece);
        }
    }
}

/// Returns the event with its ids reduced to a few, so that events share them.
fn few_ids(mut event: Event<'static>) -> Event<'static> {
    let (thread, class, method) = match &mut event {
        Event::ThreadStart(e) => (Some(&mut e.thread), None, None),
        Event::ThreadEnd(e) => (Some(&mut e.thread), None, None),
        Event::ThreadName(e) => (Some(&mut e.thread), None, None),
        Event::ClassDef(e) => (Some(&mut e.thread), Some(&mut e.class), None),
        Event::ClassSource(e) => (None, Some(&mut e.class), None),
        Event::MethodDef(e) => (None, Some(&mut e.class), Some(&mut e.method)),
        Event::MethodEnter(e) => (Some(&mut e.thread), None, Some(&mut e.method)),
        Event::AggregatedEnter(e) => (Some(&mut e.thread), None, Some(&mut e.method)),
        Event::AggregatedDetail(e) => (Some(&mut e.thread), None, Some(&mut e.method)),
        Event::AggregatedLeave(e) => (Some(&mut e.thread), None, Some(&mut e.method)),
        Event::ObjectAlloc(e) => (Some(&mut e.thread), Some(&mut e.class), None),
        Event::ObjectCounts(e) => (Some(&mut e.thread), Some(&mut e.class), None),
        Event::Sample(e) => (Some(&mut e.thread), None, None),
        Event::SampleSum(e) => (Some(&mut e.thread), None, None),
        Event::LineCounts(e) => {
            e.lines.iter_mut().for_each(|line| line.line %= 200);
            (None, None, Some(&mut e.method))
        }
        _ => (None, None, None),
    };
    thread.into_iter().for_each(|id| id.0 %= 3);
    class.into_iter().for_each(|id| id.0 %= 3);
    method.into_iter().for_each(|id| id.0 %= 4);
    event
}

/// Deep recursion is folded; the sums keep every call and all of the time.
#[test]
fn deep_recursion_makes_a_small_document() {
    let depth = 20_000_u32;
    let call = |ticket: u32| {
        (
            ThreadId(1),
            Timestamp(i64::from(ticket) * 1000),
            MethodId(5 + u64::from(ticket % 2)),
        )
    };
    let mut events = vec![];
    for ticket in 1..=depth {
        let (thread, time, method) = call(ticket);
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            ticket,
            ..Default::default()
        }));
    }
    for ticket in (1..=depth).rev() {
        let (thread, _, method) = call(ticket);
        let time = Timestamp(i64::from(2 * depth - ticket) * 1000);
        events.push(Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            ticket,
            ..Default::default()
        }));
    }
    let mut encoder = profilerj::Encoder::default();
    let document = String::from_utf8(written_by(&mut encoder, &events)).unwrap();
    let folded = reported(&encoder, "callers of calls, beyond the bounds of the tree");
    assert_eq!(folded, u64::from(depth) - 2048);
    comes_back(&document, document.len());
    let sum = |attribute: &str| -> u64 {
        let begin = format!(" {attribute}=\"");
        let parts = document.split(&begin).skip(1);
        parts
            .map(|part| part.split('"').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    assert_eq!(sum("count"), u64::from(depth));
    assert_eq!(sum("methodElapsed"), u64::from(2 * depth - 2));
    assert_eq!(document.matches("<profile name").count(), 2048);
}

fn reported(encoder: &profilerj::Encoder, what: &str) -> u64 {
    let dropped = encoder.dropped();
    let kind = dropped.iter().find(|kind| kind.what == what);
    kind.map_or(0, |kind| kind.count)
}

/// Returns the method numbers, outermost first, of `outer` × `middle` × `inner` call paths of
/// length three.
fn paths(outer: u64, middle: u64, inner: u64) -> impl Iterator<Item = [u64; 3]> {
    let pairs = (1..=outer).flat_map(move |o| (1..=middle).map(move |m| (o, 100 + m)));
    pairs.flat_map(move |(o, m)| (1..=inner).map(move |i| [o, m, 200 + i]))
}

/// A full table folds new call paths, and the drop counts say how many calls were folded.
#[test]
fn folded_calls_are_reported() {
    let mut encoder = profilerj::Encoder::default();
    let mut open: Vec<u64> = Vec::new();
    let mut calls = 0;
    let mut out = Vec::new();
    let of = |method: u64| (ThreadId(1), MethodId(method));
    for path in paths(80, 80, 81) {
        let same = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        for ticket in (same..open.len()).rev() {
            let (thread, method) = of(open[ticket]);
            let leave = MethodLeave {
                thread,
                method,
                ticket: ticket as u32,
                ..Default::default()
            };
            encoder.event(&Event::MethodLeave(leave), &mut out);
        }
        for (ticket, method) in (0..).zip(path).skip(same) {
            let (thread, method) = of(method);
            let enter = MethodEnter {
                thread,
                method,
                ticket,
                ..Default::default()
            };
            encoder.event(&Event::MethodEnter(enter), &mut out);
            calls += 1;
        }
        open = path.to_vec();
    }
    // Each node of a call path has one call. Two nodes belong to no path: the first node, and the
    // root node of the thread.
    let folded = calls - (profilerj::MAX_CALL_NODES as u64 - 2);
    assert!(folded > 100, "{folded}");
    let what = "callers of calls, beyond the bounds of the tree";
    assert_eq!(reported(&encoder, what), folded);
    encoder.end(&mut out);
    let document = String::from_utf8(out).unwrap();
    let counts = document.split(" count=\"").skip(1);
    let counts = counts.map(|part| part.split('"').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), calls);
}

/// Like [`folded_calls_are_reported`], for samples. Each sample counts with its ticks, as a single
/// event or in a sum.
#[test]
fn folded_samples_are_reported() {
    const MAX_SAMPLE_NODES: u64 = 1 << 18;
    let mut encoder = profilerj::Encoder::default();
    let frame = |method: &u64| Frame {
        method: format!("a.B.m{method}()V").into(),
        line: 1,
    };
    for path in paths(64, 64, 64) {
        let sample = Sample {
            thread: ThreadId(1),
            ticks: Ticks::new(3).unwrap(),
            stack: path.iter().rev().map(frame).collect(),
            ..Default::default()
        };
        encoder.event(&Event::Sample(sample), &mut Vec::new());
    }
    // Paths of one frame are never folded. Below each outer frame there are 64 frames, and 64 below
    // each of these.
    let whole = (MAX_SAMPLE_NODES - 2) / (1 + 64 + 64 * 64);
    let rest = (MAX_SAMPLE_NODES - 2) % (1 + 64 + 64 * 64);
    assert_eq!((whole, rest), (62, 4160));
    let what = "callers of samples, beyond the bounds of the tree";
    assert_eq!(reported(&encoder, what), 3 * (64 * 64 + 1));

    // Sums have more room, and are folded by their depth alone.
    let mut encoder = profilerj::Encoder::default();
    for depth in 1..=2000 {
        let sum = SampleSum {
            thread: ThreadId(1),
            depth,
            frame: frame(&7),
            runnable: 0,
            all: 5,
            ..Default::default()
        };
        encoder.event(&Event::SampleSum(sum), &mut Vec::new());
    }
    assert_eq!(reported(&encoder, what), 5 * (2000 - 1024));
}
