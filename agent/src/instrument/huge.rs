//! Methods that the JVM would no longer compile with hooks in them.
//!
//! HotSpot compiles no method with more than 8,000 bytes of code (`HugeMethodLimit`, a constant,
//! while `-XX:+DontCompileHugeMethods` holds). A method that grows beyond that is interpreted for
//! good, up to ten times slower, so it does not grow: its line and allocation probes are left out,
//! or all of them, and the trace says so. docs/limits.md weighs this against what else could be
//! done.

use jtrail_classfile::Refusal;
use jtrail_guard::log;
use jtrail_jvm::perf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const LIMIT: usize = 8_000;

/// The JVM's limit, and whether the user was told of it.
#[derive(Default)]
pub(super) struct Huge {
    limit: OnceLock<Option<usize>>,
    is_reported: AtomicBool,
}

impl Huge {
    /// Returns the most bytes of code that the JVM compiles; `None` if it has no such limit, or
    /// compiles nothing.
    pub(super) fn limit(&self) -> Option<usize> {
        *self
            .limit
            .get_or_init(|| perf::leaves_huge_methods_alone().then_some(LIMIT))
    }

    /// Tells the user once that there are methods without all their probes, if that is why this one
    /// has not all.
    pub(super) fn log_refusal(&self, class: &str, method: &str, lack: &str, refusal: &Refusal) {
        if matches!(refusal, Refusal::NeverCompiled(_))
            && !self.is_reported.swap(true, Ordering::Relaxed)
        {
            log::say(&format!(
                "{class}.{method} {lack}: {refusal}; the trace names all such methods, -XX:-DontCompileHugeMethods has them traced"
            ));
        }
    }
}
