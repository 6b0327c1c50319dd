//! What both encoders drop.

use crate::tally::kinds;

kinds! {
    /// What an encoder drops.
    pub(super) enum Dropped: &'static str {
        Exceptions = "exceptions that ended calls",
        Large = "events that are too large",
    }
}
