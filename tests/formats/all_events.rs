//! All kinds of events at once: the program is not affected, and the trace is sound and complete.

use crate::support::facts::Facts;
use crate::support::{VERSIONS, agent, few_versions, harness, newest_of, one_version, program};
use jtrail_testkit::{Jdk, Output, Run, temp_dir};

/// Runs a program without the agent and with it; both must print the same. Returns the contents of
/// the trace.
fn same(jdk: &Jdk, name: &str, adapt: impl Fn(Run) -> Run, more: &str) -> Facts {
    let bare = adapt(program(jdk, name)).output();
    bare.assert_exit(0);
    let (traced, facts) = traced(
        adapt(program(jdk, name)),
        &format!("{name}, JDK {}", jdk.feature),
        more,
    );
    assert_eq!(bare.stdout, traced.stdout);
    assert_eq!(bare.stderr, traced.stderr);
    facts
}

/// Runs a program with all events. Returns its output, and the contents of the trace.
fn traced(run: Run, what: &str, more: &str) -> (Output, Facts) {
    eprintln!("{what}, {more}");
    let folder = temp_dir();
    let file = folder.path().join("trace.trcbin");
    let options = format!(
        "events=all,interval=20ms,allocsites=true,heap=exit,{more},file={}",
        file.display()
    );
    let traced = run.agent(agent(), options).output();
    traced.assert_exit(0);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{traced}"));
    assert!(
        facts.faults.is_empty(),
        "{:#?}",
        &facts.faults[..facts.faults.len().min(20)]
    );
    assert_eq!(facts.totals.expect("the trace ended well").lost, 0);
    (traced, facts)
}

fn assert_has(facts: &Facts, kinds: &[&str]) {
    for kind in kinds {
        assert!(
            facts.kinds.contains_key(*kind),
            "no {kind}: {:?}",
            facts.kinds
        );
    }
}

const ALL_JVMS: [&str; 12] = [
    "MethodEnter",
    "MethodLeave",
    "ObjectAlloc",
    "ObjectDef",
    "ObjectFree",
    "GcStart",
    "GcFinish",
    "MonitorContendedEnter",
    "MonitorWait",
    "ThreadPark",
    "ExceptionThrow",
    "LineCounts",
];

/// Eight threads, and as many virtual ones. The JVM is told that the machine has two processors,
/// which determines the number of carriers, collector and compiler threads.
#[test]
fn threads_classes_collections_and_all_the_rest() {
    for jdk in Jdk::require(&one_version()) {
        // The arguments are seconds, size, threads, seed and pause. They make a trace of some ten
        // megabytes.
        let facts = same(
            &jdk,
            "harness.Everything",
            |run| {
                ["2", "20", "8", "7", "20"]
                    .iter()
                    .fold(run.jvm_arg("-XX:ActiveProcessorCount=2"), |run, arg| {
                        run.arg(*arg)
                    })
            },
            "format=binary,include=harness.*",
        );
        assert_has(&facts, &ALL_JVMS);
    }
}

/// The application has eight threads in its pool, on two processors.
#[test]
fn the_sample_application() {
    for jdk in Jdk::require(&few_versions()) {
        let facts = same(
            &jdk,
            "org.example.shop.Main",
            |run| run.jvm_arg("-XX:ActiveProcessorCount=2").arg("5").arg("8"),
            "format=binary,include=org.*",
        );
        assert!(facts.has_thread("checkout-8"), "JDK {}", jdk.feature);
        assert_has(
            &facts,
            &["MethodEnter", "ObjectAlloc", "ExceptionThrow", "ThreadPark"],
        );
    }
}

/// The TPTP messages that every run with all events has; see [`assert_messages`].
const MESSAGES: [&str; 24] = [
    "Node",
    "ProcessCreate",
    "AgentCreate",
    "AgentDestroy",
    "TraceStart",
    "TraceEnd",
    "Filter",
    "Option",
    "ThreadStart",
    "ThreadEnd",
    "ClassDef",
    "MethodDef",
    "ObjectAlloc",
    "GcStart",
    "ObjectFree",
    "GcFinish",
    "RuntimeInitDone",
    "RuntimeShutdown",
    "MonitorWait",
    "MonitorWaited",
    "HeapDump",
    "GcRoot",
    "ObjectReference",
    "Custom",
];

/// Checks that a program's traces have the TPTP messages in both TPTP formats. That takes two runs:
/// one with single calls, the other with aggregated ones.
///
/// - `GcStart`, `GcFinish` and `ObjectFree` need a heap that is too small;
/// - `HeapDump`, `GcRoot` and `ObjectReference` need a snapshot, which is taken at the end;
/// - `MonitorContendedEnter` and `MonitorContendedEntered` need two threads that contend for a
///   monitor. That happens by chance, and is not required here.
fn assert_messages(jdk: &Jdk, name: &str, args: &[&str]) {
    let package = name.split('.').next().expect("a package");
    let adapt = |run: Run| {
        let run = run.jvm_arg("-XX:+UseSerialGC").jvm_arg("-Xmn1m");
        args.iter().fold(run, |run, arg| run.arg(*arg))
    };
    for format in ["binary", "xml"] {
        for (details, calls) in [
            (true, ["MethodEnter", "MethodLeave"]),
            (false, ["AggregatedEnter", "AggregatedLeave"]),
        ] {
            let options = format!("include={package}.*,format={format},execdetails={details}");
            let facts = same(jdk, name, adapt, &options);
            assert_has(&facts, &MESSAGES);
            assert_has(&facts, &calls);
        }
    }
}

/// All thirty messages: a program that does everything, and one whose monitors are certainly
/// contended.
#[test]
fn tptp_has_all_its_messages() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        // The arguments are seconds, size, threads, seed and pause.
        let args = ["1", "10", "4", "7", "20"];
        assert_messages(&jdk, "harness.Everything", &args);
        for format in ["binary", "xml"] {
            let options = format!("include=harness.*,format={format}");
            let run = program(&jdk, "harness.Monitors").arg("1");
            let (_, facts) = traced(run, "harness.Monitors", &options);
            assert_has(
                &facts,
                &["MonitorContendedEnter", "MonitorContendedEntered"],
            );
        }
    }
}

#[test]
fn tptp_has_its_messages_of_the_sample_application() {
    for jdk in Jdk::require(&one_version()) {
        assert_messages(&jdk, "org.example.shop.Main", &["1", "4"]);
    }
}

#[test]
fn ten_thousand_virtual_threads() {
    for jdk in Jdk::require(&VERSIONS) {
        if jdk.feature < 21 || !harness().has(&jdk, "harness.VirtualThreads") {
            continue;
        }
        let facts = same(
            &jdk,
            "harness.VirtualThreads",
            |run| run.arg("10000"),
            "format=binary,include=harness.*",
        );
        assert!(facts.kinds["ThreadStart"] >= 10_000, "{:?}", facts.kinds);
    }
}
