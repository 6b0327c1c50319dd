//! Events that the encoder drops because a trail has no field for them.

use crate::tally::kinds;

kinds! {
    /// The kinds of events that an encoder drops.
    pub(super) enum Dropped: &'static str {
        Large = "events that are too large",
        Unknown = "events of unknown kinds",
    }
}
