//! Files known byte by byte.

use super::raw::{records, turned};
use super::rules::check;
use super::{FORMAT, again, encode, hex};
use crate::common::{decode, decode_pieces, every_event};
use jtrail_formats::{Checker, Format, Rule, Severity};
use jtrail_model::*;

/// The example of the specification.
const EXAMPLE: &str = "
    62 08 00 00 00 2c 00 00 00 0b 00 00 00 01 00 00
    00 03 00 00 00 e8 03 00 00 e8 03 00 00 00 00 00
    00 00 f1 53 65 00 f1 53 65 00 00 00 00
    65 e8 03 00 00 00 00 00 00
    04 f2 03 00 00 00 00 00 00 00 00 00 00 00 00
    6e fc 03 00 00 00 00 00 00 00 00 00 00 10 00 6a
    61 76 61 2f 6c 61 6e 67 2f 4f 62 6a 65 63 74 00
    00 00 00 00 00 00 00
    04 06 04 00 00 00 00 00 00 01 00 00 00 00 00
    6e 10 04 00 00 00 00 00 00 01 00 00 00 10 00 6a
    61 76 61 2f 6c 61 6e 67 2f 54 68 72 65 61 64 00
    00 00 00 00 00 00 00
    04 1a 04 00 00 00 00 00 00 02 00 00 00 00 00
    6e 24 04 00 00 00 00 00 00 02 00 00 00 03 00 61
    2f 42 01 00 01 00 66 03 00 28 29 56 09 00 00 00
    00 00 00 00
    0a 2e 04 00 00 00 00 00 00 01 00 00 00 00 00 00
    00 01 00 04 00 6d 61 69 6e
    5b 38 04 00 00 00 00 00 00 01 00 00 00 02 00 00
    00 ff ff ff ff 00 00
    1f 42 04 00 00 00 00 00 00 00 00 00 00 00 00 00
    00 01 00 00 00
    66 4c 04 00 00 00 00 00 00
    64 49 16 00 00 00 00 de ad";

const T0: i64 = 1_700_000_000_000_000_000;

fn at(n: i64) -> Timestamp {
    Timestamp(T0 + n)
}

/// Returns the events of the example.
fn example() -> Vec<Event<'static>> {
    let (object, thread_class, class) = (ClassId(1), ClassId(2), ClassId(3));
    let (thread, method) = (ThreadId(4), MethodId(5));
    let def = |class, name: &'static str, time| {
        Event::ClassDef(ClassDef {
            class,
            time,
            name: name.into(),
            ..Default::default()
        })
    };
    let detail = |class, super_name: &'static str, methods, time| {
        ClassDetail {
            class,
            time,
            super_name: super_name.into(),
            methods,
            ..Default::default()
        }
        .into()
    };
    let f = Member {
        name: "f".into(),
        signature: "()V".into(),
        access: 9,
    };
    vec![
        Event::Node(Node {
            time: at(0),
            ..Default::default()
        }),
        ProcessCreate {
            time: at(0),
            ..Default::default()
        }
        .into(),
        AgentCreate {
            time: at(0),
            ..Default::default()
        }
        .into(),
        Event::TraceStart(TraceStart {
            time: at(0),
            ..Default::default()
        }),
        def(object, "java.lang.Object", at(20)),
        detail(object, "", vec![], at(20)),
        def(thread_class, "java.lang.Thread", at(40)),
        detail(thread_class, "java.lang.Object", vec![], at(40)),
        def(class, "a.B", at(60)),
        detail(class, "java.lang.Object", vec![f], at(60)),
        Event::ThreadStart(ThreadStart {
            thread,
            time: at(70),
            name: "main".into(),
            ..Default::default()
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "f".into(),
            signature: "()V".into(),
            ..Default::default()
        }),
        Event::MethodEnter(MethodEnter {
            thread,
            time: at(80),
            method,
            class,
            ticket: 1,
            stack_depth: 1,
            ..Default::default()
        }),
        Event::MethodLeave(MethodLeave {
            thread,
            time: at(90),
            method,
            class,
            ticket: 1,
            ..Default::default()
        }),
        Event::TraceEnd(TraceEnd {
            time: at(100),
            ..Default::default()
        }),
        Event::AgentDestroy(AgentDestroy {
            time: at(100),
            ..Default::default()
        }),
    ]
}

#[test]
fn the_worked_example_is_read_as_specified() {
    let bytes = hex(EXAMPLE);
    assert_eq!(bytes.len(), 300);
    assert_eq!(Format::detect(&bytes), Some(FORMAT));
    let decoding = decode(FORMAT, &bytes);
    // The example defines its three classes a moment before their loads.
    let (place, reported) = decoding.only(Severity::Info);
    assert_eq!(
        reported,
        "skipped: times of definitions other than those of the load, creation or start after them (3)"
    );
    assert_eq!((place, decoding.remarks.len()), (69, 1));
    assert_eq!(decoding.error, None);
    assert_eq!(decoding.events, crate::common::shown(&example()));
}

/// The encoder's ticks count from 1970, and a class has only one time. All other bytes equal those
/// of the example.
#[test]
fn the_worked_example_is_written_but_for_the_ticks() {
    let mut bytes = hex(EXAMPLE);
    bytes[25..33].copy_from_slice(&T0.to_le_bytes());
    for record in records(&bytes.clone()) {
        let ticks = record.ticks() - 1000 + u64::from(record.kind == 0x04) * 10;
        let place = record.offset + 1;
        let ticks = T0 as u64 + ticks;
        bytes[place..place + 8].copy_from_slice(&ticks.to_le_bytes());
    }
    let encoded = encode(&example());
    assert_eq!(encoded.bytes, bytes);
    check(&bytes);
    assert_eq!(again(&hex(EXAMPLE)).bytes, bytes);
    assert_eq!(again(&bytes).bytes, bytes);
}

#[test]
fn the_header_stays_open_where_it_can_not_be_patched() {
    let mut encoder = FORMAT.encoder();
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes);
    for event in &example() {
        encoder.event(event, &mut bytes);
    }
    encoder.end(&mut bytes);
    assert_eq!(bytes[9..21], [0, 0, 0, 0, 0, 4, 0, 0, 0, 64, 0, 0]);
    assert_eq!(
        decode(FORMAT, &bytes).events,
        crate::common::shown(&example())
    );
    let patches = encoder.patches();
    assert_eq!(patches.len(), 1);
    assert_eq!(patches[0].offset, 9);
    assert_eq!(patches[0].bytes, [11, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]);
}

#[test]
fn a_trace_with_everything_drops_what_has_no_field() {
    let encoded = encode(&every_event());
    let found = check(&encoded.bytes);
    assert_eq!((found.threads, found.enters), (2, 1));
    let dropped: Vec<_> = encoded.dropped.iter().map(|l| (l.what, l.count)).collect();
    assert_eq!(
        dropped,
        [
            ("descriptions of machine, process and agent", 3),
            ("filters", 1),
            ("options", 1),
            ("groups of threads", 1),
            ("new names of threads", 1),
            ("CPU times of threads", 1),
            ("CPU times of calls", 2),
            ("carriers of virtual threads", 2),
            ("throws and catches", 2),
            ("handlers of catches", 1),
            ("stacks of monitor events and parks", 4),
            ("samples", 1),
            ("aggregated calls", 2),
            ("objects, roots and references of heap dumps", 6),
            ("details of collections", 1),
            ("heap sizes after collections", 1),
            ("compiled methods", 2),
            ("lengths of bytecode", 1),
            ("line counts", 1),
            ("unloads and redefinitions of classes", 2),
            ("class initialisations", 2),
            ("access flags, loaders and sizes of classes", 1),
            ("source files of classes", 1),
            ("threads that loaded classes", 1),
            ("class objects", 1),
            ("line ranges of methods", 1),
            ("classes split by methods that were defined later", 1),
            ("sizes of plain objects", 1),
            ("lines and methods of allocations", 1),
            ("ages of freed objects", 1),
        ]
    );
    let bytes = &encoded.bytes;
    let decoding = decode(FORMAT, bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(again(bytes).bytes, *bytes);
    for piece in 1..bytes.len() {
        assert_eq!(decode_pieces(FORMAT, bytes, piece), decoding, "{piece}");
    }
    for platform in [22, 33, 55] {
        assert_eq!(decode(FORMAT, &turned(bytes, platform)), decoding);
    }
    let mut windows = bytes.clone();
    windows[5] = 11;
    assert_eq!(decode(FORMAT, &windows), decoding);
}

/// The checker accepts what the encoder writes from a sound trace.
#[test]
fn what_is_written_verifies() {
    let mut checker = Checker::default();
    let aggregated =
        |e: &&Event<'_>| matches!(e, Event::AggregatedEnter(_) | Event::AggregatedLeave(_));
    let events = every_event();
    let bytes = encode(events.iter().filter(|e| !aggregated(e))).bytes;
    let mut reader = jtrail_formats::Reader::new(&bytes[..]).unwrap();
    let end = reader.for_each(|item| {
        let jtrail_formats::Item::Event { offset, event } = item else {
            panic!("{item:?}")
        };
        checker.event(offset, &event);
        std::ops::ControlFlow::<()>::Continue(())
    });
    end.unwrap();
    let found = checker.finish();
    assert_eq!(found.faults(), 0, "{:#?}", found.findings);
    assert!(found.findings.iter().all(|f| f.rule != Rule::Order));
}

/// Ids in notes are replaced by the file's ids. Totals count only what the file can hold.
#[test]
fn notes_come_through() {
    let mut events = example();
    let custom = |body: String| Event::Custom(Custom { body: body.into() });
    let lost = Note::Lost(Lost {
        thread: ThreadId(4),
        events: 3,
        from: at(1),
        to: at(2),
        reason: "overflow".into(),
    });
    let totals = |throws| {
        Note::Totals(Totals {
            enters: 1,
            leaves: 1,
            throws,
            catches: throws,
            samples: throws,
            ..Default::default()
        })
    };
    let at_end = events.len() - 2;
    let bodies = [
        lost.to_string(),
        "a mark \"with\" \\".into(),
        "jtrail later x=1".into(),
        totals(7).to_string(),
    ];
    events.splice(at_end..at_end, bodies.clone().map(custom));
    let encoded = encode(&events);
    check(&encoded.bytes);
    let texts: Vec<String> = records(&encoded.bytes)
        .iter()
        .filter(|record| record.kind == 0x4e)
        .map(|record| record.text(1).to_owned())
        .collect();
    assert_eq!(texts[0], lost.to_string().replace("thread=4", "thread=1"));
    assert_eq!(texts[1], "mark \"a mark \\\"with\\\" \\\\\"");
    events[at_end + 3] = custom(totals(0).to_string());
    let decoding = decode(FORMAT, &encoded.bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(decoding.events, crate::common::shown(&events));
}
