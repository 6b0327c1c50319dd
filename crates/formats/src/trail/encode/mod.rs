//! Encoder of trails.

mod dropped;
mod filling;
mod kept;
mod packing;
mod queue;

use super::index::{Entry, Index, Totals};
use super::record;
use super::value::{Last, Sink, Texts};
use super::wire::{HEADER, Header, Kind, VERSION};
use crate::tally::DropTally;
use crate::{DropCount, Encode, Helpers};
use dropped::Dropped;
use filling::Block;
use jtrail_model::{CallRun, Calls, Event};
use queue::{Queue, Segment};
use std::sync::Arc;

/// Encoder of trails.
#[derive(Default)]
pub struct Encoder {
    block: Block,
    queue: Queue,
    copies: Copies,
    index: Index,
    totals: Totals,
    /// Number of bytes written.
    offset: u64,
    segments: u32,
    /// Number of segments of events among `segments`.
    blocks: u64,
    /// Identifies the trace; 0 until segment 1 is written.
    trace: u32,
    is_truncated: bool,
    dropped: DropTally<Dropped>,
}

/// Copies of definitions, which are written before the segment that contains the definitions.
#[derive(Default)]
struct Copies {
    bytes: Vec<u8>,
    texts: Texts,
    last: Last,
}

impl Encode for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        // A trace must be recognizable from its first byte on. So an empty first segment is written
        // immediately.
        self.block.begin(0);
        self.end_block();
        self.drain(true, out);
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => {
                self.block.enter(e);
                self.totals.add(record::METHOD_ENTER);
            }
            Event::MethodLeave(e) => {
                self.block.leave(e);
                self.totals.add(record::METHOD_LEAVE);
            }
            _ => self.record(event, out),
        }
        if self.block.is_full() {
            self.write(out);
        }
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        let count = self.block.calls(calls);
        let taken = &calls.steps[..count];
        let leaves = taken.iter().filter(|step| step.ends).count();
        self.totals.add_calls(count - leaves, leaves);
        if self.block.is_full() {
            self.write(out);
        }
        // The first unexpected call and all following ones are encoded individually.
        let rest = calls.after(count);
        rest.events().for_each(|event| self.event(&event, out));
    }

    fn run(&mut self, run: &CallRun<'_>, out: &mut Vec<u8>) {
        if !self.block.run(run) {
            return self.calls(&run.calls(&mut Vec::new()), out);
        }
        let enters = run.enters();
        self.totals.add_calls(enters, run.steps.len() - enters);
        if self.block.is_full() {
            self.write(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.block.is_empty() {
            self.write(out);
        }
        self.drain(true, out);
    }

    fn waiting(&self) -> usize {
        let block = match self.block.is_empty() {
            true => 0,
            false => self.block.most_bytes() + self.copies.bytes.len(),
        };
        block + self.queue.most_bytes()
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.flush(out);
        self.write_index(true, out);
    }

    fn mark_truncated(&mut self) {
        self.is_truncated = true;
    }

    fn has_pending(&self) -> bool {
        !self.block.is_empty() || !self.queue.is_empty()
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }
}

impl Encoder {
    /// Returns an encoder that lets `helpers` pack segments. Helpers do not change the trace.
    pub fn with_helpers(helpers: Arc<dyn Helpers>) -> Self {
        Self {
            queue: Queue::with_helpers(helpers),
            ..Self::default()
        }
    }

    fn record(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let Some(code) = record::code(event) else {
            self.dropped.event(Dropped::Unknown);
            return;
        };
        if record::is_too_large(event) {
            self.dropped.event(Dropped::Large);
            return;
        }
        if !self.block.record(code, event) {
            self.dropped.event(Dropped::Large);
            // The record was removed from the segment, but its texts still have numbers there. So
            // the segment must end here.
            self.write(out);
            return;
        }
        if event.is_definition() {
            self.copies.add(code, event);
        }
        self.totals.add(code);
    }

    /// Ends the segment. It is written as soon as it is packed, after copies of its definitions.
    fn write(&mut self, out: &mut Vec<u8>) {
        if !self.copies.bytes.is_empty() {
            let mut payload = Vec::new();
            let columns = [&self.copies.bytes[..]];
            self.queue
                .with_packer(|packer| packer.packer.pack(columns, &mut payload));
            self.queue.push(Segment {
                kind: Kind::Definitions,
                events: 0,
                times: [0; 2],
                threads: Vec::new(),
                payload,
            });
            self.copies.clear();
        }
        self.end_block();
        self.drain(false, out);
    }

    fn end_block(&mut self) {
        let segment = Segment {
            kind: Kind::Events,
            events: self.block.events(),
            times: self.block.times(),
            threads: self.block.threads(),
            payload: Vec::new(),
        };
        let gathered = self.block.finish(self.blocks);
        self.block.begin_with(self.queue.pack(segment, gathered));
        self.blocks += 1;
    }

    /// Appends packed segments: all segments if `all` is true, otherwise those that are ready.
    fn drain(&mut self, all: bool, out: &mut Vec<u8>) {
        while let Some(segment) = self.queue.next(all) {
            let is_events = segment.kind == Kind::Events;
            let events = segment.events;
            self.put_segment(segment, out);
            self.totals.before += u64::from(events);
            if is_events && self.index.is_full() {
                self.write_index(false, out);
            }
        }
    }

    fn write_index(&mut self, is_last: bool, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let Self {
            index,
            totals,
            queue,
            offset,
            is_truncated,
            ..
        } = self;
        let ends = is_last.then_some((&*totals, *is_truncated));
        queue.with_packer(|packer| index.put(*offset, ends, &mut packer.packer, &mut payload));
        let segment = Segment {
            kind: Kind::Index,
            events: 0,
            times: [0; 2],
            threads: Vec::new(),
            payload,
        };
        self.put_segment(segment, out);
    }

    /// Appends a segment.
    fn put_segment(&mut self, segment: Segment, out: &mut Vec<u8>) {
        let Segment {
            kind,
            events,
            times,
            threads,
            payload,
        } = segment;
        let checksum = crc32c::crc32c(&payload);
        if self.segments == 1 {
            self.trace = checksum;
        }
        let header = Header {
            version: VERSION,
            kind,
            number: self.segments,
            length: payload.len() as u32,
            checksum,
            before: self.totals.before,
            events,
            times,
            trace: self.trace,
        };
        header.put(out);
        out.extend_from_slice(&payload);
        if kind != Kind::Index {
            self.index.add(Entry {
                is_events: kind == Kind::Events,
                offset: self.offset,
                events,
                times,
                threads,
            });
        }
        self.segments = self.segments.wrapping_add(1);
        self.offset += (HEADER + payload.len()) as u64;
    }
}

impl Copies {
    fn add(&mut self, code: u8, event: &Event<'_>) {
        self.bytes.push(code);
        let mut sink = Sink {
            out: &mut self.bytes,
            texts: &mut self.texts,
            last: &mut self.last,
            named: 0,
        };
        record::put(event, &mut sink);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.texts.clear();
        self.last = Last::default();
    }
}
