//! The table of all sources of events.

use super::source::Source;
use super::{
    allocations, calls, classes, cpu, details, exceptions, exhaustion, frees, gc, heap, jit,
    monitors, program, requests, sampler, sites, threads, virtual_threads,
};
use jtrail_options::Options;

/// All sources, in the order in which they begin and end.
pub(super) static TABLE: [&dyn Source; 18] = [
    &sampler::Samples,
    &gc::Collections,
    &threads::Threads,
    &virtual_threads::VirtualThreads,
    &cpu::CpuTimes,
    &allocations::Allocations,
    &heap::HeapSnapshots,
    &frees::Frees,
    &program::ProgramCalls,
    &sites::AllocationSites,
    &details::ClassDetails,
    &jit::CompiledMethods,
    &monitors::Monitors,
    &exceptions::Exceptions,
    &exhaustion::Exhaustion,
    &requests::Requests,
    &calls::ReportedCalls,
    &classes::RewrittenClasses,
];

/// Returns the sources that these options need.
pub(super) fn requested(options: &Options) -> impl Iterator<Item = &'static dyn Source> {
    let requested = |source: &&'static dyn Source| source.requested(options);
    TABLE.into_iter().filter(requested)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_jvm::jvmti::abi::Event::{self, *};
    use std::io;

    /// Returns the permanent events for these options, without the events of threads and dead
    /// objects.
    fn permanent(text: &str) -> Vec<Event> {
        let no_files = |path: &str| Err(io::Error::other(path.to_owned()));
        let options = jtrail_options::parse(text, &no_files).expect(text);
        let events = requested(&options).flat_map(|source| source.permanent_events());
        let others = [ThreadStart, ThreadEnd, ObjectFree];
        let mut permanent: Vec<Event> = events.copied().collect();
        permanent.retain(|event| !others.contains(event));
        permanent
    }

    #[test]
    fn class_files_are_seen_from_the_start_where_anything_asks_for_them() {
        let rewriting = [VmStart, ClassFileLoadHook];
        assert_eq!(permanent("events=methods"), rewriting);
        assert_eq!(permanent("events=gc,burst=call:a.B.c"), rewriting);
        assert_eq!(permanent("events=details"), [ClassFileLoadHook]);
        assert_eq!(permanent("events=details+threads"), [ClassFileLoadHook]);
        for other in ["events=gc", "events=alloc", "events=methods,engine=jvmti"] {
            assert_eq!(permanent(other), [], "{other}");
        }
        assert_eq!(permanent("events=heap,heap=request"), [DataDumpRequest]);
    }
}
