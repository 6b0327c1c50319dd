//! The time that recording takes, and its representation as options.

use crate::TraceOption;
use serde::{Deserialize, Serialize};

/// The time that recording takes, as measured by the agent, in picoseconds; 0 if unknown. Traces
/// contain the two values as options, in nanoseconds. The header of a log profile has a field for
/// the first value, and the header of JinsightLive for the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Time of a clock reading.
    pub clock: u64,
    /// Time of an enter or leave. It includes the clock reading, if there is one for each event.
    /// With recording, two successive events of a thread are further apart by this time.
    pub record: u64,
}

/// Key of the option for [`Cost::clock`], in whole nanoseconds.
pub const TIMER_OVERHEAD: &str = "timerOverhead";
/// Key of the option for [`Cost::record`], in nanoseconds with up to three decimals.
pub const RECORD_OVERHEAD: &str = "recordOverhead";

impl Cost {
    /// Returns the two options.
    pub fn options(&self) -> [TraceOption<'static>; 2] {
        let option = |key: &'static str, value: String| TraceOption {
            key: key.into(),
            value: value.into(),
        };
        [
            option(TIMER_OVERHEAD, self.clock.div_ceil(1000).to_string()),
            option(RECORD_OVERHEAD, nanoseconds(self.record)),
        ]
    }

    /// Stores the value of one of the two options. Returns false if the option is another one, or
    /// if its value is invalid.
    pub fn take(&mut self, option: &TraceOption<'_>) -> bool {
        let place = match &*option.key {
            TIMER_OVERHEAD => &mut self.clock,
            RECORD_OVERHEAD => &mut self.record,
            _ => return false,
        };
        match picoseconds(&option.value) {
            Some(ps) => *place = ps,
            None => return false,
        }
        true
    }

    /// Returns the time that `records` enters and leaves take, in nanoseconds.
    pub fn of(&self, records: u64) -> i64 {
        let ps = u128::from(self.record) * u128::from(records);
        i64::try_from(ps / 1000).unwrap_or(i64::MAX)
    }
}

/// Formats picoseconds as nanoseconds: 9870 becomes `9.87`.
fn nanoseconds(ps: u64) -> String {
    let text = format!("{}.{:03}", ps / 1000, ps % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reverses [`nanoseconds`].
fn picoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_it() {
        let cost = Cost {
            clock: 8_400,
            record: 9_870,
        };
        let options = cost.options();
        let values = options
            .each_ref()
            .map(|option| (&*option.key, &*option.value));
        assert_eq!(values, [("timerOverhead", "9"), ("recordOverhead", "9.87")]);
        let mut read = Cost::default();
        assert!(options.iter().all(|option| read.take(option)));
        assert_eq!((read.clock, read.record), (9_000, 9_870));
        assert_eq!(cost.of(3), 29);
        assert_eq!(cost.of(u64::MAX), i64::MAX);
    }

    #[test]
    fn what_is_no_time_is_not_taken() {
        let mut cost = Cost::default();
        for value in [
            "",
            "-1",
            "1.",
            "1.2345",
            ".5",
            "1e3",
            "99999999999999999999",
        ] {
            let option = TraceOption {
                key: RECORD_OVERHEAD.into(),
                value: value.into(),
            };
            assert_eq!(cost.take(&option), value == "1.", "{value}");
        }
        for (ps, text) in [(0, "0"), (1, "0.001"), (100, "0.1"), (12_000, "12")] {
            assert_eq!(
                (nanoseconds(ps).as_str(), picoseconds(text)),
                (text, Some(ps))
            );
        }
    }
}
