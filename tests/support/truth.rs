//! Compares traces with what harness programs print about themselves, on every JVM and with each of
//! its collectors.

use super::facts::Facts;
use super::{VERSIONS, agent, collectors, harness, program};
use jtrail_testkit::{Jdk, Output, Run, temp_dir};

/// Runs a program with these options. Returns its output, and the contents of the trace.
pub(crate) fn traced(
    jdk: &Jdk,
    name: &str,
    options: &str,
    adapt: impl FnOnce(Run) -> Run,
) -> (Output, Facts) {
    eprintln!("{name}, {options}, JDK {}", jdk.feature);
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!("include=harness.*,{options},file={}", file.display());
    let output = adapt(program(jdk, name)).agent(agent(), options).output();
    output.assert_exit(0);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    assert!(
        facts.faults.is_empty(),
        "{:#?}",
        &facts.faults[..facts.faults.len().min(20)]
    );
    assert_eq!(facts.totals.expect("the trace ended well").lost, 0);
    (output, facts)
}

/// Maximum depth of the recorded stacks. All stacks that the programs print have fewer frames.
pub(crate) const DEPTH: usize = 64;

/// Runs a program with these events. Fails if the trace differs from what the program prints.
fn check(jdk: &Jdk, name: &str, events: &str, adapt: impl FnOnce(Run) -> Run) {
    if !harness().has(jdk, name) {
        return;
    }
    let options = format!("format=binary,events={events},allocsites=true,stackdepth={DEPTH}");
    let (output, facts) = traced(jdk, name, &options, adapt);
    let truth = output.truth();
    let mut differences = facts.differences(&truth);
    differences.extend(facts.stacks.differences(&truth, DEPTH));
    assert!(differences.is_empty(), "{differences:#?}\n{output}");
}

pub(crate) fn everywhere(name: &str, events: &str) {
    for jdk in Jdk::require(&VERSIONS) {
        check(&jdk, name, events, |run| run);
    }
}

pub(crate) fn with_each_collector(name: &str, events: &str, args: &[&str]) {
    for (jdk, collector) in collectors::in_turn(Jdk::require(&VERSIONS), &collectors::NAMES) {
        eprintln!("{collector}");
        check(&jdk, name, events, |run| {
            let run = run
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg(&collector);
            args.iter().fold(run, |run, arg| run.arg(*arg))
        });
    }
}
