//! The life of objects.

use crate::{ClassId, MethodId, ObjectId, ThreadId, Timestamp};

/// What an allocated object is. The numbers are TPTP's (message 1014, "is array").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectKind(pub u8);

impl ObjectKind {
    /// Not an array.
    pub const PLAIN: Self = Self(0);
    /// Array of references.
    pub const REFERENCES: Self = Self(2);
    /// `boolean[]`
    pub const BOOLEAN: Self = Self(4);
    /// `char[]`
    pub const CHAR: Self = Self(5);
    /// `float[]`
    pub const FLOAT: Self = Self(6);
    /// `double[]`
    pub const DOUBLE: Self = Self(7);
    /// `byte[]`
    pub const BYTE: Self = Self(8);
    /// `short[]`
    pub const SHORT: Self = Self(9);
    /// `int[]`
    pub const INT: Self = Self(10);
    /// `long[]`
    pub const LONG: Self = Self(11);
}

/// See [`crate::Event::ObjectAlloc`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectAlloc {
    /// Allocating thread, none if unknown.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// Plain object or which array.
    pub kind: ObjectKind,
    /// New id.
    pub object: ObjectId,
    /// Bytes.
    pub size: i64,
    /// Source line of the allocation, 0 if unknown.
    pub line: i64,
    /// Allocating method, none if filtered away or unknown.
    pub method: MethodId,
    /// Class of the object.
    pub class: ClassId,
}

/// See [`crate::Event::ObjectDef`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectDef {
    /// New id.
    pub object: ObjectId,
    /// When it was first mentioned.
    pub time: Timestamp,
    /// Plain object or which array.
    pub kind: ObjectKind,
    /// Bytes, 0 if unknown.
    pub size: i64,
    /// Class of the object.
    pub class: ClassId,
}

/// See [`crate::Event::ObjectFree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectFree {
    /// End of the collection that freed it.
    pub time: Timestamp,
    /// The dead object.
    pub object: ObjectId,
    /// Collections that it lived through.
    pub age: i64,
}

/// See [`crate::Event::ObjectCounts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectCounts {
    /// The thread that allocated them, none if unknown.
    pub thread: ThreadId,
    /// When they were counted.
    pub time: Timestamp,
    /// Their class.
    pub class: ClassId,
    /// Objects alive. Replaces what was told of this thread and class before.
    pub live: u64,
    /// Most objects that were alive at once so far.
    pub peak: u64,
}

/// See [`crate::Event::AllocationSum`]. For formats that do not tell of single objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllocationSum {
    /// Allocating thread, in the calls that are open on it.
    pub thread: ThreadId,
    /// Up to when: they were allocated since the thread's last sum.
    pub time: Timestamp,
    /// Class of the objects.
    pub class: ClassId,
    /// How many.
    pub objects: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// See [`crate::Event::LiveObjects`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveObjects {
    /// When they were counted.
    pub time: Timestamp,
    /// The classes that have objects alive, each once.
    pub classes: Vec<LiveClass>,
}

/// The live objects of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveClass {
    /// The class.
    pub class: ClassId,
    /// How many.
    pub objects: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}
