//! Finds JVMs and runs programs in them, for the tests.
//!
//! - [`Jdk`]: the JVMs on this machine. Finding none is a failure, never a silent skip.
//! - [`Harness`]: the compiled programs of `java-harness/`, and the class path for a JVM.
//! - [`Run`]: one program in one JVM, with or without the agent, always with a time limit.
//! - [`Counts`]: the calls that a harness program reports, and their comparison with a trace.
//! - [`MprofReport`]: an independent reader of log profiles; [`mprof`] parses its output.
//! - [`ask_as_stranger`]: the answer that another user's process gets from an agent's socket.
//! - [`python`]: programs in Python; [`Dialogue`]: a program that answers line by line.
//! - [`Truth`]: the other events that a harness program reports: objects, monitors, exceptions,
//!   lines and so on.
//!
//! ```no_run
//! use jtrail_testkit::{Harness, Jdk, Run};
//!
//! let harness = Harness::new(std::env::var_os("JTRAIL_HARNESS").unwrap());
//! for jdk in Jdk::require(&[11, 17, 21, 25]) {
//!     let dir = jtrail_testkit::temp_dir();
//!     let trace = dir.path().join("t.trcbin");
//!     let output = Run::new(&jdk, "harness.Constructors")
//!         .class_path(harness.class_path(&jdk))
//!         .agent("libjtrail.so", format!("format=binary,file={}", trace.display()))
//!         .output();
//!     output.assert_exit(0);
//!     let counts = output.counts();
//!     assert!(!counts.exact.is_empty());
//! }
//! ```
//!
//! Helpers fail like tests: they panic with a message that says what happened. The `try_` variants
//! return the error instead.

#![forbid(unsafe_code)]

mod counts;
mod harness;
mod jdk;
pub mod mprof;
mod python;
mod run;
#[cfg(unix)]
mod stranger;
mod truth;

pub use counts::{Counts, ParseError};
pub use harness::Harness;
pub use jdk::{Jdk, JdkError, OLDEST};
pub use mprof::MprofReport;
pub use python::{Dialogue, python};
pub use run::{DEFAULT_TIMEOUT, Output, Run, RunError, Running};
#[cfg(unix)]
pub use stranger::{STRANGER, ask_as, ask_as_stranger, give_to_other_user};
pub use truth::{CpuMillis, Group, Site, Stack, Truth, Waits, differences, differences_in_range};

/// Returns true under CI (`CI=true`). There, all JVMs and programs that tests need must exist.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| v == "true" || v == "1")
}

/// Creates a folder that is removed when the value is dropped.
///
/// # Panics
/// If the system's temporary folder is not writable.
pub fn temp_dir() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("jtrail-test-")
        .tempdir()
        .expect("a temporary folder")
}
