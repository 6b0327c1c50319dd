//! What is recorded of a thread.

use super::json::Json;
use super::markers::Markers;
use super::samples::Samples;
use super::tables::{IDLE, NO_STACK, Tables};
use crate::sink::ThreadInfo;
use jtrail_model::AggregatedEnter;

/// Allocations with one stack within this time in ns have one row.
const ALLOCATION_INTERVAL: i64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) info: ThreadInfo,
    /// The end of the thread, if the trace has it.
    pub(super) end: Option<i64>,
    /// Stacks of the open slices.
    pub(super) open: Vec<u32>,
    /// Stacks of the open calls.
    pub(super) calls: Vec<u32>,
    /// Begin of the current stretch of time.
    pub(super) since: Option<i64>,
    /// Time in which the thread ran code, in ns.
    pub(super) busy: i64,
    pub(super) markers: Markers,
    samples: Samples,
    sums: Vec<Sum>,
    allocations: Vec<Allocation>,
}

/// Calls that were recorded as a sum, and have not ended.
#[derive(Debug)]
struct Sum {
    stack: u32,
    /// Time of the calls, with that of their callees so far, in ns.
    total: i64,
    /// True if a negative time cancels the time of the sums in this one.
    cancels: bool,
}

#[derive(Debug)]
struct Allocation {
    time: i64,
    stack: u32,
    bytes: i64,
}

impl Thread {
    /// Returns the name. It is made up for a thread without one.
    pub(super) fn name(&self) -> String {
        let ThreadInfo { name, id, .. } = &self.info;
        match name.is_empty() {
            true if self.info.is_virtual => format!("virtual thread {id}"),
            true => format!("thread {id}"),
            false => name.clone(),
        }
    }

    /// Returns the stack of the innermost open call.
    #[inline]
    pub(super) fn call(&self) -> u32 {
        self.calls.last().copied().unwrap_or(NO_STACK)
    }

    /// Ends a stretch of time in which nothing changed. Returns true if that makes a new sample.
    #[inline]
    pub(super) fn stretch(&mut self, time: i64) -> bool {
        let start = self.info.start.map_or(time, |start| start.0.min(time));
        let since = self.since.replace(time).unwrap_or(start);
        let length = time.saturating_sub(since);
        let stack = self.open.last().copied().unwrap_or(IDLE);
        if stack == self.call() {
            self.busy = self.busy.saturating_add(length);
        }
        self.samples.push(stack, since, length)
    }

    /// Begins calls that were recorded as a sum. The innermost `above` open calls do not enclose
    /// them.
    pub(super) fn begin_sum(
        &mut self,
        tables: &mut Tables,
        (above, time): (usize, i64),
        calls: &AggregatedEnter,
    ) {
        let caller = match self.sums.last() {
            Some(sum) => sum.stack,
            None => self.enclosing(above),
        };
        let sum = Sum {
            stack: tables.call(caller, calls.method),
            total: calls.base_time.0.max(0),
            cancels: calls.calls == 0 && calls.base_time.0 < 0,
        };
        self.samples.push_sum(sum.stack, time, sum.total);
        self.sums.push(sum);
    }

    /// Ends calls that were recorded as a sum: takes their time from that of their caller.
    pub(super) fn end_sum(&mut self, above: usize, time: i64) {
        let Some(mut ended) = self.sums.pop() else {
            return;
        };
        if ended.cancels {
            let samples = &mut self.samples;
            samples.push_sum(ended.stack, time, ended.total.saturating_neg());
            ended.total = 0;
        }
        match self.sums.last_mut() {
            Some(caller) => caller.total = caller.total.saturating_add(ended.total),
            None => {
                let caller = self.enclosing(above);
                if caller != NO_STACK {
                    let taken = ended.total.saturating_neg();
                    self.samples.push_sum(caller, time, taken);
                }
            }
        }
    }

    fn enclosing(&self, above: usize) -> u32 {
        let calls = self.calls.iter();
        calls.copied().nth_back(above).unwrap_or(NO_STACK)
    }

    /// Adds an allocation in the innermost open call. Returns true if that makes a new row.
    pub(super) fn allocate(&mut self, time: i64, bytes: i64) -> bool {
        let stack = self.call();
        match self.allocations.last_mut() {
            Some(last)
                if last.stack == stack && time.saturating_sub(last.time) < ALLOCATION_INTERVAL =>
            {
                last.bytes = last.bytes.saturating_add(bytes);
                false
            }
            _ => {
                self.allocations.push(Allocation { time, stack, bytes });
                true
            }
        }
    }

    /// Ends the last sample.
    pub(super) fn finish(&mut self) {
        self.samples.end();
    }

    /// Returns true if no call or wait has taken time.
    pub(super) fn is_idle(&self) -> bool {
        self.samples.are_idle()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_idle() && self.markers.is_empty() && self.allocations.is_empty()
    }

    /// Writes the tables of the thread. Times are written since `base`.
    pub(super) fn write(&self, json: &mut Json, base: i64, long: i64) {
        json.raw("\"samples\":");
        self.samples.write(json, base, long);
        json.raw(",\"markers\":");
        self.markers.write(json, base);
        if !self.allocations.is_empty() {
            self.write_allocations(json, base);
        }
        json.raw("}");
    }

    fn write_allocations(&self, json: &mut Json, base: i64) {
        json.raw(",\"nativeAllocations\":{");
        json.column("time", &self.allocations, |json, row| {
            json.ms(row.time.saturating_sub(base));
        });
        json.column("weight", &self.allocations, |json, row| {
            json.integer(row.bytes)
        });
        let stack = |row: &Allocation| (row.stack != NO_STACK).then_some(row.stack);
        json.optional("stack", self.allocations.iter().map(stack));
        json.raw("\"weightType\":\"bytes\",");
        json.length(self.allocations.len());
    }
}
