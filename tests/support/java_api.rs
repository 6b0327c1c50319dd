//! Programs that command the agent with the classes of the jar.

use super::{harness, program};
use jtrail_testkit::{Jdk, Run};
use std::ffi::OsString;

/// The jar.
pub(crate) const API: &str = env!("JTRAIL_API");

/// A harness program, with the jar on its class path.
pub(crate) fn with_api(jdk: &Jdk, main: &str) -> Run {
    let mut path: OsString = harness().class_path(jdk);
    path.push(":");
    path.push(API);
    program(jdk, main).class_path(path)
}
