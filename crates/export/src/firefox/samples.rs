//! The samples of a thread: what it did from when on, and for how long.

use super::json::Json;
use super::tables::IDLE;

/// The weight of a sample does not depend on its length, which is 0.
const SUM: u32 = 1 << 31;

/// A thread's samples, some 7 bytes each.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Stacks, with [`SUM`] added for sums.
    stacks: Vec<u32>,
    /// Lengths of samples and weights of sums in ns, in zigzag encoding as variable-length
    /// integers.
    values: Vec<u8>,
    /// The last sample, which may grow.
    last: Option<(u32, i64)>,
    /// Time of the first sample.
    start: i64,
}

/// A row of the table of samples.
#[derive(Clone, Copy)]
struct Row {
    stack: u32,
    weight: i64,
    /// Time from this row to the next one.
    length: i64,
}

impl Samples {
    fn is_empty(&self) -> bool {
        self.stacks.is_empty() && self.last.is_none()
    }

    /// Returns true if all samples are without a call.
    pub(super) fn are_idle(&self) -> bool {
        let last = self.last.map(|(stack, _)| stack);
        self.stacks
            .iter()
            .copied()
            .chain(last)
            .all(|stack| stack == IDLE)
    }

    /// Adds a stretch of time, which begins at the end of the preceding one. Returns true if that
    /// makes a new sample.
    #[inline]
    pub(super) fn push(&mut self, stack: u32, start: i64, length: i64) -> bool {
        match &mut self.last {
            _ if length <= 0 => false,
            Some((last, total)) if *last == stack => {
                *total = total.saturating_add(length);
                false
            }
            _ => {
                self.begin(start);
                self.store();
                self.last = Some((stack, length));
                true
            }
        }
    }

    /// Adds a sum of many short calls, which has no time of its own.
    pub(super) fn push_sum(&mut self, stack: u32, start: i64, weight: i64) {
        if weight != 0 {
            self.begin(start);
            self.store();
            self.append(stack | SUM, weight);
        }
    }

    /// Ends the last sample by one without weight.
    pub(super) fn end(&mut self) {
        if !self.is_empty() {
            self.store();
            self.append(IDLE, 0);
        }
    }

    fn begin(&mut self, start: i64) {
        if self.is_empty() {
            self.start = start;
        }
    }

    #[inline]
    fn store(&mut self) {
        if let Some((stack, length)) = self.last.take() {
            self.append(stack, length);
        }
    }

    #[inline]
    fn append(&mut self, stack: u32, value: i64) {
        self.stacks.push(stack);
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            self.values.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.values.push(rest as u8);
    }

    /// Returns the rows of the table. A stretch of at least `long` ns has two: the viewer draws a
    /// sample from half-way to the preceding one until half-way to the following one.
    fn rows(&self, long: i64) -> impl Iterator<Item = Row> {
        let mut values = self.values.iter();
        self.stacks.iter().flat_map(move |stack| {
            let value = next_value(&mut values);
            let row = |length, weight| Row {
                stack: stack & !SUM,
                weight: if *stack == IDLE { 0 } else { weight },
                length,
            };
            let (first, second) = match value {
                _ if stack & SUM != 0 => (row(0, value), None),
                _ if value < long.max(2) => (row(value, value), None),
                _ => (row(value - 1, value - 1), Some(row(1, 1))),
            };
            std::iter::once(first).chain(second)
        })
    }

    /// Writes the table of samples. Times are written since `base`.
    pub(super) fn write(&self, json: &mut Json, base: i64, long: i64) {
        json.raw("{");
        json.integers("stack", self.rows(long).map(|row| row.stack));
        json.column("weight", self.rows(long), |json, row| json.ms(row.weight));
        let mut delta = self.start.saturating_sub(base);
        json.column("timeDeltas", self.rows(long), |json, row| {
            json.ms(delta);
            delta = row.length;
        });
        json.raw("\"weightType\":\"tracing-ms\",");
        json.length(self.rows(long).count());
    }
}

/// Reads the next variable-length integer.
fn next_value<'b>(bytes: &mut impl Iterator<Item = &'b u8>) -> i64 {
    let mut value = 0;
    for (n, byte) in bytes.enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            break;
        }
    }
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
