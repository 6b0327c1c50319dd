//! All kinds of events at once: the program must not notice, and the trace must be sound and complete.

use crate::common::{VERSIONS, agent, harness, program};
use crate::facts::Facts;
use jtrail_testkit::{Jdk, Run, temp_dir};

/// Runs a program without the agent and with it; they must say the same. What the trace holds.
fn same(jdk: &Jdk, name: &str, adapt: impl Fn(Run) -> Run, more: &str) -> Facts {
    eprintln!("{name}, JDK {}, {more}", jdk.feature);
    let bare = adapt(program(jdk, name)).output();
    bare.assert_exit(0);
    let folder = temp_dir();
    let file = folder.path().join("trace.trcbin");
    let options = format!(
        "events=all,interval=20ms,allocsites=true,heap=exit,{more},file={}",
        file.display()
    );
    let traced = adapt(program(jdk, name)).agent(agent(), options).output();
    traced.assert_exit(0);
    assert_eq!(bare.stdout, traced.stdout);
    assert_eq!(bare.stderr, traced.stderr);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{traced}"));
    assert!(
        facts.faults.is_empty(),
        "{:#?}",
        &facts.faults[..facts.faults.len().min(20)]
    );
    assert_eq!(facts.totals.expect("the trace ended well").lost, 0);
    facts
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

/// Eight threads, and as many virtual ones. The JVM takes the machine for one with two processors, however many it has: so many carriers, collector and
/// compiler threads there are.
#[test]
fn threads_classes_collections_and_all_the_rest() {
    for jdk in Jdk::require(&VERSIONS) {
        // Seconds, size, threads, seed, pause: a trace of some ten megabytes.
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

#[test]
fn the_sample_application() {
    for jdk in Jdk::require(&VERSIONS) {
        let facts = same(
            &jdk,
            "org.example.shop.Main",
            |run| run.arg("5"),
            "format=binary,include=org.*",
        );
        assert_has(
            &facts,
            &["MethodEnter", "ObjectAlloc", "ExceptionThrow", "ThreadPark"],
        );
    }
}

/// Calls one by one, and added up: between the two, each message of both spellings comes from real programs.
#[test]
fn tptp_has_all_its_messages() {
    const MESSAGES: [&str; 28] = [
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
        "MonitorContendedEnter",
        "MonitorContendedEntered",
        "HeapDump",
        "GcRoot",
        "ObjectReference",
        "Custom",
        "MethodEnter",
        "MethodLeave",
    ];
    let everything = |run: Run| {
        // Seconds, size, threads, seed, pause.
        ["1", "10", "4", "7", "20"]
            .iter()
            .fold(run, |run, arg| run.arg(*arg))
    };
    for jdk in Jdk::require(&[17, 25]) {
        for format in ["binary", "xml"] {
            let options = format!("include=harness.*,format={format}");
            let facts = same(&jdk, "harness.Everything", everything, &options);
            assert_has(&facts, &MESSAGES);
            let options = format!("{options},execdetails=false");
            let facts = same(&jdk, "harness.Everything", everything, &options);
            assert_has(&facts, &MESSAGES[..26]);
            assert_has(&facts, &["AggregatedEnter", "AggregatedLeave"]);
        }
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
