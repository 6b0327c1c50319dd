//! The JVM's own tools.

use super::compile::compile_with_harness;
use super::{collectors, harness, program};
use jtrail_testkit::{Jdk, Run, Running};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Asks the JVM's own tool about the process; its answer.
pub(crate) fn jcmd(jdk: &Jdk, running: &Running, command: &str) -> String {
    let output = Command::new(jdk.home.join("bin/jcmd"))
        .args([&running.pid().to_string(), command])
        .output()
        .expect("jcmd runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) type Counts = BTreeMap<String, i64>;

/// What the JVM's compiler works on in these programs.
pub(crate) const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../java-harness/src11");

/// JVMs that have the tools.
pub(crate) fn with_tools() -> Vec<Jdk> {
    let mut jdks = Jdk::require(&crate::support::VERSIONS);
    jdks.retain(|jdk| jdk.home.join("bin/jcmd").is_file());
    assert!(!jdks.is_empty(), "no JVM with jcmd");
    jdks
}

/// The same, with each of those collectors that they have, as an argument. Unless tests are
/// thorough, each collector is tried on one JVM: in turn on the newest and the one before.
pub(crate) fn with_tools_and(collectors: &[&str]) -> Vec<(Jdk, String)> {
    collectors::in_turn(with_tools(), collectors)
}

/// A program of these tests, compiled into `folder`, with the harness at hand.
pub(crate) fn tool_program(jdk: &Jdk, class: &str, source: &str, folder: &Path) -> Run {
    compile_with_harness(class, source, folder, &harness().root().join("11"));
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(harness().class_path(jdk));
    program(jdk, class).class_path(path)
}
