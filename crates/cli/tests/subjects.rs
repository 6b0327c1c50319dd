//! `report`, `dump`, `verify` and `convert` with events of every kind.

use crate::common::rich::{self, rich};
use crate::common::{Folder, LOSSLESS, closing, file, jtrail, opening, rows, time};
use jtrail_formats::{Format, Item, Reader};
use jtrail_model::*;
use std::ops::ControlFlow;

/// Flag, table, and the table's rows.
const TABLES: &[(&str, &str, &[&str])] = &[
    (
        "--allocations",
        "allocations",
        &["2\t1500\t0.968992\t[B", "2\t48\t0.031008\tcom.acme.Node"],
    ),
    (
        "--allocations",
        "allocation_sites",
        &[
            "2\t1500\t0.968992\t[B\tcom.acme.Main.run()V:14",
            "2\t48\t0.031008\tcom.acme.Node\tcom.acme.Main.run()V:12",
        ],
    ),
    (
        "--allocations",
        "allocation_threads",
        &[
            "3\t1048\t0.677003\t1\tboss",
            "1\t500\t0.322997\t2\tworker 1",
        ],
    ),
    (
        "--live",
        "live",
        &[
            "2\t1500\t0.974026\t[B",
            "1\t24\t0.015584\tcom.acme.Node",
            "1\t16\t0.010390\tcom.acme.Main",
        ],
    ),
    (
        "--live",
        "live_threads",
        &[
            "2\t1024\t0.664935\t1\tboss",
            "1\t500\t0.324675\t2\tworker 1",
            "1\t16\t0.010390\t\t",
        ],
    ),
    (
        "--gc",
        "gc_kinds",
        &["1\t30000\t30000\t1048576\tyoung\tCopy\tAllocation Failure"],
    ),
    ("--gc", "gc_lengths", &["20000\t50000\t1\t1.000000\t30000"]),
    (
        "--gc",
        "gc",
        &["2000000\t30000\t1048576\tyoung\tCopy\tAllocation Failure"],
    ),
    (
        "--monitors",
        "monitors",
        &["3000000\t500000\t2\tworker 1\t1\tboss\t20\tcom.acme.Main\tcom.acme.Main.run()V:12"],
    ),
    (
        "--monitors",
        "monitor_objects",
        &["1\t500000\t500000\t20\tcom.acme.Main"],
    ),
    (
        "--monitors",
        "monitor_classes",
        &["1\t500000\t500000\tcom.acme.Main"],
    ),
    (
        "--monitors",
        "monitor_sites",
        &["1\t500000\t500000\tcom.acme.Main.run()V:12"],
    ),
    (
        "--monitors",
        "waits",
        &["1\t1\t1000000\t1000000\tcom.acme.Main\tcom.acme.Main.run()V:12"],
    ),
    (
        "--monitors",
        "parks",
        &[
            "1\t1\t4000000\t4000000\t\tcom.acme.Main.run()V:12",
            "1\t\t1000000\t1000000\tcom.acme.Main\tcom.acme.Main.run()V:12",
        ],
    ),
    (
        "--exceptions",
        "exceptions",
        &["2\t1\tcom.acme.Oops\tcom.acme.Main.run()V:12"],
    ),
    (
        "--exceptions",
        "catches",
        &["1\tcom.acme.Oops\tcom.acme.Main.main([Ljava/lang/String;)V:33"],
    ),
    (
        "--exceptions",
        "uncaught",
        &["9000000\t1\tboss\t23\tcom.acme.Oops\tcom.acme.Main.run()V:12"],
    ),
    ("--code", "code_totals", &["1\t1\t1\t416\t0\t416"]),
    (
        "--code",
        "code",
        &["1\t1\t416\t416\t1\t47\tcom.acme.Main.run()V"],
    ),
    (
        "--classes",
        "classes",
        &[
            "com.acme.Main\tpublic\tjava.lang.Object\tjava.lang.Runnable, a.I\tapp\t1\t1\t950\t1\t",
            "com.acme.Node\t\t\t\t\t\t\t0\t\t10000020",
        ],
    ),
    (
        "--classes",
        "members",
        &[
            "com.acme.Main\tfield\tprivate\tcount\t[I\t2\tint[] count",
            "com.acme.Main\tmethod\tpublic\trun\t()V\t1\trun()",
        ],
    ),
    (
        "--samples",
        "samples",
        &[
            "1\t1.000000\t1\t1.000000\t2\t2\tcom.acme.Main.run()V",
            "0\t0.000000\t1\t1.000000\t0\t2\tcom.acme.Main.main([Ljava/lang/String;)V",
        ],
    ),
    (
        "--samples",
        "sample_threads",
        &["1\tboss\t1\t1\t0\t0\t0\t0", "2\tworker 1\t1\t0\t0\t0\t1\t0"],
    ),
    (
        "--coverage",
        "coverage",
        &["2\t5\t0.400000\t1\t2\t3\tcom.acme.Main"],
    ),
    (
        "--coverage",
        "coverage_methods",
        &[
            "2\t4\t0.500000\t3\tcom.acme.Main.run()V",
            "0\t1\t0.000000\t0\tcom.acme.Main.fib(I)J",
        ],
    ),
    (
        "--coverage --lines",
        "uncovered_lines",
        &[
            "2\tcom.acme.Main.run()V\t13-14",
            "1\tcom.acme.Main.fib(I)J\t20",
        ],
    ),
    (
        "--heap",
        "heap",
        &["30\t11000000\texit\t4\t1548\t1\t2\t1\t24\tyes"],
    ),
    (
        "--heap",
        "heap_classes",
        &[
            "30\t2\t1500\t0.968992\t1500\t0.968992\t1\t[B",
            "30\t2\t48\t0.031008\t1024\t0.661499\t1\tcom.acme.Node",
        ],
    ),
    ("--heap", "heap_references", &["30\t1\t[B\tcom.acme.Node"]),
    (
        "--heap",
        "heap_objects",
        &[
            "30\t24\t1024\t0.661499\t21\tcom.acme.Node",
            "30\t1000\t1000\t0.645995\t23\t[B",
            "30\t500\t500\t0.322997\t24\t[B",
        ],
    ),
    (
        "--only threads",
        "threads",
        &[
            "1\tboss\tmain\t2000\t\t0\t0\t7000000\t\t\t1\tmain",
            "2\tworker 1\tmain\t2500\t\t0\t0\t\t1\t50\t\t",
        ],
    ),
];

#[test]
fn every_subject_is_summed_up() {
    let folder = Folder::new();
    for format in LOSSLESS {
        let file = file(&folder, format, &rich());
        for (flags, table, expected) in TABLES {
            let flags: Vec<&str> = flags.split(' ').collect();
            assert_eq!(rows(&file, &flags, table), *expected, "{table}");
            assert_eq!(rows(&file, &["--only", table], table), *expected, "{table}");
        }
    }
}

/// An overview contains tables that have rows, but no details.
#[test]
fn the_overview_is_short() {
    let folder = Folder::new();
    let file = file(&folder, Format::TptpBinary, &rich());
    let out = jtrail(&["report", &file]).out;
    let heads: Vec<&str> = out
        .split("\n\n")
        .filter_map(|section| section.lines().next())
        .collect();
    assert_eq!(
        heads,
        [
            "trace",
            "threads",
            "samples",
            "sample threads",
            "allocations",
            "allocation sites",
            "allocation threads",
            "live",
            "live threads",
            "gc kinds",
            "gc lengths",
            "gc",
            "monitors",
            "monitor classes",
            "monitor sites",
            "waits",
            "parks",
            "exceptions",
            "catches",
            "uncaught",
            "code totals",
            "code",
            "slowest class initialisations",
            "coverage",
            "heap",
        ]
    );
    for line in [
        "  objects allocated         4\n",
        "  objects freed             1\n",
        "  waits for monitors        1\n",
        "  time in them              500.0 µs\n",
        "  exceptions thrown         2\n",
        "  classes unloaded          1\n",
        "  classes initialised       2\n",
        "  of them failed            1\n",
        "        2  1.5 KiB    96.9%  byte[]\n",
    ] {
        assert!(out.contains(line), "no {line}in\n{out}");
    }
}

#[test]
fn class_initialisations_nest() {
    let folder = Folder::new();
    let file = file(&folder, Format::Trail, &rich());
    let table = "slowest_class_initialisations";
    let expected = [
        "10000022\t7\t5\t\t1\tboss\tcom.acme.Main\t",
        "10000023\t2\t2\t1\t1\tboss\tcom.acme.Oops\tcom.acme.Main",
    ];
    assert_eq!(rows(&file, &["--only", table], table), expected);
    assert_eq!(rows(&file, &["--classes"], table), expected);
    let other = rows(&file, &["--thread", "2", "--only", table], table);
    assert_eq!(other, [""; 0]);
}

#[test]
fn a_thread_is_chosen_for_all_that_threads_do() {
    let folder = Folder::new();
    let file = file(&folder, Format::TptpBinary, &rich());
    let with = |table| rows(&file, &["--thread", "2", "--only", table], table);
    assert_eq!(with("allocations"), ["1\t500\t1.000000\t[B"]);
    assert_eq!(with("live"), ["1\t500\t1.000000\t[B"]);
    assert_eq!(with("exceptions"), [""; 0]);
    assert_eq!(with("waits").len(), 1);
    assert_eq!(with("sample_threads").len(), 1);
}

#[test]
fn cpu_time_and_bounds_are_columns_when_the_trace_has_them() {
    let folder = Folder::new();
    let mut events = crate::common::sample();
    for (n, event) in events.iter_mut().enumerate() {
        let cpu = Duration(n as i64 * 1_000);
        match event {
            Event::MethodEnter(e) if e.thread == ThreadId(1) => e.cpu_time = cpu,
            Event::MethodLeave(e) if e.thread == ThreadId(1) => e.cpu_time = cpu,
            _ => {}
        }
    }
    let cpu = file(&folder, Format::TptpBinary, &events);
    let args = ["--sort", "cpu", "--only", "methods"];
    let methods = rows(&cpu, &args, "methods");
    let cpu: Vec<Vec<&str>> = methods
        .iter()
        .map(|row| row.split('\t').skip(5).collect())
        .collect();
    assert_eq!(
        cpu,
        [
            ["9000", "15000", "com.acme.Main.main([Ljava/lang/String;)V"],
            ["5000", "5000", "com.acme.Main.fib(I)J"],
            ["1000", "1000", "com.acme.Main.run()V"],
        ]
    );
    let mut events = crate::common::sample()[..9].to_vec();
    let (thread, method) = (ThreadId(1), MethodId(5));
    events.extend([
        Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: Duration(900),
            min_time: Duration(100),
            max_time: Duration(500),
            base_cpu_time: Duration(0),
            calls: 3,
        }),
        Event::AggregatedLeave(AggregatedLeave { thread, method }),
    ]);
    events.extend(crate::common::closing(1_000_000));
    let file = file(&folder, Format::TptpXml, &events);
    for table in ["methods", "tree"] {
        let row = &rows(&file, &["--only", table], table)[0];
        assert!(row.ends_with("\t100\t500\tcom.acme.Main.fib(I)J"), "{row}");
    }
}

const DUMP: &str = "\
0.001000000 - object object=20 class=com.acme.Main size=16 kind=0
0.001000000 #1 alloc object=21 class=com.acme.Node size=24 kind=0 line=12 method=com.acme.Main.run()V
0.002000000 - gc-detail collector=Copy cause=\"Allocation Failure\" generation=young
0.002030000 - free object=22 age=0
0.003000000 #2 blocked object=20 owner=#1 stack=STACK
0.003500000 #2 unblocked object=20 stack=STACK
0.004000000 #2 wait object=20 timeout-ms=1 stack=STACK
0.005000000 #2 waited object=20 timed-out=1 stack=STACK
0.006000000 #2 park object=20 stack=STACK
0.007000000 #2 unpark
0.009000000 #1 throw object=21 class=com.acme.Oops stack=STACK
0.009000001 #1 catch-detail entry=3 all=true
0.009000001 #1 catch object=21 class=com.acme.Oops frame=com.acme.Main.main([Ljava/lang/String;)V:33
0.009000002 #1 thread-name name=boss
0.009000003 #1 thread-cpu cpu=0.007000000
0.009000004 #2 mount carrier=#1
0.009000054 #2 unmount carrier=#1
0.010000000 - class-detail class=com.acme.Main flags=0x21 super=java.lang.Object interfaces=java.lang.Runnable,a.I loader=app size=900 fields=count:[I:0x2 methods=run:()V:0x1
0.010000010 - class-redefine class=com.acme.Main size=950
0.010000022 #1 class-init class=com.acme.Main
0.010000023 #1 class-init class=com.acme.Oops
0.010000025 #1 class-init-end class=com.acme.Oops failed=true
0.010000029 #1 class-init-end class=com.acme.Main failed=false
0.010000020 - class-unload class=com.acme.Node
- - method-detail com.acme.Main.run()V size=47
0.010000030 - compile com.acme.Main.run()V address=0x7f00 size=416 ranges=0:a.B.get()I:7<com.acme.Main.run()V:12
0.010000040 - uncompile com.acme.Main.run()V address=0x7f00
0.010000050 #1 sample state=runnable stack=STACK
0.010000050 #2 sample state=parked stack=STACK
0.010000060 - lines com.acme.Main.run()V calls=3 counts=12:3,13:0,14:0,16:2
0.011000000 - heap-dump id=30 name=exit base=0.000001000
- - heap-object dump=30 object=21 class=com.acme.Node size=24
- - root object=21 class=com.acme.Node kind=THREAD
- - reference from=21 to=23 dump=30
0.011000001 - heap-dump-end id=30
";

const STACK: &str = "com.acme.Main.run()V:12,com.acme.Main.main([Ljava/lang/String;)V:30";

#[test]
fn every_event_is_dumped_with_its_fields() {
    let folder = Folder::new();
    for format in LOSSLESS {
        let done = jtrail(&["dump", &file(&folder, format, &rich())]);
        assert_eq!((done.code, done.err.as_str()), (0, ""));
        for line in DUMP.replace("STACK", STACK).lines() {
            assert!(
                done.out.lines().any(|l| l == line),
                "no {line} in\n{}",
                done.out
            );
        }
        assert!(!done.out.contains(" other\n") && !done.out.contains(" custom "));
    }
    let file = file(&folder, Format::TptpBinary, &rich());
    let done = jtrail(&["dump", &file, "--class", "com.acme.Oops"]);
    assert_eq!(done.out.lines().count(), 6, "{}", done.out);
}

/// Tests events that only some formats have and that name a class or one of its methods.
#[test]
fn dump_shows_each_event_of_a_class() {
    let (thread, class, method) = (ThreadId(1), ClassId(90), MethodId(91));
    let of_class = [
        rich::class(class.0, "com.acme.Only"),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "only".into(),
            signature: "()V".into(),
            ..MethodDef::default()
        }),
        Event::ClassSource(ClassSource {
            class,
            source_name: "Only.java".into(),
        }),
        Event::AggregatedDetail(AggregatedDetail {
            thread,
            method,
            ..AggregatedDetail::default()
        }),
        Event::AllocationSum(AllocationSum {
            thread,
            time: time(5_000),
            class,
            objects: 2,
            bytes: 32,
        }),
        Event::ObjectCounts(ObjectCounts {
            thread,
            time: time(6_000),
            class,
            live: 1,
            peak: 2,
        }),
        Event::LiveObjects(LiveObjects {
            time: time(7_000),
            classes: vec![LiveClass {
                class,
                objects: 1,
                bytes: 16,
            }],
        }),
    ];
    let events = [opening(), of_class.to_vec(), closing(9_000)].concat();
    let folder = Folder::new();
    let file = file(&folder, Format::Trail, &events);
    let dump = |args: &[&str]| {
        let done = jtrail(&[&["dump", file.as_str()], args].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""));
        done.out
    };
    let (all, part) = (dump(&[]), dump(&["--class", "com.acme.Only"]));
    assert_eq!(part.lines().count(), of_class.len(), "{part}\nof\n{all}");
    assert_eq!(dump(&["--class", "com.acme.Onl"]), "");
}

fn decoded(bytes: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let mut reader = Reader::new(bytes).expect("a format");
    let end = reader.for_each(|item| -> ControlFlow<()> {
        match item {
            Item::Event { event, .. } => events.push(format!("{event:?}")),
            Item::Remark(remark) => panic!("{remark:?}"),
        }
        ControlFlow::Continue(())
    });
    assert!(matches!(end, Ok(None)));
    events
}

#[test]
fn conversion_loses_nothing() {
    let folder = Folder::new();
    let binary = file(&folder, Format::TptpBinary, &rich());
    let out = |name: &str| folder.at(name).to_str().expect("UTF-8").to_owned();
    let (xml, back) = (out("y.trcxml"), out("y.trcbin"));
    for (from, to) in [(&binary, &xml), (&xml, &back)] {
        let done = jtrail(&["convert", from, to]);
        assert_eq!((done.code, done.err.as_str()), (0, ""));
    }
    let read = |path: &String| decoded(&std::fs::read(path).expect("there"));
    let given: Vec<String> = rich().iter().map(|e| format!("{e:?}")).collect();
    assert_eq!(read(&binary), given);
    assert_eq!(read(&xml), given);
    assert_eq!(read(&back), given);
}

#[test]
fn verify_counts_the_events_of_each_kind() {
    let folder = Folder::new();
    let file = file(&folder, Format::TptpBinary, &rich());
    let plain = jtrail(&["verify", &file]).out;
    assert!(!plain.contains("ObjectAlloc: "), "{plain}");
    let counted = jtrail(&["verify", "--counts", &file]).out;
    assert!(counted.starts_with(plain.trim_end()), "{counted}");
    assert!(counted.contains("\n  ObjectAlloc: 4\n"), "{counted}");
    let json = jtrail(&["verify", "--json", &file]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let kinds = json[0]["kinds"].as_object().expect("an object");
    assert_eq!(kinds["MonitorWait"], 1);
    let all: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(all, rich().len() as u64);
}

/// An overview shows ten rows of a subject, a requested table shows twenty.
#[test]
fn tables_are_as_long_as_asked() {
    let folder = Folder::new();
    let mut events = crate::common::opening();
    events.push(crate::common::thread_start(1, 2_000, "main"));
    for n in 1..=25 {
        events.push(Event::ClassDef(ClassDef {
            class: ClassId(n + 1),
            name: format!("a.C{n}").into(),
            ..ClassDef::default()
        }));
        events.push(Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: crate::common::time(5_000),
            object: ObjectId(100 + n),
            class: ClassId(n + 1),
            size: 16,
            ..ObjectAlloc::default()
        }));
    }
    events.extend(crate::common::closing(10_000));
    let file = file(&folder, Format::TptpBinary, &events);
    let count = |args: &[&str]| rows(&file, args, "allocations").len();
    assert_eq!(count(&[]), 10);
    assert_eq!(count(&["--top", "3"]), 3);
    assert_eq!(count(&["--allocations"]), 20);
    assert_eq!(count(&["--allocations", "--top", "0"]), 25);
    let out = jtrail(&["report", &file, "--only", "allocations"]).out;
    assert!(out.ends_with("  … 5 more\n"), "{out}");
}

/// Figures of formats that store only sums, or figures of their own.
#[test]
fn sums_of_other_formats_are_shown() {
    let thread = ThreadId(1);
    let method = MethodId(6);
    let alloc = |class, objects, bytes| {
        Event::AllocationSum(AllocationSum {
            thread,
            time: time(2),
            class: ClassId(class),
            objects,
            bytes,
        })
    };
    let count = |class, live, peak| {
        Event::ObjectCounts(ObjectCounts {
            thread,
            time: time(3),
            class: ClassId(class),
            live,
            peak,
        })
    };
    let live = |objects| LiveClass {
        class: ClassId(3),
        objects,
        bytes: 24 * objects,
    };
    let table = |ns, objects| {
        Event::LiveObjects(LiveObjects {
            time: time(ns),
            classes: vec![live(objects)],
        })
    };
    let mut events = crate::common::opening();
    events.extend([
        crate::common::thread_start(1, 2_000, "main"),
        crate::common::rich::class(3, "com.acme.Main"),
        crate::common::method_def(6, "run", "()V"),
        alloc(3, 5, 120),
        alloc(3, 2, 48),
        count(3, 4, 9),
        table(4_000, 7),
        table(5_000, 6),
        Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: Duration(500),
            calls: 3,
            ..AggregatedEnter::default()
        }),
        Event::AggregatedDetail(AggregatedDetail {
            thread,
            method,
            exceptions: 2,
            overhead: Duration(70),
        }),
        Event::AggregatedLeave(AggregatedLeave { thread, method }),
        Event::ThreadOsId(ThreadOsId {
            thread,
            time: time(6_000),
            os_id: 4243,
        }),
        Event::ProcessCpu(ProcessCpu {
            time: time(7_000),
            cpu_time: Duration(900),
        }),
        Event::TracePause(TracePause { time: time(8_000) }),
        Event::TraceResume(TraceResume { time: time(8_300) }),
    ]);
    events.extend(crate::common::closing(9_000));
    let folder = Folder::new();
    for format in LOSSLESS {
        let file = file(&folder, format, &events);
        for (table, expected) in [
            ("allocations", "7\t168\t1.000000\tcom.acme.Main"),
            ("allocation_threads", "7\t168\t1.000000\t1\tmain"),
            ("live_counts", "4\t9\t1\tmain\tcom.acme.Main"),
            ("live_after_gc", "6\t144\t1.000000\tcom.acme.Main"),
            (
                "methods",
                "3\t500\t1.000000\t500\t1.000000\t2\t70\tcom.acme.Main.run()V",
            ),
            ("threads", "1\tmain\tmain\t2000\t\t3\t500\t4243"),
        ] {
            // The overview contains the table too.
            assert_eq!(rows(&file, &[], table), [expected], "{table}");
            assert_eq!(
                rows(&file, &["--only", table], table),
                [expected],
                "{table}"
            );
        }
        let origin = [
            "machine\thost",
            "address\t127.0.0.1",
            "process\t4711",
            "agent\tjtrail",
            "agent version\t0.1.0",
            "agent parameters\tformat=binary",
        ];
        assert_eq!(rows(&file, &["--only", "origin"], "origin"), origin);
        let out = jtrail(&["report", "--only", "trace", "--format", "json", &file]).out;
        let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        for (key, expected) in [
            ("process_cpu_ns", 900),
            ("pauses", 1),
            ("pauses_ns", 300),
            ("live_tables", 2),
            ("live_table_ns", 5_000),
            ("methods_defined", 1),
        ] {
            assert_eq!(json["trace"][key], expected, "{key}");
        }
    }
}
