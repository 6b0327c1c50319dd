//! Other agents in the same JVM.

use crate::support::java_agent::java_agent;
use crate::support::{FILTER, few_versions, program, traced, traced_before};
use jtrail_testkit::Jdk;

#[test]
fn a_java_agent_that_transforms_classes_too() {
    let folder = jtrail_testkit::temp_dir();
    let jar = java_agent(folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let other = format!("-javaagent:{}", jar.display());
        let options = format!("format=binary,{FILTER}");
        for first in [true, false] {
            let run = program(&jdk, "harness.Constructors");
            let run = match first {
                true => traced(run.jvm_arg(&other), &options),
                false => traced_before(run, &options, &[&other]),
            };
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let counts = run.output.counts();
            counts.assert_matches(
                &run.trace.calls,
                &run.trace.uninstrumented,
                &["harness."],
                &[],
            );
            assert!(
                run.output.stdout.contains("neighbour saw some: true"),
                "{}",
                run.output
            );
            // If the other agent comes first, it calls the method before the JVM is ready; the call
            // is traced all the same.
            assert_eq!(
                run.trace.calls.get("Early.call()V"),
                Some(&2),
                "JDK {}",
                jdk.feature
            );
        }
    }
}
