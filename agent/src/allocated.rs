//! Counts the memory that the agent has allocated. Buffers do not count, because they are mapped.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a counter. Recording a call allocates nothing, so threads that
/// record never contend for the counter.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of bytes in use: the sum of the requested sizes.
pub(crate) fn bytes() -> u64 {
    BYTES.load(Ordering::Relaxed) as u64
}

fn count<T>(pointer: *mut T, bytes: usize) -> *mut T {
    if !pointer.is_null() {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
    pointer
}

// SAFETY: every method passes its arguments on to the system's allocator, which meets the contract
// of `GlobalAlloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller passes a `layout` that `GlobalAlloc` allows; the system's allocator
        // needs no more.
        count(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller passes a `layout` that `GlobalAlloc` allows; the system's allocator
        // needs no more.
        count(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: all memory of this allocator comes from the system's allocator, so `pointer`
        // does, with the `layout` that the caller passes.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        // If the block shrinks, the difference and the sum both wrap around. So the result is
        // right.
        count(moved, size.wrapping_sub(layout.size()))
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: all memory of this allocator comes from the system's allocator, so `pointer`
        // does, with the `layout` that the caller passes.
        unsafe { System.dealloc(pointer, layout) };
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed() {
        const MANY: usize = 64 << 20; // large compared with other tests' memory
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
