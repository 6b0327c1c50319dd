//! A segment of events that is being written.

use super::calls::{Stream, Thread, Threads};
use super::columns::{COLUMNS, Column, MOST_THREADS};
use super::record::{self, ByCode};
use super::symbols::{Foresight, LEAVE, MOST_SYMBOLS, Symbol};
use super::times::put_time;
use super::value::{LARGEST_RECORD, Sink, Texts, put_number, put_signed};
use crate::hash::Seed;
use jtrail_model::{ClassId, Event, MethodEnter, MethodId, MethodLeave, ThreadId};
use std::collections::HashMap;

/// A segment is written when it has that many events,
const EVENTS: u32 = 1 << 17;
/// or that many bytes, before compression, or as many threads or symbols as it may have.
const BYTES: usize = 2 << 20;
/// Methods with smaller ids are found without a hash.
const DENSE: u64 = 1 << 20;

/// A segment of events that is being filled.
#[derive(Default)]
pub(super) struct Block {
    pub(super) events: u32,
    /// The first time, and the span of all.
    base: i64,
    pub(super) times: Option<[i64; 2]>,
    /// Whether calls have CPU times; told by the first.
    pub(super) has_cpu: Option<bool>,
    pub(super) streams: Vec<Stream>,
    /// What the threads had at the segment's begin.
    begins: Vec<Thread>,
    by_thread: HashMap<u64, u32, Seed>,
    ended: Vec<u64>,
    /// The stream that events belong to now, and how many in a row.
    pub(super) current: usize,
    pub(super) run: u64,
    /// In order, from 1 on.
    pub(super) symbols: Vec<Symbol>,
    records: ByCode<u16>,
    leave_by_exception: u16,
    /// By method: symbol and class.
    pub(super) dense: Vec<(u16, u64)>,
    used: Vec<u32>,
    /// By the number that a method has in runs of calls; likewise.
    pub(super) by_number: Vec<u16>,
    used_numbers: Vec<u32>,
    sparse: HashMap<(u64, u64), u16, Seed>,
    pub(super) foresight: Foresight,
    pub(super) hits: Bits,
    texts: Texts,
    pub(super) columns: [Vec<u8>; COLUMNS],
}

/// Bits, low ones first.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    word: u64,
    count: u32,
}

impl Bits {
    #[inline]
    pub(super) fn push(&mut self, bit: bool, out: &mut Vec<u8>) {
        self.word |= u64::from(bit) << self.count;
        self.count += 1;
        if self.count == u64::BITS {
            self.finish(out);
        }
    }

    /// How many more there are before the next ones are appended.
    pub(super) fn room(self) -> usize {
        (u64::BITS - self.count) as usize
    }

    /// As many as there is room for at most.
    pub(super) fn push_many(&mut self, bits: u64, count: usize, out: &mut Vec<u8>) {
        self.word |= bits << self.count;
        self.count += count as u32;
        if self.count == u64::BITS {
            self.finish(out);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let bytes = self.count.div_ceil(8) as usize;
        out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
        *self = Self::default();
    }
}

impl Block {
    pub(super) fn enter(&mut self, e: &MethodEnter, threads: &Threads) {
        self.choose(e.thread, Some(e.time.0), threads);
        let has_cpu = *self.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let usual = (e.ticket, e.stack_depth) == self.streams[self.current].next_call();
        if usual && (has_cpu || e.cpu_time.0 == 0) {
            let symbol = self.method(e.method.0, e.class.0);
            self.put_symbol(symbol);
            self.put_time(e.time.0);
            self.put_cpu(has_cpu, e.cpu_time.0);
            self.streams[self.current].enter(e.ticket, e.stack_depth, symbol);
        } else {
            let symbol = self.put_call(record::METHOD_ENTER, &Event::MethodEnter(*e));
            self.streams[self.current].enter_by_record(e, symbol);
        }
        self.saw(Some(e.time.0));
    }

    pub(super) fn leave(&mut self, e: &MethodLeave, threads: &Threads) {
        self.choose(e.thread, Some(e.time.0), threads);
        let has_cpu = *self.has_cpu.get_or_insert(e.cpu_time.0 != 0);
        let ends = ((e.method.0, e.class.0), e.ticket);
        let usual = self.streams[self.current].innermost(&self.symbols) == Some(ends);
        if usual && (has_cpu || e.cpu_time.0 == 0) {
            let symbol = match e.by_exception {
                false => LEAVE,
                true => self.leave_by_exception(),
            };
            self.put_symbol(symbol);
            self.put_time(e.time.0);
            self.put_cpu(has_cpu, e.cpu_time.0);
        } else {
            self.put_call(record::METHOD_LEAVE, &Event::MethodLeave(*e));
        }
        self.streams[self.current].leave(&self.symbols);
        self.saw(Some(e.time.0));
    }

    /// Appends an event as a record of that code, unless it would be larger than readers take. Then nothing is appended, and the segment has
    /// to end here.
    pub(super) fn record(&mut self, code: u8, event: &Event<'_>, threads: &Threads) -> bool {
        let thread = event.thread().unwrap_or_default();
        let time = event.time().map(|time| time.0);
        self.choose(thread, time, threads);
        if !self.try_put_record(code, event) {
            return false;
        }
        if let Event::ThreadEnd(_) = event {
            self.ended.push(thread.0);
        }
        self.saw(time);
        true
    }

    /// Chooses the stream of a thread.
    #[inline]
    pub(super) fn choose(&mut self, thread: ThreadId, time: Option<i64>, threads: &Threads) {
        if self.events == 0 {
            self.begin(time.unwrap_or(0));
        } else if self.streams[self.current].last.thread == thread {
            return;
        }
        self.end_run();
        let (streams, begins, base) = (&mut self.streams, &mut self.begins, self.base);
        let at = *self.by_thread.entry(thread.0).or_insert_with(|| {
            let state = threads.get(&thread.0).copied().unwrap_or_default();
            begins.push(state);
            streams.push(Stream::new(thread, state, base));
            (streams.len() - 1) as u32
        });
        self.current = at as usize;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    pub(super) fn events(&self) -> u32 {
        self.events
    }

    /// The first and the last time; 0 and 0 if there is none.
    pub(super) fn times(&self) -> [i64; 2] {
        self.times.unwrap_or_default()
    }

    /// What the threads are at now.
    pub(super) fn threads(&self) -> impl Iterator<Item = (u64, Thread)> {
        let streams = self.streams.iter();
        streams.map(|stream| (stream.last.thread.0, stream.thread))
    }

    /// Threads that have ended here.
    pub(super) fn ended(&self) -> &[u64] {
        &self.ended
    }

    pub(super) fn begin(&mut self, time: i64) {
        self.base = time;
    }

    pub(super) fn is_full(&self) -> bool {
        self.events >= EVENTS
            || self.bytes() >= BYTES
            || self.streams.len() >= MOST_THREADS
            || self.symbols.len() >= MOST_SYMBOLS - 1
    }

    #[inline]
    fn saw(&mut self, time: Option<i64>) {
        self.saw_many(1);
        if let Some(time) = time {
            self.saw_time(time);
        }
    }

    #[inline]
    pub(super) fn saw_many(&mut self, events: u32) {
        self.events += events;
        self.run += u64::from(events);
        self.streams[self.current].thread.events += u64::from(events);
    }

    #[inline]
    pub(super) fn saw_time(&mut self, time: i64) {
        let [first, last] = self.times.unwrap_or([time; 2]);
        self.times = Some([first.min(time), last.max(time)]);
    }

    /// How many events there is room for before the segment has to be looked at again, each of so many bytes at most.
    pub(super) fn room(&self, bytes: usize) -> usize {
        let events = (EVENTS - self.events.min(EVENTS)) as usize;
        events.min(BYTES.saturating_sub(self.bytes()) / bytes)
    }

    /// Before compression.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
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
        self.symbols.push(symbol);
        self.symbols.len() as u16
    }

    /// Whether the segment has had no call of the method with that number in a run.
    pub(super) fn is_new(&self, number: u32) -> bool {
        self.by_number
            .get(number as usize)
            .is_none_or(|symbol| *symbol == LEAVE)
    }

    /// The symbol of a call of the method that has that number in runs, which is found by the number from then on.
    #[cold]
    pub(super) fn number(&mut self, number: u32, (method, class): (MethodId, ClassId)) {
        let at = number as usize;
        if self.by_number.len() <= at {
            self.by_number.resize((at + 1).next_power_of_two(), LEAVE);
        }
        self.by_number[at] = self.method(method.0, class.0);
        self.used_numbers.push(number);
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

    /// Appends a call that is not as expected; answers the symbol.
    fn put_call(&mut self, code: u8, event: &Event<'_>) -> u16 {
        let symbol = self.record_symbol(code);
        self.put_symbol(symbol);
        self.put_fields(event);
        symbol
    }

    /// Appends an event's fields. Answers with the bytes of the texts that they name by their numbers.
    fn put_fields(&mut self, event: &Event<'_>) -> usize {
        let mut sink = Sink {
            out: &mut self.columns[Column::Records as usize],
            texts: &mut self.texts,
            last: &mut self.streams[self.current].last,
            named: 0,
        };
        record::put(event, &mut sink);
        sink.named
    }

    /// Appends a record, unless it would be larger than readers take.
    fn try_put_record(&mut self, code: u8, event: &Event<'_>) -> bool {
        let records = &self.columns[Column::Records as usize];
        let start = records.len();
        let last = self.streams[self.current].last;
        let named = self.put_fields(event);
        let size = self.columns[Column::Records as usize].len() - start + named;
        if size > LARGEST_RECORD || self.texts.are_too_many() {
            self.columns[Column::Records as usize].truncate(start);
            self.streams[self.current].last = last;
            return false;
        }
        let symbol = self.record_symbol(code);
        self.put_symbol(symbol);
        self.streams[self.current].history.enter(symbol);
        true
    }

    /// Completes the columns.
    pub(super) fn finish(&mut self) -> [&[u8]; COLUMNS] {
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
        self.columns.each_ref().map(|column| &column[..])
    }

    pub(super) fn clear(&mut self) {
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
        for number in self.used_numbers.drain(..) {
            self.by_number[number as usize] = LEAVE;
        }
        self.sparse.clear();
        self.symbols.clear();
        self.foresight.clear();
        self.texts.clear();
        for column in &mut self.columns {
            column.clear();
        }
    }
}
