//! `report`, `dump` and `compare` with events that lack definitions or ends, or make no sense.

use crate::common::rich::rich;
use crate::common::{Folder, LOSSLESS, encode, enter, file, jtrail, leave, rows, time};
use jtrail_formats::Format;
use jtrail_model::*;

/// Checks every table for unusual traces: empty, truncated, and with undefined ids.
#[test]
fn odd_traces_are_reported() {
    let folder = Folder::new();
    let all = [
        "--allocations",
        "--live",
        "--gc",
        "--monitors",
        "--exceptions",
        "--classes",
        "--code",
        "--samples",
        "--heap",
        "--coverage",
        "--lines",
    ];
    let mut empty = crate::common::opening();
    empty.extend(crate::common::closing(5));
    let defined = |e: &Event<'_>| {
        matches!(
            e,
            Event::ClassDef(_) | Event::MethodDef(_) | Event::ThreadStart(_) | Event::ThreadName(_)
        )
    };
    let undefined: Vec<_> = rich().into_iter().filter(|e| !defined(e)).collect();
    let whole = rich();
    let cuts = (0..whole.len()).step_by(7).map(|n| whole[..n].to_vec());
    for events in [empty, undefined.clone()].into_iter().chain(cuts) {
        let file = file(&folder, Format::TptpBinary, &events);
        for args in [&all[..], &[]] {
            let done = jtrail(&[&["report", &file], args].concat());
            assert!(done.code == 0, "{}", done.err);
        }
        let done = jtrail(&["compare", &file, &file]);
        assert!(done.code == 0, "{}{}", done.out, done.err);
    }
    let file = file(&folder, Format::TptpBinary, &undefined);
    assert_eq!(
        rows(&file, &["--live"], "live"),
        [
            "2\t1500\t0.974026\tclass-11",
            "1\t24\t0.015584\tclass-10",
            "1\t16\t0.010390\tclass-3"
        ]
    );
    let site = &rows(&file, &["--allocations"], "allocation_sites")[0];
    assert!(site.ends_with("\tclass-11\tmethod-6:14"), "{site}");
    let blocked = &rows(&file, &["--monitors"], "monitors")[0];
    assert!(
        blocked.contains("\t2\tthread-2\t1\tthread-1\t20\tclass-3\t"),
        "{blocked}"
    );
    assert_eq!(
        rows(&file, &["--coverage"], "coverage"),
        ["2\t5\t0.400000\t1\t2\t3\t"]
    );
    let cut = encode(Format::TptpBinary, &whole);
    let cut = folder.put("cut", &cut[..cut.len() - 20]);
    let done = jtrail(&[&["report", &cut], &all[..]].concat());
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.out.contains("com.acme.Node"));
}

/// Extreme ids and figures cause neither a panic nor excessive memory.
#[test]
fn hostile_figures_do_no_harm() {
    let folder = Folder::new();
    let (min, max) = (i64::MIN, i64::MAX);
    let mut events = vec![
        enter(u64::MAX, 5, u64::MAX, u32::MAX, max),
        leave(u64::MAX, min + 5, u64::MAX, u32::MAX),
        Event::HeapDump(HeapDump {
            dump: HeapDumpId(u64::MAX),
            ..HeapDump::default()
        }),
    ];
    for id in [u64::MAX, u64::MAX - 1, 1 << 60, 1 << 32, 0] {
        let (object, class, thread) = (ObjectId(id), ClassId(id), ThreadId(id));
        for size in [max, min, 0] {
            events.push(Event::ObjectAlloc(ObjectAlloc {
                thread,
                object,
                class,
                size,
                method: MethodId(id),
                line: size,
                time: Timestamp(size),
                kind: ObjectKind(255),
            }));
            events.push(Event::GcRoot(GcRoot {
                class,
                object,
                kind: "?".into(),
            }));
            events.push(Event::ObjectReference(ObjectReference {
                source: object,
                target: ObjectId(id ^ 5),
                dump: HeapDumpId(u64::MAX),
            }));
            events.push(Event::MonitorWait(MonitorWait {
                thread,
                object,
                time: Timestamp(max),
                ..MonitorWait::default()
            }));
            events.push(Event::GcStart(GcStart {
                time: Timestamp(min),
            }));
            events.push(Event::GcFinish(GcFinish {
                time: Timestamp(max),
                used_space: max,
                ..GcFinish::default()
            }));
        }
        events.push(Event::ObjectFree(ObjectFree {
            object,
            time: time(0),
            age: max,
        }));
    }
    for format in LOSSLESS {
        let file = file(&folder, format, &events);
        for args in [
            &["report", &file][..],
            &["report", &file, "--live", "--heap", "--gc", "--monitors"],
            &["dump", &file],
            &["verify", &file],
        ] {
            let done = jtrail(args);
            assert!(done.code <= 3 && !done.out.is_empty(), "{}", done.err);
        }
    }
}
