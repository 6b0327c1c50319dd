//! Log profiles of other programs, built by hand.

use crate::common::{Decoding, decode, drain, is_verbose, reports};
use jtrail_formats::{Checker, Findings, Format, Rule, Severity};

const HEADER: &[u8] = b"\x01\x5a\x50\x4d\x00\x01\x01\x08\x00\x68\xe5\xcf\x8b\x01\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x92\x10\x00\x00\x00\x00\x00\x00";

/// Header of data version 17, without texts.
const HEADER_17: &[u8] = b"\x01\x5a\x50\x4d\x03\x00\x11\x08\x00\x68\xe5\xcf\x8b\x01\x00\x00\
    \x00\xf2\x05\x2a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x92\x10\x00\x00\x00\x00\
    \x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00";

/// Returns a buffer of a thread. Its time base is 5 seconds and `late` nanoseconds, its other bases
/// are 0x100.
fn buffer(thread: u64, late: u64, events: &[&[u8]]) -> Vec<u8> {
    let events = events.concat();
    let mut out = vec![0x01, 0x4c, 0x50, 0x4d];
    out.extend_from_slice(&(events.len() as u32).to_le_bytes());
    for field in [5_000_000_000 + late, 0x100, 0x100, thread, 0x100] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    [out, events].concat()
}

fn read(buffers: &[Vec<u8>]) -> Decoding {
    decode(Format::Mlpd, &[HEADER, &buffers.concat()].concat())
}

/// Tests the events after those of the header: their `Debug` texts begin with these texts.
#[track_caller]
fn found(decoding: &Decoding, expected: &[&str]) {
    let events: Vec<&str> = decoding.events.iter().skip(4).map(|e| &**e).collect();
    let alike = |(event, expected): (&&str, &&str)| event.contains(expected);
    let same = events.len() == expected.len() && events.iter().zip(expected).all(alike);
    assert!(same, "{events:#?}");
}

#[track_caller]
fn reported(decoding: &Decoding, severity: Severity, message: &str) {
    let found = decoding
        .remarks
        .iter()
        .any(|r| r.severity == severity && r.message.contains(message));
    assert!(found, "{:?}", decoding.remarks);
}

/// Compiled method `a:b` with id 0x100.
const JIT: &[u8] = b"\x43\x00\x00\x04\x40a:b ()\0";

#[test]
fn the_smallest_file_is_read() {
    let decoding = read(&[buffer(
        7,
        0,
        &[JIT, b"\x23\x0a\x00", b"\x13\x80\x89\x7a\x00"],
    )]);
    assert!(decoding.is_clean(), "{decoding:?}");
    assert!(decoding.events[1].contains("pid: 4242"));
    found(
        &decoding,
        &[
            "ThreadStart(ThreadStart { thread: ThreadId(1), time: Timestamp(1700000000000000000)",
            "ClassDef(ClassDef { class: ClassId(1), thread: ThreadId(0), time: Timestamp(1700000000000000000), name: \"a\"",
            "MethodDef(MethodDef { method: MethodId(1), class: ClassId(1), name: \"b\", signature: \"()\"",
            "MethodCompile(MethodCompile { method: MethodId(1), time: Timestamp(1700000000000000000), address: 260, size: 64",
            "MethodEnter(MethodEnter { thread: ThreadId(1), time: Timestamp(1700000000000000010), method: MethodId(1), class: ClassId(1), ticket: 1",
            "MethodLeave(MethodLeave { thread: ThreadId(1), time: Timestamp(1700000000002000010)",
        ],
    );
}

#[test]
fn damage_ends_a_buffer_and_not_the_file() {
    for damage in [
        &b"\x0f\x00"[..],                                        // unknown event
        b"\x53\x00\x00",                                         // unknown method event
        b"\x36\x00\x00",                                         // roots in version 1
        b"\x22\x00\x09\x00",                                     // unknown metadata
        b"\x11\x00\x0c\x00",                                     // phase of a collection
        b"\x11\x00\x00\x03",                                     // generation
        b"\x14\x00\x03\x00\x00",                                 // type of clause
        b"\x31\x00\x03\x00\x00\x00",                             // odd moves
        b"\x31\x00\xff\xff\x03\x00\x00",                         // more moves than bytes
        b"\x23\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x00", // long number
        b"\x43\x00\x00\x04\x40abc",                              // text without end
        b"\x23",                                                 // no time
        b"\xa5\x00\x00\x00\x00",                                 // entered with a backtrace
        b"\x84\x00\x00\x01\x00",                                 // flags
    ] {
        let first = buffer(7, 0, &[JIT, b"\x23\x0a\x00", damage]);
        let second = buffer(8, 5, &[b"\x23\x0a\x00"]);
        let decoding = read(&[first, second]);
        reported(&decoding, Severity::Fault, "skipped: rests of buffers, as ");
        assert_eq!(
            decoding.count(Severity::Fault),
            1,
            "{damage:x?} {decoding:?}"
        );
        let enters = decoding
            .events
            .iter()
            .filter(|e| e.starts_with("MethodEnter"));
        assert_eq!(enters.count(), 2, "{damage:x?}");
    }
}

#[test]
fn headers_that_are_none_are_refused() {
    for (at, byte, message) in [
        (0, 2, "the first bytes"),
        (6, 13, "unsupported data version 13"),
        (6, 17, "does not go with"),
        (7, 9, "pointers of 9 bytes"),
        (20, 1, "flags"),
        (15, 0x7f, "startup time"),
    ] {
        let mut bytes = HEADER.to_vec();
        bytes[at] = byte;
        let decoding = decode(Format::Mlpd, &bytes);
        assert!(decoding.refused().1.contains(message), "{decoding:?}");
        assert_eq!(decoding.events.len(), 0);
    }
    let decoding = decode(Format::Mlpd, &HEADER[..31]);
    assert_eq!(
        decoding.refused(),
        (0, "the file is shorter than its header")
    );
}

#[test]
fn what_stands_between_buffers_is_refused_after_what_is_read() {
    let good = buffer(7, 0, &[JIT, b"\x23\x0a\x00"]);
    let mut huge = buffer(7, 0, &[]);
    huge[7] = 0x40;
    for (bad, at) in [(vec![b'x'; 60], 0), (huge, 4)] {
        let decoding = read(&[good.clone(), bad]);
        assert_eq!(
            decoding.refused().0,
            (HEADER.len() + good.len() + at) as u64
        );
        assert!(decoding.events.last().unwrap().starts_with("MethodEnter"));
    }
    let decoding = read(&[good.clone(), good[..60].to_vec()]);
    assert_eq!(
        decoding.only(Severity::Truncated).0,
        (HEADER.len() + good.len()) as u64
    );
}

#[test]
fn leaves_close_what_is_inside() {
    let second: &[u8] = b"\x43\x00\x08\x04\x40a:c ()\0";
    let events: [&[u8]; 7] = [
        JIT,
        second,
        b"\x23\x01\x78", // enters 0x100
        b"\x23\x01\x08", // enters 0x108
        b"\x13\x01\x78", // leaves 0x100
        b"\x13\x01\x00", // leaves it again
        b"\x23\x01\x00",
    ];
    let decoding = read(&[buffer(7, 0, &events)]);
    reported(
        &decoding,
        Severity::Fault,
        "leaves of calls around others that are open",
    );
    reported(
        &decoding,
        Severity::Fault,
        "skipped: leaves of methods that are not open",
    );
    let calls: Vec<_> = decoding
        .events
        .iter()
        .filter(|e| e.starts_with("MethodE") || e.starts_with("MethodL"))
        .collect();
    let marks: Vec<_> = calls
        .iter()
        .map(|e| (e.as_bytes()[6], e.contains("ticket: 2")))
        .collect();
    let expected = [
        (b'E', false),
        (b'E', true),
        (b'L', true),
        (b'L', false),
        (b'E', false),
    ];
    assert_eq!(marks, expected);
}

#[test]
fn what_is_not_defined_gets_a_name() {
    let events: [&[u8]; 3] = [b"\x23\x0a\x00", JIT, b"\x23\x00\x00"];
    let decoding = read(&[buffer(7, 0, &events)]);
    reported(
        &decoding,
        Severity::Fault,
        "methods used before their definition",
    );
    reported(&decoding, Severity::Info, "methods defined after their use");
    found(
        &decoding,
        &[
            "ThreadStart",
            "ClassDef(ClassDef { class: ClassId(1), thread: ThreadId(0), time: Timestamp(1700000000000000010), name: \"unresolved class 0x0\"",
            "name: \"unknown method 0x100\"",
            "MethodEnter",
            "name: \"a\"",
            "MethodDef(MethodDef { method: MethodId(2)",
            "MethodCompile",
            "method: MethodId(2), class: ClassId(2), ticket: 2",
        ],
    );
}

/// Class `E` with id 0x108 in image 0x100; the load has the layout of the first data version.
const CLASS: &[u8] = b"\x02\x00\x01\x08\x00\x00E\0";

#[test]
fn objects_move_and_their_places_are_taken_again() {
    let events: [&[u8]; 7] = [
        CLASS,
        b"\x00\x00\x08\x01\x20", // an object at 0x101
        b"\x31\x00\x02\x01\x05", // which moves to 0x105
        b"\x00\x00\x08\x01\x20", // another at 0x101
        b"\x15\x00\x05",         // contention on the first
        b"\x35\x00\x05",         // contention ends without entering
        b"\x04\x00\x01",         // the second is thrown
    ];
    let decoding = read(&[buffer(7, 0, &events)]);
    reported(&decoding, Severity::Info, "contentions that failed");
    found(
        &decoding,
        &[
            "ThreadStart",
            "name: \"E\"",
            "object: ObjectId(1), size: 32",
            "object: ObjectId(2), size: 32",
            "MonitorContendedEnter(MonitorContendedEnter { thread: ThreadId(1), time: Timestamp(1700000000000000000), object: ObjectId(1)",
            "object: ObjectId(2), class: ClassId(1), stack: [Frame { method: \"\", line: -1 }]",
        ],
    );
}

#[test]
fn heap_dumps_belong_to_the_thread_that_began_them() {
    let mine: [&[u8]; 5] = [
        CLASS,
        b"\x06\x00",
        b"\x26\x01\x08\x10\x01\x02", // object 0x101, refers to 0x102
        b"\x26\x02\x08\x18\x00",
        b"\x26\x01\x00\x00\x01\x01", // and to itself
    ];
    let other: [&[u8]; 2] = [b"\x26\x03\x08\x10\x01\x02", b"\x16\x00"];
    let decoding = read(&[
        buffer(7, 0, &mine),
        buffer(8, 0, &other),
        buffer(7, 9, &[b"\x16\x01"]),
    ]);
    reported(
        &decoding,
        Severity::Fault,
        "parts of heap dumps that did not begin (2)",
    );
    found(
        &decoding,
        &[
            "ThreadStart",
            "ClassDef",
            "HeapDump(",
            "object: ObjectId(1), class: ClassId(1), size: 16",
            "source: ObjectId(1), target: ObjectId(2)",
            "object: ObjectId(2), class: ClassId(1), size: 24",
            "source: ObjectId(1), target: ObjectId(1)",
            "ThreadStart",
            "HeapDumpEnd",
        ],
    );
}

#[test]
fn threads_have_names_and_ends() {
    // Id 7, relative to the base 0x100.
    let load: &[u8] = b"\x22\x00\x05\x87\x7e\x00";
    let name: &[u8] = b"\x02\x05\x05\x87\x7e\x00seven\0";
    let end: &[u8] = b"\x42\x00\x05\x87\x7e\x00";
    let decoding = read(&[
        buffer(7, 0, &[load, name, end]),
        buffer(7, 9, &[b"\x21\x00\x01"]),
    ]);
    reports(&decoding, &["heap sizes without an end of a collection"]);
    found(
        &decoding,
        &[
            "ThreadStart(ThreadStart { thread: ThreadId(1)",
            "ThreadName(ThreadName { thread: ThreadId(1), time: Timestamp(1700000000000000005), name: \"seven\"",
            "ThreadEnd(ThreadEnd { thread: ThreadId(1)",
            "ThreadStart(ThreadStart { thread: ThreadId(2)",
        ],
    );
}

#[test]
fn collections_have_generations_and_sizes() {
    let events: [&[u8]; 6] = [
        b"\x11\x00\x05\x00", // an end without a begin
        b"\x11\x01\x00\x01",
        b"\x11\x01\x01\x01", // a phase
        b"\x21\x01\x80\x08",
        b"\x11\x01\x05\x01",
        b"\x42\x00\x02\x00\x00m\0", // an image is unloaded
    ];
    let decoding = read(&[buffer(7, 0, &events)]);
    reported(
        &decoding,
        Severity::Fault,
        "ends of collections that did not begin",
    );
    reported(&decoding, Severity::Info, "phases of collections");
    reported(
        &decoding,
        Severity::Info,
        "images, assemblies, domains and contexts",
    );
    found(
        &decoding,
        &[
            "ThreadStart",
            "GcStart",
            "generation: Full",
            "total_space: 1024",
        ],
    );
}

/// Load of class `E` in data version 17, with its table 0x110 in domain 0.
const CLASS_17: &[u8] = b"\x22\x00\x01\x08\x00E\0";
const TABLE: &[u8] = b"\x22\x00\x07\x10\x80\x7e\x08";
/// Method `a:b` as bytecode: no code address, but a size.
const BYTECODE: &[u8] = b"\x43\x00\x00\x00\x40a:b ()\0";
const HEAP_SIZE: &[u8] = b"\x21\x00\x80\x08";

fn read_17(events: &[&[u8]]) -> Decoding {
    decode(Format::Mlpd, &[HEADER_17, &buffer(7, 0, events)].concat())
}

#[test]
fn what_no_event_holds_is_counted() {
    let text: &[u8] = b"\x22\x00\x01\x08\x00\x00\xff\xfe\0";
    let large: &[u8] = b"\x00\x00\x08\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
    // Two stack frames have this long name; with a third one, the names would exceed 1 MiB.
    let long = [b"\x43\x00\x00\x04\x40a:", &*b"n".repeat(500_000), b" ()\0"].concat();
    let first: [(&[&[u8]], &[&str]); 17] = [
        (
            &[b"\x22\x00\x02\x00\x00m\0", b"\x42\x00\x03\x00\x00m\0"],
            &["domains and contexts (2)"],
        ),
        (
            &[b"\xa2\x00\x01\x08\x00\x00E\0"],
            &["could not be loaded (1)"],
        ),
        (
            &[b"\x23\x00\x00", JIT],
            &["methods defined after their use (1)"],
        ),
        (
            &[CLASS, JIT, b"\x10\x00\x08\x01\x20\x00\x02\x00\x00"],
            &["callers of allocating methods (1)"],
        ),
        (
            &[
                b"\x11\x00\x00\x01",
                b"\x11\x00\x01\x01",
                b"\x11\x00\x05\x01",
            ],
            &["phases of collections (1)"],
        ),
        (
            &[b"\x11\x00\x00\x02", b"\x11\x00\x05\x02"],
            &["generations above 1, read as full collections (1)"],
        ),
        (
            &[b"\x11\x00\x00\x00", b"\x11\x00\x05\x01"],
            &["are not those of their ends (1)"],
        ),
        (
            &[HEAP_SIZE; 3],
            &["heap sizes without an end of a collection after them (3)"],
        ),
        (
            &[
                HEAP_SIZE,
                HEAP_SIZE,
                b"\x11\x00\x00\x00",
                b"\x11\x00\x05\x00",
            ],
            &["heap sizes without an end of a collection after them (1)"],
        ),
        (
            &[b"\x42\x00\x05\x89\x7e\x00"],
            &["ends of threads in the buffers of others (1)"],
        ),
        (
            &[JIT, b"\x14\x00\x01\x00\x00", b"\x14\x00\x04\x00\x00"],
            &["filter and fault clauses (2)"],
        ),
        (&[JIT, b"\x14\x00\x02\x05\x00"], &[]),
        (&[b"\x35\x00\x05"], &["contentions that failed (1)"]),
        (
            &[&long, b"\x84\x00\x01\x00\x03\x00\x00\x00"],
            &["stacks with more than 1 MiB of names, cut (1)"],
        ),
        (
            &[CLASS, large],
            &["sizes above 63 bits, read as the largest (1)"],
        ),
        (&[text], &["texts not in UTF-8, read with U+FFFD (1)"]),
        (&[CLASS, JIT, b"\x14\x00\x00\x00\x00"], &[]),
    ];
    let last: [(&[&[u8]], &[&str]); 6] = [
        (
            &[b"\x22\x00\x02\x00m\0guid\0"],
            &["domains and contexts (1)", "module ids of images (1)"],
        ),
        (
            &[CLASS_17, b"\x22\x00\x07\x10\x04\x08"],
            &["domains of tables (1)"],
        ),
        (
            &[b"\x0a\x00\x00", b"\x0a\x00\x02"],
            &["synchronization points (2)"],
        ),
        // Objects' generation, offsets of two references, and addresses of two roots. Then the same
        // records with zeros.
        (
            &[
                CLASS_17,
                TABLE,
                b"\x06\x00",
                b"\x26\x00\x01\x10\x10\x02\x03\x08\x01\x08\x01\x00\x01",
                b"\x26\x00\x02\x10\x10\x00\x01\x00\x01",
                b"\x36\x00\x03\x05\x01\x06\x02\x80\x7e\x02",
                b"\x36\x00\x00",
                b"\x16\x00",
            ],
            &[
                "generations of objects in heap dumps (1)",
                "offsets of references in heap dumps (2)",
                "addresses of roots (2)",
            ],
        ),
        (&[JIT, b"\x14\x00\x02\x03\x00\x01"], &[]),
        (&[CLASS_17, TABLE, JIT, b"\x14\x00\x00\x00\x00\x01"], &[]),
    ];
    let mut all = Vec::new();
    for (events, expected) in first {
        all.push((read(&[buffer(7, 0, events)]), expected));
    }
    for (events, expected) in last {
        all.push((read_17(events), expected));
    }
    // In a file that claims to be of this agent, addresses are ids.
    let own = [
        buffer(1 << 48, 0, &[]),
        buffer(7, 0, &[b"\x31\x00\x02\x01\x05"]),
    ];
    all.push((read(&own), &["moves of objects whose ids stay (1)"]));
    for (decoding, expected) in &all {
        reports(decoding, expected);
        assert_eq!(decoding.error, None);
    }
    let decodings: Vec<_> = all.into_iter().map(|(decoding, _)| decoding).collect();
    is_verbose(Format::Mlpd, &decodings);
}

#[test]
fn a_size_of_no_code_is_that_of_the_bytecode() {
    let decoding = read(&[buffer(7, 0, &[BYTECODE])]);
    assert!(decoding.is_clean(), "{decoding:?}");
    let detail = "MethodDetail(MethodDetail { method: MethodId(1), size: 64 })";
    let after = decoding
        .events
        .iter()
        .skip_while(|e| !e.starts_with("MethodDef("));
    assert_eq!(after.skip(1).collect::<Vec<_>>(), [detail]);
}

/// The number of a clause is the handler's entry, even if it is 0. In files of this agent, 0 may
/// mean that the handler was not reported.
#[test]
fn clauses_are_handlers_right_before_their_catches() {
    let clauses: [&[u8]; 4] = [
        JIT,
        b"\x14\x00\x00\x00\x00",
        b"\x14\x00\x02\x00\x00",
        b"\x14\x00\x00\x87\x01\x00",
    ];
    let handlers = |buffers: &[Vec<u8>]| {
        let decoding = read(buffers);
        assert_eq!(decoding.error, None);
        let kinds = decoding.events.iter().filter_map(|event| {
            let detail = event.strip_prefix("CatchDetail(CatchDetail { ");
            match detail.and_then(|fields| fields.split_once("entry: ")) {
                Some((_, handler)) => Some(handler.to_owned()),
                None => event.starts_with("ExceptionCatch(").then(String::new),
            }
        });
        kinds.collect::<Vec<_>>()
    };
    let later = "135, takes_all: false })";
    let (first, finally) = ("0, takes_all: false })", "0, takes_all: true })");
    assert_eq!(
        handlers(&[buffer(7, 0, &clauses)]),
        [first, "", finally, "", later, ""]
    );
    let own = [buffer(1 << 48, 0, &[]), buffer(7, 0, &clauses)];
    assert_eq!(handlers(&own), ["", finally, "", later, ""]);
}

#[test]
fn a_generation_outlives_a_collection_that_does_not_end() {
    let decoding = read(&[buffer(7, 0, &[b"\x11\x07\x00\x01"])]);
    assert!(decoding.is_clean(), "{decoding:?}");
    found(
        &decoding,
        &[
            "ThreadStart",
            "GcStart(GcStart { time: Timestamp(1700000000000000007) })",
            "GcDetail(GcDetail { time: Timestamp(1700000000000000007), collector: \"\", cause: \"\", generation: Full })",
        ],
    );
}

#[test]
fn a_table_needs_its_class() {
    let decoding = read_17(&[TABLE]);
    reported(
        &decoding,
        Severity::Fault,
        "classes used before their definition (1)",
    );
}

fn checked(bytes: &[u8]) -> Findings {
    let mut checker = Checker::of(Format::Mlpd);
    drain(Format::Mlpd, bytes, |at, event| checker.event(at, event));
    checker.finish()
}

#[test]
fn references_to_what_a_dump_does_not_list_are_kept_and_a_fault_of_the_check() {
    let start: &[u8] = b"\x06\x00";
    let object: &[u8] = b"\x26\x01\x08\x10\x03\x02\x02\x03"; // 0x101 refers to 0x102 (twice), 0x103
    let second: &[u8] = b"\x26\x02\x08\x18\x00";
    let third: &[u8] = b"\x26\x03\x08\x18\x00";
    let end: &[u8] = b"\x16\x00";
    for (events, unlisted) in [
        (&[CLASS, start, object, second, third, end][..], None),
        (
            &[CLASS, start, object, second, end],
            Some("1 objects that it does not list, object 3 first"),
        ),
        (
            &[CLASS, start, object, end],
            Some("2 objects that it does not list, object 2 first"),
        ),
        // An object that was allocated before the dump is no part of it either.
        (
            &[CLASS, b"\x00\x00\x08\x03\x20", start, object, second, end],
            Some("1 objects that it does not list, object 1 first"),
        ),
    ] {
        let bytes = [HEADER, &buffer(7, 0, events)].concat();
        let decoding = decode(Format::Mlpd, &bytes);
        assert!(decoding.is_clean(), "{decoding:?}");
        let references = decoding.events.iter();
        let references = references.filter(|e| e.starts_with("ObjectReference"));
        assert_eq!(references.count(), 3);
        let checked = checked(&bytes);
        let findings = &checked.findings;
        let dumps: Vec<_> = findings
            .iter()
            .filter(|f| f.rule == Rule::HeapDumps)
            .collect();
        match unlisted {
            None => assert_eq!((checked.faults(), dumps.len()), (0, 0), "{findings:?}"),
            Some(message) => {
                assert_eq!(dumps.len(), 1, "{findings:?}");
                assert_eq!(dumps[0].severity, Severity::Fault);
                assert!(dumps[0].message.ends_with(message), "{dumps:?}");
            }
        }
    }
}
