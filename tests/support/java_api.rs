//! Programs that command the agent by the classes of the jar `java-api`.

use super::{harness, program};
use jtrail_testkit::{Jdk, Run};
use std::ffi::OsString;

/// Path of the jar.
pub(crate) const API: &str = env!("JTRAIL_API");

/// Prepares a run of a harness program, with the jar on its class path.
pub(crate) fn with_api(jdk: &Jdk, main: &str) -> Run {
    let mut path: OsString = harness().class_path(jdk);
    path.push(":");
    path.push(API);
    program(jdk, main).class_path(path)
}
