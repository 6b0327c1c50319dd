//! How many events of which kind a trace has.

use jtrail_model::Event;

macro_rules! kinds {
    ($($kind:ident)*) => {
        #[derive(Clone, Copy)]
        enum Kind { $($kind,)* Other }

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
    HeapObject HeapDumpEnd LineCounts
}

/// Number of events by kind.
#[derive(Debug, Default)]
pub(super) struct Kinds([u64; KINDS]);

impl Kinds {
    pub(super) fn count(&mut self, event: &Event<'_>) {
        self.0[Kind::of(event) as usize] += 1;
    }

    pub(super) fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn enters(&self) -> u64 {
        self.0[Kind::MethodEnter as usize]
    }

    pub(super) fn leaves(&self) -> u64 {
        self.0[Kind::MethodLeave as usize]
    }

    pub(super) fn aggregated(&self) -> u64 {
        self.0[Kind::AggregatedEnter as usize]
    }

    pub(super) fn objects(&self) -> u64 {
        self.0[Kind::ObjectAlloc as usize]
    }

    pub(super) fn frees(&self) -> u64 {
        self.0[Kind::ObjectFree as usize]
    }

    /// Of all four kinds.
    pub(super) fn monitors(&self) -> u64 {
        let kinds = [
            Kind::MonitorWait,
            Kind::MonitorWaited,
            Kind::MonitorContendedEnter,
            Kind::MonitorContendedEntered,
        ];
        kinds.map(|kind| self.0[kind as usize]).into_iter().sum()
    }

    pub(super) fn parks(&self) -> u64 {
        self.0[Kind::ThreadPark as usize]
    }

    pub(super) fn throws(&self) -> u64 {
        self.0[Kind::ExceptionThrow as usize]
    }

    pub(super) fn catches(&self) -> u64 {
        self.0[Kind::ExceptionCatch as usize]
    }

    pub(super) fn samples(&self) -> u64 {
        self.0[Kind::Sample as usize]
    }

    pub(super) fn occurring(&self) -> Vec<(&'static str, u64)> {
        KIND_NAMES
            .into_iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
