//! Cheaper returns from native code.
//!
//! On its way back into Java, HotSpot fences each thread, which may not miss that a safepoint
//! begins. That is two fifths of what an exact hook takes on Intel processors
//! (docs/performance.md). From 20 on, HotSpot can do without (`-XX:+UseSystemMemoryBarrier`): who
//! begins a safepoint has the kernel fence the others, by membarrier(2), which takes some
//! microseconds. Hooks return far more often than safepoints begin.
//!
//! The agent sets that flag while the JVM starts, at the place that the JVM tells ([`flags`]). Two
//! things make that safe:
//!
//! - The kernel has to agree first, which takes it some 15 ms where a process has threads: a thread
//!   asks, beside the JVM's start.
//! - HotSpot reads the flag where a thread comes back, and where a safepoint or handshake begins;
//!   both have to see the same. So it changes in the middle of a safepoint, on the thread that
//!   began it. Code that was made before has its fences for ever, which does no harm: hooks are
//!   compiled later.

use super::fields::Fields;
use super::flags;
use jtrail_guard::guard;
use jtrail_guard::threads::without_signals;
use parking_lot::Mutex;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

const FLAG: &CStr = c"UseSystemMemoryBarrier";

/// The thread that looks for the flag, and asks the kernel.
#[derive(Default)]
pub struct Returns(Mutex<Option<JoinHandle<Option<&'static AtomicBool>>>>);

impl Returns {
    /// Finds out whether the JVM has the flag, the command line does not name it, and the kernel
    /// agrees.
    pub fn want(&self) {
        let find = || {
            let flag = Fields::find().and_then(|fields| flags::find(&fields, FLAG));
            let flag = flag.filter(|flag| flag.is_default && is_registered());
            flag.map(|flag| flag.value)
        };
        let find = move || guard::run_thread("the question for fences", find);
        let name = "jtrail fences".to_owned();
        let thread = without_signals(|| thread::Builder::new().name(name).spawn(find));
        *self.0.lock() = thread.ok(); // without one, all stays as it is
    }

    /// Sets the flag, if [`Self::want`] was called and all of that is so. `at_safepoint` runs what
    /// it is given on the thread that began a safepoint, while it lasts, or not at all.
    pub fn set(&self, at_safepoint: impl FnOnce(&(dyn Fn() + Sync))) {
        let thread = self.0.lock().take();
        if let Some(flag) = thread.and_then(|thread| thread.join().ok().flatten()) {
            at_safepoint(&|| flag.store(true, Ordering::SeqCst));
        }
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
