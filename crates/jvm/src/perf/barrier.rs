//! Faster returns from native code.
//!
//! When a thread returns from native code to Java, HotSpot executes a memory fence, so that the
//! thread can't miss the start of a safepoint. This fence takes two fifths of the time of an exact
//! hook on Intel processors (docs/performance.md). From JDK 20 on, HotSpot can omit the fence
//! (`-XX:+UseSystemMemoryBarrier`): the thread that begins a safepoint makes the kernel fence the
//! others with membarrier(2), which takes some microseconds. Hooks return far more often than
//! safepoints begin.
//!
//! The agent sets this flag while the JVM starts, at the address in the JVM's own tables
//! ([`flags`]). Two conditions make that safe:
//!
//! - The kernel must register the process first, which takes some 15 ms if the process has several
//!   threads. A separate thread makes the request while the JVM starts.
//! - HotSpot reads the flag where a thread returns, and where a safepoint or handshake begins. Both
//!   must see the same value. So the flag changes in the middle of a safepoint, on the thread that
//!   began it. Code that was generated earlier keeps its fences, which is harmless: hooks are
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

/// The thread that finds the flag and registers the process with the kernel.
#[derive(Default)]
pub struct FenceFlag(Mutex<Option<JoinHandle<Option<&'static AtomicBool>>>>);

impl FenceFlag {
    /// Starts the thread. It checks that the JVM has the flag, that the command line does not set
    /// it, and that the kernel registers the process.
    pub fn want(&self) {
        let find = || {
            let flag = Fields::find().and_then(|fields| flags::find(&fields, FLAG));
            let flag = flag.filter(|flag| flag.is_default && is_registered());
            flag.map(|flag| flag.value)
        };
        let find = move || guard::run_thread("the question for fences", find);
        let name = "jtrail fences".to_owned();
        let thread = without_signals(|| thread::Builder::new().name(name).spawn(find));
        *self.0.lock() = thread.ok(); // without a thread, the flag stays unset
    }

    /// Sets the flag, if [`Self::want`] was called and all its checks succeeded. `at_safepoint`
    /// runs its argument on the thread that began a safepoint, during this safepoint, or not at
    /// all.
    pub fn set(&self, at_safepoint: impl FnOnce(&(dyn Fn() + Sync))) {
        let thread = self.0.lock().take();
        if let Some(flag) = thread.and_then(|thread| thread.join().ok().flatten()) {
            at_safepoint(&|| flag.store(true, Ordering::SeqCst));
        }
    }
}

/// Registers the process for membarrier(2). Returns true if the kernel now fences all its threads
/// on request.
#[cfg(target_os = "linux")]
fn is_registered() -> bool {
    use libc::{
        MEMBARRIER_CMD_PRIVATE_EXPEDITED as PRIVATE, MEMBARRIER_CMD_QUERY as QUERY,
        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED as REGISTER,
    };
    // SAFETY: the commands take no pointers.
    let ask = |command| unsafe { libc::syscall(libc::SYS_membarrier, command as c_int, 0, 0) };
    let both = libc::c_long::from(PRIVATE as c_int | REGISTER as c_int);
    let can = ask(QUERY);
    can >= 0 && can & both == both && ask(REGISTER) == 0 && ask(PRIVATE) == 0
}

#[cfg(not(target_os = "linux"))]
fn is_registered() -> bool {
    false
}
