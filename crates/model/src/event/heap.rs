//! Heap dumps.

use super::Text;
use crate::{ClassId, HeapDumpId, ObjectId, Timestamp};

/// A heap dump ([`crate::Event::HeapDump`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapDump<'a> {
    /// New id of the dump.
    pub dump: HeapDumpId,
    /// Time of the dump.
    pub time: Timestamp,
    /// Name of the dump.
    pub name: Text<'a>,
    /// Start of the trace.
    pub base_time: Timestamp,
}

/// A root of the object graph ([`crate::Event::GcRoot`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcRoot<'a> {
    /// Class of the object; none if the trace does not define it.
    pub class: ClassId,
    /// The object.
    pub object: ObjectId,
    /// `JNI_GLOBAL`, `SYSTEM_CLASS`, `MONITOR`, `STACK_LOCAL`, `JNI_LOCAL`, `THREAD` or `OTHER`.
    pub kind: Text<'a>,
}

/// A reference from one object to another ([`crate::Event::ObjectReference`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectReference {
    /// Object that holds the reference.
    pub source: ObjectId,
    /// Object referred to.
    pub target: ObjectId,
    /// The dump that contains the reference.
    pub dump: HeapDumpId,
}

/// An object in a heap dump ([`crate::Event::HeapObject`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapObject {
    /// The dump that contains the object.
    pub dump: HeapDumpId,
    /// The object.
    pub object: ObjectId,
    /// Class of the object.
    pub class: ClassId,
    /// Size in bytes.
    pub size: i64,
}

/// The end of a heap dump ([`crate::Event::HeapDumpEnd`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapDumpEnd {
    /// The dump.
    pub dump: HeapDumpId,
    /// Time at which the dump was complete.
    pub time: Timestamp,
}
