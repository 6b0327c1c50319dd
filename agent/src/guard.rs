//! No panic crosses into the JVM: one switches the agent off, says so once, and the program runs on.

use crate::log;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static OFF: AtomicBool = AtomicBool::new(false);
static SAID: Once = Once::new();

/// Whether recording has ended, by an error or with the trace.
#[inline]
pub(crate) fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Lets recording begin.
pub(crate) fn switch_on() {
    OFF.store(false, Ordering::Relaxed);
}

/// Ends recording for good.
pub(crate) fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Runs `f`; a panic in it ends recording, and the answer is the default.
pub(crate) fn run<T: Default>(place: &str, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        switch_off();
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        SAID.call_once(|| {
            log::say(&format!(
                "internal error in {place}: {text}; tracing is off, the program goes on. Please report this"
            ));
        });
        T::default()
    })
}
