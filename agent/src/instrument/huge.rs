//! Methods that would be too long for the JVM's compilers with hooks in them.
//!
//! HotSpot compiles no method with more than 8,000 bytes of code (`HugeMethodLimit`, a constant,
//! unless `-XX:-DontCompileHugeMethods` is given). A method that grows beyond that stays
//! interpreted, and is up to ten times slower. So the rewriter does not exceed the limit. It omits
//! the method's line and allocation probes, or all probes, and the trace says so. docs/limits.md
//! compares this with the alternatives.

use jtrail_classfile::Refusal;
use jtrail_guard::log;
use jtrail_jvm::perf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const LIMIT: usize = 8_000;

/// The JVM's limit, and whether the user was informed about it.
#[derive(Default)]
pub(super) struct Huge {
    limit: OnceLock<Option<usize>>,
    is_reported: AtomicBool,
}

impl Huge {
    /// Returns the maximum code length in bytes that the JVM compiles; `None` if it has no limit,
    /// or compiles nothing.
    pub(super) fn limit(&self) -> Option<usize> {
        *self
            .limit
            .get_or_init(|| perf::leaves_huge_methods_alone().then_some(LIMIT))
    }

    /// Informs the user, only once, that some methods lack probes. Does so if `refusal` says that
    /// the limit is the reason.
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
