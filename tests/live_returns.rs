//! The agent has a JVM that starts spare hooks the fence behind native code, as if its command line had said so, and never against it.

use crate::common::{FILTER, VERSIONS, agent, program};
use jtrail_testkit::Jdk;

const ON: &str = "-XX:+UseSystemMemoryBarrier";
const OFF: &str = "-XX:-UseSystemMemoryBarrier";

/// What the JVM says of the flag, with the agent or without; nothing if it does not know it.
fn flag(jdk: &Jdk, given: Option<&str>, with_agent: bool) -> Option<bool> {
    let run = program(jdk, "harness.Fib").arg("5");
    // 21 has it as an experiment, 17 not at all.
    let run = [
        "UnlockExperimentalVMOptions",
        "IgnoreUnrecognizedVMOptions",
        "PrintFlagsFinal",
    ]
    .iter()
    .fold(run, |run, flag| run.jvm_arg(format!("-XX:+{flag}")));
    let run = given.iter().fold(run, |run, flag| run.jvm_arg(*flag));
    let run = match with_agent {
        true => run.agent(agent(), format!("format=none,{FILTER}")),
        false => run,
    };
    let output = run.output();
    output.assert_exit(0);
    let mut words = output.stdout.lines().map(str::split_whitespace);
    let line = words.find_map(|words| {
        let words: Vec<&str> = words.collect();
        (words.get(1) == Some(&"UseSystemMemoryBarrier")).then_some(words)
    });
    line.map(|words| words[3] == "true")
}

#[test]
fn a_jvm_that_can_spares_hooks_the_fence() {
    for jdk in Jdk::require(&VERSIONS) {
        let bare = flag(&jdk, None, false);
        assert_eq!(bare.is_some(), jdk.feature >= 20, "JDK {}", jdk.feature);
        // Where the kernel can't, the JVM turns it off.
        assert_eq!(
            flag(&jdk, None, true),
            flag(&jdk, Some(ON), false),
            "JDK {}",
            jdk.feature
        );
        assert_eq!(
            flag(&jdk, Some(OFF), true),
            flag(&jdk, Some(OFF), false),
            "JDK {}",
            jdk.feature
        );
        assert_ne!(
            bare,
            Some(true),
            "JDK {}: it tells nothing here",
            jdk.feature
        );
    }
}
