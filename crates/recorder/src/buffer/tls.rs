//! The running thread's buffer, found without a function call.
//!
//! Rust compiles a `thread_local!` in a shared library with the general-dynamic model, which calls
//! `__tls_get_addr` for each access. That is slow, compared with a hook of a few instructions. The
//! initial-exec model would need two loads. But a single variable with that model moves all
//! thread-local variables of the library, some 860 bytes, into the static TLS block. The block has
//! little room for libraries that are opened later: one or two such libraries fill it. So a second
//! build of the agent could not be attached.
//!
//! So on x86-64 with glibc, the pointer is kept with `pthread_setspecific`. glibc stores the values
//! of the first 32 keys in the thread's own descriptor. Their distance from the thread pointer is
//! the same in all threads. [`prepare`] finds this distance once, by searching the descriptor for a
//! value that it stored (Go does the same on Android). With the distance, an access takes two
//! loads, as with the initial-exec model. If the distance is not found, a `thread_local!` is used.

use super::thread::ThreadBuffer;
use std::sync::atomic::AtomicPtr;

thread_local! {
    /// Holds the buffer if no slot was found.
    static BUFFER: AtomicPtr<ThreadBuffer> = const { AtomicPtr::new(std::ptr::null_mut()) };
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod imp {
    use super::{ThreadBuffer, variable};
    use core::arch::asm;
    use libc::{pthread_key_create, pthread_key_delete, pthread_key_t, pthread_setspecific};
    use std::ptr;
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    /// Distance of the slot from the thread pointer; 0 if no slot was found. Never changes once a
    /// thread has a buffer.
    static SLOT: AtomicUsize = AtomicUsize::new(0);
    static KEY: AtomicU32 = AtomicU32::new(0);

    /// Number of keys whose values are in the descriptor.
    const INLINE_KEYS: usize = 32;
    /// Minimum size in bytes of a thread descriptor (`struct pthread`), in all versions of glibc.
    const DESCRIPTOR: usize = 2_048;

    /// Searches for the slot, once: when the agent starts, or else before the first thread gets a
    /// buffer.
    pub fn prepare() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // Unsuitable keys are deleted last, so that `pthread_key_create` does not return them
            // again.
            let mut unfit = Vec::new();
            while unfit.len() < INLINE_KEYS {
                let mut key: pthread_key_t = 0;
                // SAFETY: the call stores the new key in `key`; values of the key have no
                // destructor.
                if unsafe { pthread_key_create(&mut key, None) } != 0 {
                    break;
                }
                if let Some(slot) = slot_of(key) {
                    KEY.store(key, Ordering::Relaxed);
                    SLOT.store(slot, Ordering::Release);
                    break;
                }
                unfit.push(key);
            }
            for key in unfit {
                // SAFETY: the key was created above, and nobody else knows it.
                unsafe { pthread_key_delete(key) };
            }
        });
    }

    /// Returns the distance of a new key's value from the thread pointer. Returns `None` if the
    /// value is not in the descriptor, or if the key was in use before. In the second case, threads
    /// may have old values in the slot, and only the sequence number before a value tells whether
    /// it is old.
    fn slot_of(key: pthread_key_t) -> Option<usize> {
        const FIRST_USE: usize = 1;
        let marks =
            [1, 2].map(|n| ptr::without_provenance_mut(usize::from_ne_bytes(*b"jtrail\0\0") + n));
        let [first, second] = marks;
        // SAFETY: `prepare` created the key. Its values are compared, and nobody dereferences them.
        let store = |value| unsafe { pthread_setspecific(key, value) } == 0;
        if !store(first) {
            return None;
        }
        let mut words = (8..DESCRIPTOR).step_by(8);
        let slot = words.find(|slot| read(*slot) == first.addr());
        let slot = slot.filter(|slot| {
            read(slot - 8) == FIRST_USE && store(second) && read(*slot) == second.addr()
        });
        store(ptr::null_mut());
        slot.filter(|slot| read(*slot) == 0)
    }

    /// Returns the word at `distance` bytes from the running thread's thread pointer.
    fn read(distance: usize) -> usize {
        debug_assert!(distance < DESCRIPTOR);
        let word;
        // SAFETY: the thread pointer is the address of the thread's descriptor. The descriptor has
        // at least `DESCRIPTOR` bytes in all versions of glibc.
        unsafe {
            asm!(
                "mov {0}, qword ptr fs:[{1}]",
                out(reg) word,
                in(reg) distance,
                options(nostack, readonly, preserves_flags),
            );
        }
        word
    }

    /// Returns the running thread's buffer; null if it has none.
    #[inline(always)]
    pub fn get() -> *mut ThreadBuffer {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().load(Ordering::Relaxed),
            slot => {
                let buffer;
                // SAFETY: `prepare` found that this distance is inside of the thread's descriptor,
                // which every thread has. The instruction reads one word there.
                unsafe {
                    asm!(
                        "mov {0}, qword ptr fs:[{1}]",
                        out(reg) buffer,
                        in(reg) slot,
                        options(nostack, readonly, preserves_flags, pure),
                    );
                }
                buffer
            }
        }
    }

    /// Returns the address of the running thread's variable.
    pub fn place() -> *mut *mut ThreadBuffer {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().as_ptr(),
            // The first word of a descriptor is its own address.
            slot => ptr::with_exposed_provenance_mut(read(0) + slot),
        }
    }

    /// Makes `buffer` the running thread's buffer; null means none.
    pub(in crate::buffer) fn set(buffer: *mut ThreadBuffer) {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().store(buffer, Ordering::Relaxed),
            _ => {
                // SAFETY: `prepare` created the key, and nobody deletes it. The call can't fail for
                // a key whose values are in the descriptor.
                unsafe { pthread_setspecific(KEY.load(Ordering::Relaxed), buffer.cast()) };
            }
        }
    }

    #[cfg(test)]
    pub(super) fn has_slot() -> bool {
        SLOT.load(Ordering::Relaxed) != 0
    }
}

/// Returns the running thread's `thread_local!` variable.
#[cfg_attr(
    all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"),
    cold
)]
fn variable() -> &'static AtomicPtr<ThreadBuffer> {
    // SAFETY: the variable has no destructor, so it lives as long as the thread. The reference does
    // not leave the thread, because all callers use it at once.
    BUFFER.with(|buffer| unsafe { &*std::ptr::from_ref(buffer) })
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod imp {
    use super::{ThreadBuffer, variable};
    use std::sync::atomic::Ordering;

    pub fn prepare() {}

    /// Returns the running thread's buffer; null if it has none.
    #[inline(always)]
    pub fn get() -> *mut ThreadBuffer {
        variable().load(Ordering::Relaxed)
    }

    /// Returns the address of the running thread's variable.
    pub fn place() -> *mut *mut ThreadBuffer {
        variable().as_ptr()
    }

    /// Makes `buffer` the running thread's buffer; null means none.
    pub(in crate::buffer) fn set(buffer: *mut ThreadBuffer) {
        variable().store(buffer, Ordering::Relaxed);
    }
}

pub(super) use imp::set;
pub use imp::{get, place, prepare};

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn each_thread_has_its_own() {
        prepare();
        #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
        assert!(imp::has_slot());
        let mark = std::ptr::without_provenance_mut(64);
        set(mark);
        assert_eq!(get(), mark);
        // SAFETY: the address is that of this thread's own variable.
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

    #[test]
    fn so_it_is_where_there_is_no_slot() {
        let mark = std::ptr::without_provenance_mut(64);
        variable().store(mark, Ordering::Relaxed);
        assert_eq!(variable().load(Ordering::Relaxed), mark);
        std::thread::spawn(|| assert!(variable().load(Ordering::Relaxed).is_null()))
            .join()
            .expect("no panic");
    }
}
