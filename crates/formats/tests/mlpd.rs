//! Log profiles: the written bytes, and what is counted as lost.

use crate::common::{decode, every_event, written_by};
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_formats::{Encode, Format, Item, Reader, Severity};
use jtrail_model::*;
use std::ops::ControlFlow;

/// Returns one call of one method, and a throw.
fn small() -> Vec<Event<'static>> {
    let t = |ns: i64| Timestamp(1_700_000_000_000_000_000 + ns);
    let (thread, class, method) = (ThreadId(1), ClassId(5), MethodId(9));
    vec![
        ProcessCreate {
            pid: 4242,
            time: t(0),
            ..Default::default()
        }
        .into(),
        Event::TraceStart(TraceStart {
            time: t(3),
            ..Default::default()
        }),
        Event::ThreadStart(ThreadStart {
            thread,
            time: t(5),
            name: "main".into(),
            ..Default::default()
        }),
        Event::ClassDef(ClassDef {
            class,
            time: t(6),
            name: "a.B".into(),
            ..Default::default()
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "<init>".into(),
            signature: "(I)V".into(),
            ..Default::default()
        }),
        Event::MethodEnter(MethodEnter {
            thread,
            time: t(10),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(0),
            stack_depth: 1,
        }),
        Event::ObjectAlloc(ObjectAlloc {
            thread,
            time: t(20),
            object: ObjectId(300),
            size: 24,
            method,
            class,
            ..Default::default()
        }),
        Event::MethodLeave(MethodLeave {
            thread,
            time: t(2_000_020),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(0),
            by_exception: true,
        }),
        Event::GcStart(GcStart { time: t(2_000_030) }),
        Event::GcDetail(GcDetail {
            time: t(2_000_035),
            generation: Generation::Full,
            ..Default::default()
        }),
        Event::GcFinish(GcFinish {
            time: t(2_000_040),
            total_space: 1024,
            ..Default::default()
        }),
    ]
}

fn hex(lines: &str) -> Vec<u8> {
    let pairs = lines.lines().flat_map(|line| {
        let bytes = line.split('|').next().unwrap_or_default();
        bytes.split_whitespace()
    });
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

#[test]
fn version_1_is_as_specified() {
    let expected = hex("
        01 5a 50 4d 00 01 01 08  00 68 e5 cf 8b 01 00 00    | id, 0.1, data version 1; 1700000000000 ms
        00 00 00 00 00 00 00 00  92 10 00 00 00 00 00 00    | process 4242
        01 4c 50 4d 86 00 00 00  00 00 4f 91 94 4e 00 00    | definitions; the clock starts at a day
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        00 00 00 00 00 00 01 00  04 00 00 00 00 00 00 00    | reserved thread, first method
        22 00 05 80 80 80 80 80 80 c0 00 00                 | the agent begins
        02 00 05 80 80 80 80 80 80 c0 00 00 6a 74 72 61 69 6c 00
        22 03 05 81 80 80 80 80 80 c0 00 00                 | the trace begins
        02 00 05 81 80 80 80 80 80 c0 00 00 56 4d 00
        22 00 04 04 00                                      | domain 1
        02 00 04 04 00 75 6e 6b 6e 6f 77 6e 00
        22 00 02 04 00 75 6e 6b 6e 6f 77 6e 00              | image 1
        22 00 03 04 00 75 6e 6b 6e 6f 77 6e 00              | assembly 1
        22 03 01 04 04 00 61 2e 42 00                       | class 1: a.B
        43 00 00 04 00 61 2e 42 3a 3c 69 6e 69 74 3e 20 28 69 6e 74 29 00 | method 1: a.B:<init> (int)
        01 4c 50 4d 1f 00 00 00  05 00 4f 91 94 4e 00 00    | thread 1
        00 00 00 00 00 00 00 00  2c 01 00 00 00 00 00 00    | objects from 300
        01 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00
        22 00 05 01 00                                      | begins
        02 00 05 01 00 6d 61 69 6e 00                       | main
        23 05 00                                            | enters
        10 0a 04 00 18 00 01 04                             | allocates 24 bytes, in method 1
        33 80 89 7a 00                                      | leaves by exception
        01 4c 50 4d 0c 00 00 00  9e 84 6d 91 94 4e 00 00    | no thread
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        01 00 00 00 00 00 01 00  00 00 00 00 00 00 00 00
        11 00 00 01  21 0a 80 08  11 00 05 01               | a full collection; 1024 bytes
        01 4c 50 4d 00 00 00 00  06 00 4f 91 94 4e 00 00    | no definitions: that was all
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        00 00 00 00 00 00 01 00  00 00 00 00 00 00 00 00");
    assert_eq!(written(DataVersion::V1), expected);
}

#[test]
fn version_17_is_as_specified() {
    let expected = hex("
        01 5a 50 4d 03 00 11 08  00 68 e5 cf 8b 01 00 00    | id, 3.0, data version 17; 1700000000000 ms
        00 00 4f 91 94 4e 00 00                             | which is a day on the clock
        00 00 00 00 00 00 00 00  92 10 00 00 00 00          | process 4242
        01 00 00 00 00  01 00 00 00 00  01 00 00 00 00      | three empty texts
        01 4c 50 4d 85 00 00 00  00 00 4f 91 94 4e 00 00
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        00 00 00 00 00 00 01 00  04 00 00 00 00 00 00 00
        22 00 05 80 80 80 80 80 80 c0 00
        02 00 05 80 80 80 80 80 80 c0 00 6a 74 72 61 69 6c 00
        22 03 05 81 80 80 80 80 80 c0 00
        02 00 05 81 80 80 80 80 80 c0 00 56 4d 00
        22 00 04 04
        02 00 04 04 75 6e 6b 6e 6f 77 6e 00
        22 00 02 04 75 6e 6b 6e 6f 77 6e 00 00
        22 00 03 04 04 75 6e 6b 6e 6f 77 6e 00
        22 03 01 04 04 61 2e 42 00
        22 00 07 04 04 04                                   | the table of class 1
        43 00 00 04 00 61 2e 42 3a 3c 69 6e 69 74 3e 20 28 69 6e 74 29 00
        01 4c 50 4d 1c 00 00 00  05 00 4f 91 94 4e 00 00
        00 00 00 00 00 00 00 00  2c 01 00 00 00 00 00 00
        01 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00
        22 00 05 01
        02 00 05 01 6d 61 69 6e 00
        23 05 00
        10 0a 04 00 18 01 00
        33 80 89 7a 00
        01 4c 50 4d 0c 00 00 00  9e 84 6d 91 94 4e 00 00
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        01 00 00 00 00 00 01 00  00 00 00 00 00 00 00 00
        11 00 00 01  21 0a 80 08  11 00 05 01
        01 4c 50 4d 00 00 00 00  06 00 4f 91 94 4e 00 00
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        00 00 00 00 00 00 01 00  00 00 00 00 00 00 00 00");
    assert_eq!(written(DataVersion::V17), expected);
}

fn written(version: DataVersion) -> Vec<u8> {
    let mut encoder = mlpd::Encoder::new(version);
    let bytes = written_by(&mut encoder, &small());
    assert_eq!(encoder.dropped(), []);
    bytes
}

#[test]
fn what_does_not_fit_is_counted_by_kind() {
    let count = |version, what| {
        let mut encoder = mlpd::Encoder::new(version);
        written_by(&mut encoder, &every_event());
        let dropped = encoder.dropped();
        dropped
            .iter()
            .find(|kind| kind.what == what)
            .map_or(0, |kind| kind.count)
    };
    for (what, in_1, in_17) in [
        ("texts", 1, 1),
        ("waits", 2, 2),
        ("parks", 2, 2),
        ("CPU times of calls", 2, 2),
        ("lines of frames", 5, 7),
        ("roots of heap dumps", 1, 0),
        ("objects of caught exceptions", 1, 0),
        ("stacks of entered monitors", 1, 0),
        ("class unloads", 0, 1),
        ("details of classes other than the loader", 1, 1),
        (
            "references between objects that a heap dump does not list",
            1,
            1,
        ),
    ] {
        assert_eq!(count(DataVersion::V1, what), in_1, "{what}");
        assert_eq!(count(DataVersion::V17, what), in_17, "{what}");
    }
}

#[test]
fn classes_of_one_name_stay_apart() {
    let class = |id| {
        Event::ClassDef(ClassDef {
            class: ClassId(id),
            name: "a.B".into(),
            ..Default::default()
        })
    };
    let method = |id, class, name: &'static str| {
        Event::MethodDef(MethodDef {
            method: MethodId(id),
            class: ClassId(class),
            name: name.into(),
            ..Default::default()
        })
    };
    let events = [
        class(1),
        class(2),
        method(1, 1, "one"),
        method(2, 2, "two"),
        method(3, 1, "three"),
    ];
    let bytes = written_by(&mut mlpd::Encoder::default(), &events);
    let events = decode(Format::Mlpd, &bytes).events;
    let classes: Vec<_> = events
        .iter()
        .filter_map(|event| {
            event
                .split_once("class: ")
                .filter(|_| event.starts_with("MethodDef"))
        })
        .map(|(_, class)| &class[..10])
        .collect();
    assert_eq!(classes, ["ClassId(1)", "ClassId(2)", "ClassId(1)"]);
}

#[test]
fn the_length_of_bytecode_stands_with_the_name_of_its_method() {
    let method = |name: &'static str| {
        Event::MethodDef(MethodDef {
            method: MethodId(name.len() as u64),
            name: name.into(),
            ..Default::default()
        })
    };
    let length = |method: u64, size| {
        let method = MethodId(method);
        Event::MethodDetail(MethodDetail { method, size })
    };
    let (reported, longest) = (length(3, 300), i64::from(i32::MAX));
    let events = [
        method("one"),
        reported.clone(),
        reported,        // repeated
        method("four"),  // without a length
        method("named"), // with another method's length
        length(3, 1),
        method("native"), // with an impossible length
        length(6, 0),
        method("alarmed"),
        length(7, longest + 1),
    ];
    let mut encoder = mlpd::Encoder::default();
    let bytes = written_by(&mut encoder, &events);
    let decoding = decode(Format::Mlpd, &bytes);
    let lengths = decoding
        .events
        .iter()
        .filter(|e| e.starts_with("MethodDetail("));
    let detail = |method, size| {
        let method = MethodId(method);
        format!("MethodDetail({:?})", MethodDetail { method, size })
    };
    // `alarmed` is the fifth method of the file.
    assert_eq!(
        lengths.collect::<Vec<_>>(),
        [&detail(1, 300), &detail(5, longest)]
    );
    let dropped = encoder.dropped();
    let count = |what: &str| dropped.iter().find(|l| l.what == what).map(|l| l.count);
    let late = "lengths of bytecode that come after the name of the method";
    assert_eq!(count(late), Some(2));
    assert_eq!(count("sizes out of range"), Some(2));
}

#[test]
fn the_reader_finds_and_reads_it() {
    let bytes = written(DataVersion::V17);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.format(), Format::Mlpd);
    let mut count = 0;
    let end = reader.for_each(|item| {
        assert!(matches!(item, Item::Event { .. }), "{item:?}");
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    assert_eq!((end.unwrap(), count), (None, 4 + 9));
    assert_eq!(reader.offset(), bytes.len() as u64);
}

/// Flushing a batch early does not change the batch's events, or the events of later batches.
#[test]
fn a_flush_changes_no_event() {
    for version in [DataVersion::V1, DataVersion::V17] {
        let steps: Vec<_> = (0..900_u32)
            .map(|i| ((i % 40) as u8, (i / 7) as usize, i * 37 % 5000))
            .collect();
        let events = crate::common::legal::trace(version, &steps);
        let whole = written_by(&mut mlpd::Encoder::new(version), &events);
        let mut encoder = mlpd::Encoder::new(version);
        let mut flushed = Vec::new();
        encoder.begin(&mut flushed);
        for (n, event) in events.iter().enumerate() {
            encoder.event(event, &mut flushed);
            // Details of a collection are written with its begin, unless the begin was flushed
            // before them.
            let collects = events[n..].iter().take(2);
            let reported = collects.filter(|e| matches!(e, Event::GcDetail(_)));
            if n % 11 == 0 && reported.count() == 0 {
                encoder.flush(&mut flushed);
                let size = flushed.len();
                encoder.flush(&mut flushed);
                assert_eq!(flushed.len(), size, "nothing waits");
            }
        }
        encoder.end(&mut flushed);
        assert!(flushed.len() > whole.len());
        let (whole, flushed) = (decode(Format::Mlpd, &whole), decode(Format::Mlpd, &flushed));
        assert!(flushed.is_clean(), "{:?}", flushed.remarks);
        // Definitions come first in their batch; all other events keep their order.
        let is_definition = |event: &&String| {
            ["ClassDef(", "ClassDetail(", "MethodDef(", "MethodDetail("]
                .iter()
                .any(|kind| event.starts_with(kind))
        };
        for selected in [true, false] {
            let of = |events: &[String]| -> Vec<String> {
                let events = events.iter().filter(|e| is_definition(e) == selected);
                events.cloned().collect()
            };
            let (whole, flushed) = (of(&whole.events), of(&flushed.events));
            let first = whole.iter().zip(&flushed).find(|(a, b)| a != b);
            assert_eq!(first, None);
            assert_eq!(flushed.len(), whole.len());
        }
    }
}

/// Compilations are reported by threads of the JVM, possibly before events with earlier times.
/// Collections keep their exact times nevertheless.
#[test]
fn pauses_beside_compilations_are_exact() {
    let t = |ns: i64| Timestamp(1_700_000_000_000_000_000 + ns);
    let compile = |time, address| {
        Event::MethodCompile(MethodCompile {
            method: MethodId(9),
            time: t(time),
            address,
            size: 100,
            ranges: Vec::new(),
        })
    };
    let pause = |from, to, generation| {
        [
            Event::GcStart(GcStart { time: t(from) }),
            Event::GcDetail(GcDetail {
                time: t(to),
                generation,
                ..Default::default()
            }),
            Event::GcFinish(GcFinish {
                time: t(to),
                ..Default::default()
            }),
        ]
    };
    let mut events = small();
    // In each round: one compilation reported early, one early and inside a collection, one in
    // time, one late.
    let start = 3_000_000;
    for n in 0..20 {
        let at = start + n * 1000;
        events.push(compile(at + 300, 0x7f00_0001));
        let [begin, detail, end] = pause(at, at + 200, Generation::Young);
        events.extend([begin, compile(at + 600, 0x7f00_0002), detail, end]);
        let [begin, detail, end] = pause(at + 700, at + 900, Generation::Full);
        events.extend([begin, compile(at + 800, 0x7f00_0003), detail, end]);
        events.push(compile(at + 850, 0x7f00_0004));
    }
    // A batch spans one second at most. Only this batch spans more, because it waits for the
    // collection's generation.
    events.extend(pause(5_000_000_000, 7_000_000_000, Generation::Full));
    for version in [DataVersion::V1, DataVersion::V17] {
        let mut encoder = mlpd::Encoder::new(version);
        let bytes = written_by(&mut encoder, &events);
        assert_eq!(encoder.dropped(), []);
        let decoding = decode(Format::Mlpd, &bytes);
        assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        // The decoder numbers ids from 1.
        let reported = crate::common::shown(&events[small().len()..]);
        let renumbered = |event: &String| event.replace("MethodId(9)", "MethodId(1)");
        let reported: Vec<String> = reported.iter().map(renumbered).collect();
        for kind in ["GcStart(", "GcDetail(", "GcFinish(", "MethodCompile("] {
            let of = |events: &[String]| -> Vec<String> {
                let of_kind = events.iter().rev().filter(|event| event.starts_with(kind));
                of_kind.take(40).cloned().collect()
            };
            let (reported, read) = (of(&reported), of(&decoding.events));
            assert_eq!((reported.len(), &reported), (40, &read));
        }
    }
}

/// A trace of this encoder records whether it is whole, whatever its events are.
#[test]
fn a_trace_of_ours_has_an_end() {
    let time = Timestamp(1_700_000_000_000_000_000);
    let end = Event::AgentDestroy(AgentDestroy {
        agent_id: "".into(),
        time,
    });
    for version in [DataVersion::V1, DataVersion::V17] {
        for (events, is_truncated, whole) in [
            (small(), false, true),
            (small(), true, false),
            (
                Vec::from_iter(small().into_iter().chain([end.clone()])),
                false,
                true,
            ),
            (Vec::new(), false, true),
            (Vec::new(), true, false),
        ] {
            let mut encoder = mlpd::Encoder::new(version);
            let mut bytes = Vec::new();
            encoder.begin(&mut bytes);
            events
                .iter()
                .for_each(|event| encoder.event(event, &mut bytes));
            if is_truncated {
                encoder.mark_truncated();
            }
            encoder.end(&mut bytes);
            let decoding = decode(Format::Mlpd, &bytes);
            let remarks = &decoding.remarks;
            assert_eq!(remarks.is_empty(), whole, "{remarks:?}");
            assert_eq!(decoding.count(Severity::Truncated), usize::from(!whole));
            // Without its last buffer, the trace also lacks its end.
            let last = bytes.windows(4).rposition(|id| id == b"\x01\x4c\x50\x4d");
            let cut = decode(Format::Mlpd, &bytes[..last.expect("a buffer")]);
            let begun = last > bytes.windows(4).position(|id| id == b"\x01\x4c\x50\x4d");
            assert_eq!(cut.count(Severity::Truncated), usize::from(begun));
        }
    }
}

/// Details of a handler that match another catch, or none, are lost and do no harm.
#[test]
fn handlers_without_their_catches_are_lost() {
    let at = |ns: i64| Timestamp(1_700_000_000_000_000_000 + ns);
    let detail = |thread, ns| {
        Event::CatchDetail(CatchDetail {
            thread: ThreadId(thread),
            time: at(ns),
            entry: 3,
            takes_all: true,
        })
    };
    let catch = |thread, ns| {
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(thread),
            time: at(ns),
            ..Default::default()
        })
    };
    for version in [DataVersion::V1, DataVersion::V17] {
        for (events, lost, reported) in [
            (vec![detail(1, 5), catch(1, 5)], 0, 1),
            (vec![detail(2, 5), catch(1, 5)], 1, 0),
            (vec![detail(1, 4), catch(1, 5)], 1, 0),
            (vec![detail(1, 5), detail(1, 5), catch(1, 5)], 1, 1),
            (vec![catch(1, 5), detail(1, 5)], 1, 0),
        ] {
            let mut encoder = mlpd::Encoder::new(version);
            let bytes = written_by(&mut encoder, &events);
            let dropped = encoder.dropped();
            let handlers = dropped.iter().find(|kind| kind.what.contains("handlers"));
            assert_eq!(handlers.map_or(0, |kind| kind.count), lost, "{events:?}");
            let decoding = decode(Format::Mlpd, &bytes);
            let details = decoding
                .events
                .iter()
                .filter(|e| e.starts_with("CatchDetail("));
            assert_eq!(details.count(), reported, "{events:?}");
        }
    }
}

/// Thread 0 stands for no thread. Its end does not move events without a thread: a heap dump stays
/// whole although threads start during the dump.
#[test]
fn no_thread_never_ends() {
    let at = |ns: i64| Timestamp(1_700_000_000_000_000_000 + ns);
    let (dump, object) = (HeapDumpId(1), ObjectId(9));
    let part = |object, ns| {
        let listed = HeapObject {
            dump,
            object,
            size: 16,
            ..Default::default()
        };
        let started = ThreadStart {
            thread: ThreadId(object.0),
            time: at(ns),
            ..Default::default()
        };
        [Event::ThreadStart(started), Event::HeapObject(listed)]
    };
    let mut events = vec![
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId::NONE,
            time: at(1),
        }),
        Event::HeapDump(HeapDump {
            dump,
            time: at(2),
            ..Default::default()
        }),
    ];
    events.extend(part(object, 3));
    events.extend(part(ObjectId(10), 4));
    events.push(Event::HeapDumpEnd(HeapDumpEnd { dump, time: at(5) }));
    for version in [DataVersion::V1, DataVersion::V17] {
        let (mut encoder, mut out) = (mlpd::Encoder::new(version), Vec::new());
        encoder.begin(&mut out);
        for event in &events {
            encoder.event(event, &mut out);
            encoder.flush(&mut out);
        }
        encoder.end(&mut out);
        let decoding = decode(Format::Mlpd, &out);
        assert_eq!(decoding.count(Severity::Fault), 0, "{:?}", decoding.remarks);
        let parts = decoding.events.iter();
        let parts: Vec<_> = parts.filter(|event| event.contains("dump: ")).collect();
        assert_eq!(parts.len(), 4, "{parts:?}");
    }
}

/// Stacks, and ids that the trace uses but does not define: decoding returns the stacks unchanged,
/// and encoding the decoded events gives the same bytes.
#[test]
fn what_nobody_defined_comes_back_at_once() {
    let frame = |method: &'static str| Frame {
        method: method.into(),
        line: -1,
    };
    let stack = ["", "main", "a.b", "main()", "a:b", "a.B.run()", "main()"].map(frame);
    let at = |ns: i64| Timestamp(1_700_000_000_000_000_000 + ns);
    let throw = |thread, class, stack: &[Frame<'static>]| {
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(thread),
            time: at(10),
            object: ObjectId(1),
            class: ClassId(class),
            stack: stack.to_vec(),
        })
    };
    let caught = |thread, method| {
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(thread),
            time: at(11),
            class: ClassId(3),
            frame: frame(method),
            ..Default::default()
        })
    };
    let call = Event::MethodEnter(MethodEnter {
        thread: ThreadId(4),
        time: at(12),
        method: MethodId(7),
        class: ClassId(8),
        ticket: 1,
        stack_depth: 1,
        ..Default::default()
    });
    let named = Event::ThreadName(ThreadName {
        thread: ThreadId(5),
        time: at(13),
        name: "late".into(),
    });
    let ended = Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(6),
        time: at(14),
    });
    let started = Event::ThreadStart(ThreadStart {
        thread: ThreadId(1),
        time: at(15),
        name: "again".into(),
        ..Default::default()
    });
    let alone: Vec<Vec<Event<'static>>> = vec![
        vec![throw(1, 3, &[])],
        vec![throw(1, 0, &[])],
        vec![call.clone(), throw(4, 3, &[])],
        vec![
            throw(1, 3, &stack),
            caught(2, ""),
            caught(1, "x.y()"),
            caught(1, "z"),
        ],
        vec![call, throw(1, 3, &stack[..1]), named, ended, started],
    ];
    for events in alone {
        for version in [DataVersion::V1, DataVersion::V17] {
            let once = written_by(&mut mlpd::Encoder::new(version), &events);
            let (mut again, mut stacks) = (mlpd::Encoder::new(version), Vec::new());
            let mut out = Vec::new();
            again.begin(&mut out);
            crate::common::drain(Format::Mlpd, &once, |_, event| {
                match event {
                    Event::ExceptionThrow(e) => {
                        stacks.extend(e.stack.clone().into_iter().map(owned))
                    }
                    Event::ExceptionCatch(e) => stacks.push(owned(e.frame.clone())),
                    _ => {}
                }
                again.event(event, &mut out);
            });
            again.end(&mut out);
            assert!(
                out == once,
                "{:#?}\n{:#?}",
                decode(Format::Mlpd, &once),
                decode(Format::Mlpd, &out)
            );
            let reported = events.iter().flat_map(|event| match event {
                Event::ExceptionThrow(e) => e.stack.clone(),
                Event::ExceptionCatch(e) => vec![e.frame.clone()],
                _ => Vec::new(),
            });
            assert_eq!(stacks, reported.collect::<Vec<_>>());
        }
    }
}

fn owned(frame: Frame<'_>) -> Frame<'static> {
    Frame {
        method: frame.method.into_owned().into(),
        line: frame.line,
    }
}
