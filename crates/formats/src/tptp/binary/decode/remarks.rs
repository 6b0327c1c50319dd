//! Remarks of the binary decoder.

use crate::RemarkKind;
use crate::tally::{kinds, skipped};

kinds! {
    /// Kinds of remarks of a decoder. Their texts name messages.
    pub(crate) enum Remarked: RemarkKind {
        UnknownId = skipped("ids that are not in the table", "messages of unknown id {}"),
        UnusedFields = skipped("all", "unused fields that are set"),
        FurtherBytes = skipped("all", "bytes after the last field, of a later minor version"),
    }
}
