//! Buffers of threads, and the batches in which they are written.

use crate::mlpd::index::Index;
use crate::mlpd::value::{put_sleb, put_uleb};
use crate::mlpd::wire::{
    BUFFER_HEADER, BUFFER_ID, CLOCK_START, COMPILER, DEFINITIONS, FARTHEST, VM,
};
use std::ops::Range;

/// Maximum size of a batch's events, in bytes. Only the last event may exceed it. Definitions have
/// a limit of their own, with the same value.
const BATCH: usize = 512 << 10;
/// Maximum time between the first and the last event of a buffer, in nanoseconds. Only the last
/// event may exceed it.
const MAX_BUFFER_SPAN: u64 = 1_000_000_000;

/// Index of the buffer for definitions.
pub(super) const DEFINING: usize = 0;
/// Index of the buffer for events without a thread.
pub(super) const THREADLESS: usize = 1;
/// Index of the buffer for compilations.
pub(super) const COMPILED: usize = 2;

/// Buffer of one thread, and the state of this thread.
#[derive(Debug, Default)]
pub(in crate::mlpd) struct Buffer {
    id: u64,
    bytes: Vec<u8>,
    /// Number of bytes already included in `Output::waiting`.
    counted: usize,
    base_time: u64,
    time: u64,
    base_object: Option<u64>,
    base_method: u64,
    method: u64,
    /// Open calls: ticket, and number of the method.
    pub(super) calls: Vec<(u32, u32)>,
    /// True if the thread is defined, by the trace or by the encoder.
    pub(super) defined: bool,
    ended: bool,
}

impl Buffer {
    fn new(id: u64) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    #[inline]
    pub(super) fn uleb(&mut self, value: u64) {
        put_uleb(value, &mut self.bytes);
    }

    /// Appends a class, image or address. The base of pointers is 0.
    #[inline]
    pub(super) fn pointer(&mut self, value: u64) {
        put_sleb(value.cast_signed(), &mut self.bytes);
    }

    pub(super) fn object(&mut self, object: u64) {
        // Readers misread a base of more than 56 bits.
        let first = if object < FARTHEST { object } else { 0 };
        let base = *self.base_object.get_or_insert(first);
        self.pointer(object.wrapping_sub(base));
    }

    #[inline]
    pub(super) fn method(&mut self, method: u64) {
        if self.base_method == 0 {
            (self.base_method, self.method) = (method, method);
        }
        let difference = method.wrapping_sub(self.method);
        self.method = method;
        self.pointer(difference);
    }

    pub(super) fn text(&mut self, text: &str) {
        crate::mlpd::value::put_text(text, &mut self.bytes);
    }

    /// Returns the index of the next byte, for [`Self::patch`]. Valid until the batch is written.
    pub(super) fn place(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn patch(&mut self, place: usize, byte: u8) {
        if let Some(at) = self.bytes.get_mut(place) {
            *at = byte;
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&BUFFER_ID.to_le_bytes());
        out.extend_from_slice(&(self.bytes.len() as u32).to_le_bytes());
        let base_time = if self.bytes.is_empty() {
            self.time
        } else {
            self.base_time
        };
        for field in [
            base_time,
            0,
            self.base_object.unwrap_or(0),
            self.id,
            self.base_method,
        ] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.append(&mut self.bytes);
        self.counted = 0;
        self.base_object = None;
        self.base_method = 0;
    }
}

/// Definitions after the last event. They belong to the batch of the next event. A reader takes the
/// definitions of a batch first. If these definitions were in the current batch, the reader would
/// report them too early.
#[derive(Debug)]
struct Recent {
    /// Index of the first byte of these definitions in the buffer of definitions.
    at: usize,
    /// Time of the definition before these definitions.
    time: u64,
    /// Base of methods before these definitions.
    base_method: u64,
    /// Byte range of the first method in these definitions, and the method's id.
    method: Option<(Range<usize>, u64)>,
}

/// Data that is still to be written.
#[derive(Debug)]
pub(in crate::mlpd) struct Output {
    buffers: Vec<Buffer>,
    /// Indices of unused buffers.
    free: Vec<usize>,
    threads: Index,
    /// Buffers with events, in the order of their first events.
    order: Vec<usize>,
    waiting: usize,
    /// Buffer of the last event.
    last: usize,
    /// Time of the last event of the batch.
    latest: u64,
    recent: Option<Recent>,
    /// Number of batches written. Batches of definitions alone do not count.
    pub(super) batches: u64,
}

impl Default for Output {
    fn default() -> Self {
        let mut definitions = Buffer::new(DEFINITIONS);
        definitions.time = CLOCK_START;
        Self {
            buffers: vec![definitions, Buffer::new(VM), Buffer::new(COMPILER)],
            free: Vec::new(),
            threads: Index::default(),
            order: Vec::new(),
            waiting: 0,
            last: DEFINING,
            latest: 0,
            recent: None,
            batches: 0,
        }
    }
}

impl Output {
    /// Returns the index of a thread's buffer, or `None` if the format can't hold the thread's id.
    #[inline]
    pub(super) fn thread(&mut self, id: u64) -> Option<usize> {
        match id {
            0 => Some(THREADLESS),
            DEFINITIONS.. => None,
            _ => Some(self.threads.get(id).unwrap_or_else(|| self.new_thread(id))),
        }
    }

    #[cold]
    fn new_thread(&mut self, id: u64) -> usize {
        let buffer = Buffer::new(id);
        let place = match self.free.pop() {
            Some(place) => {
                self.buffers[place] = buffer;
                place
            }
            None => {
                self.buffers.push(buffer);
                self.buffers.len() - 1
            }
        };
        self.threads.set(id, place);
        place
    }

    /// Marks a thread as ended. The thread's buffer is reused after it is written.
    pub(super) fn thread_end(&mut self, place: usize) {
        if place <= COMPILED {
            return; // reserved threads stay, even if the trace ends them
        }
        self.threads.remove(self.buffers[place].id);
        self.buffers[place].ended = true;
    }

    /// True if the buffer belongs to a thread of the program that is not defined yet.
    #[inline]
    pub(super) fn is_undefined(&self, place: usize) -> bool {
        place > COMPILED && !self.buffers[place].defined
    }

    pub(super) fn buffer(&mut self, place: usize) -> &mut Buffer {
        &mut self.buffers[place]
    }

    /// True if an event would be earlier than the last event of the batch. The event then belongs
    /// to the next batch, because readers merge the buffers of a batch by time.
    #[inline]
    pub(super) fn is_before_latest(&self, place: usize, time: u64) -> bool {
        place != DEFINING && time.max(self.buffers[place].time) < self.latest
    }

    /// Starts an event with its first byte and its time. Returns the buffer. The second result is
    /// false if the time was earlier than the thread's last event; it is then raised.
    #[inline]
    pub(super) fn event(&mut self, place: usize, time: u64, first: u8) -> (&mut Buffer, bool) {
        let buffer = &mut self.buffers[place];
        let rises = time >= buffer.time;
        let time = time.max(buffer.time);
        if place != DEFINING {
            self.recent = None;
            self.latest = time;
        } else if self.recent.is_none() {
            self.recent = Some(Recent {
                at: buffer.bytes.len(),
                time: buffer.time,
                base_method: buffer.base_method,
                method: None,
            });
        }
        if buffer.bytes.is_empty() {
            if place != DEFINING {
                buffer.time = time;
                self.order.push(place);
            }
            // In version 1, the file's clock starts with the first buffer, which holds definitions.
            buffer.base_time = buffer.time;
        }
        buffer.bytes.push(first);
        put_uleb(time - buffer.time, &mut buffer.bytes);
        buffer.time = time;
        (buffer, rises)
    }

    /// Starts an event that has no time field and happens at `time`.
    pub(super) fn untimed(&mut self, place: usize, time: u64, first: u8) -> &mut Buffer {
        let buffer = &mut self.buffers[place];
        if buffer.bytes.is_empty() {
            buffer.time = time.max(buffer.time);
            buffer.base_time = buffer.time;
            self.order.push(place);
        }
        self.recent = None;
        self.latest = buffer.time;
        buffer.bytes.push(first);
        buffer
    }

    /// Appends a method to the definition under construction.
    pub(super) fn defined_method(&mut self, method: u64) {
        let buffer = &mut self.buffers[DEFINING];
        let start = buffer.bytes.len();
        buffer.method(method);
        let written = start..buffer.bytes.len();
        if let Some(recent) = &mut self.recent {
            recent.method.get_or_insert((written, method));
        }
    }

    /// Returns the time of the last definition.
    pub(super) fn definition_time(&self) -> u64 {
        self.buffers[DEFINING].time
    }

    /// Accounts for bytes that were appended to a buffer. Returns `true` if the batch is full.
    #[inline]
    pub(super) fn grown(&mut self, place: usize) -> bool {
        let buffer = &mut self.buffers[place];
        let size = buffer.bytes.len();
        if place == DEFINING {
            return size >= BATCH;
        }
        if size == buffer.counted {
            return false;
        }
        self.waiting += size - buffer.counted;
        buffer.counted = size;
        self.last = place;
        self.waiting >= BATCH || buffer.time - buffer.base_time >= MAX_BUFFER_SPAN
    }

    /// True if the batch has twice its maximum size.
    pub(super) fn is_overfull(&self) -> bool {
        self.waiting >= 2 * BATCH
    }

    /// Writes the definitions alone, as a batch of their own.
    pub(super) fn flush_definitions(&mut self, out: &mut Vec<u8>) {
        self.recent = None;
        self.buffers[DEFINING].write(out);
    }

    /// Writes the batch before an event that belongs to the next batch. Leaves out the definitions
    /// after the last event, because they belong to the next batch, too.
    pub(super) fn flush_before_event(&mut self, out: &mut Vec<u8>) {
        let Some(recent) = self.recent.take() else {
            return self.flush(out);
        };
        let Recent { at, time, .. } = recent;
        let definitions = &mut self.buffers[DEFINING];
        let mut later = definitions.bytes.split_off(at);
        let latest = std::mem::replace(&mut definitions.time, time);
        definitions.base_method = recent.base_method;
        self.flush(out);
        let definitions = &mut self.buffers[DEFINING];
        if let Some((written, method)) = recent.method {
            // This method becomes the base of the methods after it. So its own difference from the
            // base is 0.
            later.splice(written.start - at..written.end - at, [0]);
            definitions.base_method = method;
        }
        (definitions.base_time, definitions.time) = (time, latest);
        definitions.bytes = later;
    }

    /// Returns the number of bytes of events that are still to be written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Writes the batch. Its buffers are in the order of their first events, except that the buffer
    /// with the latest event comes last. So a reader that merges by time ends with this event, too.
    /// If it writes the trace again, its batch then ends at the same point.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        self.flush_definitions(out);
        let (buffers, last) = (&self.buffers, self.last);
        self.order.sort_by_key(|&place| buffers[place].base_time);
        let latest = self.order.iter().enumerate();
        let latest = latest.max_by_key(|&(at, &place)| (buffers[place].time, place == last, at));
        if let Some((at, _)) = latest {
            let latest = self.order.remove(at);
            self.order.push(latest);
        }
        for place in self.order.drain(..) {
            let buffer = &mut self.buffers[place];
            buffer.write(out);
            if buffer.ended {
                *buffer = Buffer::default();
                self.free.push(place);
            }
        }
        self.waiting = 0;
        self.latest = 0;
        self.batches += 1;
    }

    /// True if anything is still to be written.
    pub(super) fn waits(&self) -> bool {
        !self.order.is_empty() || !self.buffers[DEFINING].bytes.is_empty()
    }
}

const _: () = assert!(BUFFER_HEADER == 48);
