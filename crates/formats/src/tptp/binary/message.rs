//! The thirty data messages, field by field. This table defines the format.

use super::value::{Fault, Field, Fields};
use jtrail_model::{
    AgentCreate, AgentDestroy, AggregatedEnter, AggregatedLeave, ClassDef, Custom, Event, Filter,
    GcFinish, GcRoot, GcStart, HeapDump, MethodDef, MethodEnter, MethodLeave,
    MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited, Node, ObjectAlloc,
    ObjectFree, ObjectReference, ProcessCreate, RuntimeInitDone, RuntimeShutdown, ThreadEnd,
    ThreadStart, TraceEnd, TraceOption, TraceStart,
};

/// A row contains: id, variant and payload of the event, name in the format, fields in order. A
/// type in brackets is a field that is written as unset and skipped when read.
macro_rules! messages {
    ($($id:literal $variant:ident($payload:ident) $name:literal { $($field:tt)* })*) => {
        /// Appends the fields of `event` and returns the message's id, or `None` if the format has
        /// no message for the event.
        pub(super) fn put(event: &Event<'_>, out: &mut Vec<u8>) -> Option<u16> {
            match event {
                $(Event::$variant(e) => {
                    $(put_field!(e, out, $field);)*
                    Some($id)
                })*
                _ => None,
            }
        }

        /// Reads the fields of message `id`, which must be in the table. An error contains the name
        /// of the faulty field.
        pub(super) fn take<'a>(
            id: u16,
            fields: &mut Fields<'a>,
        ) -> Result<Option<Event<'a>>, (&'static str, Fault)> {
            Ok(Some(match id {
                $($id => {
                    let mut e = $payload::default();
                    $(take_field!(e, fields, $field);)*
                    Event::$variant(e.into())
                })*
                _ => return Ok(None),
            }))
        }

        /// Returns the name of message `id`, if it is in the table.
        pub(super) fn name(id: u16) -> Option<&'static str> {
            Some(match id {
                $($id => $name,)*
                _ => return None,
            })
        }
    };
}

macro_rules! put_field {
    ($e:ident, $out:ident, [byte]) => {
        $out.push(0)
    };
    ($e:ident, $out:ident, [integer]) => {
        0_i32.put($out)
    };
    ($e:ident, $out:ident, [long]) => {
        0_i64.put($out)
    };
    ($e:ident, $out:ident, [text]) => {
        $out.push(0)
    };
    ($e:ident, $out:ident, $field:ident) => {
        $e.$field.put($out)
    };
}

macro_rules! take_field {
    ($e:ident, $fields:ident, [byte]) => {
        $fields.unused::<1>().map_err(unused)?
    };
    ($e:ident, $fields:ident, [integer]) => {
        $fields.unused::<4>().map_err(unused)?
    };
    ($e:ident, $fields:ident, [long]) => {
        $fields.unused::<8>().map_err(unused)?
    };
    ($e:ident, $fields:ident, [text]) => {
        $fields.unused_text().map_err(unused)?
    };
    ($e:ident, $fields:ident, $field:ident) => {
        $e.$field = Field::take($fields).map_err(|fault| (stringify!($field), fault))?
    };
}

fn unused(fault: Fault) -> (&'static str, Fault) {
    ("an unused field", fault)
}

messages! {
    1001 Node(Node) "node" { node_id hostname ip_address timezone time }
    1002 ProcessCreate(ProcessCreate) "processCreate" {
        process_id name pid node_id time executable
    }
    1003 AgentCreate(AgentCreate) "agentCreate" {
        agent_id process_id name agent_type time parameters version
    }
    1004 AgentDestroy(AgentDestroy) "agentDestroy" { agent_id time }
    1005 TraceStart(TraceStart) "traceStart" { trace_id agent_id time [text] }
    1006 TraceEnd(TraceEnd) "traceEnd" { trace_id time [text] }
    1007 Filter(Filter) "filter" {
        trace_id pattern generic_pattern mode method_pattern method_generic_pattern method_mode
    }
    1008 Option(TraceOption) "option" { [text] key value }
    1009 ThreadStart(ThreadStart) "threadStart" {
        [long] thread time group parent_group [long] object name [text] [text]
    }
    1010 ThreadEnd(ThreadEnd) "threadEnd" { [long] thread time [text] [text] }
    1011 ClassDef(ClassDef) "classDef" {
        [long] thread time [integer] [text] [long] class source_name [text] [text] [long] object
        name [text] [integer] [integer] [integer] [text] [text]
    }
    1012 MethodDef(MethodDef) "methodDef" {
        name signature [byte] [byte] [byte] [byte] [text] start_line end_line [text] [long] class
        method [text] [text]
    }
    1014 ObjectAlloc(ObjectAlloc) "objAlloc" {
        [long] thread time kind [long] object size line method [long] class [text] [text] [text]
    }
    1015 MethodEnter(MethodEnter) "methodEntry" {
        [long] thread time method ticket [long] class cpu_time [long] stack_depth [text] [text]
    }
    1016 MethodLeave(MethodLeave) "methodExit" {
        [long] thread time ticket cpu_time method [long] [long] [long] class [text] [text] [text]
    }
    1023 GcStart(GcStart) "gcStart" { [long] [long] time [text] [text] }
    1024 ObjectFree(ObjectFree) "objFree" {
        [long] [long] time [long] object age [long] [long] [text] [text]
    }
    1027 GcFinish(GcFinish) "gcFinish" {
        [long] [long] time total_space used_space used_objects [text] [text]
    }
    1030 RuntimeInitDone(RuntimeInitDone) "runtimeInitDone" { [long] thread time [text] [text] }
    1031 RuntimeShutdown(RuntimeShutdown) "runtimeShutdown" { [long] thread time [text] [text] }
    1032 MonitorWait(MonitorWait) "monWait" { thread time object timeout_ms stack }
    1033 MonitorWaited(MonitorWaited) "monWaited" { thread time object timed_out stack }
    1034 MonitorContendedEnter(MonitorContendedEnter) "monContendedEnter" {
        thread time object owner stack
    }
    1035 MonitorContendedEntered(MonitorContendedEntered) "monContendedEntered" {
        thread time object stack
    }
    1036 AggregatedEnter(AggregatedEnter) "agMethodEntry" {
        thread method base_time min_time max_time base_cpu_time calls
    }
    1037 AggregatedLeave(AggregatedLeave) "agMethodExit" { thread method }
    1038 HeapDump(HeapDump) "heapDumpDef" { dump time name base_time }
    1039 GcRoot(GcRoot) "gcRoot" { class object kind }
    1040 ObjectReference(ObjectReference) "objReference" { source target dump }
    1041 Custom(Custom) "custom" { body }
}
