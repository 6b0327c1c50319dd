//! The tag of an object.
//!
//! ```text
//!  63  62         40 39             0
//! +---+--------------+---------------+
//! | m | class number | object number |   both from 1; 0 if there is none yet
//! +---+--------------+---------------+
//! ```
//!
//! The class number is that of `java.lang.Class` objects: the number of the class that they stand
//! for, plus one. So the class of an allocation is found with one look. `m` is set for virtual
//! threads that walks over the heap may go into.

pub(super) const CLASS_SHIFT: u32 = 40;
pub(super) const OBJECT_MASK: i64 = (1 << CLASS_SHIFT) - 1;
const MADE: i64 = i64::MIN;

/// The object's number in a tag; 0 if it has none.
pub(crate) fn number_in(tag: i64) -> u64 {
    (tag & OBJECT_MASK) as u64
}

/// The number of the class that the object stands for.
pub(crate) fn class_in(tag: i64) -> Option<u32> {
    (((tag & !MADE) >> CLASS_SHIFT) as u32).checked_sub(1)
}

/// Whether walks over the heap may go into the virtual thread that has this tag.
pub(crate) fn is_made(tag: i64) -> bool {
    tag & MADE != 0
}

/// The tag, with that said.
pub(crate) fn with_made(tag: i64, is_made: bool) -> i64 {
    match is_made {
        true => tag | MADE,
        false => tag & !MADE,
    }
}
