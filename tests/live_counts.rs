//! Every program of the harness knows how often it calls each of its methods; the trace must say the same,
//! by both engines, in both formats, on every JVM.

use crate::common::{FILTER, VERSIONS, program, traced};
use jtrail_testkit::Jdk;

/// Programs that count exactly and end normally.
const PROGRAMS: [&str; 19] = [
    "harness.Constructors",
    "harness.DeepRecursion",
    "harness.Enums",
    "harness.Exceptions",
    "harness.Fib",
    "harness.Gc",
    "harness.Generics",
    "harness.Interfaces",
    "harness.Lambdas",
    "harness.Limits",
    "harness.Loaders",
    "harness.Nested",
    "harness.Overflow",
    "harness.Proxies",
    "harness.Reflection",
    "harness.StaticInit",
    "harness.Streams",
    "harness.Switches",
    "harness.Sync",
];

fn counts_are_exact(format: &str, engine: &str) {
    for jdk in Jdk::require(&VERSIONS) {
        for name in PROGRAMS {
            let options = format!("format={format},engine={engine},{FILTER}");
            let run = traced(program(&jdk, name), &options);
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            eprintln!("{name}, {engine}, {format}, JDK {}", jdk.feature);
            // Classes that the JVM makes for lambdas are hidden; only its own events see their methods.
            let hidden: Vec<&str> = run
                .trace
                .calls
                .keys()
                .filter(|key| key.contains("$$Lambda"))
                .map(String::as_str)
                .collect();
            run.output.counts().assert_matches(
                &run.trace.calls,
                &run.trace.uncovered,
                &["harness."],
                &hidden,
            );
        }
    }
}

#[test]
fn bytecode_binary() {
    counts_are_exact("binary", "bytecode");
}

#[test]
fn bytecode_xml() {
    counts_are_exact("xml", "bytecode");
}

#[test]
fn jvmti_binary() {
    counts_are_exact("binary", "jvmti");
}
