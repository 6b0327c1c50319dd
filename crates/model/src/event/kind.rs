//! The kinds of events.

use super::Event;
use super::owned::IntoStatic;

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// A kind of event.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("[`Event::", stringify!($kind), "`].")] $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the name of the event.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }
        }

        impl Event<'_> {
            /// Returns the kind of the event.
            #[inline]
            pub fn kind(&self) -> Kind {
                match self {
                    $(Event::$kind(_) => Kind::$kind,)*
                }
            }

            /// Returns the same event with owned texts.
            #[inline]
            pub fn into_static(self) -> Event<'static> {
                match self {
                    $(Event::$kind(event) => Event::$kind(event.into_static()),)*
                }
            }

            /// Returns the number of bytes that the event takes on the heap when its texts are
            /// owned.
            #[inline]
            pub fn held(&self) -> usize {
                match self {
                    $(Event::$kind(event) => event.held(),)*
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
    HeapObject HeapDumpEnd LineCounts TracePause TraceResume AggregatedDetail SampleSum ObjectCounts
    ClassSource ThreadOsId ProcessCpu AllocationSum LiveObjects MethodDetail CatchDetail
    ClassInitStart ClassInitEnd
}
