//! The running thread's buffer, found without a call.
//!
//! Rust gives a `thread_local!` in a shared library the general-dynamic model, which calls
//! `__tls_get_addr` at each access. The hook is a few instructions long. The initial-exec model
//! would be two loads, but one variable of it moves all thread-local variables of the library, some
//! 860 bytes, into the static TLS block, whose reserve for libraries that are opened later holds
//! one or two such libraries: a second build of the agent could not be attached.
//!
//! So on x86-64 with glibc the pointer is kept where `pthread_setspecific` keeps it. glibc stores
//! the values of the first 32 keys in the thread's own descriptor, at the same distance from the
//! thread pointer in all threads. That distance is found once, by looking for a value that was
//! stored (Go does so on Android); then an access is two loads here, too. Where it is not found, a
//! `thread_local!` does.

use super::thread::ThreadBuffer;
use std::sync::atomic::AtomicPtr;

thread_local! {
    /// Used where there is no slot.
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

    /// The slot's distance from the thread pointer; 0 where there is none. Never changes once a
    /// thread has a buffer.
    static SLOT: AtomicUsize = AtomicUsize::new(0);
    static KEY: AtomicU32 = AtomicU32::new(0);

    /// Keys whose values are in the descriptor.
    const INLINE_KEYS: usize = 32;
    /// Bytes of a descriptor (`struct pthread`) that every glibc has.
    const DESCRIPTOR: usize = 2_048;

    /// Looks for the slot, once: when the agent comes, and otherwise before the first thread gets a
    /// buffer.
    pub fn prepare() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // Keys that are of no use are deleted last, so that none of them comes again.
            let mut unfit = Vec::new();
            while unfit.len() < INLINE_KEYS {
                let mut key: pthread_key_t = 0;
                // SAFETY: `key` takes the answer; values have no destructor.
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
                // SAFETY: created above, and known to nobody else.
                unsafe { pthread_key_delete(key) };
            }
        });
    }

    /// The distance of a new key's value from the thread pointer; none if it is not in the
    /// descriptor, or if the key was in use before: threads may have old values in such a slot,
    /// which only a comparison with the sequence number in front of the value tells from new ones.
    fn slot_of(key: pthread_key_t) -> Option<usize> {
        const FIRST_USE: usize = 1;
        let marks =
            [1, 2].map(|n| ptr::without_provenance_mut(usize::from_ne_bytes(*b"jtrail\0\0") + n));
        let [first, second] = marks;
        // SAFETY: `prepare` created the key; its values are compared, and nobody dereferences them.
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

    /// The word at a distance from the running thread's pointer.
    fn read(distance: usize) -> usize {
        debug_assert!(distance < DESCRIPTOR);
        let word;
        // SAFETY: the thread pointer is the address of the thread's descriptor, and each glibc's is
        // longer than `DESCRIPTOR`.
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

    /// The running thread's buffer; null if it has none.
    #[inline(always)]
    pub fn get() -> *mut ThreadBuffer {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().load(Ordering::Relaxed),
            slot => {
                let buffer;
                // SAFETY: `prepare` found this distance inside of the thread descriptor, which each
                // thread has; the instruction reads this one word.
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

    /// Where the running thread's variable is.
    pub fn place() -> *mut *mut ThreadBuffer {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().as_ptr(),
            // The first word of a descriptor is its own address.
            slot => ptr::with_exposed_provenance_mut(read(0) + slot),
        }
    }

    /// From now on, that is the running thread's buffer; none if it is null.
    pub(in crate::buffer) fn set(buffer: *mut ThreadBuffer) {
        match SLOT.load(Ordering::Relaxed) {
            0 => variable().store(buffer, Ordering::Relaxed),
            _ => {
                // SAFETY: `prepare` created the key, and nobody deletes it. It cannot fail where
                // values are in the descriptor.
                unsafe { pthread_setspecific(KEY.load(Ordering::Relaxed), buffer.cast()) };
            }
        }
    }

    #[cfg(test)]
    pub(super) fn has_slot() -> bool {
        SLOT.load(Ordering::Relaxed) != 0
    }
}

/// The running thread's variable.
#[cfg_attr(
    all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"),
    cold
)]
fn variable() -> &'static AtomicPtr<ThreadBuffer> {
    // SAFETY: the thread's own variable, which has no destructor: it lives as long as the thread,
    // and the reference stays on it.
    BUFFER.with(|buffer| unsafe { &*std::ptr::from_ref(buffer) })
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod imp {
    use super::{ThreadBuffer, variable};
    use std::sync::atomic::Ordering;

    pub fn prepare() {}

    /// The running thread's buffer; null if it has none.
    #[inline(always)]
    pub fn get() -> *mut ThreadBuffer {
        variable().load(Ordering::Relaxed)
    }

    /// Where the running thread's variable is.
    pub fn place() -> *mut *mut ThreadBuffer {
        variable().as_ptr()
    }

    /// From now on, that is the running thread's buffer; none if it is null.
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
