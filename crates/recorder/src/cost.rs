//! The time that recording takes, measured when the agent starts.
//!
//! A hook reads the clock and stores a record. The call of the hook takes little time beside that
//! (`python3 scripts/bench --only hook`). The loop in this module takes little time, too. With
//! `clock=tick`, only the store is measured. Compiled code takes slightly longer, because it must
//! find the address.

use jtrail_model::Cost;
use std::hint::black_box;
use std::time::Instant;

/// Number of records stored to measure the time of one. With [`TRIES`] repetitions, that takes some
/// 100 µs in all.
const RECORDS: usize = 2_000;
const TRIES: usize = 5;

/// Measures the time of a clock reading and of a record. `of_records` is the clock that is read for
/// each record; `None` if no clock is read.
pub fn measure(now: fn() -> u64, of_records: Option<fn() -> u64>) -> Cost {
    let mut words = vec![0_u64; 1024];
    let clock = shortest(|_| _ = black_box(black_box(now)()));
    let record = shortest(|at| {
        let time = of_records.map_or(0, |now| black_box(now)());
        let at = at % words.len();
        black_box(&mut words)[at] = time << 24 | at as u64;
    });
    Cost { clock, record }
}

/// Returns the time of one step, in picoseconds, from the try that was interrupted the least.
fn shortest(mut step: impl FnMut(usize)) -> u64 {
    let mut one = || {
        let begun = Instant::now();
        (0..RECORDS).for_each(&mut step);
        begun.elapsed().as_nanos() as u64 * 1000 / RECORDS as u64
    };
    (0..TRIES).map(|_| one()).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, System};

    #[test]
    fn a_record_takes_some_nanoseconds() {
        let exact = measure(System::now, Some(System::now));
        for ps in [exact.clock, exact.record] {
            assert!((100..100_000_000).contains(&ps), "{exact:?}");
        }
        let coarse = measure(System::now, None);
        assert!(coarse.record < coarse.clock, "{coarse:?}");
    }
}
