//! Calls in a row, in a tight loop: those that go as expected, and that the segment has symbols for. All else goes one by one.
//!
//! Whether a symbol was foreseen is as good as chance to the processor, so there is no branch for it: it becomes a bit, and what was not foreseen is
//! gathered by the bits, 64 events at a time. Nor is there a branch for whether a call begins or ends.

use super::calls::{Open, Stream, Threads};
use super::columns::Column;
use super::filling::Block;
use super::symbols::LEAVE;
use super::times::{LONGEST, put_long, short};
use jtrail_model::{CallStep, Calls};
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

impl Block {
    /// Appends the first of these calls, as far as they are as expected.
    pub(super) fn calls(&mut self, calls: &Calls<'_>, threads: &Threads) -> Taken {
        let Some(first) = calls.steps.first() else {
            return Taken::default();
        };
        self.choose(calls.thread, Some(first.time.0), threads);
        let has_cpu = *self.has_cpu.get_or_insert(calls.cpu_time.0 != 0);
        let Stream {
            thread,
            open_records,
            ..
        } = &self.streams[self.current];
        let goes_on = (thread.ticket, thread.depth) == (calls.ticket, calls.depth.into())
            && *open_records == 0;
        if has_cpu || calls.cpu_time.0 != 0 || !goes_on {
            return Taken::default();
        }
        let most = self.room(LARGEST).min(MOST).min(calls.steps.len());
        let taken = self.take(&calls.steps[..most]);
        if let [first, .., last] | [first @ last] = &calls.steps[..taken.all] {
            self.put_times(&calls.steps[..taken.all]);
            self.saw_many(taken.all as u32);
            self.saw_time(first.time.0);
            self.saw_time(last.time.0);
        }
        taken
    }

    /// Appends what happens, without the times.
    fn take(&mut self, steps: &[CallStep]) -> Taken {
        let stream = &mut self.streams[self.current];
        let (open, mut depth) = stream.open.with_room(steps.len());
        let mut history = stream.history;
        let mut taken = Taken::default();
        let mut symbols = [LEAVE; WORD];
        loop {
            let part = &steps[taken.all..];
            let part = &part[..part.len().min(self.hits.room())];
            let (mut bits, mut count) = (0, 0);
            for (step, told) in part.iter().zip(&mut symbols) {
                let Some(&(known, class)) = self.dense.get(step.method.0 as usize) else {
                    break;
                };
                if known == LEAVE || class != step.class.0 {
                    break;
                }
                // A call that ends is written where the next one would begin, too.
                let Some(room) = open.get_mut(depth) else {
                    break;
                };
                *room = Open {
                    symbol: known,
                    ticket: step.ticket,
                    method: step.method.0,
                    class,
                };
                if depth < step.ends.into() {
                    break; // it began in an earlier segment
                }
                debug_assert!(
                    !step.ends || open[depth - 1].is(step.method.0, class, step.ticket),
                    "another call than the innermost one ends"
                );
                let symbol = select_unpredictable(step.ends, LEAVE, known);
                depth = depth + usize::from(!step.ends) - usize::from(step.ends);
                let foreseen = self.foresight.of(history);
                bits = bits >> 1 | u64::from(*foreseen == symbol) << 63;
                *foreseen = symbol;
                *told = symbol;
                history.call(known, step.ends);
                count += 1;
            }
            if count == 0 {
                break;
            }
            taken.all += count;
            bits >>= WORD - count;
            let missed = !bits & (u64::MAX >> (WORD - count));
            let misses = &mut self.columns[Column::Misses as usize];
            match self.symbols {
                ..=0x80 => put_small(missed, &symbols, misses),
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

    /// Appends the times of at most [`MOST`] steps.
    fn put_times(&mut self, steps: &[CallStep]) {
        let column = &mut self.columns[Column::Times as usize];
        let last = &mut self.streams[self.current].last.time;
        if steps.last().is_none_or(|step| step.time.0 == *last) {
            // As it never falls, it stood still.
            column.resize(column.len() + steps.len(), 0);
            return;
        }
        let mut bytes = [0; MOST];
        let mut length = 0;
        for step in steps {
            let time = step.time.0.wrapping_sub(*last);
            *last = step.time.0;
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
