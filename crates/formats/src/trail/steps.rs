//! Calls in a row, in a tight loop: those that go as expected, and that the segment has symbols for, or gets them. All else goes one by one.
//!
//! Whether a symbol was foreseen is as good as chance to the processor, so there is no branch for it: it becomes a bit, and what was not foreseen is
//! gathered by the bits, 64 events at a time. Nor is there a branch for whether a call begins or ends.

use super::calls::{Open, Stream, Threads};
use super::columns::Column;
use super::filling::Block;
use super::symbols::LEAVE;
use super::times::{LONGEST, put_long, short};
use jtrail_model::{CallRun, CallStep, Calls, Duration, RunStep, ThreadId, Timestamp};
use std::hint::select_unpredictable;

/// Most calls that are taken at once.
const MOST: usize = 256;
/// Calls whose bits make a word.
const WORD: usize = 64;
/// Bytes of the largest symbol, as a number.
const SYMBOL: usize = 3;
/// Most bytes of a call in all columns.
const LARGEST: usize = 1 + SYMBOL + LONGEST;

/// What was taken of some calls.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// How many steps.
    pub(super) all: usize,
    /// How many of them are enters.
    pub(super) enters: usize,
}

/// A call that begins or ends.
trait Step: Copy {
    fn ends(self) -> bool;
    fn ticket(self) -> u32;
}

impl Step for CallStep {
    #[inline(always)]
    fn ends(self) -> bool {
        self.ends
    }

    #[inline(always)]
    fn ticket(self) -> u32 {
        self.ticket
    }
}

impl Step for RunStep {
    #[inline(always)]
    fn ends(self) -> bool {
        self.ends()
    }

    #[inline(always)]
    fn ticket(self) -> u32 {
        self.ticket()
    }
}

impl Block {
    /// Appends the first of these calls, as far as they are as expected.
    pub(super) fn calls(&mut self, calls: &Calls<'_>, threads: &Threads) -> Taken {
        let Some(first) = calls.steps.first() else {
            return Taken::default();
        };
        let of = (calls.thread, calls.cpu_time, calls.ticket, calls.depth);
        if !self.goes_on(of, first.time, threads) {
            return Taken::default();
        }
        let most = self.most(calls.steps.len());
        let dense = std::mem::take(&mut self.dense);
        let taken = self.take(&calls.steps[..most], |step| {
            let (symbol, class) = *dense.get(step.method.0 as usize)?;
            (symbol != LEAVE && class == step.class.0).then_some(symbol)
        });
        self.dense = dense;
        let taken_steps = &calls.steps[..taken.all];
        self.put_times(taken_steps.iter().map(|step| step.time.0));
        taken
    }

    /// As [`Self::calls`].
    pub(super) fn run(&mut self, run: &CallRun<'_>, threads: &Threads) -> Taken {
        let Some(first) = run.times.first() else {
            return Taken::default();
        };
        let of = (run.thread, run.cpu_time, run.ticket, run.depth);
        if !self.goes_on(of, *first, threads) {
            return Taken::default();
        }
        let most = self.most(run.steps.len());
        let mut taken = Taken::default();
        loop {
            let by_number = std::mem::take(&mut self.by_number);
            let more = self.take(&run.steps[taken.all..most], |step| {
                let symbol = *by_number.get(step.method() as usize)?;
                (symbol != LEAVE).then_some(symbol)
            });
            self.by_number = by_number;
            taken.all += more.all;
            taken.enters += more.enters;
            match run.steps[..most].get(taken.all) {
                // One that ends has a symbol, or began in an earlier segment.
                Some(step) if !step.ends() && self.is_new(step.method()) && !self.is_full() => {
                    let ids = run.methods.get(step.method()).copied();
                    self.number(step.method(), ids.unwrap_or_default());
                }
                _ => break,
            }
        }
        self.put_times(run.times[..taken.all].iter().map(|time| time.0));
        taken
    }

    /// Whether calls of a thread go on where its others were.
    fn goes_on(
        &mut self,
        (thread, cpu_time, ticket, depth): (ThreadId, Duration, u32, u32),
        first: Timestamp,
        threads: &Threads,
    ) -> bool {
        self.choose(thread, Some(first.0), threads);
        let has_cpu = *self.has_cpu.get_or_insert(cpu_time.0 != 0);
        let Stream {
            thread,
            open_records,
            ..
        } = &self.streams[self.current];
        let goes_on =
            (thread.ticket, thread.depth) == (ticket, depth.into()) && open_records.is_empty();
        !has_cpu && cpu_time.0 == 0 && goes_on
    }

    /// How many of so many steps there is room for.
    fn most(&self, steps: usize) -> usize {
        self.room(LARGEST).min(MOST).min(steps)
    }

    /// Appends what happens, without the times, as far as there are symbols of the methods.
    #[inline(always)]
    fn take<S: Step>(&mut self, steps: &[S], symbol_of: impl Fn(S) -> Option<u16>) -> Taken {
        let stream = &mut self.streams[self.current];
        let (open, mut depth) = stream.open.with_room(steps.len());
        let (mut history, foresight) = (stream.history, self.foresight.all());
        let mut taken = Taken::default();
        let mut symbols = [LEAVE; WORD];
        loop {
            let part = &steps[taken.all..];
            let part = &part[..part.len().min(self.hits.room())];
            let (mut bits, mut count) = (0, 0);
            for (&step, told) in part.iter().zip(&mut symbols) {
                let Some(known) = symbol_of(step) else {
                    break;
                };
                // A call that ends is written where the next one would begin, too.
                let Some(room) = open.get_mut(depth) else {
                    break;
                };
                *room = Open {
                    symbol: known,
                    ticket: step.ticket(),
                };
                let ends = step.ends();
                if depth < ends.into() {
                    break; // it began in an earlier segment
                }
                debug_assert!(
                    !ends
                        || (open[depth - 1].symbol, open[depth - 1].ticket)
                            == (known, step.ticket()),
                    "another call than the innermost one ends"
                );
                let symbol = select_unpredictable(ends, LEAVE, known);
                depth = depth + usize::from(!ends) - usize::from(ends);
                let foreseen = history.followed(foresight);
                bits = bits >> 1 | u64::from(*foreseen == symbol) << 63;
                *foreseen = symbol;
                *told = symbol;
                history.call(known, ends);
                count += 1;
            }
            if count == 0 {
                break;
            }
            taken.all += count;
            bits >>= WORD - count;
            let missed = !bits & (u64::MAX >> (WORD - count));
            let misses = &mut self.columns[Column::Misses as usize];
            match self.symbols.len() {
                ..0x80 => put_small(missed, &symbols, misses),
                _ => put_missed(missed, &symbols, misses),
            }
            let hits = &mut self.columns[Column::Hits as usize];
            self.hits.push_many(bits, count, hits);
        }
        // What did not begin ended.
        let more = depth as i64 - stream.open.len() as i64;
        taken.enters = ((taken.all as i64 + more) / 2) as usize;
        stream.open.set_depth(depth);
        stream.history = history;
        stream.thread.depth += more;
        stream.thread.ticket = stream.thread.ticket.wrapping_add(taken.enters as u32);
        taken
    }

    /// Appends the times of at most [`MOST`] steps, which are there.
    fn put_times(
        &mut self,
        mut times: impl DoubleEndedIterator<Item = i64> + ExactSizeIterator + Clone,
    ) {
        let count = times.len();
        let (Some(first), Some(newest)) = (times.clone().next(), times.clone().next_back()) else {
            return;
        };
        self.saw_many(count as u32);
        self.saw_time(first);
        self.saw_time(newest);
        let column = &mut self.columns[Column::Times as usize];
        let last = &mut self.streams[self.current].last.time;
        if newest == *last {
            // As it never falls, it stood still.
            column.resize(column.len() + count, 0);
            return;
        }
        let mut bytes = [0; MOST];
        let mut length = 0;
        for now in &mut times {
            let time = now.wrapping_sub(*last);
            *last = now;
            match short(time) {
                Some(byte) => {
                    bytes[length % MOST] = byte;
                    length += 1;
                }
                None => {
                    column.extend_from_slice(&bytes[..length]);
                    length = 0;
                    put_long(time, column);
                }
            }
        }
        column.extend_from_slice(&bytes[..length]);
    }
}
/// As [`put_missed`], where all symbols are numbers of one byte.
#[inline]
fn put_small(mut missed: u64, symbols: &[u16; WORD], out: &mut Vec<u8>) {
    let mut bytes = [0; WORD];
    let mut length = 0;
    while missed != 0 {
        bytes[length % WORD] = symbols[missed.trailing_zeros() as usize % WORD] as u8;
        missed &= missed - 1;
        length += 1;
    }
    out.extend_from_slice(&bytes[..length]);
}

/// Appends those of the symbols that have a bit.
#[inline]
fn put_missed(mut missed: u64, symbols: &[u16; WORD], out: &mut Vec<u8>) {
    const ROOM: usize = WORD * (SYMBOL + 1);
    let mut bytes = [0; ROOM + 4];
    let mut length = 0;
    while missed != 0 {
        let symbol = u32::from(symbols[missed.trailing_zeros() as usize % WORD]);
        missed &= missed - 1;
        // As a number: seven bits a byte.
        let (is_long, is_longest) = (symbol > 0x7f, symbol > 0x3fff);
        let more = u32::from(is_long) << 7 | u32::from(is_longest) << 15;
        let number = symbol & 0x7f | symbol << 1 & 0x7f00 | symbol << 2 & 0x3_0000 | more;
        let at = length % ROOM;
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        length += 1 + usize::from(is_long) + usize::from(is_longest);
    }
    out.extend_from_slice(&bytes[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leb128::put_uleb;

    #[test]
    fn symbols_are_numbers() {
        let any = std::array::from_fn(|at| match at % 4 {
            0 => at as u16,
            1 => 0x7f + at as u16 / 8,
            2 => 0x3fff + at as u16 / 8,
            _ => u16::MAX - at as u16,
        });
        let small = std::array::from_fn(|at| 2 * at as u16 + 1);
        for missed in [0, 1, u64::MAX, 1 << 63 | 1, 0x0123_4567_89ab_cdef] {
            let told = |symbols: &[u16; WORD]| {
                let mut out = Vec::new();
                for (at, symbol) in symbols.iter().enumerate() {
                    if missed >> at & 1 != 0 {
                        put_uleb((*symbol).into(), &mut out);
                    }
                }
                out
            };
            let mut out = [const { Vec::new() }; 3];
            put_missed(missed, &any, &mut out[0]);
            put_missed(missed, &small, &mut out[1]);
            put_small(missed, &small, &mut out[2]);
            assert_eq!(out, [told(&any), told(&small), told(&small)]);
        }
    }
}
