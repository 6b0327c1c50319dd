//! Points in time and lengths of time.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in time, in nanoseconds since 1970-01-01 UTC. Only foreign files contain negative
/// values.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

/// A length of time in nanoseconds. Only foreign files contain negative values.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Duration(pub i64);

impl Timestamp {
    /// Returns the time from `earlier` to this time; negative if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// Formats the time in seconds with nine decimals.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}

/// Formats the length of time in seconds with nine decimals.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}

fn write_seconds(ns: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    write!(f, "{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_nine_digits() {
        assert_eq!(
            Timestamp(1_171_278_677_882_812_500).to_string(),
            "1171278677.882812500"
        );
        assert_eq!(Duration(23_999).to_string(), "0.000023999");
        assert_eq!(Duration(-1).to_string(), "-0.000000001");
        assert_eq!(Duration(i64::MIN).to_string(), "-9223372036.854775808");
    }
}
