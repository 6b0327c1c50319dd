//! The buffers of threads, and the batches in which they are written.

use crate::mlpd::index::Index;
use crate::mlpd::value::{put_sleb, put_uleb};
use crate::mlpd::wire::{
    BUFFER_HEADER, BUFFER_ID, CLOCK_START, COMPILER, DEFINITIONS, FARTHEST, VM,
};
use std::ops::Range;

/// Bytes of events that wait to be written, at most, but for the last event. Definitions count
/// apart.
const BATCH: usize = 512 << 10;
/// Nanoseconds between the first and the last event of a buffer, at most, but for the last event.
const PAUSE: u64 = 1_000_000_000;

/// Place of the definitions among the threads.
pub(super) const DEFINING: usize = 0;
/// Place of what has no thread.
pub(super) const THREADLESS: usize = 1;
/// Place of compilations.
pub(super) const COMPILED: usize = 2;

/// The buffer of one thread, and what is known along it.
#[derive(Debug, Default)]
pub(in crate::mlpd) struct Buffer {
    id: u64,
    bytes: Vec<u8>,
    /// Bytes that the batch has counted.
    counted: usize,
    base_time: u64,
    time: u64,
    base_object: Option<u64>,
    base_method: u64,
    method: u64,
    /// Open calls: ticket and number of the method.
    pub(super) calls: Vec<(u32, u32)>,
    /// The trace, or else the encoder, said that the thread is there.
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

    /// A class, image, address: the base of pointers is 0.
    #[inline]
    pub(super) fn pointer(&mut self, value: u64) {
        put_sleb(value.cast_signed(), &mut self.bytes);
    }

    pub(super) fn object(&mut self, object: u64) {
        // A base of more than 56 bits would be read wrongly.
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

    /// Takes the number of a byte that may be written over, until the batch is.
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

/// The definitions behind the last event. They belong to the batch of the next one: a reader, who
/// takes the definitions of a batch first, tells them there.
#[derive(Debug)]
struct Recent {
    /// Where they start in their buffer.
    at: usize,
    /// The time of the definition before them, and the base of methods by then.
    time: u64,
    base_method: u64,
    /// Where the first method of them stands, and which it is.
    method: Option<(Range<usize>, u64)>,
}

/// All that waits to be written.
#[derive(Debug)]
pub(in crate::mlpd) struct Output {
    buffers: Vec<Buffer>,
    /// Places of the buffers that are free.
    free: Vec<usize>,
    threads: Index,
    /// Buffers with events, in the order of their first ones.
    order: Vec<usize>,
    waiting: usize,
    /// The buffer of the last event.
    last: usize,
    /// The time of the last event of the batch.
    latest: u64,
    recent: Option<Recent>,
    /// How many batches were written, but for those of definitions alone.
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
    /// The place of a thread. None when its id can't be written.
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

    /// The thread has no more events.
    pub(super) fn thread_end(&mut self, place: usize) {
        if place <= COMPILED {
            return; // these stay, whatever is told of them
        }
        self.threads.remove(self.buffers[place].id);
        self.buffers[place].ended = true;
    }

    /// Whether the place is that of a thread of the program, of which nothing was said yet.
    #[inline]
    pub(super) fn is_unannounced(&self, place: usize) -> bool {
        place > COMPILED && !self.buffers[place].defined
    }

    pub(super) fn buffer(&mut self, place: usize) -> &mut Buffer {
        &mut self.buffers[place]
    }

    /// Whether an event would be earlier than the one before it in the batch. It belongs to the
    /// next one then: readers merge a batch by time.
    #[inline]
    pub(super) fn falls(&self, place: usize, time: u64) -> bool {
        place != DEFINING && time.max(self.buffers[place].time) < self.latest
    }

    /// Begins an event: its first byte and its time. `false` when the time had to be raised,
    /// because it falls along the thread.
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
            // The clock of a version 1 file starts with its first buffer, which is one of
            // definitions.
            buffer.base_time = buffer.time;
        }
        buffer.bytes.push(first);
        put_uleb(time - buffer.time, &mut buffer.bytes);
        buffer.time = time;
        (buffer, rises)
    }

    /// Begins an event without a time, which happens at `time`.
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

    /// Writes a method into a definition that was begun.
    pub(super) fn defined_method(&mut self, method: u64) {
        let buffer = &mut self.buffers[DEFINING];
        let start = buffer.bytes.len();
        buffer.method(method);
        let written = start..buffer.bytes.len();
        if let Some(recent) = &mut self.recent {
            recent.method.get_or_insert((written, method));
        }
    }

    /// The time of the last definition.
    pub(super) fn definition_time(&self) -> u64 {
        self.buffers[DEFINING].time
    }

    /// Takes note of what was written to a thread's buffer. `true` when a batch is full.
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
        self.waiting >= BATCH || buffer.time - buffer.base_time >= PAUSE
    }

    /// Whether a batch is twice as large as it should be.
    pub(super) fn is_overfull(&self) -> bool {
        self.waiting >= 2 * BATCH
    }

    /// Writes the definitions alone, as a batch of their own.
    pub(super) fn flush_definitions(&mut self, out: &mut Vec<u8>) {
        self.recent = None;
        self.buffers[DEFINING].write(out);
    }

    /// Writes all that waits but the definitions behind the last event: an event of the next batch
    /// was to follow.
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
            // It is the base of the others now.
            later.splice(written.start - at..written.end - at, [0]);
            definitions.base_method = method;
        }
        (definitions.base_time, definitions.time) = (time, latest);
        definitions.bytes = later;
    }

    /// Bytes of events that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Writes all that waits, the earliest buffer first. That of the latest event comes last, so
    /// that a reader who merges by time ends with that event too, and would end its batch there.
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

    /// Whether anything waits.
    pub(super) fn waits(&self) -> bool {
        !self.order.is_empty() || !self.buffers[DEFINING].bytes.is_empty()
    }
}

const _: () = assert!(BUFFER_HEADER == 48);
