//! Threads of the agent's own.

use std::mem::zeroed;
use std::ptr;

/// Runs `f` with all signals blocked, so that a thread it starts leaves them to the JVM's threads.
pub fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised before they are read; the old mask is put back.
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

/// The running thread's id in the operating system.
pub fn os_thread_id() -> u64 {
    // SAFETY: the call takes nothing, and cannot fail.
    unsafe { libc::gettid() as u64 }
}

/// The running thread, and those that it starts from now on, come behind others where processors
/// are short.
pub fn lower_priority() {
    const NICE: libc::c_int = 10;
    // SAFETY: the call takes numbers. Linux takes a thread's id for a process's, and lowers that
    // thread alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, os_thread_id() as libc::id_t, NICE) };
}
