//! CPU time of threads: user and system time, in nanoseconds, as the kernel counts it.
//!
//! The kernel does not know virtual threads. The time of a virtual thread is the sum of the times
//! of its mounts. At a mount, the carrier stores the virtual thread's time so far minus the
//! carrier's clock. This difference is added to each reading until the thread unmounts. So the time
//! of a virtual thread never decreases, and excludes other threads. As usual in Java, the time of a
//! carrier includes the time of its virtual threads.

use super::{Need, Source, Tracer};
use jtrail_jvm::jvmti::abi::Capability;
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;

pub(crate) use super::state::virtual_threads::now;

/// The source of `events=cpu`.
pub(super) struct CpuTimes;

impl Source for CpuTimes {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::CPU)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let cpu = Capability::GetThreadCpuTime;
        vec![Need::of(cpu, "report the CPU time of threads")]
    }
}

/// What is measured at each enter and leave. A type chooses the measurement, so that the hot path
/// needs no branch.
pub(crate) trait Measure {
    /// Returns the running thread's CPU time, if it is measured.
    fn now() -> Option<u64>;
}

/// Measures nothing.
pub(crate) struct WithoutCpu;

impl Measure for WithoutCpu {
    #[inline(always)]
    fn now() -> Option<u64> {
        None
    }
}

/// Measures CPU time.
pub(crate) struct WithCpu;

impl Measure for WithCpu {
    #[inline]
    fn now() -> Option<u64> {
        Some(now())
    }
}

/// Records the CPU time that a thread has used so far.
pub(crate) fn record_thread(tracer: &Tracer, buffer: OwnBuffer, thread: u32, used: u64) {
    let payload = [u64::from(thread), used];
    tracer.session.record(buffer, Code::ThreadCpu, &payload);
}

/// Records the CPU time of each live virtual thread. `clock_of` returns the CPU time of a platform
/// thread.
pub(crate) fn record_virtual(
    tracer: &Tracer,
    buffer: OwnBuffer,
    clock_of: impl Fn(u32) -> Option<u64>,
) {
    let Some(times) = &tracer.virtual_threads.times else {
        return;
    };
    for (thread, used) in times.all(clock_of) {
        record_thread(tracer, buffer, thread, used);
    }
}
