//! Sums of calls by number, used for both methods and paths.

use super::MethodStat;
use jtrail_model::{Cost, MethodId};
use serde::{Deserialize, Serialize};

/// Sums of calls, in a list without gaps. Figures that few traces have are stored in a separate
/// list, to keep the main list compact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sums {
    #[serde(with = "columns")]
    sums: Vec<Sum>,
    /// Details, up to the last number that has any.
    details: Vec<Detail>,
}

/// The figures that every trace has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) total: i64,
    pub(super) own: i64,
    /// The number of call records that were written within `total`; `own_records` counts those
    /// within `own`. A call accounts for one record of its own (enter or leave), and two for each
    /// call below it.
    pub(super) total_records: u64,
    pub(super) own_records: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Detail {
    exceptions: u64,
    overhead: i64,
    cpu_total: i64,
    cpu_own: i64,
    bounds: Option<(i64, i64)>,
}

/// Sums as a list for each figure, which compress better than a list of sums. `total` and the
/// numbers of records are differences, because they are 0 for a method that calls no other.
mod columns {
    use super::Sum;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Columns {
        calls: Vec<u64>,
        own: Vec<i64>,
        callees: Vec<i64>,
        own_records: Vec<i64>,
        callee_records: Vec<i64>,
    }

    pub(super) fn serialize<S: Serializer>(sums: &[Sum], serializer: S) -> Result<S::Ok, S::Error> {
        let difference = |a: u64, b: u64| a.wrapping_sub(b) as i64;
        let all = sums.iter();
        let columns = Columns {
            calls: all.clone().map(|s| s.calls).collect(),
            own: all.clone().map(|s| s.own).collect(),
            callees: all.clone().map(|s| s.total.wrapping_sub(s.own)).collect(),
            own_records: all
                .clone()
                .map(|s| difference(s.own_records, s.calls))
                .collect(),
            callee_records: all
                .map(|s| difference(s.total_records, s.own_records))
                .collect(),
        };
        columns.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Sum>, D::Error> {
        let columns = Columns::deserialize(deserializer)?;
        let count = columns.calls.len();
        let others = [
            &columns.own,
            &columns.callees,
            &columns.own_records,
            &columns.callee_records,
        ];
        if others.iter().any(|column| column.len() != count) {
            return Err(D::Error::custom("lists of sums differ in length"));
        }
        let sum = |at: usize| {
            let (calls, own) = (columns.calls[at], columns.own[at]);
            let own_records = calls.wrapping_add(columns.own_records[at] as u64);
            Sum {
                calls,
                own,
                total: own.wrapping_add(columns.callees[at]),
                own_records,
                total_records: own_records.wrapping_add(columns.callee_records[at] as u64),
            }
        };
        Ok((0..count).map(sum).collect())
    }
}

impl Sum {
    /// Returns the sum without the cost of recording.
    pub(super) fn net(self, cost: Cost) -> Self {
        let own = self.own.saturating_sub(cost.of(self.own_records)).max(0);
        let total = self.total.saturating_sub(cost.of(self.total_records));
        Self {
            own,
            total: total.max(own),
            ..self
        }
    }
}

impl Sums {
    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns the figures of a number that every trace has.
    pub(super) fn sum(&self, number: u32) -> Sum {
        self.sums[number as usize]
    }

    /// Returns true if there are `count` entries, and not more details.
    pub(super) fn fits(&self, count: usize) -> bool {
        self.sums.len() == count && self.details.len() <= count
    }

    /// Appends an entry of zeros, under the next number.
    pub(super) fn push(&mut self) {
        self.sums.push(Sum::default());
    }

    pub(super) fn add(&mut self, number: u32, sum: &Sum) {
        let all = &mut self.sums[number as usize];
        all.calls = all.calls.saturating_add(sum.calls);
        all.total = all.total.saturating_add(sum.total);
        all.own = all.own.saturating_add(sum.own);
        all.total_records = all.total_records.saturating_add(sum.total_records);
        all.own_records = all.own_records.saturating_add(sum.own_records);
    }

    /// Adds the sums with the number `from` in `others` to those with this number.
    pub(super) fn add_from(&mut self, number: u32, others: &Self, from: u32) {
        self.add(number, &others.sums[from as usize]);
        let Some(detail) = others.details.get(from as usize) else {
            return;
        };
        self.add_cpu(number, detail.cpu_total, detail.cpu_own);
        self.add_exceptions(number, detail.exceptions);
        self.add_overhead(number, detail.overhead);
        if let Some(bounds) = detail.bounds {
            self.widen(number, bounds);
        }
    }

    pub(super) fn add_cpu(&mut self, number: u32, total: i64, own: i64) {
        if (total, own) != (0, 0) {
            let detail = self.detail(number);
            detail.cpu_total = detail.cpu_total.saturating_add(total);
            detail.cpu_own = detail.cpu_own.saturating_add(own);
        }
    }

    pub(super) fn add_exceptions(&mut self, number: u32, exceptions: u64) {
        if exceptions != 0 {
            let detail = self.detail(number);
            detail.exceptions = detail.exceptions.saturating_add(exceptions);
        }
    }

    pub(super) fn add_overhead(&mut self, number: u32, overhead: i64) {
        if overhead != 0 {
            let detail = self.detail(number);
            detail.overhead = detail.overhead.saturating_add(overhead);
        }
    }

    /// Widens the bounds of the self time by those of aggregated calls. If both are 0, they were
    /// not measured.
    pub(super) fn widen(&mut self, number: u32, (min, max): (i64, i64)) {
        if (min, max) != (0, 0) {
            let bounds = &mut self.detail(number).bounds;
            let (least, most) = bounds.unwrap_or((min, max));
            *bounds = Some((least.min(min), most.max(max)));
        }
    }

    fn detail(&mut self, number: u32) -> &mut Detail {
        let number = number as usize;
        if self.details.len() <= number {
            self.details.resize(number + 1, Detail::default());
        }
        &mut self.details[number]
    }

    /// Returns the sums of a number as those of a method.
    pub(super) fn stat(&self, number: u32, method: MethodId) -> MethodStat {
        let sum = self.sums[number as usize];
        let detail = self.details.get(number as usize);
        let detail = detail.copied().unwrap_or_default();
        MethodStat {
            method,
            calls: sum.calls,
            total: sum.total,
            own: sum.own,
            exceptions: detail.exceptions,
            overhead: detail.overhead,
            cpu_total: detail.cpu_total,
            cpu_own: detail.cpu_own,
            bounds: detail.bounds,
        }
    }

    /// Subtracts the cost of recording.
    pub(super) fn without(&mut self, cost: Cost) {
        for sum in &mut self.sums {
            *sum = sum.net(cost);
        }
    }
}
