//! How many events of which kind a trace has.

use jtrail_model::Event;

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// A kind of event.
        #[derive(Clone, Copy)]
        pub(super) enum Kind { $($kind,)* Other }

        const KINDS: usize = Kind::Other as usize + 1;
        const KIND_NAMES: [&str; KINDS] = [$(stringify!($kind),)* "other"];

        impl Kind {
            fn of(event: &Event<'_>) -> Self {
                match event {
                    $(Event::$kind(_) => Self::$kind,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

kinds! {
    Node ProcessCreate AgentCreate AgentDestroy TraceStart TraceEnd Filter Option ThreadStart
    ThreadEnd ClassDef MethodDef ObjectAlloc MethodEnter MethodLeave GcStart ObjectFree GcFinish
    RuntimeInitDone RuntimeShutdown MonitorWait MonitorWaited MonitorContendedEnter
    MonitorContendedEntered AggregatedEnter AggregatedLeave HeapDump GcRoot ObjectReference Custom
    ObjectDef ExceptionThrow ExceptionCatch ThreadName ThreadCpu ThreadMount ThreadUnmount ThreadPark
    ThreadUnpark ClassDetail ClassUnload ClassRedefine MethodCompile MethodUncompile Sample GcDetail
    HeapObject HeapDumpEnd LineCounts TracePause TraceResume AggregatedDetail SampleSum ObjectCounts ClassSource
    ThreadOsId ProcessCpu AllocationSum LiveObjects
}

/// Number of events by kind.
#[derive(Debug)]
pub(super) struct Kinds([u64; KINDS]);

impl Default for Kinds {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl Kinds {
    pub(super) fn count(&mut self, event: &Event<'_>) {
        self.0[Kind::of(event) as usize] += 1;
    }

    pub(super) fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    pub(super) fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Monitor events, of all four kinds.
    pub(super) fn monitors(&self) -> u64 {
        self.of(Kind::MonitorWait)
            + self.of(Kind::MonitorWaited)
            + self.of(Kind::MonitorContendedEnter)
            + self.of(Kind::MonitorContendedEntered)
    }

    /// Parks and unparks.
    pub(super) fn parks(&self) -> u64 {
        self.of(Kind::ThreadPark) + self.of(Kind::ThreadUnpark)
    }

    pub(super) fn occurring(&self) -> Vec<(&'static str, u64)> {
        KIND_NAMES
            .into_iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
