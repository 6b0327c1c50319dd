//! What readers pass over, because no event has a place for it.

/// Something that a reader finds in foreign files and passes over. It counts how often, and tells
/// it once at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unkept {
    /// The records that have it, in the words of the format's specification.
    pub records: &'static str,
    /// What it is, as the reader's remark has it.
    pub what: &'static str,
}

/// Makes an enumeration of all that the reader of a format passes over. So the list is whole: a
/// reader can count nothing else.
macro_rules! unkept {
    ($($name:ident = $records:literal $what:literal)*) => {
        /// Something that the reader passes over.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum Passed { $($name,)* }

        impl Passed {
            pub(crate) const ALL: &'static [$crate::Unkept] =
                &[$($crate::Unkept { records: $records, what: $what },)*];

            pub(crate) const fn unkept(self) -> $crate::Unkept {
                Self::ALL[self as usize]
            }
        }
    };
}
pub(crate) use unkept;
