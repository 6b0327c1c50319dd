//! Exceptions, and the calls that they leave, compared with what the programs know.

use crate::support::one_version;
use crate::support::truth::{traced, with_each_collector};
use jtrail_testkit::Jdk;

#[test]
fn exceptions() {
    with_each_collector("harness.Throws", "+exceptions", &[]);
}

/// Calls that an exception left, by method and thread. Exceptions pass several frames, `finally`,
/// frames of the library and native frames. They leave synchronized methods, constructors and
/// static initializers. One is a stack overflow. Where the programs throw, they ask the JVM for the
/// stack.
#[test]
fn calls_left_by_exceptions() {
    const PROGRAMS: [&str; 4] = [
        "harness.Exceptions",
        "harness.Implicit",
        "harness.Overflow",
        "harness.Throws",
    ];
    // With the JVM's own events, all calls that follow an uncaught exception seem to end by an
    // exception.
    const HANDLER: &str = "harness.Throws.handle(Ljava/lang/Thread;Ljava/lang/Throwable;)V";
    for jdk in Jdk::require(&one_version()) {
        for name in PROGRAMS {
            for engine in ["bytecode", "jvmti"] {
                let options = format!("format=trail,engine={engine},exclude=harness.Expect*");
                let (output, facts) = traced(&jdk, name, &options, |run| run);
                let truth = output.truth();
                assert!(!truth.left.is_empty(), "{output}");
                let mut differences = facts.left_differences(&truth);
                let all = differences.len();
                differences.retain(|difference| !difference.contains(HANDLER));
                assert!(differences.is_empty(), "{differences:#?}\n{output}");
                let is_after = name == "harness.Throws" && engine == "jvmti";
                assert_eq!(all, usize::from(is_after), "{output}");
            }
        }
    }
}
