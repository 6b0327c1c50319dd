//! The TPTP binary format: every message byte by byte, in both byte orders and with other tick
//! lengths.

use crate::common::layout::{HEAD, MESSAGES, big_endian, messages};
use crate::common::stream::{ENCODING, FREQUENCY, HEADER, binary, free, message, stream};
use crate::common::{decode_pieces, encoded, every_event, shown};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;

#[test]
fn the_head_is_as_specified() {
    let expected = [HEADER, ENCODING, FREQUENCY].concat();
    assert_eq!(encoded(Format::TptpBinary, &[]), expected);
    assert_eq!(expected.len(), HEAD);
}

#[test]
fn the_worked_example_is_as_specified() {
    let event = Event::ThreadStart(ThreadStart {
        thread: ThreadId(1),
        time: Timestamp(1_185_890_426_304_424_453),
        group: "system".into(),
        parent_group: "".into(),
        object: ObjectId(1),
        name: "Reference Handler".into(),
    });
    let bytes = [
        &b"\xf1\x03\x4a\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x05\x6a\x69\x42\x0f\x21\x75\x10"[..],
        b"system\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0Reference Handler\0\0\0",
    ]
    .concat();
    assert_eq!(bytes.len(), 74);
    assert_eq!(message(&event), bytes);
    assert_eq!(stream(&[&bytes]).events, shown(&[event]));
}

/// Each message has distinct values in its fields, and is compared byte by byte.
#[test]
fn every_message_has_its_fields_in_order() {
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let mut id = 0;
    let mut add = |head: u16, fields: &[&[u8]]| {
        let body = fields.concat();
        let size = (6 + body.len()) as u32;
        expected.push([&head.to_le_bytes()[..], &size.to_le_bytes(), &body].concat());
        id += 1;
    };
    let l = |n: i64| n.to_le_bytes();
    let i = |n: i32| n.to_le_bytes();
    let z = &[0; 8][..];
    add(1001, &[b"n\0", b"h\0", b"a\0", &i(-480), &l(1)]);
    add(1002, &[b"p\0", b"m\0", &i(9), b"n\0", &l(2), b"x\0"]);
    add(
        1003,
        &[b"a\0", b"p\0", b"m\0", b"t\0", &l(3), b"o\0", b"v\0"],
    );
    add(1005, &[b"t\0", b"a\0", &l(4), b"\0"]);
    add(
        1007,
        &[b"t\0", b"c\0", b"g\0", b"o\0", b"m\0", b"h\0", b"p\0"],
    );
    add(1008, &[b"\0", b"k\0", b"v\0"]);
    add(
        1009,
        &[z, &l(1), &l(5), b"g\0", b"p\0", z, &l(6), b"n\0", b"\0\0"],
    );
    add(1010, &[z, &l(1), &l(6), b"\0\0"]);
    add(
        1011,
        &[
            z,
            &l(1),
            &l(7),
            &i(0),
            b"\0",
            z,
            &l(2),
            b"S\0",
            b"\0\0",
            z,
            &l(8),
            b"N\0",
            b"\0",
            &[0; 12],
            b"\0\0",
        ],
    );
    add(
        1012,
        &[
            b"n\0",
            b"s\0",
            &[0; 4],
            b"\0",
            &l(10),
            &l(11),
            b"\0",
            z,
            &l(2),
            &l(3),
            b"\0\0",
        ],
    );
    add(
        1014,
        &[
            z,
            &l(1),
            &l(8),
            &[11],
            z,
            &l(9),
            &l(24),
            &l(12),
            &l(3),
            z,
            &l(2),
            b"\0\0\0",
        ],
    );
    add(
        1015,
        &[
            z,
            &l(1),
            &l(9),
            &l(3),
            &i(-1),
            z,
            &l(2),
            &l(13),
            z,
            &l(14),
            b"\0\0",
        ],
    );
    add(
        1016,
        &[
            z,
            &l(1),
            &l(10),
            &i(-1),
            &l(15),
            &l(3),
            z,
            z,
            z,
            &l(2),
            b"\0\0\0",
        ],
    );
    add(1023, &[z, z, &l(11), b"\0\0"]);
    add(1024, &[z, z, &l(12), z, &l(9), &l(3), z, z, b"\0\0"]);
    add(1027, &[z, z, &l(13), &l(4), &l(5), &l(6), b"\0\0"]);
    add(1030, &[z, &l(1), &l(14), b"\0\0"]);
    add(1031, &[z, &l(1), &l(15), b"\0\0"]);
    let stack: &[&[u8]] = &[&i(2), b"f\0", b"g\0", &l(-2), &l(7)];
    let stack = stack.concat();
    add(1032, &[&l(1), &l(16), &l(9), &l(250), &stack]);
    add(1033, &[&l(1), &l(17), &l(9), &l(1), &i(0)]);
    add(1034, &[&l(1), &l(18), &l(9), &l(4), &stack]);
    add(1035, &[&l(1), &l(19), &l(9), &stack]);
    add(
        1036,
        &[&l(1), &l(3), &l(20), &l(21), &l(22), &l(23), &l(24)],
    );
    add(1037, &[&l(1), &l(3)]);
    add(1038, &[&l(5), &l(25), b"n\0", &l(26)]);
    add(1039, &[&l(2), &l(9), b"THREAD\0"]);
    add(1040, &[&l(9), &l(8), &l(5)]);
    add(1041, &[b"body\0"]);
    add(1006, &[b"t\0", &l(27), b"\0"]);
    add(1004, &[b"a\0", &l(28)]);
    assert_eq!(id, 30);

    let (thread, class, method) = (ThreadId(1), ClassId(2), MethodId(3));
    let frames = || {
        let frame = |method: &'static str, line| Frame {
            method: method.into(),
            line,
        };
        vec![frame("f", -2), frame("g", 7)]
    };
    let object = ObjectId(9);
    let events = [
        Event::Node(Node {
            node_id: "n".into(),
            hostname: "h".into(),
            ip_address: "a".into(),
            timezone: -480,
            time: Timestamp(1),
        }),
        ProcessCreate {
            process_id: "p".into(),
            name: "m".into(),
            pid: 9,
            node_id: "n".into(),
            time: Timestamp(2),
            executable: "x".into(),
        }
        .into(),
        AgentCreate {
            agent_id: "a".into(),
            process_id: "p".into(),
            name: "m".into(),
            agent_type: "t".into(),
            time: Timestamp(3),
            parameters: "o".into(),
            version: "v".into(),
        }
        .into(),
        Event::TraceStart(TraceStart {
            trace_id: "t".into(),
            agent_id: "a".into(),
            time: Timestamp(4),
        }),
        Filter {
            trace_id: "t".into(),
            pattern: "c".into(),
            generic_pattern: "g".into(),
            mode: "o".into(),
            method_pattern: "m".into(),
            method_generic_pattern: "h".into(),
            method_mode: "p".into(),
        }
        .into(),
        Event::Option(TraceOption {
            key: "k".into(),
            value: "v".into(),
        }),
        Event::ThreadStart(ThreadStart {
            thread,
            time: Timestamp(5),
            group: "g".into(),
            parent_group: "p".into(),
            object: ObjectId(6),
            name: "n".into(),
        }),
        Event::ThreadEnd(ThreadEnd {
            thread,
            time: Timestamp(6),
        }),
        Event::ClassDef(ClassDef {
            class,
            thread,
            time: Timestamp(7),
            name: "N".into(),
            source_name: "S".into(),
            object: ObjectId(8),
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "n".into(),
            signature: "s".into(),
            start_line: 10,
            end_line: 11,
        }),
        Event::ObjectAlloc(ObjectAlloc {
            thread,
            time: Timestamp(8),
            kind: ObjectKind::LONG,
            object,
            size: 24,
            line: 12,
            method,
            class,
        }),
        Event::MethodEnter(MethodEnter {
            thread,
            time: Timestamp(9),
            method,
            class,
            ticket: u32::MAX,
            cpu_time: Duration(13),
            stack_depth: 14,
        }),
        Event::MethodLeave(MethodLeave {
            thread,
            time: Timestamp(10),
            method,
            class,
            ticket: u32::MAX,
            cpu_time: Duration(15),
            by_exception: false,
        }),
        Event::GcStart(GcStart {
            time: Timestamp(11),
        }),
        Event::ObjectFree(ObjectFree {
            time: Timestamp(12),
            object,
            age: 3,
        }),
        Event::GcFinish(GcFinish {
            time: Timestamp(13),
            total_space: 4,
            used_space: 5,
            used_objects: 6,
        }),
        Event::RuntimeInitDone(RuntimeInitDone {
            thread,
            time: Timestamp(14),
        }),
        Event::RuntimeShutdown(RuntimeShutdown {
            thread,
            time: Timestamp(15),
        }),
        Event::MonitorWait(MonitorWait {
            thread,
            time: Timestamp(16),
            object,
            timeout_ms: 250,
            stack: frames(),
        }),
        Event::MonitorWaited(MonitorWaited {
            thread,
            time: Timestamp(17),
            object,
            timed_out: 1,
            stack: Vec::new(),
        }),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread,
            time: Timestamp(18),
            object,
            owner: ThreadId(4),
            stack: frames(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread,
            time: Timestamp(19),
            object,
            stack: frames(),
        }),
        Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: Duration(20),
            min_time: Duration(21),
            max_time: Duration(22),
            base_cpu_time: Duration(23),
            calls: 24,
        }),
        Event::AggregatedLeave(AggregatedLeave { thread, method }),
        Event::HeapDump(HeapDump {
            dump: HeapDumpId(5),
            time: Timestamp(25),
            name: "n".into(),
            base_time: Timestamp(26),
        }),
        Event::GcRoot(GcRoot {
            class,
            object,
            kind: "THREAD".into(),
        }),
        Event::ObjectReference(ObjectReference {
            source: object,
            target: ObjectId(8),
            dump: HeapDumpId(5),
        }),
        Event::Custom(Custom {
            body: "body".into(),
        }),
        Event::TraceEnd(TraceEnd {
            trace_id: "t".into(),
            time: Timestamp(27),
        }),
        Event::AgentDestroy(AgentDestroy {
            agent_id: "a".into(),
            time: Timestamp(28),
        }),
    ];
    for (event, bytes) in events.iter().zip(&expected) {
        assert_eq!(message(event), *bytes, "{event:?}");
        let decoding = stream(&[bytes]);
        assert!(decoding.is_clean(), "{decoding:?}");
        assert_eq!(decoding.events, shown(std::slice::from_ref(event)));
    }
}

#[test]
fn the_smallest_messages_have_the_sizes_of_the_specification() {
    for (id, fields, smallest) in MESSAGES {
        let size = |field| match field {
            "s" | "b" => 1,
            "i" | "f" => 4,
            _ => 8,
        };
        let body: usize = fields.split(' ').map(size).sum();
        assert_eq!(6 + body, smallest, "{id}");
        let bytes = [
            &id.to_le_bytes()[..],
            &(smallest as u32).to_le_bytes(),
            &vec![0; body],
        ]
        .concat();
        let decoding = stream(&[&bytes]);
        assert!(
            decoding.is_clean() && decoding.events.len() == 1,
            "{id}: {decoding:?}"
        );
        // A body that is one byte too short is refused; one that is a byte too long is reported.
        for (size, body) in [(smallest - 1, body - 1), (smallest + 1, body + 1)] {
            let bytes = [
                &id.to_le_bytes()[..],
                &(size as u32).to_le_bytes(),
                &vec![0; body],
            ]
            .concat();
            let decoding = stream(&[&bytes, &message(&free())]);
            let (place, text) = decoding.only(Severity::Fault);
            assert_eq!(place, HEAD as u64);
            assert!(text.starts_with("skipped: "), "{text}");
            assert!(text.contains(&format!(" ({id}): ")), "{text}");
            assert_eq!(decoding.events, shown(&[free()]));
        }
    }
}

#[test]
fn our_own_files_come_out_byte_by_byte_as_they_went_in() {
    let events = every_event();
    let bytes = encoded(Format::TptpBinary, &events);
    let decoding = binary(&bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(decoding.events, shown(&events));
    assert_eq!(messages(&bytes).len(), events.len());
    assert_eq!(
        crate::common::recoded(Format::TptpBinary, &bytes, Format::TptpBinary),
        bytes
    );
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    let bytes = encoded(Format::TptpBinary, &every_event());
    let turned = big_endian(&bytes, |ns| ns, 1_000_000_000);
    for bytes in [bytes, turned] {
        let whole = binary(&bytes);
        for piece in 1..bytes.len() {
            assert_eq!(
                decode_pieces(Format::TptpBinary, &bytes, piece),
                whole,
                "{piece}"
            );
        }
    }
}

#[test]
fn big_endian_and_other_ticks() {
    let events = every_event();
    let bytes = encoded(Format::TptpBinary, &events);
    let turned = big_endian(&bytes, |ns| ns, 1_000_000_000);
    let decoding = binary(&turned);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(decoding.events, shown(&events));

    // Ticks of half a nanosecond: the reader halves every time again, rounding down.
    let ticks = big_endian(&bytes, |ns| 2 * ns + 1, 2_000_000_000);
    assert_eq!(binary(&ticks).events, shown(&events));
}

#[test]
fn ticks_are_rounded_down_without_overflow() {
    let frequency = |f: i64| [&b"\x02\x00\x0e\x00\x00\x00"[..], &f.to_le_bytes()].concat();
    for (f, ticks, ns) in [
        (3_000_000_000, 10, 3),
        (3_000_000_000, -10, -4),
        (1000, 1_700_000_000_123, 1_700_000_000_123_000_000),
    ] {
        let time = Timestamp(ticks);
        let bytes = [
            HEADER,
            ENCODING,
            &frequency(f),
            &message(&Event::GcStart(GcStart { time })),
        ];
        let time = Timestamp(ns);
        assert_eq!(
            binary(&bytes.concat()).events,
            shown(&[Event::GcStart(GcStart { time })]),
            "{f}"
        );
    }
    let time = Timestamp(i64::MAX);
    let bytes = [
        HEADER,
        &frequency(1),
        &message(&Event::GcStart(GcStart { time })),
        &message(&free()),
    ];
    let decoding = binary(&bytes.concat());
    assert!(
        decoding
            .only(Severity::Fault)
            .1
            .contains("ticks are out of range")
    );
    assert_eq!(decoding.events.len(), 1);
    for f in [0, -1] {
        let decoding = binary(&[HEADER, &frequency(f)].concat());
        assert_eq!(decoding.refused().0, 12);
    }
}
