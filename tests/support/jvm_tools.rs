//! The JVM's own tools.

use super::compile::compile_with_harness;
use super::{collectors, harness, program};
use jtrail_testkit::{Jdk, Run, Running};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Runs a command of `jcmd` on the process, and returns its output.
pub(crate) fn jcmd(jdk: &Jdk, running: &Running, command: &str) -> String {
    let output = Command::new(jdk.home.join("bin/jcmd"))
        .args([&running.pid().to_string(), command])
        .output()
        .expect("jcmd runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) type Counts = BTreeMap<String, i64>;

/// The sources that the Java compiler compiles in these tests.
pub(crate) const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../java-harness/src11");

/// Returns the JVMs that have the tools.
pub(crate) fn with_tools() -> Vec<Jdk> {
    let mut jdks = Jdk::require(&crate::support::VERSIONS);
    jdks.retain(|jdk| jdk.home.join("bin/jcmd").is_file());
    assert!(!jdks.is_empty(), "no JVM with jcmd");
    jdks
}

/// Returns pairs of a JVM that has the tools and the argument for one of these collectors that the
/// JVM has. Unless tests are thorough, each collector is tried on one JVM only, and the JVMs take
/// turns.
pub(crate) fn with_tools_and(collectors: &[&str]) -> Vec<(Jdk, String)> {
    collectors::in_turn(with_tools(), collectors)
}

/// Compiles a program of these tests into `folder`, with the harness on its class path, and
/// prepares its run.
pub(crate) fn tool_program(jdk: &Jdk, class: &str, source: &str, folder: &Path) -> Run {
    compile_with_harness(class, source, folder, &harness().root().join("11"));
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(harness().class_path(jdk));
    program(jdk, class).class_path(path)
}
