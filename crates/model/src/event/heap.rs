//! Heap dumps.

use super::Text;
use crate::{ClassId, HeapDumpId, ObjectId, Timestamp};

/// See [`crate::Event::HeapDump`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapDump<'a> {
    /// New id.
    pub dump: HeapDumpId,
    /// When.
    pub time: Timestamp,
    /// Name of the dump.
    pub name: Text<'a>,
    /// When the trace began.
    pub base_time: Timestamp,
}

/// See [`crate::Event::GcRoot`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcRoot<'a> {
    /// Class of the object, none if never announced.
    pub class: ClassId,
    /// The object.
    pub object: ObjectId,
    /// `JNI_GLOBAL`, `SYSTEM_CLASS`, `MONITOR`, `STACK_LOCAL`, `JNI_LOCAL`, `THREAD` or `OTHER`.
    pub kind: Text<'a>,
}

/// See [`crate::Event::ObjectReference`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectReference {
    /// Object that holds the reference.
    pub source: ObjectId,
    /// Object referred to.
    pub target: ObjectId,
    /// The dump that it belongs to.
    pub dump: HeapDumpId,
}

/// See [`crate::Event::HeapObject`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapObject {
    /// The dump that it belongs to.
    pub dump: HeapDumpId,
    /// The object.
    pub object: ObjectId,
    /// Its class.
    pub class: ClassId,
    /// Bytes.
    pub size: i64,
}

/// See [`crate::Event::HeapDumpEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapDumpEnd {
    /// The dump.
    pub dump: HeapDumpId,
    /// When it was complete.
    pub time: Timestamp,
}
