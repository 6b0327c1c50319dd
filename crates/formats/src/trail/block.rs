//! A segment of events, as it is read.

use super::calls::{Open, Stream, Thread, Threads};
use super::columns::{COLUMNS, Column, MOST_EVENTS, MOST_THREADS, unpack};
use super::record;
use super::segment::Header;
use super::symbols::{Foresight, LEAVE, MOST_SYMBOLS, Symbol, meaning};
use super::times::time;
use super::value::{Bytes, LARGEST_RECORD, Source};
use jtrail_model::{
    CallStep, Calls, ClassId, Duration, Event, MethodEnter, MethodId, MethodLeave, ThreadId,
    Timestamp,
};
use std::ops::Range;

/// Most calls that are handed out at once.
const MOST_CALLS: usize = 512;

/// The events of a segment.
#[derive(Default)]
pub(super) struct Block {
    columns: [Vec<u8>; COLUMNS],
    /// How far the columns are read.
    at: [usize; COLUMNS],
    /// Events read, and all.
    read: u32,
    events: u32,
    has_cpu: bool,
    streams: Vec<Stream>,
    symbols: Vec<Symbol>,
    texts: Vec<Range<usize>>,
    foresight: Foresight,
    current: usize,
    run: u64,
}

impl Block {
    /// Reads all but the events. `None` if it is not as it should be. Answers whether the threads go on where they were.
    pub(super) fn begin(
        &mut self,
        header: &Header,
        payload: &[u8],
        threads: &Threads,
    ) -> Option<bool> {
        self.events = 0;
        self.read = 0;
        self.at = [0; COLUMNS];
        self.streams.clear();
        self.symbols.clear();
        self.texts.clear();
        self.foresight.clear();
        self.run = 0;
        if header.events > MOST_EVENTS {
            return None;
        }
        unpack(&mut Bytes(payload), &mut self.columns)?;
        let goes_on = self.read_threads(threads)?;
        self.read_symbols()?;
        self.events = header.events;
        Some(goes_on)
    }

    fn read_threads(&mut self, threads: &Threads) -> Option<bool> {
        let mut bytes = Bytes(&self.columns[Column::Threads as usize]);
        let base = bytes.signed()?;
        self.has_cpu = bytes.byte()? != 0;
        let mut id = 0_u64;
        let mut goes_on = true;
        let count: usize = bytes.small()?;
        if count > MOST_THREADS {
            return None;
        }
        for _ in 0..count {
            id = id.wrapping_add(bytes.signed()? as u64);
            let thread = Thread {
                events: bytes.number()?,
                ticket: bytes.small()?,
                depth: bytes.signed()?,
            };
            goes_on &= thread == threads.get(&id).copied().unwrap_or_default();
            self.streams.push(Stream::new(ThreadId(id), thread, base));
        }
        Some(goes_on)
    }

    fn read_symbols(&mut self) -> Option<()> {
        let mut bytes = Bytes(&self.columns[Column::Symbols as usize]);
        while let Some(tag) = bytes.byte() {
            if self.symbols.len() > MOST_SYMBOLS + 2 {
                return None;
            }
            self.symbols.push(match tag {
                0 => Symbol::Enter {
                    method: bytes.number()?,
                    class: bytes.number()?,
                },
                u8::MAX => Symbol::LeaveByException,
                code => Symbol::Record(code),
            });
        }
        Some(())
    }

    /// Events that are still to come.
    pub(super) fn left(&self) -> u32 {
        self.events - self.read
    }

    /// Nothing more is read.
    pub(super) fn give_up(&mut self) {
        self.events = self.read;
    }

    /// What the threads are at now.
    pub(super) fn threads(&self) -> impl Iterator<Item = (u64, Thread)> {
        self.streams
            .iter()
            .map(|stream| (stream.last.thread.0, stream.thread))
    }

    /// Whether all columns are read to their ends.
    pub(super) fn is_used_up(&self) -> bool {
        let later = [Column::Runs, Column::Misses, Column::Times, Column::Records];
        later
            .iter()
            .all(|column| self.at[*column as usize] == self.columns[*column as usize].len())
    }

    fn bytes(&self, column: Column) -> Bytes<'_> {
        let all = &self.columns[column as usize];
        Bytes(all.get(self.at[column as usize]..).unwrap_or_default())
    }

    fn number(&mut self, column: Column) -> Option<u64> {
        let mut bytes = self.bytes(column);
        let number = bytes.number()?;
        self.at[column as usize] = self.columns[column as usize].len() - bytes.0.len();
        Some(number)
    }

    /// The next event. `None` if there is none, or it can't be read.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Event<'static>> {
        while self.run == 0 {
            self.current = self.number(Column::Runs)?.try_into().ok()?;
            self.run = self.number(Column::Runs)?;
        }
        let history = self.streams.get(self.current)?.history;
        let hits = &self.columns[Column::Hits as usize];
        let is_hit = hits.get(self.read as usize / 8)? >> (self.read % 8) & 1 != 0;
        let symbol = match is_hit {
            true => *self.foresight.of(history),
            false => {
                let symbol = self.number(Column::Misses)?.try_into().ok()?;
                *self.foresight.of(history) = symbol;
                symbol
            }
        };
        let event = match symbol {
            LEAVE => self.leave(false),
            _ => match meaning(&self.symbols, symbol)? {
                Symbol::Enter { method, class } => {
                    self.enter(symbol, MethodId(method), ClassId(class))
                }
                Symbol::LeaveByException => self.leave(true),
                Symbol::Record(code) => self.record(symbol, code),
            },
        }?;
        self.run -= 1;
        self.read += 1;
        self.streams[self.current].thread.events += 1;
        Some(event)
    }

    /// The next events, as far as they are calls in a row of one thread that begin, or end by return, and but for the last one of the segment. What else comes is
    /// [`Self::next`].
    pub(super) fn calls<'s>(&mut self, steps: &'s mut Vec<CallStep>) -> Option<Calls<'s>> {
        steps.clear();
        if self.has_cpu {
            return None;
        }
        while self.run == 0 {
            // Where they end here, they do for the next event as well.
            let mut bytes = self.bytes(Column::Runs);
            let (thread, run) = (bytes.number()?.try_into().ok()?, bytes.number()?);
            self.at[Column::Runs as usize] =
                self.columns[Column::Runs as usize].len() - bytes.0.len();
            (self.current, self.run) = (thread, run);
        }
        let most = usize::try_from(self.run).unwrap_or(usize::MAX);
        let most = most.min(MOST_CALLS).min(self.left() as usize - 1);
        let behind = |column: Column| {
            let at = self.at[column as usize];
            Bytes(self.columns[column as usize].get(at..).unwrap_or_default())
        };
        let (mut misses, mut times) = (behind(Column::Misses), behind(Column::Times));
        let hits = &self.columns[Column::Hits as usize][..];
        let stream = self.streams.get_mut(self.current)?;
        let mut history = stream.history;
        let mut at = stream.last.time;
        let before = stream.thread;
        let mut ticket = before.ticket;
        let mut depth = u32::try_from(before.depth).ok()?;
        let first = self.read as usize;
        for place in first..first + most {
            let Some(byte) = hits.get(place / 8) else {
                break;
            };
            let foreseen = self.foresight.of(history);
            let (mut symbol, mut behind) = (*foreseen, misses);
            if byte >> (place % 8) & 1 == 0 {
                let Some(told) = behind.small() else { break };
                symbol = told;
            }
            let mut later = times;
            // Time never falls in what is handed out at once.
            let Some(step) = time(&mut later).filter(|step| *step >= 0) else {
                break;
            };
            let Some(now) = at.checked_add(step) else {
                break;
            };
            let call = if symbol == LEAVE {
                if depth == 0 {
                    break;
                }
                let Some(&open) = stream.open.last() else {
                    break;
                };
                let of = meaning(&self.symbols, open.symbol);
                let Some(Symbol::Enter { method, class }) = of else {
                    break; // it began as a record
                };
                stream.open.pop();
                depth -= 1;
                history.call(open.symbol, true);
                CallStep {
                    time: Timestamp(now),
                    method: MethodId(method),
                    class: ClassId(class),
                    ticket: open.ticket,
                    ends: true,
                }
            } else {
                let known = meaning(&self.symbols, symbol);
                let Some(Symbol::Enter { method, class }) = known else {
                    break;
                };
                let Some(deeper) = depth.checked_add(1) else {
                    break;
                };
                depth = deeper;
                ticket = ticket.wrapping_add(1);
                stream.open.push(Open { ticket, symbol });
                history.call(symbol, false);
                CallStep {
                    time: Timestamp(now),
                    method: MethodId(method),
                    class: ClassId(class),
                    ticket,
                    ends: false,
                }
            };
            *foreseen = symbol;
            at = now;
            (misses, times) = (behind, later);
            steps.push(call);
        }
        let count = steps.len() as u32;
        if count == 0 {
            return None;
        }
        let thread = &mut stream.thread;
        (thread.ticket, thread.depth) = (ticket, depth.into());
        thread.events += u64::from(count);
        stream.history = history;
        stream.last.time = at;
        let calls = Calls {
            thread: stream.last.thread,
            cpu_time: Duration(0),
            ticket: before.ticket,
            depth: before.depth as u32,
            steps,
        };
        for (column, left) in [
            (Column::Misses, misses.0.len()),
            (Column::Times, times.0.len()),
        ] {
            self.at[column as usize] = self.columns[column as usize].len() - left;
        }
        self.run -= u64::from(count);
        self.read += count;
        Some(calls)
    }

    #[inline]
    fn enter(&mut self, symbol: u16, method: MethodId, class: ClassId) -> Option<Event<'static>> {
        let time = self.time()?;
        let cpu_time = self.cpu()?;
        let stream = &mut self.streams[self.current];
        let (ticket, stack_depth) = stream.next_call();
        let call = MethodEnter {
            thread: stream.last.thread,
            time,
            method,
            class,
            ticket,
            cpu_time,
            stack_depth,
        };
        stream.enter(ticket, stack_depth, symbol);
        Some(Event::MethodEnter(call))
    }

    #[inline]
    fn leave(&mut self, by_exception: bool) -> Option<Event<'static>> {
        let time = self.time()?;
        let cpu_time = self.cpu()?;
        let stream = &mut self.streams[self.current];
        let ((method, class), ticket) = stream.innermost(&self.symbols)?;
        let call = MethodLeave {
            thread: stream.last.thread,
            time,
            method: MethodId(method),
            class: ClassId(class),
            ticket,
            cpu_time,
            by_exception,
        };
        stream.leave(&self.symbols);
        Some(Event::MethodLeave(call))
    }

    #[inline]
    fn time(&mut self) -> Option<Timestamp> {
        let mut bytes = self.bytes(Column::Times);
        let step = time(&mut bytes)?;
        self.at[Column::Times as usize] =
            self.columns[Column::Times as usize].len() - bytes.0.len();
        let last = &mut self.streams[self.current].last.time;
        *last = last.wrapping_add(step);
        Some(Timestamp(*last))
    }

    #[inline]
    fn cpu(&mut self) -> Option<Duration> {
        if !self.has_cpu {
            return Some(Duration(0));
        }
        let mut bytes = self.bytes(Column::Records);
        let step = bytes.signed()?;
        self.at[Column::Records as usize] =
            self.columns[Column::Records as usize].len() - bytes.0.len();
        let last = &mut self.streams[self.current].cpu;
        *last = last.wrapping_add(step);
        Some(Duration(*last))
    }

    fn record(&mut self, symbol: u16, code: u8) -> Option<Event<'static>> {
        let column = &self.columns[Column::Records as usize][..];
        let at = &mut self.at[Column::Records as usize];
        let stream = &mut self.streams[self.current];
        let mut source = Source {
            column,
            bytes: Bytes(column.get(*at..)?),
            texts: &mut self.texts,
            last: &mut stream.last,
            room: LARGEST_RECORD,
        };
        let event = record::get(code, &mut source)?;
        *at = column.len() - source.bytes.0.len();
        match &event {
            Event::MethodEnter(e) => stream.enter_by_record(e, symbol),
            Event::MethodLeave(_) => stream.leave(&self.symbols),
            _ => stream.history.enter(symbol),
        }
        Some(event)
    }
}
