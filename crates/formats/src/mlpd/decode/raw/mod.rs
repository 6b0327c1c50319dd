//! Raw events of a buffer, with ids and texts as the file has them.

mod read;

use crate::mlpd::DataVersion;
use crate::mlpd::value::{Fault, Fields};
use crate::mlpd::wire::{BUFFER_HEADER, BUFFER_ID, HEAP_OBJECT};
use read::Reader;

/// Event as the file has it, with the file's ids and with texts as bytes.
#[derive(Debug)]
pub(super) enum Raw<'b> {
    Enter(u64),
    Leave {
        method: u64,
        by_exception: bool,
    },
    Alloc {
        class: u64,
        object: u64,
        size: u64,
        stack: Vec<u64>,
    },
    Gc {
        event: u64,
        generation: u64,
    },
    HeapSize(u64),
    /// Old and new addresses, alternating.
    Moves(Vec<u64>),
    Class {
        state: u8,
        id: u64,
        name: &'b [u8],
        image: u64,
    },
    /// Image with its name and its module id. Version 1 has no module ids.
    Image {
        id: u64,
        name: &'b [u8],
        module: &'b [u8],
    },
    VTable {
        id: u64,
        domain: u64,
        class: u64,
    },
    /// State or name of a thread. `name` is present in two cases: the event is the name itself, or
    /// it is a load that the name follows immediately.
    Thread {
        state: u8,
        id: u64,
        name: Option<&'b [u8]>,
    },
    /// Metadata of domains, assemblies and contexts, which the decoder does not use.
    OtherMetadata,
    Jit {
        method: u64,
        address: u64,
        size: u64,
        name: &'b [u8],
    },
    Throw {
        object: u64,
        stack: Vec<u64>,
    },
    Clause {
        kind: u64,
        number: u64,
        method: u64,
        object: u64,
    },
    Monitor {
        event: u8,
        object: u64,
        stack: Vec<u64>,
    },
    HeapStart,
    HeapEnd,
    /// Object of a heap dump. Each of its references follows as a separate event.
    HeapObject {
        object: u64,
        class: u64,
        size: u64,
        generation: u8,
    },
    Reference {
        /// Field offset, as the difference from that of the preceding reference.
        offset: u64,
        target: u64,
    },
    Root {
        address: u64,
        object: u64,
    },
    SyncPoint,
    /// Empty list of roots.
    NoRoots,
}

/// Kind of the list elements that follow an event. They are read one by one.
#[derive(Clone, Copy, Debug)]
enum Following {
    References,
    Roots,
}

/// Header of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferHeader {
    pub(super) length: usize,
    pub(super) time: u64,
    pub(super) pointers: u64,
    pub(super) objects: u64,
    pub(super) thread: u64,
    pub(super) method: u64,
}

impl BufferHeader {
    /// Reads a header. Returns `None` if the bytes do not start with the id of a buffer.
    pub(super) fn read(bytes: &[u8; BUFFER_HEADER]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let (longs, _) = bytes.as_chunks::<8>();
        let (&[id, length, ..], &[_, time, pointers, objects, thread, method]) = (words, longs)
        else {
            return None;
        };
        (u32::from_le_bytes(id) == BUFFER_ID).then_some(Self {
            length: u32::from_le_bytes(length) as usize,
            time: u64::from_le_bytes(time),
            pointers: u64::from_le_bytes(pointers),
            objects: u64::from_le_bytes(objects),
            thread: u64::from_le_bytes(thread),
            method: u64::from_le_bytes(method),
        })
    }
}

/// Buffer, and the position up to which it is read.
#[derive(Debug)]
pub(super) struct Buffer {
    version: DataVersion,
    header: BufferHeader,
    bytes: Vec<u8>,
    at: usize,
    /// Offset of the buffer's events from the start of the trace, in bytes.
    offset: u64,
    time: u64,
    method: u64,
    following: Option<(Following, usize)>,
}

impl Buffer {
    pub(super) fn new(
        version: DataVersion,
        header: BufferHeader,
        bytes: &[u8],
        offset: u64,
    ) -> Self {
        Self {
            version,
            header,
            bytes: bytes.to_vec(),
            at: 0,
            offset,
            time: header.time,
            method: header.method,
            following: None,
        }
    }

    pub(super) fn thread(&self) -> u64 {
        self.header.thread
    }

    /// Returns the offset of the next event in the trace.
    pub(super) fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns the time of the next event. If that event has no time, returns the time of the
    /// preceding one.
    pub(super) fn next_time(&self) -> u64 {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest {
            _ if self.following.is_some() => self.time,
            [HEAP_OBJECT, ..] if self.version == DataVersion::V1 => self.time,
            [_, rest @ ..] => {
                let difference = Fields::new(rest).uleb().unwrap_or(0);
                self.time.wrapping_add(difference)
            }
            [] => self.time,
        }
    }

    /// Reads the next event and its time. After a fault, the rest of the buffer is skipped.
    #[inline]
    pub(super) fn next(&mut self) -> (u64, Result<Raw<'_>, Fault>) {
        let mut reader = Reader {
            version: self.version,
            header: &self.header,
            fields: Fields::new(self.bytes.get(self.at..).unwrap_or_default()),
            time: self.time,
            method: self.method,
            following: self.following,
        };
        let raw = reader.event();
        self.at = match raw {
            Ok(_) => self.bytes.len() - reader.fields.left(),
            Err(_) => self.bytes.len(),
        };
        self.time = reader.time;
        self.method = reader.method;
        self.following = reader.following;
        (reader.time, raw)
    }
}
