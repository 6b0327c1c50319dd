//! Conversion of ticks to timestamps.

use super::value::Fields;
use jtrail_model::Timestamp;

const SECOND: i128 = 1_000_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// startTicks of the header.
    pub(super) start: u64,
    /// Time of startTicks, in nanoseconds since 1970.
    origin: i128,
    /// Ticks per microsecond.
    ticks: u32,
}

/// Time fields of the header.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) clock: Clock,
    /// vmStartTime of the header.
    pub(super) process: Timestamp,
    /// connectionStartTime of the header, but not before vmStartTime.
    pub(super) agent: Timestamp,
}

/// Reads the header from ticksPerMicrosecond on. Returns `None` if ticksPerMicrosecond is 0 or the
/// input is too short.
pub(super) fn start(fields: &mut Fields<'_>) -> Option<Start> {
    let ticks = fields.u32().filter(|&ticks| ticks != 0)?;
    let start = fields.u64()?;
    let process = i128::from(fields.u32()?);
    let agent = i128::from(fields.u32()?).max(process);
    let clock = Clock {
        start: 0,
        origin: 0,
        ticks,
    };
    // If ticks count from 1970, they are more precise than the header's times, which are whole
    // seconds.
    let since_1970 = clock.nanoseconds(start);
    let second = (since_1970 / SECOND).min(i128::from(u32::MAX));
    let origin = if second == agent {
        since_1970
    } else {
        agent * SECOND
    };
    Some(Start {
        clock: Clock {
            start,
            origin,
            ticks,
        },
        process: clamped(process * SECOND),
        agent: clamped(agent * SECOND),
    })
}

impl Clock {
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Timestamp {
        clamped(self.origin + self.nanoseconds(ticks))
    }

    /// Returns the duration of `ticks` in nanoseconds.
    pub(super) fn length(&self, ticks: u32) -> u64 {
        let ns = self.nanoseconds(self.start.saturating_add(ticks.into()));
        u64::try_from(ns).unwrap_or(0)
    }

    /// Returns the nanoseconds from startTicks to `ticks`.
    #[inline]
    fn nanoseconds(&self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks) - i128::from(self.start);
        match self.ticks {
            1000 => ticks,
            ticks_per_us => (ticks * 1000).div_euclid(ticks_per_us.into()),
        }
    }
}

#[inline]
fn clamped(ns: i128) -> Timestamp {
    let limit = if ns < 0 { i64::MIN } else { i64::MAX };
    Timestamp(i64::try_from(ns).unwrap_or(limit))
}
