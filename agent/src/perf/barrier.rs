//! Cheaper returns from native code.
//!
//! On its way back into Java, HotSpot fences each thread, which may not miss that a safepoint begins. That is two fifths of what an exact hook
//! takes on Intel processors (docs/performance.md). From 20 on, HotSpot can do without (`-XX:+UseSystemMemoryBarrier`): who begins a
//! safepoint has the kernel fence the others, by membarrier(2), which takes some microseconds. Hooks return far more often than safepoints begin.
//!
//! The agent sets that flag as the command line would have, at the place that the JVM tells ([`Fields`]). It is loaded when the command line has been
//! read, and before any code is made that depends on it.

use super::fields::{Fields, word};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

const FLAG: &CStr = c"UseSystemMemoryBarrier";
/// More than any JVM has.
const MOST_FLAGS: usize = 10_000;
/// The lower bits of `_flags`: who set it last. 0 is nobody.
const ORIGIN: c_int = 15;

/// Has the JVM do so, if it can, the kernel too, and the command line says nothing about it. A JVM that runs its program already
/// must be left as it is.
///
/// # Safety
/// Only while the JVM starts: no Java thread runs, and no code has been generated.
pub(crate) unsafe fn returns_without_fence() {
    let flag = Fields::find().and_then(|fields| place_of_flag(&fields));
    // Only if the kernel does it: the JVM does not ask again before it relies on it.
    if let Some(flag) = flag.filter(|_| is_registered()) {
        // SAFETY: the JVM tells that this is the flag, and nobody else looks at it (the caller's promise).
        unsafe { &*flag }.store(true, Ordering::Release);
    }
}

/// The flag, if nobody has set it.
fn place_of_flag(fields: &Fields) -> Option<*const AtomicBool> {
    let of_flag = |name| fields.place(&[c"JVMFlag"], name);
    let (name, address, state) = (of_flag(c"_name")?, of_flag(c"_addr")?, of_flag(c"_flags")?);
    let stride = fields.size_of(c"JVMFlag")?;
    // SAFETY: the JVM tells that these are its flags, how many there are, and what one has where. The last ones have no name.
    unsafe {
        let first = word(of_flag(c"flags")?);
        let count = word(of_flag(c"numFlags")?).min(MOST_FLAGS);
        let is_it = |flag: &usize| {
            let name = std::ptr::with_exposed_provenance::<c_char>(word(flag + name));
            !name.is_null() && CStr::from_ptr(name) == FLAG
        };
        let flag = (0..count)
            .map(|number| first + number * stride)
            .find(is_it)?;
        let state = std::ptr::with_exposed_provenance::<c_int>(flag + state).read();
        let place = std::ptr::with_exposed_provenance(word(flag + address));
        (state & ORIGIN == 0).then_some(place)
    }
}

/// Whether the kernel fences all threads of this process when it is asked to.
#[cfg(target_os = "linux")]
fn is_registered() -> bool {
    use libc::{
        MEMBARRIER_CMD_PRIVATE_EXPEDITED as PRIVATE, MEMBARRIER_CMD_QUERY as QUERY,
        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED as REGISTER,
    };
    // SAFETY: takes no address.
    let ask = |command| unsafe { libc::syscall(libc::SYS_membarrier, command as c_int, 0, 0) };
    let both = libc::c_long::from(PRIVATE as c_int | REGISTER as c_int);
    let can = ask(QUERY);
    can >= 0 && can & both == both && ask(REGISTER) == 0 && ask(PRIVATE) == 0
}

#[cfg(not(target_os = "linux"))]
fn is_registered() -> bool {
    false
}
