use super::Packets;
use crate::filter::CallFilter;
use crate::testing::{START, class, encode_selected, enter, leave, method, thread, time};
use jtrail_model::*;
use std::collections::{HashMap, HashSet};

/// A field of a message: an integer or bytes.
enum Value<'b> {
    Integer(u64),
    Bytes(&'b [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Integer(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_first_chunk().expect("8 bytes");
                bytes = rest;
                Value::Integer(u64::from_le_bytes(*value))
            }
            2 => {
                let len = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Value::Bytes(value)
            }
            wire_type => panic!("wire type {wire_type}"),
        };
        all.push((key >> 3, value));
    }
    all
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Returns an integer field, and 0 if there is none.
fn integer(bytes: &[u8], field: u64) -> u64 {
    let integers = fields(bytes).into_iter().filter(|(f, _)| *f == field);
    let mut integers = integers.map(|(_, value)| match value {
        Value::Integer(n) => n,
        Value::Bytes(_) => panic!("field {field} is no integer"),
    });
    integers.next().unwrap_or(0)
}

/// Returns the fields of bytes with this number.
fn bytes(message: &[u8], field: u64) -> Vec<&[u8]> {
    let found = fields(message).into_iter().filter(|(f, _)| *f == field);
    let found = found.map(|(_, value)| match value {
        Value::Bytes(bytes) => bytes,
        Value::Integer(_) => panic!("field {field} is an integer"),
    });
    found.collect()
}

/// Names of tracks by uuid, and events as `time track type name`.
#[derive(Default)]
struct Read {
    tracks: HashMap<u64, String>,
    events: Vec<String>,
    flows: Vec<(u64, u64)>,
    /// Uuids of tracks that are not merged with others of their name.
    apart: HashSet<u64>,
}

#[derive(Default)]
struct Sequence {
    time: u64,
    is_incremental: bool,
    track: u64,
    names: HashMap<u64, String>,
}

/// Reads a trace as Perfetto's documents describe it.
fn read(trace: &[u8]) -> Read {
    let mut read = Read::default();
    let mut sequences: HashMap<u64, Sequence> = HashMap::new();
    for packet in bytes(trace, 1) {
        let sequence = sequences.entry(integer(packet, 10)).or_default();
        for snapshot in bytes(packet, 6) {
            let clocks = bytes(snapshot, 1);
            let clock = clocks.iter().find(|clock| integer(clock, 1) == 64);
            sequence.time = integer(clock.expect("a clock"), 2);
        }
        for defaults in bytes(packet, 59) {
            sequence.is_incremental = integer(defaults, 58) == 64;
            let event = bytes(defaults, 11);
            sequence.track = event.first().map_or(0, |event| integer(event, 11));
        }
        for track in bytes(packet, 60) {
            let named = bytes(track, 2);
            let process = bytes(track, 3).into_iter().flat_map(|p| bytes(p, 6));
            let thread = bytes(track, 4).into_iter().flat_map(|t| bytes(t, 5));
            let name = named.into_iter().chain(process).chain(thread).next();
            let name = text(name.expect("a name"));
            read.tracks.insert(integer(track, 1), name);
            if integer(track, 15) == 2 {
                read.apart.insert(integer(track, 1));
            }
        }
        for interned in bytes(packet, 12) {
            for name in bytes(interned, 2) {
                let old = sequence
                    .names
                    .insert(integer(name, 1), text(bytes(name, 2)[0]));
                assert_eq!(old, None, "interned twice");
            }
        }
        let Some(event) = bytes(packet, 11).pop() else {
            continue;
        };
        assert_eq!(integer(packet, 13), 2, "needs interned names");
        let time = integer(packet, 8);
        sequence.time = match sequence.is_incremental {
            true => sequence.time + time,
            false => time,
        };
        let track = match integer(event, 11) {
            0 => sequence.track,
            track => track,
        };
        let name = match integer(event, 10) {
            0 => bytes(event, 23).pop().map(text).unwrap_or_default(),
            iid => sequence.names[&iid].clone(),
        };
        let (time, track_name) = (sequence.time, &read.tracks[&track]);
        let line = match integer(event, 9) {
            1 => format!("{time} {track_name} +{name}"),
            2 => format!("{time} {track_name} -"),
            3 => format!("{time} {track_name} !{name}"),
            4 => format!("{time} {track_name} ={}", integer(event, 30) as i64),
            kind => panic!("type {kind}"),
        };
        read.events.push(line);
        let flow = integer(event, 47);
        if flow > 0 {
            read.flows.push((track, flow));
        }
        let flow = integer(event, 48);
        if flow > 0 {
            read.flows.push((track, flow));
        }
    }
    read
}

fn encode(filter: CallFilter, events: &[Event<'_>]) -> Read {
    read(&encode_selected(filter, Packets::default(), events))
}

/// Returns the events of a track without the common part of their times.
fn on(read: &Read, track: &str) -> Vec<String> {
    let prefix = format!(" {track} ");
    let lines = read.events.iter().filter(|line| line.contains(&prefix));
    let short = |line: &String| {
        let (time, event) = line.split_once(&prefix).expect("a track");
        let time: i64 = time.parse().expect("a number");
        format!("{} {event}", time - START)
    };
    lines.map(short).collect()
}

#[test]
fn calls_and_waits_are_slices_of_their_threads() {
    let events = [
        thread(1, 0, "main", "main"),
        thread(2, 0, "worker \"1\"", "main"),
        thread(3, 0, "virtual", "VirtualThreads"),
        class(1, "a.B"),
        class(2, "a.Oops"),
        method(1, "outer"),
        method(2, "inner"),
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        enter(2, 25, 2, 1),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(2),
            time: time(26),
            object: ObjectId(5),
            owner: ThreadId(1),
            stack: Vec::new(),
        }),
        leave(1, 30, 2, 2),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(2),
            time: time(31),
            object: ObjectId(5),
            stack: Vec::new(),
        }),
        enter(1, 32, 2, 3),
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(33),
            class: ClassId(2),
            ..ExceptionThrow::default()
        }),
        leave(1, 34, 2, 3),
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(3),
            time: time(35),
            ..ThreadPark::default()
        }),
        leave(1, 40, 1, 1),
        leave(2, 50, 2, 1),
    ];
    let read = encode(CallFilter::default(), &events);
    let main = [
        "10 +a.B.outer(int)",
        "20 +a.B.inner(int)",
        "26 !holds a monitor that another thread needs",
        "30 -",
        "32 +a.B.inner(int)",
        "33 !throw a.Oops",
        "34 -",
        "40 -",
    ];
    assert_eq!(on(&read, "main"), main);
    let worker = [
        "25 +a.B.inner(int)",
        "26 +blocked on a monitor",
        "31 -",
        "50 -",
    ];
    assert_eq!(on(&read, "worker \"1\""), worker);
    // Open at the end.
    assert_eq!(on(&read, "virtual"), ["35 +parked", "50 -"]);
    assert_eq!(on(&read, "Live threads"), ["0 =1", "0 =2", "0 =3"]);
    let [from, to] = read.flows[..] else {
        panic!("{:?}", read.flows);
    };
    assert_eq!((from.1, to.1), (1, 1));
    assert_eq!(
        [from.0, to.0].map(|t| read.tracks[&t].clone()),
        ["main", "worker \"1\""]
    );
}

#[test]
fn virtual_threads_of_one_name_are_apart() {
    let mut events = vec![class(1, "a.B"), method(1, "run")];
    for (id, name) in [(3, "worker"), (4, "worker"), (5, ""), (6, "")] {
        events.extend([thread(id, 0, name, "VirtualThreads"), enter(id, 10, 1, 1)]);
    }
    let read = encode(CallFilter::default(), &events);
    let names = read.apart.iter().map(|uuid| &*read.tracks[uuid]);
    let mut names: Vec<_> = names.collect();
    names.sort();
    let expected = ["virtual thread 5", "virtual thread 6", "worker", "worker"];
    assert_eq!(names, expected);
    assert_eq!(on(&read, "virtual thread 6").len(), 2);
}

#[test]
fn collections_and_counters_have_tracks() {
    let alloc = |ns, size| {
        Event::ObjectAlloc(ObjectAlloc {
            time: time(ns),
            size,
            ..ObjectAlloc::default()
        })
    };
    let mark = |body: &'static str| Event::Custom(Custom { body: body.into() });
    let lost = Note::Lost(Lost {
        events: 7,
        reason: "overflow".into(),
        ..Lost::default()
    });
    let lost = lost.to_string();
    let totals = Note::Totals(Totals::default()).to_string();
    let events = [
        alloc(1, 100),
        alloc(2, 50),
        alloc(25_000_000, 8),
        Event::GcStart(GcStart {
            time: time(30_000_000),
        }),
        Event::GcDetail(GcDetail {
            time: time(30_000_001),
            collector: "G1".into(),
            cause: "System.gc()".into(),
            generation: Generation::Full,
        }),
        Event::GcFinish(GcFinish {
            time: time(31_000_000),
            used_space: 4096,
            ..GcFinish::default()
        }),
        mark("</script>\u{0}"),
        Event::Custom(Custom {
            body: lost.as_str().into(),
        }),
        Event::Custom(Custom {
            body: totals.as_str().into(),
        }),
    ];
    let read = encode(CallFilter::default(), &events);
    let collections = ["30000000 +full collection", "31000000 -"];
    assert_eq!(on(&read, "Garbage collections"), collections);
    assert_eq!(on(&read, "Heap used"), ["31000000 =4096"]);
    let rate = ["0 =15000", "10000000 =0", "20000000 =800", "30000000 =0"];
    assert_eq!(on(&read, "Allocation rate (bytes per second)"), rate);
    let marks = [
        "31000000 !</script>\u{0}",
        "31000000 !jtrail: 7 events are missing (overflow)",
    ];
    assert_eq!(on(&read, ""), marks);
}

#[test]
fn a_begun_call_is_named_once_per_sequence() {
    let mut events = vec![class(1, "a.B"), method(1, "m")];
    for n in 0..100 {
        let thread = 1 + n % 3;
        events.push(enter(thread, 10 * n as i64, 1, n as u32));
        events.push(leave(thread, 10 * n as i64 + 5, 1, n as u32));
    }
    let read = encode(CallFilter::default(), &events);
    let calls = read
        .events
        .iter()
        .filter(|line| line.ends_with("+a.B.m(int)"));
    assert_eq!(calls.count(), 100);
}

/// Packets have the right lengths, whatever the size of an event.
#[test]
fn long_stacks_are_whole() {
    for frames in [0, 1, 3, 4, 5, 700, 7_000] {
        let frame = Frame {
            method: "com.acme.Shop.pay(Lcom/acme/Order;)V".into(),
            line: 12,
        };
        let throw = |ns| {
            Event::ExceptionThrow(ExceptionThrow {
                thread: ThreadId(1),
                time: time(ns),
                class: ClassId(1),
                stack: vec![frame.clone(); frames],
                ..ExceptionThrow::default()
            })
        };
        let events = [
            thread(1, 0, "main", "main"),
            class(1, "a.B"),
            throw(5),
            throw(300),
        ];
        let read = encode(CallFilter::default(), &events);
        assert_eq!(
            on(&read, "main"),
            ["5 !throw a.B", "300 !throw a.B"],
            "{frames} frames"
        );
    }
}
