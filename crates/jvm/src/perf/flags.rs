//! The JVM's flags (`-XX:`): where their values are in memory.

use super::fields::{Fields, text_in, word, word_in};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

/// More than any JVM has.
const MOST_FLAGS: usize = 10_000;
/// The lower bits of `_flags`: who set it last. 0 is nobody.
const ORIGIN: c_int = 15;

/// A flag that is true or false.
pub(super) struct Flag {
    pub(super) value: &'static AtomicBool,
    /// Nobody has set it.
    pub(super) is_default: bool,
}

/// Returns the flag of that name, which is one that is true or false; `None` if the JVM has none,
/// or does not show its flags.
pub(super) fn find(fields: &Fields, flag_name: &CStr) -> Option<Flag> {
    let of_flag = |name| fields.place(&[c"JVMFlag"], name);
    let (name, address, state) = (of_flag(c"_name")?, of_flag(c"_addr")?, of_flag(c"_flags")?);
    let stride = fields.size_of(c"JVMFlag")?;
    // SAFETY: the JVM tells that these are its flags, how many there are, and what one has where.
    // The last ones have no name.
    unsafe {
        let first = std::ptr::with_exposed_provenance::<u8>(word(of_flag(c"flags")?));
        let count = word(of_flag(c"numFlags")?).min(MOST_FLAGS);
        let flag = (0..count)
            .map(|number| first.add(number * stride))
            .find(|flag| text_in(*flag, name) == Some(flag_name))?;
        let state = flag.add(state).cast::<c_int>().read();
        let place = std::ptr::with_exposed_provenance::<AtomicBool>(word_in(flag, address));
        (!place.is_null()).then(|| Flag {
            value: &*place,
            is_default: state & ORIGIN == 0,
        })
    }
}

/// Returns true if the JVM compiles methods, but none that is over its limit of 8,000 bytes.
pub fn leaves_huge_methods_alone() -> bool {
    let Some(fields) = Fields::find() else {
        return false; // it is not HotSpot
    };
    let is_on = |name| find(&fields, name).is_some_and(|flag| flag.value.load(Ordering::Relaxed));
    is_on(c"DontCompileHugeMethods") && is_on(c"UseCompiler")
}
