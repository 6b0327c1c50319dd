//! The events of a buffer, as the file has them.

mod read;

use crate::mlpd::DataVersion;
use crate::mlpd::value::{Fault, Fields};
use crate::mlpd::wire::{BUFFER_HEADER, BUFFER_ID, HEAP_OBJECT};
use read::Reader;

/// An event. Ids are those of the file, texts its bytes.
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
    /// Old and new addresses, in turn.
    Moves(Vec<u64>),
    Class {
        state: u8,
        id: u64,
        name: &'b [u8],
        image: u64,
    },
    /// An image, its name, and the id of its module, which version 1 does not have.
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
    /// `name` stands here when it follows the load at once.
    Thread {
        state: u8,
        id: u64,
        name: Option<&'b [u8]>,
    },
    /// Metadata that say nothing of classes, methods and threads.
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
    /// Its references follow.
    HeapObject {
        object: u64,
        class: u64,
        size: u64,
        generation: u8,
    },
    Reference {
        /// From the reference before it.
        offset: u64,
        target: u64,
    },
    Root {
        address: u64,
        object: u64,
    },
    SyncPoint,
    /// A list of no roots.
    NoRoots,
}

/// What follows in pieces behind an event.
#[derive(Clone, Copy, Debug)]
enum Following {
    References,
    Roots,
}

/// The fixed part of a buffer.
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
    /// None when it does not begin as buffers do.
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

/// A buffer, and how far it was read.
#[derive(Debug)]
pub(super) struct Buffer {
    version: DataVersion,
    header: BufferHeader,
    bytes: Vec<u8>,
    at: usize,
    /// Where its events start, in bytes from the start of the trace.
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

    /// Where the next event stands.
    pub(super) fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The time of the next event, or of the last one when the next has none.
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

    /// Reads the next event, and its time. A fault ends the buffer.
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
