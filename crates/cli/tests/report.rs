//! Exact output of `report` and `dump` for the sample trace.

use crate::common::{Folder, LOSSLESS, encode, enter, file, jtrail, leave, note, sample, time};
use jtrail_formats::Format;
use jtrail_model::{Event, GcFinish, Lost, Note, ThreadId, TraceOption};

const TABLES: &str = "\
trace
  format                    binary
  time                      12.00 ms
  threads                   2
  classes                   1
  methods called            3
  calls                     7
  calls open at the end     1
  collections               1
  paused                    250.0 µs
  events lost               0
  methods not instrumented  1
  leaves without enter      0
  calls without leave       0
  methods defined           3

threads
  id  thread    group     start       end  calls  in calls
   1  main      main   2.000 µs  11.00 ms      5  10.00 ms
   2  worker 1  main   4.000 ms         -      2  6.000 ms

methods
  calls      self  self %     total  total %  method
      3  7.000 ms   43.8%  7.000 ms    43.8%  com.acme.Main.run()
      1  5.000 ms   31.2%  10.00 ms    62.5%  com.acme.Main.main(String[])
      3  4.000 ms   25.0%  4.000 ms    25.0%  com.acme.Main.fib(int)

tree
  calls     total  total %      self  method
      1  10.00 ms    62.5%  5.000 ms  com.acme.Main.main(String[])
      1  4.000 ms    25.0%  1.500 ms    com.acme.Main.fib(int)
      1  2.500 ms    15.6%  1.500 ms      com.acme.Main.fib(int)
      1  1.000 ms     6.2%  1.000 ms        com.acme.Main.fib(int)
      1  1.000 ms     6.2%  1.000 ms    com.acme.Main.run()
      2  6.000 ms    37.5%  6.000 ms  com.acme.Main.run()

gc lengths
  pauses from     below  collections  of all %    paused
     200.0 µs  500.0 µs            1    100.0%  250.0 µs

gc
     start     pause  used after
  6.000 ms  250.0 µs           -

uninstrumented
  class         method  reason
  com.acme.Big  all()V  code would pass 65535 bytes
";

const TSV: &str = "\
# trace
format\tstart_ns\tduration_ns\tthreads\tclasses\tmethods\tcalls\topen\tcollections\tcollections_ns\tlost\tuninstrumented\tunmatched\tcut\tmethods_defined
binary\t1700000000000000000\t12000000\t2\t1\t3\t7\t1\t1\t250000\t0\t1\t0\t0\t3

# threads
thread\tname\tgroup\tstart_ns\tend_ns\tcalls\tbusy_ns
1\tmain\tmain\t2000\t11000000\t5\t10000000
2\tworker 1\tmain\t4000000\t\t2\t6000000

# methods
calls\tself_ns\tself_share\ttotal_ns\ttotal_share\tmethod
3\t7000000\t0.437500\t7000000\t0.437500\tcom.acme.Main.run()V
1\t5000000\t0.312500\t10000000\t0.625000\tcom.acme.Main.main([Ljava/lang/String;)V
3\t4000000\t0.250000\t4000000\t0.250000\tcom.acme.Main.fib(I)J

# tree
depth\tcalls\ttotal_ns\ttotal_share\tself_ns\tmethod
1\t1\t10000000\t0.625000\t5000000\tcom.acme.Main.main([Ljava/lang/String;)V
2\t1\t4000000\t0.250000\t1500000\tcom.acme.Main.fib(I)J
3\t1\t2500000\t0.156250\t1500000\tcom.acme.Main.fib(I)J
4\t1\t1000000\t0.062500\t1000000\tcom.acme.Main.fib(I)J
2\t1\t1000000\t0.062500\t1000000\tcom.acme.Main.run()V
1\t2\t6000000\t0.375000\t6000000\tcom.acme.Main.run()V

# gc_lengths
from_ns\tto_ns\tcollections\tcollections_share\ttotal_ns
200000\t500000\t1\t1.000000\t250000

# gc
start_ns\tpause_ns\tused_bytes
6000000\t250000\t0

# uninstrumented
class\tmethod\treason
com.acme.Big\tall()V\tcode would pass 65535 bytes

# lost
thread\tname\tevents\tfrom_ns\tto_ns\treason
";

#[test]
fn tables() {
    let folder = Folder::new();
    let done = jtrail(&["report", &folder.sample(Format::TptpBinary)]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert_eq!(done.out, TABLES);
}

#[test]
fn both_formats_say_the_same() {
    let folder = Folder::new();
    let xml = jtrail(&["report", &folder.sample(Format::TptpXml)]);
    assert_eq!((xml.code, xml.err.as_str()), (0, ""));
    assert_eq!(xml.out, TABLES.replace("  binary\n", "  xml\n"));
}

#[test]
fn tsv() {
    let folder = Folder::new();
    let done = jtrail(&[
        "report",
        "--format",
        "tsv",
        &folder.sample(Format::TptpBinary),
    ]);
    assert_eq!(done.out, TSV);
}

/// JSON has the same values as TSV under the same keys.
#[test]
fn json_agrees_with_tsv() {
    let folder = Folder::new();
    let done = jtrail(&[
        "report",
        "--format",
        "json",
        &folder.sample(Format::TptpBinary),
    ]);
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    for section in TSV.split("\n\n") {
        let mut lines = section.lines();
        let name = lines
            .next()
            .and_then(|l| l.strip_prefix("# "))
            .expect("a name");
        let keys: Vec<&str> = lines.next().expect("keys").split('\t').collect();
        let rows: Vec<&str> = lines.collect();
        let objects = match &json[name] {
            serde_json::Value::Array(rows) => rows.clone(),
            object => vec![object.clone()],
        };
        assert_eq!(objects.len(), rows.len(), "{name}");
        for (object, row) in objects.iter().zip(rows) {
            assert_eq!(
                object.as_object().expect("an object").len(),
                keys.len(),
                "{name}"
            );
            for (key, cell) in keys.iter().zip(row.split('\t')) {
                match &object[key] {
                    serde_json::Value::Null => assert_eq!(cell, ""),
                    serde_json::Value::String(text) => assert_eq!(cell, text),
                    number => {
                        let cell: f64 = cell.parse().expect("a number");
                        assert!(
                            (number.as_f64().expect("number") - cell).abs() < 1.0,
                            "{name} {key}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn rows_are_chosen_and_ordered_as_asked() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let methods = |args: &[&str]| {
        let all = [
            &["report", "--format", "tsv", "--only", "methods", &file],
            args,
        ]
        .concat();
        let out = jtrail(&all).out;
        let name = |line: &str| {
            let method = line.rsplit('\t').next().unwrap_or_default();
            method
                .split(['.', '('])
                .nth(3)
                .unwrap_or_default()
                .to_owned()
        };
        out.lines().skip(2).map(name).collect::<Vec<_>>()
    };
    assert_eq!(methods(&[]), ["run", "main", "fib"]);
    assert_eq!(methods(&["--sort", "total"]), ["main", "run", "fib"]);
    assert_eq!(methods(&["--sort", "calls"]), ["fib", "run", "main"]);
    assert_eq!(methods(&["--sort", "name"]), ["fib", "main", "run"]);
    assert_eq!(methods(&["--top", "1"]), ["run"]);
    assert_eq!(methods(&["--top", "0"]), ["run", "main", "fib"]);
    assert_eq!(methods(&["--thread", "2"]), ["run"]);
    assert_eq!(methods(&["--thread", "worker*"]), ["run"]);
    assert_eq!(
        methods(&["--thread", "1", "--thread", "2"]),
        ["run", "main", "fib"]
    );
    assert_eq!(methods(&["--thread", "nobody"]), [""; 0]);
}

#[test]
fn branches_of_the_tree_are_left_out_as_asked() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    for (args, rows, more) in [
        (&["--min", "0"][..], 6, ""),
        (&["--min", "20%"], 3, "… 2 more"),
        (&["--min", "5ms"], 2, "… 2 more"),
        (&["--depth", "1"], 2, "… 2 more"),
        (&["--depth", "2"], 4, "… 1 more"),
        (&["--depth", "0"], 0, "… 2 more"),
    ] {
        let out = jtrail(&[&["report", "--only", "tree", &file], args].concat()).out;
        assert_eq!(out.matches("com.acme").count(), rows, "{out}");
        assert!(more.is_empty() || out.contains(more), "{out}");
    }
}

#[test]
fn deep_recursions_are_reported() {
    let folder = Folder::new();
    let mut events = sample();
    events.truncate(9);
    for depth in 1..=70_000_u32 {
        events.push(enter(1, i64::from(depth), 5, depth, i64::from(depth)));
    }
    for depth in (1..=70_000_u32).rev() {
        events.push(leave(1, 200_000 - i64::from(depth), 5, depth));
    }
    let file = folder.put(
        "deep.trcbin",
        &crate::common::encode(Format::TptpBinary, &events),
    );
    let args = [
        "report", &file, "--depth", "100000", "--min", "0", "--only", "tree",
    ];
    let done = jtrail(&args);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert_eq!(done.out.matches("com.acme.Main.fib").count(), 70_000);
    assert!(done.out.contains("  [69999] com.acme.Main.fib(int)\n"));
}

#[test]
fn losses_are_reported() {
    let folder = Folder::new();
    let mut events = sample();
    let at = events.len() - 3;
    events.insert(
        at,
        note(&Note::Lost(Lost {
            thread: ThreadId(2),
            events: 1_234,
            from: time(9_000_000),
            to: time(10_000_000),
            reason: "overflow".into(),
        })),
    );
    let file = folder.put(
        "lost.trcbin",
        &crate::common::encode(Format::TptpBinary, &events),
    );
    let out = jtrail(&["report", &file]).out;
    assert!(out.contains("  events lost               1,234\n"), "{out}");
    assert!(
        out.ends_with(
            "lost\n  id  thread    events      from        to  reason\n   \
             2  worker 1   1,234  9.000 ms  10.00 ms  overflow\n"
        ),
        "{out}"
    );
}

#[test]
fn damaged_traces_are_used_up_to_the_damage() {
    let folder = Folder::new();
    let whole = crate::common::encode(Format::TptpBinary, &sample());
    let cut = folder.put("cut.trcbin", &whole[..whole.len() - 10]);
    for subcommand in ["report", "dump"] {
        let done = jtrail(&[subcommand, &cut]);
        assert_eq!(done.code, 3, "{}", done.err);
        assert!(
            done.err.contains(&format!("jtrail: {cut}: at byte ")),
            "{}",
            done.err
        );
        assert!(done.out.contains("com.acme.Main"));
    }
    let mut junk = whole[..whole.len() - 10].to_vec();
    junk.extend([0xff; 64]);
    let junk = folder.put("junk.trcbin", &junk);
    let done = jtrail(&["report", &junk]);
    assert_eq!(done.code, 1, "{}", done.err);
}

#[test]
fn names_of_the_program_cannot_drive_the_terminal() {
    let folder = Folder::new();
    let mut events = sample();
    events.insert(10, crate::common::thread_start(9, 0, "\u{1b}[2J\n\tevil"));
    let file = folder.put(
        "evil.trcbin",
        &crate::common::encode(Format::TptpBinary, &events),
    );
    for args in [
        &["report", &file][..],
        &["report", &file, "--format", "tsv"],
        &["dump", &file],
    ] {
        let out = jtrail(args).out;
        assert!(!out.contains('\u{1b}'), "{out}");
        assert!(out.contains("\\u{1b}"), "{out}");
    }
}

#[test]
fn a_trace_without_calls_is_reported() {
    let folder = Folder::new();
    let mut events = crate::common::opening();
    events.extend(crate::common::closing(5));
    let file = folder.put(
        "none.trcbin",
        &crate::common::encode(Format::TptpBinary, &events),
    );
    let done = jtrail(&["report", &file, "--only", "threads,methods,tree"]);
    assert_eq!(done.code, 0);
    assert_eq!(
        done.out,
        "threads\n  none\n\nmethods\n  none\n\ntree\n  none\n"
    );
}

/// Undefined ids, decreasing times and leaves without enters give odd figures, but no failure.
#[test]
fn odd_events_do_no_harm() {
    let folder = Folder::new();
    let events = [
        leave(7, 5, 8, 1),
        enter(7, 10, 8, u32::MAX, -5),
        enter(7, 5, 9, 0, 0),
        leave(7, 1, 8, u32::MAX),
        Event::GcFinish(GcFinish::default()),
    ];
    let file = folder.put(
        "odd.trcbin",
        &crate::common::encode(Format::TptpBinary, &events),
    );
    for args in [&["report", &file][..], &["dump", &file]] {
        let done = jtrail(args);
        assert!(done.out.contains("method-8"), "{}", done.out);
    }
}

/// Random changes of bytes always lead to a message and an exit code.
#[test]
fn damaged_bytes_do_no_harm() {
    let folder = Folder::new();
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for format in LOSSLESS {
        let whole = crate::common::encode(format, &sample());
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random(4) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            bytes.truncate(bytes.len() - random(20));
            let file = folder.put("x", &bytes);
            for subcommand in ["report", "dump", "verify"] {
                assert!(jtrail(&[subcommand, &file]).code <= 3);
            }
        }
    }
}

const DUMP: &str = "\
0.000000000 - node id=n1 host=host address=127.0.0.1 timezone=0 time=1700000000.000000000
0.000000000 - process id=p1 pid=4711 name=\"\" executable=\"\"
0.000000000 - agent id=a1 name=jtrail type=Profiler version=0.1.0 options=format=binary
0.000001000 - trace-start id=t1
0.000002000 #1 thread-start name=main group=main parent=system object=0
0.000003000 - class id=3 name=com.acme.Main source=Main.java
- - method id=4 class=com.acme.Main name=main signature=([Ljava/lang/String;)V lines=10-12
- - method id=5 class=com.acme.Main name=fib signature=(I)J lines=10-12
- - method id=6 class=com.acme.Main name=run signature=()V lines=10-12
0.001000000 #1 enter com.acme.Main.main([Ljava/lang/String;)V ticket=1 depth=1
0.002000000 #1 enter com.acme.Main.fib(I)J ticket=2 depth=2
0.003000000 #1 enter com.acme.Main.fib(I)J ticket=3 depth=3
0.004000000 #1 enter com.acme.Main.fib(I)J ticket=4 depth=4
0.005000000 #1 leave com.acme.Main.fib(I)J ticket=4
0.005500000 #1 leave com.acme.Main.fib(I)J ticket=3
0.006000000 #1 leave com.acme.Main.fib(I)J ticket=2
0.006000000 - gc-start
0.006250000 - gc-finish total=0 used=0 objects=0
0.004000000 #2 thread-start name=\"worker 1\" group=main parent=system object=0
0.005000000 #2 enter com.acme.Main.run()V ticket=1 depth=1
0.009000000 #2 leave com.acme.Main.run()V ticket=1
0.010000000 #2 enter com.acme.Main.run()V ticket=2 depth=1
0.007000000 #1 enter com.acme.Main.run()V ticket=5 depth=2
0.008000000 #1 leave com.acme.Main.run()V ticket=5
0.011000000 #1 leave com.acme.Main.main([Ljava/lang/String;)V ticket=1
0.011000000 #1 thread-end
- - custom text=\"jtrail uninstrumented class=com.acme.Big method=all()V reason=\\\"code would pass 65535 bytes\\\"\"
- - custom text=\"TOTALS\"
0.012000000 - trace-end
0.012000000 - agent-end id=a1
";

/// Returns the expected dump of the sample, with the model's text of the totals.
fn dump() -> String {
    let totals = sample().into_iter().find_map(|event| match event {
        Event::Custom(custom) => Some(custom.body).filter(|b| b.starts_with("jtrail totals")),
        _ => None,
    });
    DUMP.replace("TOTALS", &totals.expect("a note"))
}

#[test]
fn dump_lines() {
    let folder = Folder::new();
    for format in LOSSLESS {
        let done = jtrail(&["dump", &folder.sample(format)]);
        assert_eq!((done.code, done.err.as_str()), (0, ""));
        assert_eq!(done.out, dump());
    }
}

#[test]
fn dump_shows_the_events_asked_for() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    type Keep = fn(&str) -> bool;
    let cases: &[(&[&str], Keep)] = &[
        (&["--thread", "2"], |l| l.contains(" #2 ")),
        (&["--thread", "main"], |l| l.contains(" #1 ")),
        (&["--thread", "*"], |l| l.contains(" #")),
        (&["--class", "com.acme.*"], |l| {
            [" enter ", " leave ", " class id", " method id"]
                .iter()
                .any(|w| l.contains(w))
        }),
        (&["--class", "x"], |_| false),
        (&["--from", "0.009"], |l| {
            l.starts_with("0.009") || l.starts_with("0.01")
        }),
        (&["--until", "0.000002"], |l| l < "0.000002001"),
        (
            &["--from", "0.005", "--until", "0.0055", "--thread", "1"],
            |l| l.contains(" #1 ") && l.starts_with("0.005"),
        ),
    ];
    for (args, keep) in cases {
        let args = [&["dump", &file], *args].concat();
        let dump = dump();
        let expected: Vec<&str> = dump
            .lines()
            .filter(|l| keep(l) && !(l.starts_with('-') && args.contains(&"--until")))
            .collect();
        assert_eq!(
            jtrail(&args).out.lines().collect::<Vec<_>>(),
            expected,
            "{args:?}"
        );
    }
}

#[test]
fn empty_tables_say_if_their_events_were_not_recorded() {
    let folder = Folder::new();
    let mut events = sample();
    let option = Event::Option(TraceOption {
        key: "events".into(),
        value: "methods+threads+parks".into(),
    });
    let start = events
        .iter()
        .position(|e| matches!(e, Event::TraceStart(_)));
    events.insert(start.expect("a start") + 1, option);
    let recorded = file(&folder, Format::TptpBinary, &events);
    let unknown = folder.sample(Format::Mlpd);
    let monitors = |file: &str| jtrail(&["report", "--monitors", file]).out;
    let out = monitors(&recorded);
    assert!(
        out.contains("waits\n  not recorded (--events +monitors)\n"),
        "{out}"
    );
    assert!(out.contains("parks\n  none\n"), "{out}");
    let overview = jtrail(&["report", &recorded]).out;
    let warning = "waits for monitors        not recorded, part of self times (--events";
    assert!(overview.contains(warning), "{overview}");
    for style in ["tsv", "json"] {
        let out = jtrail(&["report", &recorded, "--format", style]).out;
        assert!(!out.contains("blocked"), "{out}");
    }
    let out = monitors(&unknown);
    assert!(
        !out.contains("not recorded") && out.contains("waits\n  none\n"),
        "{out}"
    );
}

#[test]
fn a_trace_with_a_process_id_in_its_name_is_suggested() {
    let folder = Folder::new();
    folder.put("app-12.trail", &encode(Format::Trail, &sample()));
    for other in [
        "app-.trail",
        "app-12.trcbin",
        "app-x1.trail",
        "apple-13.trail",
    ] {
        folder.put(other, b"");
    }
    let missing = |name: &str| {
        let path = folder.at(name);
        let done = jtrail(&["report", path.to_str().expect("UTF-8")]);
        assert_eq!((done.code, done.out.as_str()), (2, ""));
        done.err
    };
    let (err, similar) = (missing("app.trail"), folder.at("app-12.trail"));
    let suggestion = format!("(did you mean {}?)", similar.display());
    assert!(err.contains(&suggestion), "{err}");
    for name in ["ap.trail", "app.mlpd", "none/app.trail"] {
        assert!(!missing(name).contains("did you mean"), "{name}");
    }
}
