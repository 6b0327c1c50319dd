//! Definitions: data that the agent sends to the writer besides records, about threads, classes and
//! methods.
//!
//! A definition is sent before any record that refers to it is written. The writer reads
//! definitions before it reads records, so a definition always precedes its use.

use jtrail_classfile::SuperMarks;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Data that the agent sends to the writer besides records.
#[derive(Debug, Serialize, Deserialize)]
pub enum Definition {
    /// A Java thread.
    Thread(Box<ThreadInfo>),
    /// Name that a thread has from its next `ThreadName` record on.
    ThreadName {
        /// Number of the thread.
        number: u32,
        /// The name.
        name: Box<str>,
    },
    /// A class. Classes may be defined in any order of their numbers. In the end, no number is
    /// unused.
    Class(ClassInfo),
    /// Methods of one class.
    Methods {
        /// Number of the class.
        class: u32,
        /// Methods that are traced or occur in stacks.
        methods: Vec<MethodInfo>,
    },
    /// Details of a class's declaration. Its [`ClassInfo`] came before.
    ClassDetail(Box<ClassDetailInfo>),
    /// A method was compiled, or its compiled code was unloaded.
    Compilation(Compilation),
    /// Line counters of a method. A method without a line table has none.
    Lines {
        /// Number of the method.
        method: u32,
        /// Pairs of a line and the number of its counter, in the order of the lines.
        counters: Box<[(u32, u32)]>,
        /// Number of the counter of the first instruction.
        entry: Option<u32>,
    },
    /// Allocation sites of a method, numbered consecutively from `first`.
    AllocSites {
        /// Number of the method.
        method: u32,
        /// Number of the first site.
        first: u32,
        /// Source line of each site.
        lines: Box<[u16]>,
    },
    /// Class of the objects that an allocation site creates. The class was defined before.
    AllocClass {
        /// Number of the site.
        site: u32,
        /// Number of the class.
        class: u32,
        /// Size of the objects.
        sizing: Sizing,
    },
    /// A text that records refer to by its number.
    Text {
        /// Number of the text, from 1 on.
        number: u32,
        /// The text.
        text: Box<str>,
    },
    /// A text of the program, for the next `Mark` record with its number.
    Mark(MarkInfo),
    /// A class with instrumented methods.
    Instrumented {
        /// Number of instrumented methods.
        methods: u64,
    },
    /// A class or method that the filters include and that is not traced.
    Uninstrumented {
        /// Name of the class, as `Class.getName` returns it.
        class: Box<str>,
        /// Name and descriptor of the method; empty for a whole class.
        method: Box<str>,
        /// Reason for which it is not traced.
        reason: Box<str>,
    },
}

/// A text of the program that the writer has not handled yet.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "(u64, Box<str>)")]
pub struct MarkInfo {
    /// Number of the text, as in its record.
    pub number: u64,
    /// The text.
    pub text: Box<str>,
}

/// Size in bytes of all existing [`MarkInfo`] values.
static MARKS: AtomicU64 = AtomicU64::new(0);

impl MarkInfo {
    /// Returns a mark, and adds its size to [`Self::pending_bytes`].
    pub fn new(number: u64, text: Box<str>) -> Self {
        let mark = Self { number, text };
        MARKS.fetch_add(mark.bytes(), Ordering::Relaxed);
        mark
    }

    /// Returns the size in bytes of all marks that the writer has not handled yet.
    pub fn pending_bytes() -> u64 {
        MARKS.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.text.len()) as u64
    }
}

impl From<(u64, Box<str>)> for MarkInfo {
    fn from((number, text): (u64, Box<str>)) -> Self {
        Self::new(number, text)
    }
}

impl Drop for MarkInfo {
    fn drop(&mut self) {
        MARKS.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

/// A field or method, as declared in the class file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Member {
    /// Name of the member.
    pub name: Box<str>,
    /// Descriptor of its type.
    pub descriptor: Box<str>,
    /// Access flags.
    pub access: u16,
}

/// An object in a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// Number of the object.
    pub number: u64,
    /// Number of the object's class.
    pub class: u32,
    /// Size of the object in bytes.
    pub size: u64,
}

/// Sizes of the objects that a site creates: `base` bytes, and `element` bytes for each element,
/// rounded up to a multiple of `alignment`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sizing {
    /// Bytes of an empty array, or of an object that is not an array.
    pub base: u64,
    /// Bytes per element; 0 for objects that are not arrays.
    pub element: u32,
    /// Alignment of objects in bytes.
    pub alignment: u32,
}

impl Sizing {
    /// Returns the sizing of a class whose objects all have the same size.
    pub const fn fixed(bytes: u64) -> Self {
        Self {
            base: bytes,
            element: 0,
            alignment: 1,
        }
    }

    /// Returns the size in bytes of an array of the given length. For an object that is not an
    /// array, `length` does not matter.
    pub const fn bytes(self, length: u32) -> u64 {
        let bytes = self.base + self.element as u64 * length as u64;
        bytes.next_multiple_of(self.alignment as u64)
    }
}

/// A Java thread, as it was when the agent first saw it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Number of the thread, from 1 on.
    pub number: u32,
    /// Name of the thread.
    pub name: Box<str>,
    /// Name of the thread's group.
    pub group: Box<str>,
    /// Name of the group's parent group.
    pub parent_group: Box<str>,
    /// The `java.lang.Thread` object, if objects have numbers.
    pub object: Option<ObjectInfo>,
}

/// A class with traced methods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassInfo {
    /// Number of the class, from 1 on.
    pub number: u32,
    /// Name of the class, as `Class.getName` returns it.
    pub name: Box<str>,
    /// Name of the superclass, as `Class.getName` returns it; empty if there is none.
    pub super_name: Box<str>,
    /// Source file; empty if unknown.
    pub source_file: Box<str>,
}

/// A traced method.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MethodInfo {
    /// Number of the method, as in records.
    pub number: u32,
    /// Name of the method.
    pub name: Box<str>,
    /// Descriptor of the method.
    pub descriptor: Box<str>,
    /// Smallest and largest source line; zeros if unknown.
    pub lines: (u32, u32),
    /// Bytes of the method's code in the class file; 0 if unknown.
    pub code_length: u32,
    /// Marks that the method records around its call of `this(...)` or `super(...)`.
    #[serde(with = "super_marks")]
    pub marks: SuperMarks,
}

/// Details of a class's declaration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassDetailInfo {
    /// Number of the class.
    pub class: u32,
    /// Tick at which the class was prepared.
    pub time: u64,
    /// Access flags of the class.
    pub access: u16,
    /// Name of the superclass, as `Class.getName` returns it; empty if there is none.
    pub super_name: Box<str>,
    /// Names of the direct interfaces, as `Class.getName` returns them.
    pub interfaces: Vec<Box<str>>,
    /// Class loader: `bootstrap`, `platform`, `app`, or the loader's class and number.
    pub loader: Box<str>,
    /// Bytes of the class file; 0 if unknown.
    pub size: u32,
    /// Fields, in the order of the class file.
    pub fields: Vec<Member>,
    /// Methods, in the order of the class file.
    pub methods: Vec<Member>,
}

/// An event of compiled code, with its time in ticks.
#[derive(Debug, Serialize, Deserialize)]
pub enum Compilation {
    /// A method was compiled. The [`MethodInfo`] values of the method and of its inlined methods
    /// came before.
    Loaded(Box<CompiledInfo>),
    /// Compiled code of a method was unloaded.
    Unloaded {
        /// Number of the method.
        method: u32,
        /// Tick of the event.
        time: u64,
        /// Address of the code.
        address: u64,
    },
}

impl Compilation {
    /// Returns the tick of the event.
    pub fn time(&self) -> u64 {
        match self {
            Self::Loaded(info) => info.time,
            Self::Unloaded { time, .. } => *time,
        }
    }
}

/// Compiled code of a method.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CompiledInfo {
    /// Number of the method.
    pub method: u32,
    /// Tick at which the code was loaded.
    pub time: u64,
    /// Address of the code.
    pub address: u64,
    /// Bytes of the code.
    pub size: u32,
    /// Pairs of an offset in the code and frame words, innermost frame first. The frames are valid
    /// from that offset up to the offset of the next pair.
    pub ranges: Vec<(i64, Box<[u64]>)>,
}

/// Serialises [`SuperMarks`] as a number.
mod super_marks {
    use jtrail_classfile::SuperMarks;
    use serde::{Deserialize, Deserializer, Serializer};

    const ALL: [SuperMarks; 3] = [SuperMarks::None, SuperMarks::After, SuperMarks::Around];

    pub(super) fn serialize<S: Serializer>(marks: &SuperMarks, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(*marks as u8)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SuperMarks, D::Error> {
        let number = u8::deserialize(from)?;
        Ok(ALL.get(usize::from(number)).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(Sizing::fixed(24).bytes(7), 24);
        let bytes = Sizing {
            base: 16,
            element: 1,
            alignment: 8,
        };
        assert_eq!([0, 1, 8, 9].map(|n| bytes.bytes(n)), [16, 24, 24, 32]);
        let longs = Sizing {
            base: 16,
            element: 8,
            alignment: 8,
        };
        assert_eq!(longs.bytes(i32::MAX as u32), 16 + 8 * (i32::MAX as u64));
    }
}
