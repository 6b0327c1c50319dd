//! CPU time of threads: user and system time, in nanoseconds, as the kernel counts it.
//!
//! The kernel counts for its own threads. A virtual thread's time is put together from its mounts:
//! when it takes a carrier, the difference between what it has used so far and the carrier's clock
//! is kept with the carrier, and added to each reading until it unmounts. So its time is its own,
//! and never falls. A carrier's time is what the kernel says, its virtual threads' included, as
//! everywhere else in Java.

use super::{Need, Source, Tracer};
use jtrail_jvm::jvmti::abi::Capability;
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;

pub(crate) use super::state::virtual_threads::now;

/// `events=cpu`.
pub(super) struct CpuTimes;

impl Source for CpuTimes {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::CPU)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let cpu = Capability::GetThreadCpuTime;
        vec![Need::of(cpu, "tell the CPU time of threads")]
    }
}

/// What goes with each enter and leave. A type, so that the hot path has no branch for it.
pub(crate) trait Measure {
    /// The running thread's CPU time, where it is wanted.
    fn now() -> Option<u64>;
}

/// Nothing goes with them.
pub(crate) struct Without;

impl Measure for Without {
    #[inline(always)]
    fn now() -> Option<u64> {
        None
    }
}

/// CPU time goes with them.
pub(crate) struct WithCpu;

impl Measure for WithCpu {
    #[inline]
    fn now() -> Option<u64> {
        Some(now())
    }
}

/// Records what a thread has used.
pub(crate) fn record_thread(tracer: &Tracer, buffer: OwnBuffer, thread: u32, used: u64) {
    let payload = [u64::from(thread), used];
    tracer.session.record(buffer, Code::ThreadCpu, &payload);
}

/// Records what each live virtual thread has used, by the clocks of the platform threads.
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
