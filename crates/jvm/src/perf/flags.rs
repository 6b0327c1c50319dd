//! The JVM's flags (`-XX:`) and the addresses of their values.

use super::fields::{Fields, text_in, word, word_in};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

/// An upper limit, higher than the number of flags of any JVM.
const MAX_FLAGS: usize = 10_000;
/// The lower bits of `_flags`: the origin of the value. 0 means the default.
const ORIGIN: c_int = 15;

/// A boolean flag.
pub(super) struct Flag {
    pub(super) value: &'static AtomicBool,
    /// True if the flag was never set.
    pub(super) is_default: bool,
}

/// Finds the boolean flag with this name; `None` if the JVM lacks it or does not export its flags.
pub(super) fn find(fields: &Fields, flag_name: &CStr) -> Option<Flag> {
    let of_flag = |name| fields.place(&[c"JVMFlag"], name);
    let (name, address, state) = (of_flag(c"_name")?, of_flag(c"_addr")?, of_flag(c"_flags")?);
    let stride = fields.size_of(c"JVMFlag")?;
    // SAFETY: libjvm's own tables give the address and number of the flags and their layout. In the
    // last entries, the pointer to the name is null.
    unsafe {
        let first = std::ptr::with_exposed_provenance::<u8>(word(of_flag(c"flags")?));
        let count = word(of_flag(c"numFlags")?).min(MAX_FLAGS);
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

/// Returns true if the JVM compiles methods, except those above its limit of 8,000 bytes of
/// bytecode.
pub fn leaves_huge_methods_alone() -> bool {
    let Some(fields) = Fields::find() else {
        return false; // not HotSpot
    };
    let is_on = |name| find(&fields, name).is_some_and(|flag| flag.value.load(Ordering::Relaxed));
    is_on(c"DontCompileHugeMethods") && is_on(c"UseCompiler")
}
