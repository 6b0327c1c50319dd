//! What recording takes, measured when the agent comes.
//!
//! A hook is a look at the clock and a store; what the JVM takes to call it is little beside that
//! (`scripts/bench --only hook`), and so is what the loop here takes. With `clock=tick` it is the
//! store alone: compiled code takes some more to find where to.

use jtrail_model::Cost;
use std::hint::black_box;
use std::time::Instant;

/// Records stored to find out what one takes, and how often: some 100 µs in all.
const RECORDS: usize = 2_000;
const TRIES: usize = 5;

/// Measures it, for records whose time is asked for with `of_records`, or with none.
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

/// The time of one step, in picoseconds: of several tries, the one that was interrupted the least.
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
