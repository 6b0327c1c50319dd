//! The life of objects.

use crate::{ClassId, MethodId, ObjectId, ThreadId, Timestamp};

/// Kind of an object: a plain object, or an array with elements of a certain type. The numbers are
/// those of TPTP (message 1014, "is array").
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

/// Allocation of an object ([`crate::Event::ObjectAlloc`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectAlloc {
    /// Allocating thread; none if unknown.
    pub thread: ThreadId,
    /// Time of the allocation.
    pub time: Timestamp,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// New id of the object.
    pub object: ObjectId,
    /// Size in bytes.
    pub size: i64,
    /// Source line of the allocation; 0 if unknown.
    pub line: i64,
    /// Allocating method; none if it is not traced or unknown.
    pub method: MethodId,
    /// Class of the object.
    pub class: ClassId,
}

/// Definition of an object at its first mention ([`crate::Event::ObjectDef`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectDef {
    /// New id of the object.
    pub object: ObjectId,
    /// Time of the first mention.
    pub time: Timestamp,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Size in bytes; 0 if unknown.
    pub size: i64,
    /// Class of the object.
    pub class: ClassId,
}

/// End of an object ([`crate::Event::ObjectFree`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectFree {
    /// End of the collection that freed the object.
    pub time: Timestamp,
    /// The dead object.
    pub object: ObjectId,
    /// Number of collections that the object survived.
    pub age: i64,
}

/// Live objects of a class that a thread allocated ([`crate::Event::ObjectCounts`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectCounts {
    /// The thread that allocated the objects; none if unknown.
    pub thread: ThreadId,
    /// Time of the count.
    pub time: Timestamp,
    /// Class of the objects.
    pub class: ClassId,
    /// Number of live objects. Replaces earlier counts for this thread and class.
    pub live: u64,
    /// Maximum number of objects so far that were alive at the same time.
    pub peak: u64,
}

/// Sum over the objects of one class that a thread allocated ([`crate::Event::AllocationSum`]). It
/// is used by formats that do not contain individual objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllocationSum {
    /// Allocating thread. The objects were allocated in the calls that are open on this thread.
    pub thread: ThreadId,
    /// End of the interval, which begins with the thread's preceding sum.
    pub time: Timestamp,
    /// Class of the objects.
    pub class: ClassId,
    /// Number of objects.
    pub objects: u64,
    /// Size of all these objects in bytes.
    pub bytes: u64,
}

/// Number of live objects by class ([`crate::Event::LiveObjects`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveObjects {
    /// Time of the count.
    pub time: Timestamp,
    /// The classes that have live objects, each once.
    pub classes: Vec<LiveClass>,
}

/// The live objects of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveClass {
    /// The class.
    pub class: ClassId,
    /// Number of objects.
    pub objects: u64,
    /// Size of all these objects in bytes.
    pub bytes: u64,
}
