//! Marks the agent's own work on threads of the JVM, so that it is not recorded.

use jtrail_recorder::buffer::live;
use std::cell::Cell;

thread_local! {
    static RUNS_AGENT_CODE: Cell<bool> = const { Cell::new(false) };
}

/// Marks the running thread as an agent thread: nothing that it does is recorded.
pub(crate) fn mark_agent_thread() {
    RUNS_AGENT_CODE.set(true);
}

/// Returns true on an agent thread, and inside [`unrecorded`].
pub(crate) fn runs_agent_code() -> bool {
    RUNS_AGENT_CODE.get()
}

/// Runs `f`. Nothing that the running thread does in `f` is recorded.
pub(crate) fn unrecorded<T>(f: impl FnOnce() -> T) -> T {
    let before = RUNS_AGENT_CODE.replace(true);
    let result = live::without_buffer(f);
    RUNS_AGENT_CODE.set(before);
    result
}
