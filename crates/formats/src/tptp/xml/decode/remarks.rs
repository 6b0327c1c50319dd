//! Remarks of the XML decoder.

use crate::RemarkKind;
use crate::tally::{kinds, odd, skipped};

/// Attributes that no event contains: fields flagged as unused, and `overhead`, the cost of older
/// agents themselves.
pub(in crate::tptp::xml) const UNUSED: &[&str] = &[
    "collationValue",
    "overhead",
    "sequenceCounter",
    "traceIdRef",
    "transientClassId",
    "transientClassIdRef",
    "transientObjIdRef",
    "transientThreadId",
];

kinds! {
    /// Kinds of remarks of a decoder. Their texts name elements and attributes.
    pub(crate) enum Remarked: RemarkKind {
        UnknownElement = skipped("all", "unknown element {}"),
        UnknownAttribute = skipped("all", "unknown attribute {}"),
        UnusedAttribute = skipped(
            "collationValue, overhead, sequenceCounter, traceIdRef, transientClassId, \
             transientClassIdRef, transientObjIdRef, transientThreadId",
            "attribute {}, which no event holds"
        ),
        MissingAttribute = odd("all", "missing attribute {}, read as unset"),
        AttributeOrder = odd("all", "attributes in another order"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Kinds as _;

    #[test]
    fn the_table_lists_the_unused_attributes() {
        assert_eq!(Remarked::UnusedAttribute.row().records, UNUSED.join(", "));
    }
}
