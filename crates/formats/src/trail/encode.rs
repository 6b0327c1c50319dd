//! Writes a trail.

use super::calls::Threads;
use super::columns::pack;
use super::filling::Block;
use super::index::{Entry, Index, Totals};
use super::record;
use super::segment::{HEADER, Header, Kind};
use super::steps::Taken;
use super::value::{Last, Sink, Texts};
use crate::{Encode, Loss};
use jtrail_model::{CallRun, CallStep, Calls, Event};

/// Writes a trail.
#[derive(Default)]
pub struct Encoder {
    threads: Threads,
    block: Block,
    copies: Copies,
    index: Index,
    totals: Totals,
    /// Bytes written.
    offset: u64,
    segments: u32,
    /// What tells this trace from others; 0 until segment 1 is written.
    trace: u32,
    breaks_off: bool,
    too_large: u64,
    unknown: u64,
    payload: Vec<u8>,
}

/// Definitions, to be written once more before the segment they are in.
#[derive(Default)]
struct Copies {
    bytes: Vec<u8>,
    texts: Texts,
    last: Last,
}

impl Encode for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        // A trace shows what it is from its first byte on, so the first segment is written at once; it is empty.
        self.block.begin(0);
        self.write_block(out);
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => {
                self.block.enter(e, &self.threads);
                self.totals.add(record::METHOD_ENTER);
            }
            Event::MethodLeave(e) => {
                self.block.leave(e, &self.threads);
                self.totals.add(record::METHOD_LEAVE);
            }
            _ => self.record(event, out),
        }
        if self.block.is_full() {
            self.write(out);
        }
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        let mut calls = *calls;
        loop {
            let taken = self.block.calls(&calls, &self.threads);
            self.took(taken, out);
            if taken.all == calls.steps.len() {
                return;
            }
            // What comes next is not as expected.
            calls = calls.behind(taken.all);
            if let Some((event, rest)) = calls.split_first() {
                self.event(&event, out);
                calls = rest;
            }
        }
    }

    fn run(&mut self, run: &CallRun<'_>, out: &mut Vec<u8>) {
        let (mut run, mut room) = (*run, [CallStep::default()]);
        loop {
            let taken = self.block.run(&run, &self.threads);
            self.took(taken, out);
            if taken.all == run.steps.len() {
                return;
            }
            run = run.behind(taken.all);
            // What comes next is not as expected.
            let next = run.first_calls(&mut room).split_first();
            let Some((event, _)) = next else { return };
            self.event(&event, out);
            run = run.behind(1);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.block.is_empty() {
            self.write(out);
        }
    }

    fn waiting(&self) -> usize {
        match self.block.is_empty() {
            true => 0,
            false => self.block.bytes() + self.copies.bytes.len(),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.flush(out);
        self.write_index(true, out);
    }

    fn break_off(&mut self) {
        self.breaks_off = true;
    }

    fn holds_back(&self) -> bool {
        !self.block.is_empty()
    }

    fn losses(&self) -> Vec<Loss> {
        let losses = [
            (self.too_large, "events that are too large"),
            (self.unknown, "events of unknown kinds"),
        ];
        let told = |(count, what)| (count > 0).then_some(Loss { what, count });
        losses.into_iter().filter_map(told).collect()
    }
}

impl Encoder {
    /// The segment has got some calls.
    fn took(&mut self, taken: Taken, out: &mut Vec<u8>) {
        self.totals
            .add_calls(taken.enters, taken.all - taken.enters);
        if self.block.is_full() {
            self.write(out);
        }
    }

    fn record(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let Some(code) = record::code(event) else {
            self.unknown += 1;
            return;
        };
        if record::is_too_large(event) {
            self.too_large += 1;
            return;
        }
        if !self.block.record(code, event, &self.threads) {
            self.too_large += 1;
            // Texts that it brought are gone with it, so the segment ends here.
            self.write(out);
            return;
        }
        if event.is_definition() {
            self.copies.add(code, event);
        }
        self.totals.add(code);
    }

    /// Writes what waits: copies of its definitions, and the events.
    fn write(&mut self, out: &mut Vec<u8>) {
        if !self.copies.bytes.is_empty() {
            self.payload.clear();
            pack([&self.copies.bytes], &mut self.payload);
            self.put_segment(Kind::Definitions, 0, [0; 2], &[], out);
            self.copies.clear();
        }
        self.write_block(out);
        if self.index.is_full() {
            self.write_index(false, out);
        }
    }

    fn write_block(&mut self, out: &mut Vec<u8>) {
        self.payload.clear();
        pack(self.block.finish(), &mut self.payload);
        let (events, times) = (self.block.events(), self.block.times());
        let threads: Vec<u64> = self.block.threads().map(|(id, _)| id).collect();
        self.threads.extend(self.block.threads());
        for thread in self.block.ended() {
            self.threads.remove(thread);
        }
        self.block.clear();
        self.put_segment(Kind::Events, events, times, &threads, out);
        self.totals.before += u64::from(events);
    }

    fn write_index(&mut self, is_last: bool, out: &mut Vec<u8>) {
        self.payload.clear();
        let ends = is_last.then_some((&self.totals, self.breaks_off));
        self.index.put(self.offset, ends, &mut self.payload);
        self.put_segment(Kind::Index, 0, [0; 2], &[], out);
    }

    /// Appends a segment with the payload that lies ready.
    fn put_segment(
        &mut self,
        kind: Kind,
        events: u32,
        times: [i64; 2],
        threads: &[u64],
        out: &mut Vec<u8>,
    ) {
        let checksum = crc32c::crc32c(&self.payload);
        if self.segments == 1 {
            self.trace = checksum;
        }
        let header = Header {
            kind,
            number: self.segments,
            length: self.payload.len() as u32,
            checksum,
            before: self.totals.before,
            events,
            times,
            trace: self.trace,
        };
        header.put(out);
        out.extend_from_slice(&self.payload);
        if kind != Kind::Index {
            self.index.add(Entry {
                is_events: kind == Kind::Events,
                offset: self.offset,
                events,
                times,
                threads: threads.to_vec(),
            });
        }
        self.segments = self.segments.wrapping_add(1);
        self.offset += (HEADER + self.payload.len()) as u64;
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
