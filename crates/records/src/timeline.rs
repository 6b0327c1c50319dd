//! Conversion of ticks to nanoseconds.
//!
//! All ticks are converted with one straight line through two readings of both clocks. So time
//! never decreases, and a duration is as exact as the counter.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Converts ticks to nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timeline {
    ticks: u64,
    since_1970: u64,
    /// Nanoseconds per tick, times 2^[`FRACTION`].
    scale: u64,
}

const FRACTION: u32 = 40;

impl Timeline {
    /// Returns the timeline on which tick `ticks` is `since_1970` ns after 1970-01-01 UTC, and on
    /// which `more` ticks take `ns` ns.
    pub fn new(ticks: u64, since_1970: u64, (more, ns): (u64, u64)) -> Self {
        let scale = ((u128::from(ns.max(1)) << FRACTION) / u128::from(more.max(1))) as u64;
        Self {
            ticks,
            since_1970,
            scale,
        }
    }

    /// Returns the time of a tick, in nanoseconds since 1970. The tick may be before or after the
    /// first reading.
    #[inline]
    pub fn at(&self, ticks: u64) -> i64 {
        match self.times_from(ticks) {
            Some(time_of) => time_of(0),
            None => self.before(ticks),
        }
    }

    /// Like [`Self::at`], for many ticks. The returned function takes the ticks that have passed
    /// since `start`. Returns `None` if `start` is before the first reading.
    #[inline(always)]
    pub fn times_from(&self, start: u64) -> Option<impl Fn(u64) -> i64 + use<>> {
        let start = start.checked_sub(self.ticks)?;
        let (scale, since_1970) = (self.scale, self.since_1970);
        let at_start = u128::from(start) * u128::from(scale);
        let first = since_1970.wrapping_add((at_start >> FRACTION) as u64);
        let part = at_start as u64 & ((1 << FRACTION) - 1);
        // Maximum number of ticks whose product with the scale fits into 64 bits.
        let near = (u64::MAX >> 1) / scale.max(1);
        Some(move |more: u64| {
            if more <= near {
                return first.wrapping_add((part + more * scale) >> FRACTION) as i64;
            }
            let ns = (u128::from(start.wrapping_add(more)) * u128::from(scale)) >> FRACTION;
            since_1970.wrapping_add(ns as u64) as i64
        })
    }

    #[cold]
    fn before(&self, ticks: u64) -> i64 {
        let delta = i128::from(ticks) - i128::from(self.ticks);
        (i128::from(self.since_1970) + ((delta * i128::from(self.scale)) >> FRACTION)) as i64
    }

    /// Returns the length of time that `ticks` ticks take.
    pub fn time_of(&self, ticks: u64) -> Duration {
        let ns = (u128::from(ticks) * u128::from(self.scale)) >> FRACTION;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Returns the number of ticks in a length of time.
    pub fn ticks_in(&self, length: Duration) -> u64 {
        ((length.as_nanos() << FRACTION) / u128::from(self.scale.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_before_the_first_reading_are_earlier() {
        let line = Timeline {
            ticks: 1000,
            since_1970: 5000,
            scale: 2 << FRACTION,
        };
        assert_eq!(line.at(990), 4980);
        assert_eq!(line.at(1001), 5002);
    }

    /// The line has the same slope after the first reading as before it.
    #[test]
    fn the_line_is_straight() {
        let line = Timeline {
            ticks: 123_456_789_012,
            since_1970: 1_700_000_000_123_456_789,
            scale: 423_577_483_921,
        };
        for power in 0..64 {
            for ticks in [line.ticks + (1 << power), line.ticks + (3 << power) / 2] {
                assert_eq!(line.at(ticks), line.before(ticks), "{ticks}");
                let more = ticks - line.ticks;
                let time_of = line.times_from(line.ticks + 17).expect("behind it");
                assert_eq!(time_of(more), line.before(ticks + 17), "{ticks}");
            }
        }
    }
}
