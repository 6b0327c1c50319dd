//! The agent sets a flag of a JVM that is starting, so that the JVM omits the memory fence after
//! hooks. A flag on the command line takes precedence.

use crate::support::compile::compile;
use crate::support::{VERSIONS, agent, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::path::Path;

const ON: &str = "-XX:+UseSystemMemoryBarrier";
const OFF: &str = "-XX:-UseSystemMemoryBarrier";
const EXACT: &str = "format=none,include=Fences";

/// Returns what the program prints about the flag. `given` is the flag on the command line, and
/// `options` the options of the agent, if there is one.
fn flag(jdk: &Jdk, folder: &Path, given: Option<&str>, options: Option<&str>) -> String {
    // In JVM 20 the flag is experimental. JVM 17 does not have it.
    let always = [
        "-XX:+UnlockExperimentalVMOptions",
        "-XX:+IgnoreUnrecognizedVMOptions",
    ];
    let bare = program(jdk, "Fences").class_path(folder);
    let flags = always.iter().chain(given.iter());
    let run = flags.fold(bare, |run, flag| run.jvm_arg(*flag));
    let run = match options {
        Some(options) => run.agent(agent(), options),
        None => run,
    };
    let output = run.output();
    output.assert_exit(0);
    output.stdout.trim().to_owned()
}

#[test]
fn a_jvm_that_can_spares_hooks_the_fence() {
    let folder = temp_dir();
    let folder = folder.path();
    compile("Fences", include_str!("Fences.java"), folder);
    for jdk in Jdk::require(&VERSIONS) {
        let what = format!("JDK {}", jdk.feature);
        let bare = if jdk.feature < 20 { "unknown" } else { "false" };
        assert_eq!(flag(&jdk, folder, None, None), bare, "{what}");
        // If the kernel lacks the system call, the JVM clears the flag.
        let can = flag(&jdk, folder, Some(ON), None);
        assert_eq!(flag(&jdk, folder, None, Some(EXACT)), can, "{what}");
        assert_eq!(flag(&jdk, folder, Some(OFF), Some(EXACT)), bare, "{what}");
        // With `clock=tick`, hooks hardly ever leave Java code, so the agent does not set the flag.
        let ticks = format!("{EXACT},clock=tick");
        assert_eq!(flag(&jdk, folder, None, Some(&ticks)), bare, "{what}");
    }
}
