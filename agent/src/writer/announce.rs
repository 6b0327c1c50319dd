//! What the rest of the agent tells the writer besides records: buffers, threads, classes, methods.
//!
//! An announcement is sent before any record that uses it can exist; the writer reads this channel
//! before it decodes records, so definitions always come first.

use crate::buffer::{ThreadBuffer, live};
use crate::instrument::sites::Sizing;
use crate::jvmti::Member;
use crate::objects::ObjectInfo;
use jtrail_classfile::SuperMarks;
use std::sync::atomic::{AtomicU64, Ordering};

/// A message on the announcements' channel.
pub(crate) enum Announcement {
    /// A thread began to record.
    Buffer(Box<BufferHandle>),
    /// A Java thread, by its number.
    Thread(Box<ThreadInfo>),
    /// What a thread is called when its next `ThreadName` record is made.
    ThreadName { number: u32, name: Box<str> },
    /// A class, by its number. Numbers come in any order, and without gaps in the end.
    Class(ClassInfo),
    /// Methods of one class.
    Methods {
        class: u32,
        methods: Vec<MethodInfo>,
    },
    /// A class as it was declared. Its [`ClassInfo`] came before.
    ClassDetail(Box<ClassDetailInfo>),
    /// A method was compiled, or compiled code is gone.
    Compilation(Compilation),
    /// Where the lines of a method are counted: line and counter, in the order of the lines. There are none without a line table.
    Lines {
        method: u32,
        counters: Box<[(u32, u32)]>,
        /// The counter of the first instruction.
        entry: Option<u32>,
    },
    /// Lines of allocation sites of a method, whose numbers begin with `first`.
    AllocSites {
        method: u32,
        first: u32,
        lines: Box<[u16]>,
    },
    /// What an allocation site makes. Its class came before.
    AllocClass {
        site: u32,
        class: u32,
        sizing: Sizing,
    },
    /// A text that records name by its number.
    Text { number: u32, text: Box<str> },
    /// A text of the program's, for the next `Mark` record of that number.
    Mark(MarkInfo),
    /// A class of which something is instrumented.
    Instrumented { methods: u64 },
    /// Something that the filters include and that is not traced; `method` is empty for a whole class.
    Uncovered {
        class: Box<str>,
        method: Box<str>,
        reason: Box<str>,
    },
}

/// A text of the program's, on its way to its record.
#[derive(Debug)]
pub(crate) struct MarkInfo {
    pub(crate) number: u64,
    pub(crate) text: Box<str>,
}

/// How many of them there are.
static MARKS: AtomicU64 = AtomicU64::new(0);

impl MarkInfo {
    pub(crate) fn new(number: u64, text: Box<str>) -> Self {
        MARKS.fetch_add(1, Ordering::Relaxed);
        Self { number, text }
    }

    /// How many are there that the writer has not come to.
    pub(crate) fn on_their_way() -> u64 {
        MARKS.load(Ordering::Relaxed)
    }
}

impl Drop for MarkInfo {
    fn drop(&mut self) {
        MARKS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread's buffer, shared between its thread and the writer, who frees it in the end.
pub(crate) struct BufferHandle(*mut ThreadBuffer);

// SAFETY: the pointee is `Sync`, and only the writer frees it.
unsafe impl Send for BufferHandle {}

impl BufferHandle {
    /// Shares a buffer: the handle for the writer, and the pointer for the recording thread, which may
    /// use it until it calls [`ThreadBuffer::finish`].
    pub(crate) fn share(buffer: Box<ThreadBuffer>) -> (Self, *mut ThreadBuffer) {
        let buffer = Box::into_raw(buffer);
        (Self(buffer), buffer)
    }

    /// The buffer.
    pub(crate) fn get(&self) -> &ThreadBuffer {
        // SAFETY: it lives until `free`, which consumes the handle.
        unsafe { &*self.0 }
    }

    /// Frees the buffer.
    ///
    /// # Safety
    /// Its thread has called [`ThreadBuffer::finish`].
    pub(crate) unsafe fn free(self) {
        live::forget(self.0);
        // SAFETY: made by `Box::into_raw`; the other user of the pointer is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A Java thread when it was first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadInfo {
    pub(crate) number: u32,
    pub(crate) name: Box<str>,
    pub(crate) group: Box<str>,
    pub(crate) parent_group: Box<str>,
    /// The `java.lang.Thread`, where objects have numbers.
    pub(crate) object: Option<ObjectInfo>,
}

/// A class that has traced methods.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassInfo {
    pub(crate) number: u32,
    /// As `Class.getName` prints it.
    pub(crate) name: Box<str>,
    /// Name of the superclass, likewise; empty where there is none.
    pub(crate) super_name: Box<str>,
    /// Source file; empty if unknown.
    pub(crate) source_file: Box<str>,
}

/// A traced method.
#[derive(Clone, Debug, Default)]
pub(crate) struct MethodInfo {
    pub(crate) number: u32,
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
    /// Smallest and largest source line; zeros if unknown.
    pub(crate) lines: (u32, u32),
    /// Bytes of its code in the class file; 0 if unknown.
    pub(crate) code_length: u32,
    /// What it records around its call of `this(...)` or `super(...)`.
    pub(crate) marks: SuperMarks,
}

/// What a class declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassDetailInfo {
    pub(crate) class: u32,
    /// Tick.
    pub(crate) time: u64,
    pub(crate) access: u16,
    /// As `Class.getName` prints it; empty where there is none.
    pub(crate) super_name: Box<str>,
    /// Likewise.
    pub(crate) interfaces: Vec<Box<str>>,
    pub(crate) loader: Box<str>,
    /// Bytes of the class file; 0 if unknown.
    pub(crate) size: u32,
    pub(crate) fields: Vec<Member>,
    pub(crate) methods: Vec<Member>,
}

/// What became of compiled code, and when (ticks).
#[derive(Debug)]
pub(crate) enum Compilation {
    /// A method was compiled. Its [`MethodInfo`] came before, and those of its frames.
    Made(Box<CompiledInfo>),
    /// Its code is gone.
    Gone {
        method: u32,
        time: u64,
        address: u64,
    },
}

/// Compiled code of a method.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledInfo {
    pub(crate) method: u32,
    /// Tick.
    pub(crate) time: u64,
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) size: u32,
    /// Offset in the code and frame words, innermost first; each holds up to the next one.
    pub(crate) ranges: Vec<(i64, Box<[u64]>)>,
}
