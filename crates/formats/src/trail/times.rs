//! Encoding of time steps: one byte below 239 ns, two bytes below 4,079 ns, and a count for a long
//! row of equal times.

use super::value::{Bytes, put_number, put_signed};
use jtrail_model::Timestamp;

/// Marks a row of equal times. The number of further equal times follows.
const REPEAT: u8 = 239;
/// Smaller steps take one byte.
const ONE: u32 = 239;
/// Smallest first byte of a two-byte step. Two bytes encode [`TWO`] different steps; the smallest
/// is [`ONE`].
const HIGH: u32 = 240;
const TWO: u32 = 15 << 8;

/// Time steps of a segment while they are collected.
#[derive(Default)]
pub(super) struct TimeSteps {
    /// Steps, or marks ([`ZEROS`], [`LONG`]), which are greater than [`MAX_STEP`].
    steps: Vec<u32>,
    /// Number of steps of 0 for each [`ZEROS`], in order.
    zeros: Vec<u32>,
    /// The step for each [`LONG`], in order. It is negative or greater than [`MAX_STEP`].
    long: Vec<i64>,
    /// Number of steps of 0 that are not in `steps` yet.
    pending: u32,
}

const LONG: u32 = u32::MAX;
const ZEROS: u32 = u32::MAX - 1;
const MAX_STEP: u32 = u32::MAX - 2;
/// In a shorter row of steps of 0, each step takes a byte.
const FEW: u32 = 8;

/// Number of steps that are converted together if each takes one byte.
const LANES: usize = 16;

impl TimeSteps {
    /// Adds `time`, the next time of a thread whose previous time was `last`.
    #[inline]
    pub(super) fn push(&mut self, last: &mut i64, time: i64) {
        let step = time.wrapping_sub(*last);
        *last = time;
        match u32::try_from(step) {
            Ok(0) => self.pending += 1,
            Ok(step @ 1..=MAX_STEP) => {
                self.settle();
                self.steps.push(step);
            }
            _ => {
                self.settle();
                self.steps.push(LONG);
                self.long.push(step);
            }
        }
    }

    /// Like [`Self::push`], for several times that never decrease.
    #[inline]
    pub(super) fn push_all(&mut self, last: &mut i64, times: &[Timestamp]) {
        let Some(newest) = times.last() else { return };
        if times[0].0 == *last && newest.0 == *last {
            self.pending += times.len() as u32;
            return;
        }
        if !Self::is_plain(*last, times) {
            times.iter().for_each(|time| self.push(last, time.0));
            return;
        }
        self.settle();
        Self::extend_plain(&mut self.steps, *last, times);
        *last = newest.0;
    }

    /// Returns true if the steps of `times` after `last` need no marks. `times` must not decrease.
    #[inline]
    pub(super) fn is_plain(last: i64, times: &[Timestamp]) -> bool {
        let ([first, ..], Some(newest)) = (times, times.last()) else {
            return false;
        };
        // The first time may be earlier than the time of the preceding record.
        let span = newest.0.wrapping_sub(last) as u64;
        first.0 >= last && span <= u64::from(MAX_STEP)
    }

    /// Appends the steps of times that are [plain](Self::is_plain).
    pub(super) fn extend_plain(steps: &mut Vec<u32>, last: i64, times: &[Timestamp]) {
        let Some(first) = times.first() else { return };
        steps.push(first.0.wrapping_sub(last) as u32);
        let pairs = times.windows(2);
        steps.extend(pairs.map(|pair| pair[1].0.wrapping_sub(pair[0].0) as u32));
    }

    /// Moves pending steps to `steps`. Returns the number of steps and marks.
    pub(super) fn settle_and_count(&mut self) -> usize {
        self.settle();
        self.steps.len()
    }

    /// Returns all steps and marks. The caller may insert further steps without marks.
    pub(super) fn all_steps(&mut self) -> &mut Vec<u32> {
        self.settle();
        &mut self.steps
    }

    fn settle(&mut self) {
        match std::mem::take(&mut self.pending) {
            few @ ..FEW => self.steps.extend((0..few).map(|_| 0)),
            many => {
                self.steps.push(ZEROS);
                self.zeros.push(many);
            }
        }
    }

    /// Returns the maximum encoded size, in bytes.
    pub(super) fn most_bytes(&self) -> usize {
        Self::most_bytes_of(self.steps.len())
            + 5 * self.zeros.len()
            + 6 * self.long.len()
            + 6
            + FEW as usize
    }

    /// Returns the maximum encoded size of `steps` steps without marks, in bytes.
    pub(super) fn most_bytes_of(steps: usize) -> usize {
        6 * steps
    }

    /// Appends the encoded steps.
    pub(super) fn put(&mut self, out: &mut Vec<u8>) {
        self.settle();
        out.reserve(self.steps.len());
        let (mut zeros, mut long) = (self.zeros.iter(), self.long.iter());
        let mut one = |step: u32, out: &mut Vec<u8>| match step {
            LONG => {
                out.push(u8::MAX);
                put_signed(long.next().copied().unwrap_or_default(), out);
            }
            ZEROS => {
                out.push(REPEAT);
                let count = zeros.next().copied().unwrap_or(1);
                put_number(u64::from(count) - 1, out);
            }
            step @ ..ONE => out.push(step as u8),
            step if step < ONE + TWO => {
                let rest = step - ONE;
                out.extend_from_slice(&[(HIGH + (rest >> 8)) as u8, rest as u8]);
            }
            step => {
                out.push(u8::MAX);
                put_signed(step.into(), out);
            }
        };
        let (rows, rest) = self.steps.as_chunks::<LANES>();
        for row in rows {
            if row.iter().all(|step| *step < ONE) {
                out.extend_from_slice(&row.map(|step| step as u8));
            } else {
                row.iter().for_each(|step| one(*step, out));
            }
        }
        rest.iter().for_each(|step| one(*step, out));
    }

    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.zeros.clear();
        self.long.clear();
        self.pending = 0;
    }
}

/// Latest time to which [`LANES`] one-byte steps can be added without overflow.
const LATEST: i64 = i64::MAX - (LANES as i64) * (REPEAT as i64);

/// Reads time steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps<'b> {
    pub(super) bytes: Bytes<'b>,
    /// Number of further steps of 0 before the next byte is read.
    pub(super) repeats: u64,
    /// True for versions before 3, which don't count equal times.
    pub(super) is_earlier: bool,
}

impl Steps<'_> {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<i64> {
        if self.repeats > 0 {
            self.repeats -= 1;
            return Some(0);
        }
        let first = self.bytes.byte()?;
        if first < REPEAT {
            return Some(first.into());
        }
        self.long(first)
    }

    /// Reads times that follow `now` into `into`, until a time decreases or the bytes end. Returns
    /// the number of times read.
    pub(super) fn fill(&mut self, mut now: i64, into: &mut [Timestamp]) -> usize {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            if self.repeats > 0 {
                let count = usize::try_from(self.repeats).map_or(rest.len(), |n| n.min(rest.len()));
                rest[..count].fill(Timestamp(now));
                self.repeats -= count as u64;
                done += count;
                continue;
            }
            if let (Some((row, after)), Some(rest)) = (
                self.bytes.0.split_first_chunk::<LANES>(),
                rest.first_chunk_mut::<LANES>(),
            ) && now <= LATEST
                && row.iter().all(|step| *step < REPEAT)
            {
                for (time, step) in rest.iter_mut().zip(row) {
                    now += i64::from(*step);
                    *time = Timestamp(now);
                }
                self.bytes.0 = after;
                done += LANES;
                continue;
            }
            let before = *self;
            let later = self.next().map(|step| now.wrapping_add(step));
            let Some(later) = later.filter(|later| *later >= now) else {
                *self = before;
                break;
            };
            now = later;
            rest[0] = Timestamp(now);
            done += 1;
        }
        done
    }

    fn long(&mut self, first: u8) -> Option<i64> {
        Some(match first {
            REPEAT if self.is_earlier => first.into(),
            REPEAT => {
                self.repeats = self.bytes.number()?;
                0
            }
            u8::MAX => self.bytes.signed()?,
            high => {
                let one = i64::from(ONE) + i64::from(self.is_earlier);
                let low = i64::from(self.bytes.byte()?);
                one + (i64::from(u32::from(high) - HIGH) << 8 | low)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a thread whose previous time was 5.
    const TIMES: [i64; 24] = [
        5,
        5,
        6,
        245,
        485,
        726,
        981,
        1237,
        5316,
        9396,
        13_477,
        13_476,
        13_476,
        13_476,
        13_477,
        4_294_980_770,
        8_589_948_066,
        12_884_915_362,
        i64::MIN,
        i64::MAX,
        i64::MAX,
        0,
        0,
        0,
    ];

    fn read(begin: i64, bytes: &[u8], count: usize) -> Vec<i64> {
        let mut steps = Steps {
            bytes: Bytes(bytes),
            ..Steps::default()
        };
        let mut now = begin;
        let times = (0..count)
            .map(|_| {
                now = now.wrapping_add(steps.next().expect("a step"));
                now
            })
            .collect();
        assert_eq!((steps.next(), steps.repeats), (None, 0));
        times
    }

    #[test]
    fn steps_come_back() {
        let (mut steps, mut out, mut last) = (TimeSteps::default(), Vec::new(), 5);
        for time in TIMES {
            steps.push(&mut last, time);
        }
        assert!(steps.most_bytes() > 40);
        steps.put(&mut out);
        assert_eq!(read(5, &out, TIMES.len()), TIMES);
    }

    /// Steps added together equal steps added one by one, except for the encoding of steps of 0.
    #[test]
    fn rows_are_the_same_steps() {
        let made = |seed: i64| {
            let mut now = 5;
            let times = (0..300).map(|at: i64| {
                now += match seed {
                    0 => 0,
                    1 => 1 + at % 239,
                    2 => at * at % 241,
                    3 => i64::from(at % 50 == 9) * 300,
                    _ => at << (at % 34),
                };
                Timestamp(now)
            });
            times.collect::<Vec<_>>()
        };
        let (mut one_by_one, mut rows) = (TimeSteps::default(), TimeSteps::default());
        // The first time may be earlier than the thread's previous time, and the last one may equal
        // it.
        let (mut last, mut out) = (100, Vec::new());
        rows.push_all(&mut last, &[90, 95, 100].map(Timestamp));
        rows.put(&mut out);
        assert_eq!(read(100, &out, 3), [90, 95, 100]);
        rows.clear();
        for (seed, begin) in (0..15).map(|n| (n % 5, [5, 16, 1_000_000][n as usize / 5])) {
            let times = made(seed);
            let (mut last, mut last_of_rows) = (begin, begin);
            for time in &times {
                one_by_one.push(&mut last, time.0);
            }
            for part in times.chunks(100) {
                rows.push_all(&mut last_of_rows, part);
            }
            let mut out = [Vec::new(), Vec::new()];
            one_by_one.put(&mut out[0]);
            rows.put(&mut out[1]);
            assert!(out[0].len() <= one_by_one.most_bytes());
            assert!(out[1].len() <= rows.most_bytes());
            let expected: Vec<i64> = times.iter().map(|time| time.0).collect();
            assert_eq!(read(begin, &out[0], times.len()), expected);
            assert_eq!(read(begin, &out[1], times.len()), expected);
            one_by_one.clear();
            rows.clear();
        }
    }

    /// A buffer of any size gets the times that reading one by one returns, up to the first time
    /// that decreases or to the end of the bytes.
    #[test]
    fn rooms_are_filled_with_the_same_times() {
        let put = |steps: &[i64]| {
            let (mut all, mut out, mut last) = (TimeSteps::default(), Vec::new(), 0);
            steps.iter().for_each(|step| {
                let time = last + step;
                all.push(&mut last, time);
            });
            all.put(&mut out);
            out
        };
        let even = [7; 40];
        let falls = |at: usize| {
            let mut steps = even;
            steps[at] = -1;
            put(&steps)
        };
        let mut columns = vec![put(&even), falls(0), falls(15), falls(16), falls(39)];
        columns.push(put(&[
            3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 240, 5_000, 1,
        ]));
        columns.push(put(&[300; 20])[..39].to_vec()); // truncated within a step
        columns.push(vec![REPEAT; 3]); // version 3: a truncated count; earlier: three steps of 239
        for column in &columns {
            for is_earlier in [false, true] {
                for begin in [5, i64::MAX - 100] {
                    let steps = Steps {
                        bytes: Bytes(column),
                        repeats: 0,
                        is_earlier,
                    };
                    for room in [1, 2, 15, 16, 17, 100] {
                        let (mut single, mut now, mut expected) = (steps, begin, Vec::new());
                        loop {
                            let before = single;
                            let later =
                                single.next().map(|step| i128::from(now) + i128::from(step));
                            let Some(later) = later.and_then(|later| i64::try_from(later).ok())
                            else {
                                single = before;
                                break;
                            };
                            if later < now {
                                single = before;
                                break;
                            }
                            now = later;
                            expected.push(Timestamp(now));
                        }
                        let (mut many, mut found) = (steps, Vec::new());
                        loop {
                            let mut into = vec![Timestamp::default(); room];
                            let from = found.last().map_or(begin, |time: &Timestamp| time.0);
                            let count = many.fill(from, &mut into);
                            found.extend_from_slice(&into[..count]);
                            if count < room {
                                break;
                            }
                        }
                        assert_eq!(found, expected, "{column:?}, {is_earlier}, {begin}, {room}");
                        assert_eq!(
                            (many.bytes.0, many.repeats),
                            (single.bytes.0, single.repeats)
                        );
                    }
                }
            }
        }
    }
}
