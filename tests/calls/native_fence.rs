//! The agent has a JVM that starts spare hooks the fence behind native code, as if its command line
//! had said so, and never against it.

use crate::support::compile::compile;
use crate::support::{VERSIONS, agent, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::path::Path;

const ON: &str = "-XX:+UseSystemMemoryBarrier";
const OFF: &str = "-XX:-UseSystemMemoryBarrier";
const EXACT: &str = "format=none,include=Fences";

/// What the program says of the flag, if the command line has it so, with an agent of these
/// options, or without.
fn flag(jdk: &Jdk, folder: &Path, given: Option<&str>, options: Option<&str>) -> String {
    // 20 has it as an experiment, 17 not at all.
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
        // Where the kernel can't, the JVM turns it off.
        let can = flag(&jdk, folder, Some(ON), None);
        assert_eq!(flag(&jdk, folder, None, Some(EXACT)), can, "{what}");
        assert_eq!(flag(&jdk, folder, Some(OFF), Some(EXACT)), bare, "{what}");
        // These hooks hardly ever leave Java.
        let ticks = format!("{EXACT},clock=tick");
        assert_eq!(flag(&jdk, folder, None, Some(&ticks)), bare, "{what}");
    }
}
