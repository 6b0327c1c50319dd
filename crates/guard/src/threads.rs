//! Signals, ids and priorities of agent threads.

use std::mem::zeroed;
use std::ptr;

/// Runs `f` with all signals blocked. Threads that `f` starts inherit this, and leave signals to
/// the JVM.
pub fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are initialised before they are read, and the old mask is restored.
    unsafe {
        let mut all: libc::sigset_t = zeroed();
        let mut old: libc::sigset_t = zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let result = f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut());
        result
    }
}

/// Returns the operating system's id of the running thread.
pub fn os_thread_id() -> u64 {
    // SAFETY: the call has no parameters and can't fail.
    unsafe { libc::gettid() as u64 }
}

/// Lowers the priority of the running thread, and of threads that it starts later.
pub fn lower_priority() {
    const NICE: libc::c_int = 10;
    // SAFETY: the call takes only numbers. Linux also accepts a thread's id and then changes that
    // thread only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, os_thread_id() as libc::id_t, NICE) };
}
