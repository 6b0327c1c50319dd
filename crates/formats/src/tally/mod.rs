//! Tallies: what an encoder drops, and what a decoder remarks, counted by kind.
//!
//! - **Dropped** is what an encoder does not write, because the format has no field for it.
//! - **Skipped** is what a decoder reads without making an event of it, because no event holds it
//!   or because it is corrupt.
//! - **Lost** is an event that was recorded and did not reach the trace. Codecs lose nothing.
//!
//! Each format lists all its kinds in two tables, `encode/dropped.rs` and `decode/remarks.rs`. A
//! tally is an array with a counter for each row of a table, so its size does not depend on the
//! trace. The number of remarks with a name from the trace is bounded, too.

mod dropped;
mod remarks;

pub(crate) use dropped::DropTally;
pub use dropped::{DropCount, dropped_message};
pub use remarks::RemarkKind;
pub(crate) use remarks::{Position, RemarkTally, corrupt, fault, odd, short, skipped};

use std::fmt::Debug;

/// The kinds that a tally counts: an enumeration, and a table with a row for each variant.
pub(crate) trait Kinds: Copy + Eq + Debug + 'static {
    /// A row of the table: the description of a kind.
    type Row: 'static;

    /// The rows, in the order of the variants.
    const ROWS: &'static [Self::Row];

    /// An array with an element for each kind.
    type PerKind<T: Copy + Debug>: Clone + Debug + AsRef<[T]> + AsMut<[T]>;

    /// Returns an array with `value` for each kind.
    fn per_kind<T: Copy + Debug>(value: T) -> Self::PerKind<T>;

    /// Returns the number of the kind's row.
    fn index(self) -> usize;

    /// Returns the kind's row.
    fn row(self) -> &'static Self::Row {
        &Self::ROWS[self.index()]
    }
}

/// Declares an enumeration of kinds together with its table, so that every kind has a row.
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident: $row:ty { $($kind:ident = $words:expr,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name { $($kind,)* }

        impl $crate::tally::Kinds for $name {
            type Row = $row;
            type PerKind<T: Copy + std::fmt::Debug> = [T; [$($name::$kind),*].len()];

            const ROWS: &'static [$row] = &[$($words,)*];

            fn per_kind<T: Copy + std::fmt::Debug>(value: T) -> Self::PerKind<T> {
                [value; [$($name::$kind),*].len()]
            }

            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use kinds;
