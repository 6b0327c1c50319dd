//! Remarks of the snapshot decoder.

use crate::RemarkKind;
use crate::tally::{kinds, odd, skipped};

kinds! {
    /// What a decoder remarks on. The names are names of elements and attributes.
    pub(crate) enum Remarked: RemarkKind {
        UnknownElement = skipped("all", "unknown element {}"),
        UnknownAttribute = skipped("all", "unknown attribute {}"),
        MissingNumber = odd("all", "missing attribute {}, read as 0"),
        MissingBoolean = odd("thread", "missing attribute {}, read as true"),
        Text = skipped("all but footprints", "text where elements are expected"),
        Numbers = odd("all", "numbers above 63 bits, read as the largest"),
        Exceptions = odd("profile", "nodes with more exceptions than calls"),
        Sums = odd("profile", "nodes whose sums do not agree with those of their children"),
        Waiting = odd("profile", "nodes with too many below them, whose own time is read as 0"),
        Samples = odd("thread of sampler", "threads whose samples are not those of their frames"),
        Elapsed = skipped("thread of sampler", "elapsedTime of living threads without frames"),
        Rows = odd("memory", "rows with a count above their max"),
        ClassNames = skipped("class", "attribute class of classes that have a name"),
        Footprints = skipped("method", "footprints of methods without a first line"),
        LastLines = skipped("method", "footprints after line 65,535"),
    }
}
