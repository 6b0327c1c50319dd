//! What calls took.

/// What the calls of a call path took, without their callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Weights {
    /// Number of calls.
    pub(crate) calls: u64,
    /// Self time in ns.
    pub(crate) self_time: i64,
    /// CPU time in ns; 0 if not measured.
    pub(crate) cpu: i64,
    /// Number of allocated objects.
    pub(crate) objects: u64,
    /// Bytes of allocated objects.
    pub(crate) bytes: i64,
    /// Time blocked on monitors, in ns. It is part of the self time.
    pub(crate) blocked: i64,
    /// Time in `Object.wait` and parked, in ns. It is part of the self time.
    pub(crate) waiting: i64,
}

/// The weights of many call paths. Most paths have calls and a self time, and nothing else. Such a
/// path takes 24 bytes, any other one 64.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightsTable {
    rows: Vec<Row>,
    /// What few rows have, each at the place of its [`Row::others`] less 1.
    others: Vec<Others>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    calls: u64,
    self_time: i64,
    /// 0 if the row has no other weights.
    others: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Others {
    cpu: i64,
    objects: u64,
    bytes: i64,
    blocked: i64,
    waiting: i64,
}

impl WeightsTable {
    /// Returns the weights of a path; those of a path beyond the table are 0.
    pub(crate) fn get(&self, path: u32) -> Weights {
        let row = self.rows.get(path as usize).copied().unwrap_or_default();
        let others = match row.others {
            0 => Others::default(),
            others => self.others[others as usize - 1],
        };
        Weights {
            calls: row.calls,
            self_time: row.self_time,
            cpu: others.cpu,
            objects: others.objects,
            bytes: others.bytes,
            blocked: others.blocked,
            waiting: others.waiting,
        }
    }

    /// Adds weights to those of a path.
    #[inline]
    pub(crate) fn add(&mut self, path: u32, weights: &Weights) {
        let path = path as usize;
        if path >= self.rows.len() {
            self.rows.resize(path + 1, Row::default());
        }
        let row = &mut self.rows[path];
        row.calls = row.calls.saturating_add(weights.calls);
        row.self_time = row.self_time.saturating_add(weights.self_time);
        let Weights {
            cpu,
            objects,
            bytes,
            blocked,
            waiting,
            ..
        } = *weights;
        if objects != 0 || (cpu | bytes | blocked | waiting) != 0 {
            if row.others == 0 {
                self.others.push(Others::default());
                row.others = self.others.len() as u32;
            }
            let others = &mut self.others[row.others as usize - 1];
            others.cpu = others.cpu.saturating_add(cpu);
            others.objects = others.objects.saturating_add(objects);
            others.bytes = others.bytes.saturating_add(bytes);
            others.blocked = others.blocked.saturating_add(blocked);
            others.waiting = others.waiting.saturating_add(waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_adds_up_what_each_path_has() {
        let mut table = WeightsTable::default();
        let of = |n: i64| Weights {
            calls: n as u64,
            self_time: -n,
            cpu: 2 * n,
            objects: 3 * n as u64,
            bytes: 4 * n,
            blocked: 5 * n,
            waiting: 6 * n,
        };
        let calls = Weights {
            calls: 2,
            self_time: 7,
            ..Weights::default()
        };
        let waiting = Weights {
            waiting: 1,
            ..Weights::default()
        };
        for (path, weights) in [(4, calls), (1, of(3)), (4, calls), (1, of(4)), (2, waiting)] {
            table.add(path, &weights);
        }
        assert_eq!(table.get(1), of(7));
        assert_eq!(table.get(2), waiting);
        let twice = Weights {
            calls: 4,
            self_time: 14,
            ..Weights::default()
        };
        assert_eq!(table.get(4), twice);
        assert_eq!([table.get(0), table.get(9)], [Weights::default(); 2]);
        assert_eq!(table.others.len(), 2);
    }
}
