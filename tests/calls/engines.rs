//! Compares the two engines: for the same deterministic program, both must record the same calls on
//! each thread, in the same order and nesting. The JVM's own events are the oracle.

use crate::support::{FILTER, Step, ThreadTrace, Trace, one_version, program, traced};
use jtrail_testkit::Jdk;

/// Disables helper threads of parallel streams.
const ALONE: &str = "-Djava.util.concurrent.ForkJoinPool.common.parallelism=0";

/// The threads that do the same in each run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    All,
    /// Only the main thread; the others race for their work.
    Main,
}

/// Programs that do the same in each run.
const PROGRAMS: [(&str, Threads); 14] = [
    ("harness.Constructors", Threads::All),
    ("harness.Enums", Threads::All),
    ("harness.Exceptions", Threads::All),
    ("harness.Fib", Threads::All),
    ("harness.Generics", Threads::All),
    ("harness.Interfaces", Threads::All),
    ("harness.Lambdas", Threads::All),
    ("harness.Nested", Threads::All),
    ("harness.Proxies", Threads::All),
    ("harness.Reflection", Threads::All),
    ("harness.StaticInit", Threads::Main),
    ("harness.Streams", Threads::All),
    ("harness.Switches", Threads::All),
    ("harness.Sync", Threads::All),
];

/// Returns true for classes that the JVM hides from the load hook, so that only one engine sees
/// them.
fn is_hidden(key: &str) -> bool {
    key.contains("$$Lambda")
}

fn calls(thread: &ThreadTrace) -> Vec<(Step, &str)> {
    let steps = thread.steps.iter().map(|(step, key)| (*step, key.as_str()));
    steps
        .filter(|(_, key)| key.starts_with("harness.") && !is_hidden(key))
        .collect()
}

/// Returns the threads with calls, by name. Threads of the same name are sorted by their calls.
fn by_thread(trace: &Trace) -> Vec<(&str, Vec<(Step, &str)>)> {
    let mut all: Vec<_> = trace
        .threads
        .iter()
        .map(|t| (t.name.as_str(), calls(t)))
        .collect();
    all.retain(|(_, calls)| !calls.is_empty());
    all.sort_by_key(|(name, calls)| (*name, calls.iter().map(|c| c.1).collect::<Vec<_>>()));
    all
}

#[test]
fn both_engines_see_the_same() {
    for jdk in Jdk::require(&one_version()) {
        for (name, whose) in PROGRAMS {
            let run = |how| {
                let options = format!("format=binary,{how},{FILTER}");
                // Parallel streams run in the calling thread, so that they do the same in each run.
                let program = program(&jdk, name).jvm_arg(ALONE);
                let run = traced(program, &options);
                run.output.assert_exit(0);
                run.trace.assert_sound(&run.output);
                run.trace
            };
            let jvmti = run("engine=jvmti");
            for clock in ["clock=exact", "clock=tick"] {
                are_alike(&jdk, name, whose, clock, &run(clock), &jvmti);
            }
        }
    }
}

fn are_alike(jdk: &Jdk, name: &str, whose: Threads, clock: &str, bytecode: &Trace, jvmti: &Trace) {
    let (mut ours, mut oracle) = (by_thread(bytecode), by_thread(jvmti));
    if whose == Threads::Main {
        ours.retain(|(thread, _)| *thread == "main");
        oracle.retain(|(thread, _)| *thread == "main");
    }
    let names = |all: &[(&str, Vec<(Step, &str)>)]| -> Vec<String> {
        all.iter().map(|(name, _)| (*name).to_owned()).collect()
    };
    assert_eq!(
        names(&ours),
        names(&oracle),
        "{name}, {clock}, JDK {}",
        jdk.feature
    );
    for ((thread, ours), (_, oracle)) in ours.iter().zip(&oracle) {
        let differ = ours.iter().zip(oracle).position(|(a, b)| a != b);
        let at = differ.unwrap_or(ours.len().min(oracle.len()));
        assert!(
            ours == oracle,
            "{name}, {clock}, JDK {}, thread {thread}: at step {at}\nours   {:?}\noracle {:?}",
            jdk.feature,
            &ours[at.saturating_sub(4)..ours.len().min(at + 4)],
            &oracle[at.saturating_sub(4)..oracle.len().min(at + 4)],
        );
    }
}
