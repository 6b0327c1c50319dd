//! Conversion to events with owned texts, which can be passed to another thread.

use super::*;
use crate::{ClassId, Duration, HeapDumpId, MethodId, ObjectId, ThreadId, Timestamp};

/// A type that may borrow texts and can be converted to own them.
pub(super) trait IntoStatic {
    type Static;

    fn into_static(self) -> Self::Static;

    /// Returns the number of bytes that the value takes on the heap when all texts are owned.
    fn held(&self) -> usize;
}

impl IntoStatic for Text<'_> {
    type Static = Text<'static>;

    fn into_static(self) -> Self::Static {
        Cow::Owned(self.into_owned())
    }

    fn held(&self) -> usize {
        self.len()
    }
}

impl<T: IntoStatic> IntoStatic for Vec<T> {
    type Static = Vec<T::Static>;

    fn into_static(self) -> Self::Static {
        self.into_iter().map(T::into_static).collect()
    }

    fn held(&self) -> usize {
        let held = self.iter().map(T::held).sum::<usize>();
        held.saturating_add(size_of::<T>().saturating_mul(self.len()))
    }
}

impl<T: IntoStatic> IntoStatic for Box<T> {
    type Static = Box<T::Static>;

    fn into_static(self) -> Self::Static {
        Box::new((*self).into_static())
    }

    fn held(&self) -> usize {
        size_of::<T>().saturating_add((**self).held())
    }
}

macro_rules! plain {
    ($($name:ident)*) => {$(
        impl IntoStatic for $name {
            type Static = Self;

            #[inline]
            fn into_static(self) -> Self {
                self
            }

            #[inline]
            fn held(&self) -> usize {
                0
            }
        }
    )*};
}

plain! {
    u16 u64 i32 i64
    ClassId Duration HeapDumpId MethodId ObjectId ThreadId Timestamp
    Generation LineCount LiveClass ThreadState Ticks
    AggregatedDetail AggregatedEnter AggregatedLeave AllocationSum CatchDetail ClassInitEnd ClassInitStart ClassRedefine ClassUnload GcFinish GcStart HeapDumpEnd HeapObject
    MethodDetail MethodEnter MethodLeave MethodUncompile ObjectAlloc ObjectCounts ObjectDef ObjectFree ObjectReference ProcessCpu
    RuntimeInitDone RuntimeShutdown ThreadCpu ThreadEnd ThreadMount ThreadOsId ThreadUnmount ThreadUnpark TracePause TraceResume
}

macro_rules! fields {
    ($($name:ident { $($field:ident)* })*) => {$(
        impl IntoStatic for $name<'_> {
            type Static = $name<'static>;

            fn into_static(self) -> Self::Static {
                $name {$(
                    $field: self.$field.into_static(),
                )*}
            }

            fn held(&self) -> usize {
                0_usize $(.saturating_add(self.$field.held()))*
            }
        }
    )*};
}

fields! {
    AgentCreate { agent_id process_id name agent_type time parameters version }
    AgentDestroy { agent_id time }
    ClassDef { class thread time name source_name object }
    ClassDetail { class time access super_name interfaces loader size fields methods }
    ClassSource { class source_name }
    CodeRange { offset frames }
    Custom { body }
    ExceptionCatch { thread time object class frame }
    ExceptionThrow { thread time object class stack }
    Filter { trace_id pattern generic_pattern mode method_pattern method_generic_pattern method_mode }
    Frame { method line }
    GcDetail { time collector cause generation }
    GcRoot { class object kind }
    HeapDump { dump time name base_time }
    Member { name signature access }
    MethodCompile { method time address size ranges }
    MethodDef { method class name signature start_line end_line }
    MonitorContendedEnter { thread time object owner stack }
    MonitorContendedEntered { thread time object stack }
    MonitorWait { thread time object timeout_ms stack }
    MonitorWaited { thread time object timed_out stack }
    Node { node_id hostname ip_address timezone time }
    ProcessCreate { process_id name pid node_id time executable }
    Sample { thread time state ticks stack }
    SampleSum { thread time depth frame runnable all }
    ThreadName { thread time name }
    ThreadPark { thread time object stack }
    ThreadStart { thread time group parent_group object name }
    TraceEnd { trace_id time }
    TraceOption { key value }
    TraceStart { trace_id agent_id time }
}

macro_rules! lists {
    ($($name:ident { $list:ident })*) => {$(
        impl IntoStatic for $name {
            type Static = Self;

            fn into_static(self) -> Self {
                self
            }

            fn held(&self) -> usize {
                self.$list.held()
            }
        }
    )*};
}

lists! {
    LineCounts { lines }
    LiveObjects { classes }
}
