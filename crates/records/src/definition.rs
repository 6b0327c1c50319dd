//! What the rest of the agent tells the writer besides records: threads, classes, methods.
//!
//! An announcement is sent before any record that uses it can exist; the writer reads them
//! before it decodes records, so definitions always come first.

use jtrail_classfile::SuperMarks;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the agent tells the writer besides records.
#[derive(Debug, Serialize, Deserialize)]
pub enum Definition {
    /// A Java thread, by its number.
    Thread(Box<ThreadInfo>),
    /// What a thread is called when its next `ThreadName` record is made.
    ThreadName {
        /// The thread's.
        number: u32,
        /// From that record on.
        name: Box<str>,
    },
    /// A class, by its number. Numbers come in any order, and without gaps in the end.
    Class(ClassInfo),
    /// Methods of one class.
    Methods {
        /// Its number.
        class: u32,
        /// Those that are traced, or stand in stacks.
        methods: Vec<MethodInfo>,
    },
    /// A class as it was declared. Its [`ClassInfo`] came before.
    ClassDetail(Box<ClassDetailInfo>),
    /// A method was compiled, or compiled code is gone.
    Compilation(Compilation),
    /// Where the lines of a method are counted: line and counter, in the order of the lines. There
    /// are none without a line table.
    Lines {
        /// Its number.
        method: u32,
        /// Line and counter, each.
        counters: Box<[(u32, u32)]>,
        /// The counter of the first instruction.
        entry: Option<u32>,
    },
    /// Lines of allocation sites of a method, whose numbers begin with `first`.
    AllocSites {
        /// Its number.
        method: u32,
        /// Number of the first site.
        first: u32,
        /// Of each site.
        lines: Box<[u16]>,
    },
    /// What an allocation site makes. Its class came before.
    AllocClass {
        /// Its number.
        site: u32,
        /// Number of the class.
        class: u32,
        /// How large its objects are.
        sizing: Sizing,
    },
    /// A text that records name by its number.
    Text {
        /// From 1 on.
        number: u32,
        /// The text itself.
        text: Box<str>,
    },
    /// A text of the program's, for the next `Mark` record of that number.
    Mark(MarkInfo),
    /// A class of which something is instrumented.
    Instrumented {
        /// How many of its methods.
        methods: u64,
    },
    /// Something that the filters include and that is not traced; `method` is empty for a whole
    /// class.
    Uninstrumented {
        /// As `Class.getName` prints it.
        class: Box<str>,
        /// Name and descriptor.
        method: Box<str>,
        /// Why not.
        reason: Box<str>,
    },
}

/// A text of the program's, on its way to its record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "(u64, Box<str>)")]
pub struct MarkInfo {
    /// That of its record.
    pub number: u64,
    /// The text itself.
    pub text: Box<str>,
}

/// Bytes of all that there are.
static MARKS: AtomicU64 = AtomicU64::new(0);

impl MarkInfo {
    /// One more on its way.
    pub fn new(number: u64, text: Box<str>) -> Self {
        let mark = Self { number, text };
        MARKS.fetch_add(mark.bytes(), Ordering::Relaxed);
        mark
    }

    /// Bytes that those take to which the writer has not come.
    pub fn on_their_way() -> u64 {
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

/// A field or a method, as the class file declares it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub descriptor: Box<str>,
    /// Its access flags.
    pub access: u16,
}

/// An object as a definition has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// Its number.
    pub number: u64,
    /// Number of its class.
    pub class: u32,
    /// Bytes.
    pub size: u64,
}

/// Bytes of what a place makes: `base`, and `element` for each element, rounded up to a multiple of
/// `alignment`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sizing {
    /// Bytes of an empty one.
    pub base: u64,
    /// Bytes of each element; 0 for what is no array.
    pub element: u32,
    /// In bytes.
    pub alignment: u32,
}

impl Sizing {
    /// All objects of the class have this size.
    pub const fn fixed(bytes: u64) -> Self {
        Self {
            base: bytes,
            element: 0,
            alignment: 1,
        }
    }

    /// Bytes of an array of that length; for an object, any length will do.
    pub const fn bytes(self, length: u32) -> u64 {
        let bytes = self.base + self.element as u64 * length as u64;
        bytes.next_multiple_of(self.alignment as u64)
    }
}

/// A Java thread when it was first seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// From 1 on.
    pub number: u32,
    /// What it is called.
    pub name: Box<str>,
    /// Name of its group.
    pub group: Box<str>,
    /// Name of the group's group.
    pub parent_group: Box<str>,
    /// The `java.lang.Thread`, where objects have numbers.
    pub object: Option<ObjectInfo>,
}

/// A class that has traced methods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassInfo {
    /// From 1 on.
    pub number: u32,
    /// As `Class.getName` prints it.
    pub name: Box<str>,
    /// Name of the superclass, likewise; empty where there is none.
    pub super_name: Box<str>,
    /// Source file; empty if unknown.
    pub source_file: Box<str>,
}

/// A traced method.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MethodInfo {
    /// That of its records.
    pub number: u32,
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub descriptor: Box<str>,
    /// Smallest and largest source line; zeros if unknown.
    pub lines: (u32, u32),
    /// Bytes of its code in the class file; 0 if unknown.
    pub code_length: u32,
    /// What it records around its call of `this(...)` or `super(...)`.
    #[serde(with = "super_marks")]
    pub marks: SuperMarks,
}

/// What a class declares.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassDetailInfo {
    /// Number of the class.
    pub class: u32,
    /// Tick.
    pub time: u64,
    /// Its access flags.
    pub access: u16,
    /// As `Class.getName` prints it; empty where there is none.
    pub super_name: Box<str>,
    /// Likewise.
    pub interfaces: Vec<Box<str>>,
    /// Its class loader; empty for the boot loader.
    pub loader: Box<str>,
    /// Bytes of the class file; 0 if unknown.
    pub size: u32,
    /// In the order of the class file.
    pub fields: Vec<Member>,
    /// Likewise.
    pub methods: Vec<Member>,
}

/// What became of compiled code, and when (ticks).
#[derive(Debug, Serialize, Deserialize)]
pub enum Compilation {
    /// A method was compiled. Its [`MethodInfo`] came before, and those of its frames.
    Loaded(Box<CompiledInfo>),
    /// Its code is gone.
    Unloaded {
        /// Its number.
        method: u32,
        /// Tick.
        time: u64,
        /// Of the code.
        address: u64,
    },
}

impl Compilation {
    /// Tick.
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
    /// Its number.
    pub method: u32,
    /// Tick.
    pub time: u64,
    /// Of the code.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// Offset in the code and frame words, innermost first; each holds up to the next one.
    pub ranges: Vec<(i64, Box<[u64]>)>,
}

/// As a number.
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
