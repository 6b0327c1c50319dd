//! Writes a trail.

use super::calls::{Stream, Thread};
use super::columns::{COLUMNS, Column, MOST_THREADS, pack};
use super::index::{Entry, Index, Totals};
use super::record::{self, ByCode};
use super::segment::{HEADER, Header, Kind};
use super::symbols::{Foresight, LEAVE, MOST_SYMBOLS, Symbol};
use super::times::put_time;
use super::value::{Last, Sink, Texts, put_number, put_signed};
use crate::hash::Seed;
use crate::{Encode, Loss};
use jtrail_model::{Event, MethodEnter, MethodLeave, ThreadId};
use std::collections::HashMap;

/// A segment is written when it has that many events,
const EVENTS: u32 = 1 << 17;
/// or that many bytes, before compression, or as many threads or symbols as it may have.
const BYTES: usize = 2 << 20;
/// Methods with smaller ids are found without a hash.
const DENSE: u64 = 1 << 20;

/// Writes a trail.
#[derive(Default)]
pub struct Encoder {
    threads: HashMap<u64, Thread, Seed>,
    block: Block,
    copies: Copies,
    index: Index,
    totals: Totals,
    /// Bytes written.
    offset: u64,
    segments: u32,
    breaks_off: bool,
    too_large: u64,
    unknown: u64,
    payload: Vec<u8>,
}

/// Definitions, to be written once more before the segment they are in.
#[derive(Default)]
struct Copies {
    count: u32,
    bytes: Vec<u8>,
    texts: Texts,
    last: Last,
}

/// A segment of events that is being filled.
#[derive(Default)]
struct Block {
    events: u32,
    /// The first time, and the span of all.
    base: i64,
    times: Option<[i64; 2]>,
    /// Whether calls have CPU times; told by the first.
    has_cpu: Option<bool>,
    streams: Vec<Stream>,
    /// What the threads had at the segment's begin.
    begins: Vec<Thread>,
    by_thread: HashMap<u64, u32, Seed>,
    ended: Vec<u64>,
    /// The stream that events belong to now, and how many in a row.
    current: usize,
    run: u64,
    symbols: u16,
    records: ByCode<u16>,
    leave_by_exception: u16,
    /// By method: symbol and class.
    dense: Vec<(u16, u64)>,
    used: Vec<u32>,
    sparse: HashMap<(u64, u64), u16, Seed>,
    foresight: Foresight,
    hits: Bits,
    texts: Texts,
    columns: [Vec<u8>; COLUMNS],
}

#[derive(Default)]
struct Bits {
    word: u8,
    count: u32,
}

impl Bits {
    #[inline]
    fn push(&mut self, bit: bool, out: &mut Vec<u8>) {
        self.word |= u8::from(bit) << self.count;
        self.count += 1;
        if self.count == 8 {
            self.finish(out);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            out.push(self.word);
        }
        *self = Self::default();
    }
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
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            _ => self.record(event, out),
        }
        if self.block.is_full() {
            self.write(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.block.events > 0 {
            self.write(out);
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
        self.block.events > 0
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
    /// Chooses the stream of a thread.
    #[inline]
    fn choose(&mut self, thread: ThreadId, time: Option<i64>) {
        let block = &mut self.block;
        if block.events == 0 {
            block.begin(time.unwrap_or(0));
        } else if block.streams[block.current].last.thread == thread {
            block.run += 1;
            return;
        }
        block.end_run();
        let streams = &mut block.streams;
        let begins = &mut block.begins;
        let base = block.base;
        let threads = &self.threads;
        let at = *block.by_thread.entry(thread.0).or_insert_with(|| {
            let state = threads.get(&thread.0).copied().unwrap_or_default();
            begins.push(state);
            streams.push(Stream::new(thread, state, base));
            (streams.len() - 1) as u32
        });
        block.current = at as usize;
        block.run = 1;
    }

    #[inline]
    fn enter(&mut self, e: &MethodEnter) {
        self.choose(e.thread, Some(e.time.0));
        let block = &mut self.block;
        let has_cpu = *block.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let stream = &mut block.streams[block.current];
        let usual = (e.ticket, e.stack_depth) == stream.next_call();
        if usual && (has_cpu || e.cpu_time.0 == 0) {
            let symbol = block.method(e.method.0, e.class.0);
            block.put_symbol(symbol);
            block.put_time(e.time.0);
            block.put_cpu(has_cpu, e.cpu_time.0);
            block.streams[block.current].enter(e, symbol);
        } else {
            let event = Event::MethodEnter(*e);
            let symbol = block.put_record(record::code(&event).unwrap_or(0), &event);
            block.streams[block.current].enter(e, symbol);
        }
        block.saw(Some(e.time.0));
        self.totals.add_call(true);
    }

    #[inline]
    fn leave(&mut self, e: &MethodLeave) {
        self.choose(e.thread, Some(e.time.0));
        let block = &mut self.block;
        let has_cpu = *block.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let usual = block.streams[block.current].is_next_leave(e);
        if usual && (has_cpu || e.cpu_time.0 == 0) {
            let symbol = match e.by_exception {
                false => LEAVE,
                true => block.leave_by_exception(),
            };
            block.put_symbol(symbol);
            block.put_time(e.time.0);
            block.put_cpu(has_cpu, e.cpu_time.0);
        } else {
            let event = Event::MethodLeave(*e);
            block.put_record(record::code(&event).unwrap_or(0), &event);
        }
        block.streams[block.current].leave();
        block.saw(Some(e.time.0));
        self.totals.add_call(false);
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
        let thread = event.thread().unwrap_or_default();
        let time = event.time().map(|time| time.0);
        self.choose(thread, time);
        if !self.block.try_put_record(code, event) {
            self.too_large += 1;
            // Texts that it brought are gone with it, so the segment ends here.
            self.write(out);
            return;
        }
        if record::is_definition(event) {
            self.copies.add(code, event);
        }
        if let Event::ThreadEnd(_) = event {
            self.block.ended.push(thread.0);
        }
        self.block.saw(time);
        self.totals.add(code);
    }

    /// Writes what waits: copies of its definitions, and the events.
    fn write(&mut self, out: &mut Vec<u8>) {
        if self.copies.count > 0 {
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
        let block = &mut self.block;
        block.finish();
        self.payload.clear();
        pack(
            block.columns.each_ref().map(|column| &column[..]),
            &mut self.payload,
        );
        let (events, times) = (block.events, block.times.unwrap_or_default());
        let mut threads = Vec::with_capacity(block.streams.len());
        for stream in &block.streams {
            let thread = stream.last.thread.0;
            threads.push(thread);
            self.threads.insert(thread, stream.thread);
        }
        for thread in &block.ended {
            self.threads.remove(thread);
        }
        block.clear();
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
        let header = Header {
            kind,
            number: self.segments,
            length: self.payload.len() as u32,
            checksum: crc32c::crc32c(&self.payload),
            before: self.totals.before,
            events,
            times,
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
        self.count += 1;
        self.bytes.push(code);
        let mut sink = Sink {
            out: &mut self.bytes,
            texts: &mut self.texts,
            last: &mut self.last,
        };
        record::put(event, &mut sink);
    }

    fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
        self.texts.clear();
        self.last = Last::default();
    }
}

impl Block {
    fn begin(&mut self, time: i64) {
        self.base = time;
        self.symbols = LEAVE + 1;
    }

    fn is_full(&self) -> bool {
        self.events >= EVENTS
            || self.columns.iter().map(Vec::len).sum::<usize>() >= BYTES
            || self.streams.len() >= MOST_THREADS
            || usize::from(self.symbols) >= MOST_SYMBOLS
    }

    #[inline]
    fn saw(&mut self, time: Option<i64>) {
        self.events += 1;
        self.streams[self.current].thread.events += 1;
        if let Some(time) = time {
            let [first, last] = self.times.unwrap_or([time; 2]);
            self.times = Some([first.min(time), last.max(time)]);
        }
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            let runs = &mut self.columns[Column::Runs as usize];
            put_number(self.current as u64, runs);
            put_number(self.run, runs);
        }
        self.run = 0;
    }

    fn new_symbol(&mut self, symbol: Symbol) -> u16 {
        let out = &mut self.columns[Column::Symbols as usize];
        match symbol {
            Symbol::Enter { method, class } => {
                out.push(0);
                put_number(method, out);
                put_number(class, out);
            }
            Symbol::LeaveByException => out.push(u8::MAX),
            Symbol::Record(code) => out.push(code),
        }
        let number = self.symbols;
        self.symbols += 1;
        number
    }

    /// The symbol of a call.
    #[inline]
    fn method(&mut self, method: u64, class: u64) -> u16 {
        match self.dense.get(method as usize) {
            Some(&(symbol, of)) if symbol != LEAVE && of == class => symbol,
            _ => self.other_method(method, class),
        }
    }

    #[cold]
    fn other_method(&mut self, method: u64, class: u64) -> u16 {
        if let Some(symbol) = self.sparse.get(&(method, class)) {
            return *symbol;
        }
        let symbol = self.new_symbol(Symbol::Enter { method, class });
        if method < DENSE {
            let at = method as usize;
            if self.dense.len() <= at {
                self.dense.resize((at + 1).next_power_of_two(), (LEAVE, 0));
            }
            if self.dense[at].0 == LEAVE {
                self.dense[at] = (symbol, class);
                self.used.push(at as u32);
                return symbol;
            }
        }
        self.sparse.insert((method, class), symbol);
        symbol
    }

    fn leave_by_exception(&mut self) -> u16 {
        if self.leave_by_exception == LEAVE {
            self.leave_by_exception = self.new_symbol(Symbol::LeaveByException);
        }
        self.leave_by_exception
    }

    #[inline]
    fn put_symbol(&mut self, symbol: u16) {
        let history = self.streams[self.current].history;
        let foreseen = self.foresight.of(history);
        let is_hit = *foreseen == symbol;
        *foreseen = symbol;
        self.hits
            .push(is_hit, &mut self.columns[Column::Hits as usize]);
        if !is_hit {
            put_number(symbol.into(), &mut self.columns[Column::Misses as usize]);
        }
    }

    #[inline]
    fn put_time(&mut self, time: i64) {
        let last = &mut self.streams[self.current].last.time;
        let out = &mut self.columns[Column::Times as usize];
        put_time(time.wrapping_sub(*last), out);
        *last = time;
    }

    #[inline]
    fn put_cpu(&mut self, has_cpu: bool, time: i64) {
        if has_cpu {
            let last = &mut self.streams[self.current].cpu;
            let out = &mut self.columns[Column::Records as usize];
            put_signed(time.wrapping_sub(*last), out);
            *last = time;
        }
    }

    fn record_symbol(&mut self, code: u8) -> u16 {
        let symbol = self.records.0[usize::from(code)];
        if symbol != LEAVE {
            return symbol;
        }
        let symbol = self.new_symbol(Symbol::Record(code));
        self.records.0[usize::from(code)] = symbol;
        symbol
    }

    /// Appends an event as a record; answers its symbol.
    fn put_record(&mut self, code: u8, event: &Event<'_>) -> u16 {
        let symbol = self.record_symbol(code);
        self.put_symbol(symbol);
        self.put_fields(event);
        symbol
    }

    fn put_fields(&mut self, event: &Event<'_>) {
        let mut sink = Sink {
            out: &mut self.columns[Column::Records as usize],
            texts: &mut self.texts,
            last: &mut self.streams[self.current].last,
        };
        record::put(event, &mut sink);
    }

    /// As [`Self::put_record`], unless it would be larger than readers take: then nothing is appended.
    fn try_put_record(&mut self, code: u8, event: &Event<'_>) -> bool {
        /// Far below what a segment may hold, far above what the JVM has.
        const LARGEST: usize = 16 << 20;
        let records = &self.columns[Column::Records as usize];
        let start = records.len();
        let last = self.streams[self.current].last;
        self.put_fields(event);
        let size = self.columns[Column::Records as usize].len() - start;
        if size > LARGEST || self.texts.are_too_many() {
            self.columns[Column::Records as usize].truncate(start);
            self.streams[self.current].last = last;
            self.run -= 1;
            return false;
        }
        let symbol = self.record_symbol(code);
        self.put_symbol(symbol);
        self.streams[self.current].history.enter(symbol);
        true
    }

    /// Completes the columns.
    fn finish(&mut self) {
        self.end_run();
        self.hits.finish(&mut self.columns[Column::Hits as usize]);
        let out = &mut self.columns[Column::Threads as usize];
        put_signed(self.base, out);
        out.push(self.has_cpu.unwrap_or(false).into());
        put_number(self.streams.len() as u64, out);
        let mut last = 0;
        for (stream, begin) in self.streams.iter().zip(&self.begins) {
            let thread = stream.last.thread.0;
            put_signed(thread.wrapping_sub(last) as i64, out);
            put_number(begin.events, out);
            put_number(begin.ticket.into(), out);
            put_signed(begin.depth, out);
            last = thread;
        }
    }

    fn clear(&mut self) {
        self.events = 0;
        self.times = None;
        self.has_cpu = None;
        self.streams.clear();
        self.begins.clear();
        self.by_thread.clear();
        self.ended.clear();
        self.current = 0;
        self.records.0.fill(LEAVE);
        self.leave_by_exception = LEAVE;
        for at in self.used.drain(..) {
            self.dense[at as usize] = (LEAVE, 0);
        }
        self.sparse.clear();
        self.foresight.clear();
        self.texts.clear();
        for column in &mut self.columns {
            column.clear();
        }
    }
}
