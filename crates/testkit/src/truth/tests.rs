use super::*;
use crate::Counts;

const TEXT: &str = "done 42\n\
    COUNT a.A.f(I)I 3\n\
    OBJECTS a.A$Node 7\n\
    OBJECTS [I 9\n\
    OBJECTS-AT a.A.odd name()V 17 [I 4\n\
    OBJECTS-MIN java.lang.Long 5\n\
    BYTES a.A$Node 112\n\
    LIVE a.A$Node 0\n\
    LIVE-THREAD a.A$Node odd name 0\n\
    CONTENDED a.A$Lock 12\n\
    OWNER a.A$Lock some owner 12\n\
    OWNER-OR-NONE a.A$Lock virtual owner 3\n\
    WAITS a.A$Lock 9 4\n\
    WAIT-LIMIT a.A$Lock 600 4\n\
    STACK wait a.A.odd name()V 12|java.lang.Thread.run0()V -2 5\n\
    THROWN a.A$E 50\n\
    THROWN-RANGE java.lang.StackOverflowError 0 100\n\
    THROWN-AT a.A.f(I)I 75 50\n\
    CAUGHT a.A$E 0\n\
    CAUGHT-AT a.A.f(I)I 76 0\n\
    LEFT-BY-EXCEPTION a.A.f(I)I some thread 50\n\
    LEFT-BY-EXCEPTION-RANGE a.A.f(I)I main 3 4\n\
    STATE some thread sleeping java.lang.Thread.sleep\n\
    LINES a.A.f(I)I 15 6\n\
    LINES a.A.f(I)I 9 0\n\
    LINES a.A.g()V 20 1\n\
    CPU a.A.f(I)I 400 378 422\n\
    CPU-THREAD burner 0 201 188 214\n\
    PARKS a.A.f(I)I 100\n\
    PARKS-RANGE a.A.g()V 3 3000\n\
    RENAMED before|last name\n\
    GROUP in outer||main group\n\
    LOADED a.A$Guest 12\n\
    UNLOADED a.A$Guest 8\n\
    MOUNTS sleeps 7 8\n\
    COMPILED a.A.f(I)I\n\
    REFS a.A$Node 6\n\
    ROOT STACK_LOCAL a.A$Held 1\n\
    FACT heap.a.A$Node 7\n\
    FACT heaps 3 of them\n\
    OBJECTSHIP is another word\n";

fn one<K: Ord>(key: K, n: u64) -> BTreeMap<K, u64> {
    BTreeMap::from([(key, n)])
}

fn text(s: &str) -> String {
    s.to_owned()
}

fn pair(a: &str, b: &str) -> (String, String) {
    (text(a), text(b))
}

fn cpu(measured: u64, low: u64, high: u64) -> CpuMillis {
    CpuMillis {
        measured,
        low,
        high,
    }
}

#[test]
fn every_kind_of_line_is_read() {
    let node = || text("a.A$Node");
    let lock = || text("a.A$Lock");
    let f = || text("a.A.f(I)I");
    let expected = Truth {
        objects: BTreeMap::from([(node(), 7), (text("[I"), 9)]),
        objects_at: one(((text("a.A.odd name()V"), 17), text("[I")), 4),
        objects_min: one(text("java.lang.Long"), 5),
        bytes: one(node(), 112),
        live: one(node(), 0),
        contended: one(lock(), 12),
        live_threads: one(pair("a.A$Node", "odd name"), 0),
        owners: one(pair("a.A$Lock", "some owner"), 12),
        owners_or_none: one(pair("a.A$Lock", "virtual owner"), 3),
        waits: BTreeMap::from([(
            lock(),
            Waits {
                waits: 9,
                timed_out: 4,
            },
        )]),
        wait_limits: one((lock(), 600), 4),
        stacks: one(
            (
                text("wait"),
                vec![
                    (text("a.A.odd name()V"), 12),
                    (text("java.lang.Thread.run0()V"), -2),
                ],
            ),
            5,
        ),
        thrown: one(text("a.A$E"), 50),
        thrown_ranges: BTreeMap::from([(text("java.lang.StackOverflowError"), (0, 100))]),
        thrown_at: one((f(), 75), 50),
        caught_at: one((f(), 76), 0),
        caught: one(text("a.A$E"), 0),
        left: one(pair("a.A.f(I)I", "some thread"), 50),
        left_ranges: BTreeMap::from([(pair("a.A.f(I)I", "main"), (3, 4))]),
        states: BTreeMap::from([(
            text("some thread"),
            pair("sleeping", "java.lang.Thread.sleep"),
        )]),
        lines: BTreeMap::from([((f(), 15), 6), ((f(), 9), 0), ((text("a.A.g()V"), 20), 1)]),
        cpu: BTreeMap::from([(f(), cpu(400, 378, 422))]),
        cpu_threads: BTreeMap::from([(text("burner 0"), cpu(201, 188, 214))]),
        parks: one(f(), 100),
        parks_ranges: BTreeMap::from([(text("a.A.g()V"), (3, 3000))]),
        renamed: BTreeMap::from([pair("before", "last name")]),
        groups: BTreeMap::from([(
            text("in outer"),
            Group {
                group: String::new(),
                parent: text("main group"),
            },
        )]),
        loaded: one(text("a.A$Guest"), 12),
        unloaded: one(text("a.A$Guest"), 8),
        mounts: one(text("sleeps 7"), 8),
        compiled: BTreeSet::from([f()]),
        heap: one(node(), 7),
        references: one(node(), 6),
        roots: one(pair("STACK_LOCAL", "a.A$Held"), 1),
        skipped: None,
    };
    assert_eq!(Truth::parse(TEXT).unwrap(), expected);
    let skip = Truth::parse("SKIP no compiler\n").unwrap();
    assert_eq!(skip.skipped.as_deref(), Some("no compiler"));
}

#[test]
fn lines_of_one_method_are_in_order() {
    let truth = Truth::parse(TEXT).unwrap();
    let lines: Vec<_> = truth.lines_of("a.A.f(I)I").collect();
    assert_eq!(lines, [(9, 0), (15, 6)]);
    assert_eq!(truth.lines_of("a.A.f").count(), 0);
}

#[test]
fn malformed_lines_are_errors() {
    for line in [
        "OBJECTS",
        "OBJECTS a",
        "OBJECTS  3",
        "OBJECTS a -1",
        "OBJECTS a 99999999999999999999",
        "OBJECTS a 1\nOBJECTS a 1",
        "OBJECTS-AT a.f()V [I 4",
        "OWNER a 3",
        "LIVE-THREAD a 3",
        "WAIT-LIMIT a 3",
        "STACK wait 3",
        "STACK wait a.f()V 3",
        "STACK wait a.f()V 1| 3",
        "WAITS a 1",
        "WAITS a 1 2",
        "THROWN-RANGE a 2 1",
        "THROWN-AT a.f()V 3",
        "CAUGHT-AT a.f()V 3",
        "LEFT-BY-EXCEPTION a 1",
        "LEFT-BY-EXCEPTION-RANGE a main 2 1",
        "STATE main sleeping",
        "LINES a.f()V x 3",
        "LINES a.f()V 1 2\nLINES a.f()V 1 2",
        "CPU a 1 2",
        "CPU a 1 2 3",
        "PARKS-RANGE a 1",
        "RENAMED a",
        "GROUP a|b",
        "COMPILED",
        "COMPILED a\nCOMPILED a",
        "ROOT THREAD 1",
        "FACT heap.a many",
    ] {
        assert!(Truth::parse(line).is_err(), "{line}");
    }
}

#[test]
fn differences_are_reported() {
    let reported = BTreeMap::from([("a", 1), ("b", 2), ("c", 0)]);
    let actual = BTreeMap::from([("a", 1), ("b", 3), ("d", 4)]);
    assert_eq!(
        differences("objects", &reported, &actual),
        ["objects \"b\": 3 in the trace, expected 2"]
    );
    let bounds = BTreeMap::from([("a", (1, 2)), ("b", (4, 9)), ("c", (1, 1))]);
    assert_eq!(
        differences_in_range("parks", &bounds, &actual),
        [
            "parks \"b\": 3 in the trace, expected 4 to 9",
            "parks \"c\": 0 in the trace, expected 1 to 1"
        ]
    );
}

#[test]
fn counts_pass_over_these_lines() {
    let counts = Counts::parse(TEXT).unwrap();
    assert_eq!(counts.exact.len(), 1);
    assert_eq!(counts.facts["heap.a.A$Node"], "7");
}

fn printed(stdout: &str) -> Output {
    use std::os::unix::process::ExitStatusExt;
    Output {
        status: std::process::ExitStatus::from_raw(0),
        stdout: stdout.to_owned(),
        stderr: String::new(),
        elapsed: std::time::Duration::ZERO,
    }
}

#[test]
#[should_panic(expected = "the program did nothing")]
fn a_program_that_skips_its_work_has_no_truth() {
    printed("SKIP no compiler\n").truth();
}

#[test]
#[should_panic(expected = "the program did nothing")]
fn a_program_that_skips_its_work_has_no_counts() {
    printed("SKIP no virtual threads\n").counts();
}

#[test]
#[should_panic(expected = "the program reported nothing")]
fn a_program_that_prints_nothing_has_no_truth() {
    printed("done 42\n").truth();
}
