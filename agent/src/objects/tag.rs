//! The tag of an object.
//!
//! ```text
//!  63  62         40 39             0
//! +---+--------------+---------------+
//! | m | class number | object number |   both from 1; 0 if there is none yet
//! +---+--------------+---------------+
//! ```
//!
//! Only a `java.lang.Class` object has a class number in its tag: the number of the class that it
//! stands for, plus one. So one read of a tag gives the class number of an allocation. `m` ("made")
//! is set for virtual threads that a heap walk may visit.

pub(super) const CLASS_SHIFT: u32 = 40;
pub(super) const OBJECT_MASK: i64 = (1 << CLASS_SHIFT) - 1;
const CONTINUATION: i64 = i64::MIN;

/// Returns the object number in a tag; 0 if the object has none.
pub(crate) fn number_in(tag: i64) -> u64 {
    (tag & OBJECT_MASK) as u64
}

/// Returns the number of the class that the object stands for, if it is a class object.
pub(crate) fn class_in(tag: i64) -> Option<u32> {
    (((tag & !CONTINUATION) >> CLASS_SHIFT) as u32).checked_sub(1)
}

/// Returns true if heap walks may visit the virtual thread with this tag.
pub(crate) fn has_continuation(tag: i64) -> bool {
    tag & CONTINUATION != 0
}

/// Returns the tag with the flag `m` set or cleared.
pub(crate) fn with_continuation(tag: i64, has_continuation: bool) -> i64 {
    match has_continuation {
        true => tag | CONTINUATION,
        false => tag & !CONTINUATION,
    }
}
