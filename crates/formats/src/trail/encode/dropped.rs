//! What a trail has no field for.

use crate::tally::kinds;

kinds! {
    /// What an encoder drops.
    pub(super) enum Dropped: &'static str {
        Large = "events that are too large",
        Unknown = "events of unknown kinds",
    }
}
