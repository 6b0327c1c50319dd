//! The thirty elements, attribute by attribute. This table defines the format.

use super::decode::remarks::{Remarked, UNUSED};
use super::value::Value;
use crate::tally::RemarkTally;
use jtrail_model::{
    AgentCreate, AgentDestroy, AggregatedEnter, AggregatedLeave, ClassDef, Custom, Event, Filter,
    GcFinish, GcRoot, GcStart, HeapDump, MethodDef, MethodEnter, MethodLeave,
    MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited, Node, ObjectAlloc,
    ObjectFree, ObjectReference, ProcessCreate, RuntimeInitDone, RuntimeShutdown, ThreadEnd,
    ThreadStart, TraceEnd, TraceOption, TraceStart,
};
use jtrail_xml::Attribute;

/// Counts remarks on one element.
pub(super) struct Remarks<'t> {
    pub(super) tally: &'t mut RemarkTally<Remarked>,
    /// Name of the element.
    pub(super) element: &'t str,
    pub(super) offset: u64,
}

impl Remarks<'_> {
    /// Counts a remark. `attribute` replaces `{}` in the text of the kind.
    pub(super) fn add(&mut self, kind: Remarked, attribute: &str) {
        let names = (self.element, attribute);
        self.tally.add_named(kind, names, self.offset, 1);
    }
}

/// A row of the table: the attribute's name, and true if the attribute is in brackets.
type Row = (&'static str, bool);

/// Returns true if no event contains the attribute. Counts a remark unless its value is zero or
/// empty.
fn is_unused(attribute: &Attribute<'_>, remarks: &mut Remarks<'_>) -> bool {
    let is_unused = UNUSED.contains(&attribute.name);
    if is_unused && !attribute.value.bytes().all(|b| matches!(b, b'0' | b'.')) {
        remarks.add(Remarked::UnusedAttribute, attribute.name);
    }
    is_unused
}

/// An entry contains: variant and payload of the event, name of the element, attributes in order.
/// An attribute in brackets is omitted if its field is unset.
macro_rules! elements {
    ($($variant:ident($payload:ident) $element:literal { $($attribute:tt = $field:ident)* })*) => {
        /// Appends the element's start and attributes, without the closing bracket. Returns the
        /// element's name, or `None` if the format has no element for the event.
        pub(super) fn write(event: &Event<'_>, out: &mut Vec<u8>) -> Option<&'static str> {
            match event {
                $(Event::$variant(e) => {
                    out.extend_from_slice(concat!("<", $element).as_bytes());
                    $(write_attribute!(e, out, $attribute, $field);)*
                    Some($element)
                })*
                _ => None,
            }
        }

        /// Reads an element. Returns `Ok(None)` if the format does not have the element.
        ///
        /// # Errors
        /// The name of an attribute whose value has the wrong type.
        pub(super) fn read<'a>(
            name: &str,
            attributes: impl Iterator<Item = Attribute<'a>>,
            remarks: &mut Remarks<'_>,
        ) -> Result<Option<Event<'a>>, &'static str> {
            Ok(Some(match name {
                $($element => {
                    const ROWS: &[Row] = &[$(row!($attribute)),*];
                    let mut e = $payload::default();
                    let mut seen = Seen::default();
                    for attribute in attributes {
                        match seen.row(ROWS, &attribute, remarks) {
                            $(Some(name!($attribute)) => {
                                e.$field = Value::read(attribute.value).ok_or(name!($attribute))?;
                            })*
                            _ => {}
                        }
                    }
                    seen.finish(ROWS, remarks);
                    Event::$variant(e.into())
                })*
                _ => return Ok(None),
            }))
        }
    };
}

macro_rules! name {
    ([$name:literal]) => {
        $name
    };
    ($name:literal) => {
        $name
    };
}

macro_rules! row {
    ([$name:literal]) => {
        ($name, true)
    };
    ($name:literal) => {
        ($name, false)
    };
}

macro_rules! write_attribute {
    ($e:ident, $out:ident, [$name:literal], $field:ident) => {
        if !$e.$field.is_unset() {
            write_attribute!($e, $out, $name, $field);
        }
    };
    ($e:ident, $out:ident, $name:literal, $field:ident) => {
        $out.extend_from_slice(concat!(" ", $name, "=\"").as_bytes());
        $e.$field.write($out);
        $out.push(b'"');
    };
}

/// The attributes of an element that were read.
#[derive(Default)]
struct Seen {
    /// Bit set of the rows of the table that were read.
    rows: u32,
    other_order: bool,
}

impl Seen {
    /// Notes an attribute. Returns its name if the attribute is in the table.
    fn row(
        &mut self,
        rows: &[Row],
        attribute: &Attribute<'_>,
        remarks: &mut Remarks<'_>,
    ) -> Option<&'static str> {
        let Some(at) = rows.iter().position(|row| row.0 == attribute.name) else {
            if !is_unused(attribute, remarks) {
                remarks.add(Remarked::UnknownAttribute, attribute.name);
            }
            return None;
        };
        self.other_order |= self.rows >> at != 0;
        self.rows |= 1 << at;
        Some(rows[at].0)
    }

    fn finish(&self, rows: &[Row], remarks: &mut Remarks<'_>) {
        if self.other_order {
            remarks.add(Remarked::AttributeOrder, "");
        }
        for (at, (name, optional)) in rows.iter().enumerate() {
            if !optional && self.rows & (1 << at) == 0 {
                remarks.add(Remarked::MissingAttribute, name);
            }
        }
    }
}

elements! {
    Node(Node) "node" {
        "nodeId" = node_id "hostname" = hostname "ipaddress" = ip_address "timezone" = timezone
        "time" = time
    }
    ProcessCreate(ProcessCreate) "processCreate" {
        "processId" = process_id ["name"] = name "pid" = pid "nodeIdRef" = node_id "time" = time
        ["executable"] = executable
    }
    AgentCreate(AgentCreate) "agentCreate" {
        "agentId" = agent_id "version" = version "processIdRef" = process_id "agentName" = name
        "agentType" = agent_type "agentParameters" = parameters "time" = time
    }
    TraceStart(TraceStart) "traceStart" {
        "traceId" = trace_id "agentIdRef" = agent_id "time" = time
    }
    Filter(Filter) "filter" {
        "pattern" = pattern "mode" = mode "genericPattern" = generic_pattern
        "methodPattern" = method_pattern "methodMode" = method_mode
        "methodGenericPattern" = method_generic_pattern
    }
    Option(TraceOption) "option" { "key" = key "value" = value }
    ThreadStart(ThreadStart) "threadStart" {
        "threadId" = thread "time" = time "threadName" = name "groupName" = group
        "parentName" = parent_group "objIdRef" = object
    }
    ThreadEnd(ThreadEnd) "threadEnd" { "threadIdRef" = thread "time" = time }
    ClassDef(ClassDef) "classDef" {
        ["threadIdRef"] = thread "name" = name ["sourceName"] = source_name "classId" = class
        ["objIdRef"] = object "time" = time
    }
    MethodDef(MethodDef) "methodDef" {
        "name" = name "signature" = signature ["startLineNumber"] = start_line
        ["endLineNumber"] = end_line "methodId" = method "classIdRef" = class
    }
    MethodEnter(MethodEnter) "methodEntry" {
        "threadIdRef" = thread "time" = time "methodIdRef" = method "classIdRef" = class
        "ticket" = ticket ["threadCPUTime"] = cpu_time "stackDepth" = stack_depth
    }
    MethodLeave(MethodLeave) "methodExit" {
        "threadIdRef" = thread "methodIdRef" = method "classIdRef" = class "ticket" = ticket
        "time" = time ["threadCPUTime"] = cpu_time
    }
    AgentDestroy(AgentDestroy) "agentDestroy" { "agentIdRef" = agent_id "time" = time }
    TraceEnd(TraceEnd) "traceEnd" { ["traceIdRef"] = trace_id "time" = time }
    ObjectAlloc(ObjectAlloc) "objAlloc" {
        ["threadIdRef"] = thread "time" = time "isArray" = kind "objId" = object "size" = size
        ["lineNumber"] = line ["methodIdRef"] = method "classIdRef" = class
    }
    GcStart(GcStart) "gcStart" { "time" = time }
    ObjectFree(ObjectFree) "objFree" { "time" = time "objIdRef" = object "objAge" = age }
    GcFinish(GcFinish) "gcFinish" {
        "time" = time ["totalObjSpace"] = total_space ["usedObjSpace"] = used_space
        ["usedObjects"] = used_objects
    }
    RuntimeInitDone(RuntimeInitDone) "runtimeInitDone" { ["threadIdRef"] = thread "time" = time }
    RuntimeShutdown(RuntimeShutdown) "runtimeShutdown" { ["threadIdRef"] = thread "time" = time }
    MonitorWait(MonitorWait) "monWait" {
        "threadIdRef" = thread "time" = time "objIdRef" = object "timeout" = timeout_ms
    }
    MonitorWaited(MonitorWaited) "monWaited" {
        "threadIdRef" = thread "time" = time "objIdRef" = object "timeout" = timed_out
    }
    MonitorContendedEnter(MonitorContendedEnter) "monContendedEnter" {
        "threadIdRef" = thread "time" = time "objIdRef" = object ["threadOwnerIdRef"] = owner
    }
    MonitorContendedEntered(MonitorContendedEntered) "monContendedEntered" {
        "threadIdRef" = thread "time" = time "objIdRef" = object
    }
    AggregatedEnter(AggregatedEnter) "agMethodEntry" {
        "threadIdRef" = thread "methodIdRef" = method "baseTime" = base_time "minTime" = min_time
        "maxTime" = max_time "baseCPUTime" = base_cpu_time "numCalls" = calls
    }
    AggregatedLeave(AggregatedLeave) "agMethodExit" {
        "threadIdRef" = thread "methodIdRef" = method
    }
    HeapDump(HeapDump) "heapDumpDef" {
        "heapDumpId" = dump "time" = time "name" = name "baseTime" = base_time
    }
    GcRoot(GcRoot) "gcRoot" { ["classIdRef"] = class "objIdRef" = object "type" = kind }
    ObjectReference(ObjectReference) "objReference" {
        "sourceIdRef" = source "targetIdRef" = target "heapDumpIdRef" = dump
    }
    Custom(Custom) "custom" { "body" = body }
}
