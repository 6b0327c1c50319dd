//! ProfilerJ snapshots: the specification's example, and documents built by hand.

use crate::common::check::check;
use crate::common::{decode, decode_pieces, encoded, recoded};
use jtrail_formats::{DropCount, Encode, Format, Reader, Rule, Severity, profilerj};
use jtrail_model::*;

const EXAMPLE: &str = include_str!("profilerj/example.xml");
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc>\n";

fn read(document: &str) -> crate::common::Decoding {
    decode(Format::ProfilerJ, document.as_bytes())
}

fn again(document: &str) -> String {
    let bytes = recoded(Format::ProfilerJ, document.as_bytes(), Format::ProfilerJ);
    String::from_utf8(bytes).unwrap()
}

fn written(events: &[Event<'_>]) -> String {
    String::from_utf8(crate::common::written(Format::ProfilerJ, events)).unwrap()
}

/// Returns the events of the example, as described in the head of its file.
fn example() -> Vec<Event<'static>> {
    let thread = |id, name: &'static str| {
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(id),
            name: name.into(),
            ..Default::default()
        })
    };
    let cpu = |id, cpu| {
        Event::ThreadCpu(ThreadCpu {
            thread: ThreadId(id),
            time: Timestamp(0),
            cpu_time: Duration(cpu),
        })
    };
    let class = |id, name: &'static str| {
        Event::ClassDef(ClassDef {
            class: ClassId(id),
            name: name.into(),
            ..Default::default()
        })
    };
    let method =
        |(id, class), name: &'static str, signature: &'static str, (start_line, end_line)| {
            Event::MethodDef(MethodDef {
                method: MethodId(id),
                class: ClassId(class),
                name: name.into(),
                signature: signature.into(),
                start_line,
                end_line,
            })
        };
    let enter = |method, base, cpu, calls| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(method),
            base_time: Duration(base),
            base_cpu_time: Duration(cpu),
            calls,
            ..Default::default()
        })
    };
    let detail = |method, exceptions, overhead| {
        Event::AggregatedDetail(AggregatedDetail {
            thread: ThreadId(1),
            method: MethodId(method),
            exceptions,
            overhead: Duration(overhead),
        })
    };
    let leave = |method| {
        Event::AggregatedLeave(AggregatedLeave {
            thread: ThreadId(1),
            method: MethodId(method),
        })
    };
    let sample = |depth, method: &'static str, line, runnable, all| {
        Event::SampleSum(SampleSum {
            thread: ThreadId(8),
            time: Timestamp(99),
            depth,
            frame: Frame {
                method: method.into(),
                line,
            },
            runnable,
            all,
        })
    };
    let objects = |class, live, peak| {
        Event::ObjectCounts(ObjectCounts {
            thread: ThreadId(1),
            time: Timestamp(0),
            class: ClassId(class),
            live,
            peak,
        })
    };
    let lines = |method, calls, lines: &[(u32, u64)]| {
        let line = |&(line, count)| LineCount { line, count };
        Event::LineCounts(LineCounts {
            method: MethodId(method),
            time: Timestamp(0),
            calls,
            lines: lines.iter().map(line).collect(),
        })
    };
    let no_lines = (0, 0);
    vec![
        thread(1, "main"),
        cpu(1, 100),
        class(2, "app.Main"),
        method((3, 2), "main", "([Ljava/lang/String;)V", no_lines),
        enter(3, 3_000_000, 4000, 1),
        class(4, "java.awt.event.ComponentEvent"),
        method((5, 4), "<init>", "(Ljava/awt/Component;I)V", no_lines),
        enter(5, 6_000_000, 1000, 88),
        detail(5, 0, 1000),
        class(6, "java.util.Map"),
        method(
            (7, 6),
            "get",
            "(Ljava/lang/Object;)Ljava/lang/Object;",
            no_lines,
        ),
        enter(7, 7_000_000, 5000, 88),
        detail(7, 1, 2000),
        leave(7),
        leave(5),
        leave(3),
        // A thread with the same name but other CPU time is a different thread.
        thread(8, "main"),
        cpu(8, 9),
        sample(1, "app.Main.run()", -1, 8, 28),
        sample(2, "java.lang.Object.wait()", -1, 0, 0),
        sample(3, "java.lang.Object.wait()", -2, 0, 323),
        class(9, "java.awt.Rectangle"),
        objects(9, 61, 1446),
        class(10, "[I"),
        objects(10, 7, 7),
        class(11, "[[Ljava.lang.String;"),
        objects(11, 7, 9),
        class(12, "app.Gone"),
        objects(12, 0, 4),
        Event::ClassSource(ClassSource {
            class: ClassId(2),
            source_name: "Main.java".into(),
        }),
        method((13, 2), "<init>", "(Ljava/lang/String;)V", (11, 12)),
        lines(13, 0, &[(11, 0), (12, 0)]),
        method((14, 2), "runLoop", "(I)V", (26, 32)),
        lines(
            14,
            605,
            &[
                (26, 605),
                (27, 605_605),
                (29, 605_000),
                (30, 605_000),
                (32, 605),
            ],
        ),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(8),
            time: Timestamp(99),
        }),
    ]
}

#[test]
fn the_example_is_read_and_written_byte_for_byte() {
    for piece in [1, 7, 100, EXAMPLE.len()] {
        let decoding = decode_pieces(Format::ProfilerJ, EXAMPLE.as_bytes(), piece);
        assert!(decoding.is_clean(), "{decoding:#?}");
        assert_eq!(decoding.events, crate::common::shown(&example()));
    }
    let bytes = encoded(Format::ProfilerJ, &example());
    assert_eq!(String::from_utf8(bytes).unwrap(), EXAMPLE);
    assert_eq!(again(EXAMPLE), EXAMPLE);
    // The document lacks agent, process and the trace's end; everything else is sound.
    let findings = check(&example()).findings;
    assert!(
        findings.iter().all(|found| found.rule == Rule::Order),
        "{findings:#?}"
    );
}

#[test]
fn an_empty_trace_has_four_sections() {
    let empty = format!(
        "{HEAD}<profile>\n</profile>\n<sampler>\n</sampler>\n<memory>\n</memory>\n<coverage>\n</coverage>\n</doc>\n"
    );
    assert_eq!(written(&[]), empty);
    assert!(read(&empty).is_clean());
    assert_eq!(read(&empty).events, [""; 0]);
}

#[test]
fn snapshots_are_distinguished_from_tptp_traces() {
    for head in [
        "<doc>",
        "<doc/>",
        "<doc\n>",
        "\u{feff}<doc >",
        "<?xml version='1.0'?>\r\n\r\n<!-- <TRACE> --><?pi x?> <doc>",
    ] {
        assert_eq!(
            Format::detect(head.as_bytes()),
            Some(Format::ProfilerJ),
            "{head}"
        );
    }
    for head in [
        "<TRACE>",
        "<document>",
        "<?xml version='1.0'?><TRACE><doc>",
        "<",
    ] {
        assert_eq!(
            Format::detect(head.as_bytes()),
            Some(Format::TptpXml),
            "{head}"
        );
    }
    assert_eq!(
        Format::detect(&EXAMPLE.as_bytes()[..128]),
        Some(Format::ProfilerJ)
    );
    assert_eq!(
        Reader::new(EXAMPLE.as_bytes()).unwrap().format(),
        Format::ProfilerJ
    );
}

fn definitions() -> Vec<Event<'static>> {
    vec![
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(1),
            time: Timestamp(1_000_000),
            name: "<main & \"others\">\u{1}'\t".into(),
            ..Default::default()
        }),
        Event::ClassDef(ClassDef {
            class: ClassId(2),
            name: "a.B$C".into(),
            source_name: "B.java".into(),
            ..Default::default()
        }),
        Event::ClassDef(ClassDef {
            class: ClassId(3),
            name: "[[I".into(),
            ..Default::default()
        }),
        Event::MethodDef(MethodDef {
            method: MethodId(4),
            class: ClassId(2),
            name: "<init>".into(),
            signature: "(J[Ljava/lang/String;)V".into(),
            ..Default::default()
        }),
        Event::MethodDef(MethodDef {
            method: MethodId(5),
            class: ClassId(2),
            name: "run".into(),
            signature: "()V".into(),
            ..Default::default()
        }),
    ]
}

fn enter(method: u64, ticket: u32, time: i64, cpu: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(1),
        time: Timestamp(time),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        cpu_time: Duration(cpu),
        stack_depth: 1,
    })
}

fn leave(method: u64, ticket: u32, time: i64, cpu: i64, by_exception: bool) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(1),
        time: Timestamp(time),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        cpu_time: Duration(cpu),
        by_exception,
    })
}

/// Times that include callees are rounded down; own times are the differences.
#[test]
fn calls_are_added_up() {
    let mut events = definitions();
    events.extend([
        enter(5, 1, 1_000_000, 500),
        enter(4, 2, 1_000_900, 700),
        leave(4, 2, 1_002_800, 2600, true),
        enter(4, 3, 1_003_000, 2700),
        enter(5, 4, 1_003_100, 2700),
        leave(5, 4, 1_004_000, 3600, false),
        leave(4, 3, 1_004_999, 4000, false),
        // This call is open at the end.
        Event::ThreadCpu(ThreadCpu {
            thread: ThreadId(1),
            time: Timestamp(1_010_000),
            cpu_time: Duration(9500),
        }),
    ]);
    let document = written(&events);
    let expected = "<profile>\n\
        <thread name=\"&lt;main &amp; &quot;others&quot;&gt;\u{fffd}&apos;&#9;\" cpuTime=\"9500\" isAlive=\"true\">\n\
        <profile name=\"a.B$C.run()\" signature=\"()V\" count=\"1\" methodElapsed=\"7\" method=\"6\" cumulatedElapsed=\"10\" cumulated=\"9\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"0\">\
        <profile name=\"a.B$C(long,java.lang.String[])\" signature=\"(J[Ljava/lang/String;)V\" count=\"2\" methodElapsed=\"3\" method=\"3\" cumulatedElapsed=\"3\" cumulated=\"3\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"1\">\
        <profile name=\"a.B$C.run()\" signature=\"()V\" count=\"1\" methodElapsed=\"0\" method=\"0\" cumulatedElapsed=\"0\" cumulated=\"0\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"0\">\
        </profile>\n</profile>\n</profile>\n</thread>\n</profile>\n";
    assert_eq!(
        document,
        format!(
            "{HEAD}{expected}<sampler>\n</sampler>\n<memory>\n</memory>\n<coverage>\n</coverage>\n</doc>\n"
        )
    );
    assert_eq!(again(&document), document);
}

/// A leave of an outer call ends the calls inside it. A leave without a call is counted.
#[test]
fn leaves_may_be_missing_or_too_many() {
    let mut events = definitions();
    events.extend([
        enter(5, 1, 1_000_000, 0),
        enter(4, 2, 1_001_000, 0),
        enter(4, 3, 1_002_000, 0),
        leave(5, 1, 1_009_000, 0, false),
        leave(5, 1, 1_009_000, 0, false),
        enter(4, 4, 1_020_000, 0),
    ]);
    let mut encoder = profilerj::Encoder::default();
    let mut out = Vec::new();
    events.iter().for_each(|e| encoder.event(e, &mut out));
    encoder.end(&mut out);
    let document = String::from_utf8(out).unwrap();
    let numbers = |attribute: &str| -> Vec<u64> {
        let begin = format!(" {attribute}=\"");
        let parts = document.split(&begin).skip(1);
        parts
            .map(|part| part.split('"').next().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(numbers("cumulatedElapsed"), [9, 8, 7, 0]);
    assert_eq!(numbers("methodElapsed"), [1, 1, 7, 0]);
    assert_eq!(encoder.dropped_events(), 1);
    let dropped = [
        DropCount {
            what: "leaves without an open call",
            count: 1,
        },
        DropCount {
            what: "times of single calls",
            count: 4,
        },
    ];
    assert_eq!(encoder.dropped(), dropped);
}

/// A pause ends the open calls of all threads. Calls that the threads make after the pause become
/// outermost calls. The leaves of the ended calls are not counted as dropped, wherever they come.
#[test]
fn a_pause_ends_open_calls_for_good() {
    let on = |thread, mut event: Event<'static>| {
        match &mut event {
            Event::MethodEnter(e) => e.thread = ThreadId(thread),
            Event::MethodLeave(e) => e.thread = ThreadId(thread),
            _ => {}
        }
        event
    };
    let mut events = definitions();
    events.extend([
        enter(5, 1, 1_000_000, 0),
        enter(4, 2, 1_002_000, 0),
        on(7, enter(5, 1, 1_003_000, 0)),
        Event::TracePause(TracePause {
            time: Timestamp(1_010_000),
        }),
        // The call ended during the pause. Our agent gives its leave the time of the pause's begin;
        // other agents may not.
        on(1, leave(4, 2, 1_010_000, 0, true)),
        Event::TraceResume(TraceResume {
            time: Timestamp(1_050_000),
        }),
        enter(5, 3, 1_060_000, 0),
        on(7, enter(4, 2, 1_061_000, 0)),
        // The leave also ends the calls that the method made after the pause.
        on(7, leave(5, 1, 1_064_000, 0, true)),
        leave(5, 3, 1_067_000, 0, false),
        leave(5, 1, 1_099_000, 0, false),
        on(7, enter(5, 3, 1_100_000, 0)),
        on(7, leave(5, 3, 1_101_000, 0, false)),
    ]);
    let mut encoder = profilerj::Encoder::default();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    events.iter().for_each(|e| encoder.event(e, &mut out));
    encoder.end(&mut out);
    let document = String::from_utf8(out).unwrap();
    let node = |name: &str, signature: &str, count: u64, own: u64, all: u64, inner: &str| {
        format!(
            "<profile name=\"a.B$C{name}\" signature=\"{signature}\" count=\"{count}\" methodElapsed=\"{own}\" method=\"0\" \
             cumulatedElapsed=\"{all}\" cumulated=\"0\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"0\">{inner}</profile>\n"
        )
    };
    let run = |count, own, all, inner: &str| node(".run()", "()V", count, own, all, inner);
    let new = |time| {
        let (name, signature) = ("(long,java.lang.String[])", "(J[Ljava/lang/String;)V");
        node(name, signature, 1, time, time, "")
    };
    let first = run(2, 9, 17, &new(8));
    let second = format!("{}{}", run(2, 8, 8, ""), new(3));
    let threads: Vec<&str> = document.split("isAlive=\"true\">\n").skip(1).collect();
    assert_eq!(threads.len(), 2, "{document}");
    assert!(
        threads[0].starts_with(&format!("{first}</thread>")),
        "{document}"
    );
    assert!(
        threads[1].starts_with(&format!("{second}</thread>")),
        "{document}"
    );
    assert_eq!(encoder.dropped_events(), 0);
    let dropped = [DropCount {
        what: "times of single calls",
        count: 6,
    }];
    assert_eq!(encoder.dropped(), dropped);
    assert_eq!(again(&document), document);
}

#[test]
fn samples_are_added_up() {
    let mut events = definitions();
    let sample = |time, state, ticks, stack: &[(&'static str, i64)]| {
        let frame = |&(method, line): &(&'static str, i64)| Frame {
            method: method.into(),
            line,
        };
        Event::Sample(Sample {
            thread: ThreadId(1),
            time: Timestamp(time),
            state,
            ticks: Ticks::new(ticks).expect("a tick"),
            stack: stack.iter().map(frame).collect(),
        })
    };
    let (run, new, wait) = (
        ("a.B.run()V", 7),
        ("a.B.<init>(I)V", 3),
        ("java.lang.Object.wait(J)V", -2),
    );
    events.extend([
        sample(1_000_100, ThreadState::Runnable, 1, &[new, run]),
        // Samples do not distinguish overloads and lines.
        sample(
            1_000_200,
            ThreadState::Runnable,
            1,
            &[("a.B.<init>(J)V", 9), ("a.B.run()V", 8)],
        ),
        sample(1_000_300, ThreadState::Waiting, 1, &[wait, run]),
        sample(1_000_400, ThreadState::Parked, 4, &[run]),
        sample(1_000_500, ThreadState::Sleeping, u64::MAX, &[]),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(1),
            time: Timestamp(1_000_600),
        }),
    ]);
    let document = written(&events);
    let expected = "cumulated=\"2\" cpuTime=\"0\" cumulatedElapsed=\"7\" elapsedTime=\"600\" isAlive=\"false\">\n\
        <profile name=\"a.B.run()\" hits=\"0\" elapsed=\"4\" cumulated=\"2\" cumulatedElapsed=\"7\">\
        <profile name=\"a.B()\" hits=\"2\" elapsed=\"2\" cumulated=\"2\" cumulatedElapsed=\"2\"></profile>\n\
        <profile name=\"java.lang.Object.wait(native)\" hits=\"0\" elapsed=\"1\" cumulated=\"0\" cumulatedElapsed=\"1\"></profile>\n\
        </profile>\n</thread>\n</sampler>\n";
    assert!(document.contains(expected), "{document}");
    assert_eq!(again(&document), document);
}

#[test]
fn objects_are_counted_for_the_thread_that_made_them() {
    let mut events = definitions();
    let alloc = |object, class| {
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: Timestamp(2_000_000),
            object: ObjectId(object),
            class: ClassId(class),
            ..Default::default()
        })
    };
    let free = |object| {
        Event::ObjectFree(ObjectFree {
            time: Timestamp(2_000_000),
            object: ObjectId(object),
            age: 0,
        })
    };
    events.extend([
        alloc(1, 2),
        alloc(2, 2),
        free(1),
        free(1),
        alloc(3, 2),
        free(2),
        free(3),
    ]);
    events.extend([alloc(4, 3), alloc(0, 3), free(0), free(99)]);
    let document = written(&events);
    let rows = "<memory class=\"int[][]\" count=\"2\" max=\"2\"/>\n<memory class=\"a.B$C\" count=\"0\" max=\"2\"/>\n</thread>\n";
    assert!(document.contains(rows), "{document}");
    assert_eq!(again(&document), document);
}

#[test]
fn lines_are_laid_out_from_the_first_to_the_last() {
    let mut events = definitions();
    let counts = |method, calls, lines: &[(u32, u64)]| {
        let line = |&(line, count)| LineCount { line, count };
        Event::LineCounts(LineCounts {
            method: MethodId(method),
            time: Timestamp(0),
            calls,
            lines: lines.iter().map(line).collect(),
        })
    };
    events.extend([
        counts(5, 1, &[(9, 1)]),
        counts(4, 2, &[]),
        // These counts replace the first ones. Numbers that no class file can hold are dropped.
        counts(
            5,
            3,
            &[
                (10, 3),
                (7, u64::MAX),
                (10, 1),
                (0, 1),
                (65_536, 1),
                (u32::MAX, 1),
            ],
        ),
    ]);
    let document = written(&events);
    let expected = "<class name=\"a.B$C\" source=\"B.java\">\n\
        <method name=\"run\" signature=\"()V\" firstline=\"7\" count=\"3\"><footprints>9223372036854775807 -1 -1 4 </footprints></method>\n\
        <method name=\"&lt;init&gt;\" signature=\"(J[Ljava/lang/String;)V\" firstline=\"0\" count=\"2\"><footprints></footprints></method>\n\
        </class>\n";
    assert!(document.contains(expected), "{document}");
    assert_eq!(again(&document), document);
}

/// The vendor's page: an indented document, without `methodElapsed` and `elapsed`.
#[test]
fn what_the_vendors_page_leaves_out_is_derived() {
    let document = "<doc>\n  <profile>\n    <thread name=\"AWT\" cpuTime=\"187500000\" isAlive=\"true\">
        <profile name=\"java.awt.event.PaintEvent(java.awt.Component)\"
            signature=\"(Ljava/awt/Component;)V\" count=\"88\"
            cumulatedElapsed=\"16000\" cumulated=\"0\" method=\"0\" overheadCumulated=\"0\" overheadMethod=\"0\"
            exceptions=\"0\">
          <profile name=\"a.B.c()\" signature=\"()V\" count=\"88\" cumulatedElapsed=\"13000\" cumulated=\"0\"
            method=\"0\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"0\">
          </profile>
        </profile>
      </thread>
    </profile>
    <sampler>
      <thread name=\"AWT\" cumulated=\"8\" cpuTime=\"187500000\" cumulatedElapsed=\"351\" elapsedTime=\"7402889190\" isAlive=\"true\">
        <profile name=\"a.B.run()\" hits=\"8\" cumulated=\"8\" cumulatedElapsed=\"351\">
          <profile name=\"java.lang.Object.wait(native)\" hits=\"0\" cumulated=\"0\" cumulatedElapsed=\"323\">
          </profile>
        </profile>
      </thread>
    </sampler>
    <coverage>
      <class class=\"a.B\">
        <method name=\"c\" signature=\"()V\" firstline=\"3\" count=\"0\">
          <footprints>
             -1 0 &#49;
          </footprints>
        </method>
      </class>
    </coverage>
    </doc>";
    for piece in [1, 50, document.len()] {
        let decoding = decode_pieces(Format::ProfilerJ, document.as_bytes(), piece);
        assert!(decoding.is_clean(), "{decoding:#?}");
        let of = |kind: &str| {
            let events = decoding.events.iter();
            events
                .filter(|e| e.starts_with(kind))
                .cloned()
                .collect::<Vec<_>>()
        };
        let enters = of("AggregatedEnter");
        assert!(
            enters[0].contains("base_time: Duration(3000000)"),
            "{enters:?}"
        );
        assert!(
            enters[1].contains("base_time: Duration(13000000)"),
            "{enters:?}"
        );
        let sums = of("SampleSum");
        assert!(sums[0].contains("runnable: 8, all: 28"), "{sums:?}");
        assert!(sums[1].contains("runnable: 0, all: 323"), "{sums:?}");
        // The two sections agree in all figures about the thread that both of them have.
        assert_eq!(of("ThreadStart").len(), 1);
        let lines = of("LineCounts");
        assert!(
            lines[0].contains("[LineCount { line: 4, count: 0 }, LineCount { line: 5, count: 1 }]"),
            "{lines:?}"
        );
        assert_eq!(of("ClassDef").len(), 2);
    }
    assert!(again(document).contains("methodElapsed=\"3000\""));
    assert_eq!(again(&again(document)), again(document));
}

#[test]
fn what_is_odd_is_remarked_and_skipped() {
    let thread = "<thread cpuTime=\"0\" name=\"t\" isAlive=\"true\">";
    let node = "<profile name=\"a.B.c()\" signature=\"()V\" count=\"1\" method=\"0\"";
    for (body, message) in [
        ("<other><profile/>text</other>".to_owned(), "skipped: unknown element other (1)"),
        (format!("<profile>{thread}<x/></thread></profile>"), "skipped: unknown element x (1)"),
        (format!("<profile a=\"1\">{thread}</thread></profile>"), "skipped: a section: unknown attribute a (1)"),
        ("<profile><thread name=\"t\" cpuTime=\"1\"></thread></profile>".to_owned(), "thread: missing attribute isAlive, read as true (1)"),
        (format!("<profile>{thread}{node} methodElapsed=\"5\" cumulatedElapsed=\"6\"/></thread></profile>"), "nodes whose sums do not agree with those of their children (1)"),
        (format!("<profile>{thread}{node} methodElapsed=\"5\" exceptions=\"2\"/></thread></profile>"), "nodes with more exceptions than calls (1)"),
        (format!("<profile>{thread}{node} methodElapsed=\"18446744073709551615\"/></thread></profile>"), "numbers above 63 bits, read as the largest (1)"),
        ("<memory><thread name=\"t\"><memory class=\"x\" count=\"2\" max=\"1\"/></thread></memory>".to_owned(), "rows with a count above their max (1)"),
        ("<sampler><thread name=\"t\" cumulated=\"0\" cumulatedElapsed=\"0\" cpuTime=\"0\" elapsedTime=\"7\" isAlive=\"true\"/></sampler>".to_owned(), "skipped: elapsedTime of living threads without frames (1)"),
        ("<coverage><class name=\"a.B\" class=\"a.C\"></class></coverage>".to_owned(), "skipped: attribute class of classes that have a name (1)"),
        ("<coverage><class name=\"a.B\"><method name=\"f\" signature=\"()V\" firstline=\"65535\" count=\"1\"><footprints>1 2 3</footprints></method></class></coverage>".to_owned(), "skipped: footprints after line 65,535 (1)"),
        ("<sampler>word</sampler>".to_owned(), "skipped: text where elements are expected (1)"),
        ("<sampler><thread name=\"t\" cumulated=\"1\" cumulatedElapsed=\"1\" cpuTime=\"0\" elapsedTime=\"0\" isAlive=\"true\"/></sampler>".to_owned(), "threads whose samples are not those of their frames (1)"),
    ] {
        let decoding = read(&format!("<doc>{body}</doc>"));
        assert_eq!(decoding.error, None, "{body}");
        assert_eq!(decoding.only(Severity::Info).1, message);
    }
    // Redundant information, and information without meaning, gives no remark.
    for body in [
        "<sampler><thread name=\"t\" cumulated=\"0\" cumulatedElapsed=\"0\" cpuTime=\"0\" elapsedTime=\"7\" isAlive=\"false\"/></sampler>",
        "<coverage><class name=\"a.B\" class=\"a.B\"><method name=\"f\" signature=\"()V\" firstline=\"65535\" count=\"1\"><footprints>1 -1 -1</footprints></method></class></coverage>",
    ] {
        let decoding = read(&format!("<doc>{body}</doc>"));
        assert!(decoding.is_clean(), "{decoding:?}");
    }
    // Sections in another order, and missing sections.
    let decoding = read("<doc><coverage></coverage><profile/></doc>");
    assert!(decoding.is_clean(), "{decoding:?}");
}

#[test]
fn what_is_wrong_is_refused_at_its_place() {
    for (document, offset, message) in [
        ("<document></document>", 0, "the root is not doc"),
        ("<!DOCTYPE doc><doc/>", 0, "a document type is not allowed"),
        (
            "<doc/><doc/>",
            6,
            "only one doc is allowed, and nothing outside of it",
        ),
        ("<doc/>x<", 6, "text outside of the root"),
        (
            "<doc><profile></sampler></doc>",
            14,
            "an end tag that does not close profile",
        ),
        (
            "<doc><profile><thread/></profile></doc>",
            14,
            "thread lacks name",
        ),
        (
            "<doc><memory><thread name='t'><memory class='x' count='-1' max='1'/>",
            30,
            "count of memory is no number",
        ),
        (
            "<doc><profile><thread name='t' cpuTime='1' isAlive='yes'/>",
            14,
            "isAlive of thread is neither true nor false",
        ),
        (
            "<doc><coverage><class name='x'><method name='m' firstline='1' count='1'><footprints>1 x</footprints>",
            84,
            "a footprint is no number",
        ),
        (
            "<doc><coverage><class name='x'><method name='m' firstline='65536' count='1'>",
            31,
            "firstline of method is larger than any line",
        ),
        ("<doc>&lol;<", 5, "&lol; is no reference that is known"),
        ("<doc>a]]>b<", 6, "]]> in text"),
        (
            "<doc><![CDATA[x]]></doc>",
            5,
            "text where an element is expected",
        ),
        (
            "<doc><profile><thread name='\u{1}'",
            28,
            "character U+0001 is not allowed",
        ),
    ] {
        let decoding = read(document);
        assert_eq!(decoding.refused(), (offset, message), "{document}");
    }
    let deep = "<doc>".to_owned() + &"<x>".repeat(100_000);
    assert_eq!(read(&deep).refused().1, "elements nest deeper than 65536");
    let lines =
        "<doc><coverage><class name='x'><method name='m' firstline='1' count='1'><footprints>"
            .to_owned()
            + &"-1 ".repeat(70_000)
            + "</footprints>";
    assert_eq!(
        read(&lines).refused().1,
        "a method has more than 65535 lines"
    );
}

/// Threads with the same name stay separate in every section.
#[test]
fn threads_of_the_same_name_keep_their_places() {
    let mut events = definitions();
    for thread in [9, 8, 7] {
        events.push(Event::ThreadStart(ThreadStart {
            thread: ThreadId(thread),
            time: Timestamp(5),
            name: "worker".into(),
            ..Default::default()
        }));
    }
    let sample = |thread, method: &'static str| {
        Event::Sample(Sample {
            thread: ThreadId(thread),
            time: Timestamp(10),
            stack: vec![Frame {
                method: method.into(),
                line: 1,
            }],
            ..Default::default()
        })
    };
    let alloc = |thread, object| {
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(thread),
            time: Timestamp(10),
            object: ObjectId(object),
            class: ClassId(thread % 2 + 2),
            ..Default::default()
        })
    };
    events.extend([
        sample(7, "a.B.x()V"),
        sample(9, "a.B.y()V"),
        alloc(8, 1),
        alloc(9, 2),
        alloc(1, 3),
    ]);
    let document = written(&events);
    assert_eq!(document.matches("<thread name=\"worker\"").count(), 4);
    assert_eq!(again(&document), document);
}

/// A copy of the encoder writes a document of the events so far. The original continues as if there
/// were no copy.
#[test]
fn a_copy_writes_the_state_so_far() {
    let steps: Vec<_> = (0..600_u32)
        .map(|i| ((i % 40) as u8, (i / 7) as usize, i * 37 % 5000))
        .collect();
    let events = crate::common::legal::trace(jtrail_formats::mlpd::DataVersion::V1, &steps);
    let (mut encoder, mut out) = (profilerj::Encoder::default(), Vec::new());
    encoder.begin(&mut out);
    for (n, event) in events.iter().enumerate() {
        encoder.event(event, &mut out);
        if n % 97 == 0 {
            let mut copy = encoder.copy().expect("totals can be had at any time");
            let mut document = Vec::new();
            copy.begin(&mut document);
            copy.end(&mut document);
            assert_eq!(document, written(&events[..=n]).into_bytes());
        }
    }
    encoder.end(&mut out);
    assert_eq!(out, written(&events).into_bytes());
    // Only ProfilerJ, the format of totals, has copies of its encoder. The other encoders write as
    // events come.
    assert!(
        Format::ALL.map(|f| f.encoder().copy().is_some())
            == [false, false, false, false, false, true, false]
    );
}

/// Counts of calls saturate at the largest number that readers accept.
#[test]
fn counts_of_calls_have_an_end() {
    let calls = Event::AggregatedEnter(AggregatedEnter {
        thread: ThreadId(1),
        method: MethodId(1),
        calls: i64::MAX,
        ..Default::default()
    });
    let leave = Event::AggregatedLeave(AggregatedLeave {
        thread: ThreadId(1),
        method: MethodId(1),
    });
    let document = written(&[calls.clone(), leave.clone(), calls, leave]);
    let count = format!("count=\"{}\"", i64::MAX);
    assert!(document.contains(&count), "{document}");
    assert!(decode(Format::ProfilerJ, document.as_bytes()).is_clean());
}
