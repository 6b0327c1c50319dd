//! The running thread's buffer, found without a call.
//!
//! Rust gives a `thread_local!` in a shared library the general-dynamic model, which calls
//! `__tls_get_addr` at each access. The hook is a few instructions long, so on x86-64 with glibc we spell out
//! the initial-exec model: one load of the variable's offset, one load of the variable. Eight bytes
//! fit into the room that glibc's loader keeps for libraries opened later; others keep none.

use super::thread::ThreadBuffer;

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod imp {
    use super::ThreadBuffer;
    use core::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".globl jtrail_thread_buffer",
        ".hidden jtrail_thread_buffer",
        ".type jtrail_thread_buffer,@object",
        ".size jtrail_thread_buffer,8",
        ".p2align 3",
        "jtrail_thread_buffer:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(crate) fn get() -> *mut ThreadBuffer {
        let buffer;
        // SAFETY: reads this thread's copy of the variable defined above, and nothing else.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + jtrail_thread_buffer@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) buffer,
                options(nostack, readonly, preserves_flags, pure),
            );
        }
        buffer
    }

    /// Where the running thread's variable is.
    pub(crate) fn place() -> *mut *mut ThreadBuffer {
        let place;
        // SAFETY: computes an address, from the thread's own pointer, which is where it points to.
        unsafe {
            asm!(
                "mov {0}, qword ptr fs:[0]",
                "add {0}, qword ptr [rip + jtrail_thread_buffer@GOTTPOFF]",
                out(reg) place,
                options(nostack, readonly),
            );
        }
        place
    }

    pub(crate) fn set(buffer: *mut ThreadBuffer) {
        // SAFETY: writes this thread's copy of the variable defined above, and nothing else.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + jtrail_thread_buffer@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) buffer,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod imp {
    use super::ThreadBuffer;
    use std::sync::atomic::{AtomicPtr, Ordering};

    thread_local! {
        static BUFFER: AtomicPtr<ThreadBuffer> = const { AtomicPtr::new(std::ptr::null_mut()) };
    }

    #[inline(always)]
    pub(crate) fn get() -> *mut ThreadBuffer {
        BUFFER.with(|buffer| buffer.load(Ordering::Relaxed))
    }

    /// Where the running thread's variable is.
    pub(crate) fn place() -> *mut *mut ThreadBuffer {
        BUFFER.with(AtomicPtr::as_ptr)
    }

    pub(crate) fn set(buffer: *mut ThreadBuffer) {
        BUFFER.with(|variable| variable.store(buffer, Ordering::Relaxed));
    }
}

pub(crate) use imp::{get, place, set};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        let mark = std::ptr::without_provenance_mut(64);
        set(mark);
        assert_eq!(get(), mark);
        // SAFETY: this thread's own variable.
        unsafe {
            assert_eq!(*place(), mark);
            *place() = std::ptr::without_provenance_mut(128);
        }
        assert_eq!(get(), std::ptr::without_provenance_mut(128));
        std::thread::spawn(|| assert!(get().is_null()))
            .join()
            .expect("no panic");
        set(std::ptr::null_mut());
        assert!(get().is_null());
    }
}
