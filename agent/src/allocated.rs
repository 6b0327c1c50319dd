//! How much memory the agent has allocated for itself, beside its buffers, which are mapped.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which counts. What records calls allocates nothing, so the counter is in
/// nobody's way.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now, as they were asked for.
pub(crate) fn bytes() -> u64 {
    BYTES.load(Ordering::Relaxed) as u64
}

fn count<T>(pointer: *mut T, bytes: usize) -> *mut T {
    if !pointer.is_null() {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
    pointer
}

// SAFETY: all of it is the system's allocator, which gets what was asked for.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout` is what `GlobalAlloc` lets its callers pass, and the system's allocator
        // asks for no more.
        count(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout` is what `GlobalAlloc` lets its callers pass, and the system's allocator
        // asks for no more.
        count(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `pointer` came from the system's allocator with that layout, as all memory of
        // this allocator does.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        // Where it shrinks, what is added wraps, and so does the sum.
        count(moved, size.wrapping_sub(layout.size()))
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from the system's allocator with that layout, as all memory of
        // this allocator does.
        unsafe { System.dealloc(pointer, layout) };
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed() {
        const MANY: usize = 64 << 20; // beside which other tests' memory is small
        let before = bytes();
        let grown = {
            let mut some = vec![1_u8; MANY];
            some.reserve_exact(MANY);
            assert_eq!(some.len(), MANY);
            bytes().saturating_sub(before)
        };
        let most = (MANY + MANY / 2) as u64;
        assert!(grown > most, "{grown}");
        assert!(bytes().saturating_sub(before) < MANY as u64 / 2);
    }
}
