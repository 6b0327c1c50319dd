//! Objects that are known by weak references of ours.
//!
//! Where nothing asks for the number of an object that is there, and all that is wanted is to hear of its end, a weak reference does what
//! a tag does, at a third of the price: the JVM has no table to look it up in. It clears references and drops tags at the same moment, for the same reason.
//! But it does not say so. So a thread of ours looks at all of them after each collection ([`crate::hooks`], `sweep`), and gives those up that
//! are cleared.
//!
//! New references go into blocks of whoever makes objects on the same stack: there are many shards, so that threads rarely meet at one. A sweep takes the
//! blocks away from there, and keeps what is alive in as few as it fits into.

use jni::sys::{JNIEnv, jobject};
use jtrail_guard::guard::Spread;
use parking_lot::Mutex;
use std::mem::take;

/// A reference, and its object's number.
struct Entry {
    /// As the JVM gave it.
    reference: usize,
    number: u64,
}

type Blocks = Vec<Vec<Entry>>;

/// Entries of a block, 64 KiB.
const BLOCK: usize = 4096;

/// Weak references to objects.
#[derive(Default)]
pub struct WeakObjects {
    new: Spread<Mutex<Blocks>>,
    /// Those that a sweep found alive. Held while one is under way.
    old: Mutex<Blocks>,
}

impl WeakObjects {
    /// Remembers a new object. Nothing is, when there is no memory for a reference.
    ///
    /// # Safety
    /// `env` is the running thread's, and `object` a live reference.
    pub unsafe fn add(&self, env: *mut JNIEnv, object: jobject, number: u64) {
        // SAFETY: the caller's promise.
        let reference = unsafe { crate::jni::weak_reference(env, object) }.expose_provenance();
        if reference == 0 {
            return;
        }
        let mut blocks = self.new.own().lock();
        let entry = Entry { reference, number };
        match blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(entry),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(entry);
                blocks.push(block);
            }
        }
    }

    /// Gives up the references to dead objects, and tells of their numbers.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub unsafe fn sweep(&self, env: *mut JNIEnv, mut tell: impl FnMut(u64)) {
        let mut old = self.old.lock();
        let mut blocks = take(&mut *old);
        for new in self.new.iter() {
            blocks.append(&mut new.lock());
        }
        for mut block in blocks {
            block.retain(|entry| {
                let reference = std::ptr::with_exposed_provenance_mut(entry.reference);
                // SAFETY: the caller's promise, and a reference from `add`, which is in no other block.
                let is_dead = unsafe { crate::jni::is_same(env, reference, std::ptr::null_mut()) };
                if is_dead {
                    tell(entry.number);
                    // SAFETY: likewise.
                    unsafe { crate::jni::forget_weak(env, reference) };
                }
                !is_dead
            });
            keep(&mut old, block);
        }
    }

    /// Gives all references up.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub unsafe fn forget(&self, env: *mut JNIEnv) {
        let mut blocks = take(&mut *self.old.lock());
        for new in self.new.iter() {
            blocks.append(&mut new.lock());
        }
        for entry in blocks.into_iter().flatten() {
            let reference = std::ptr::with_exposed_provenance_mut(entry.reference);
            // SAFETY: the caller's promise, and a reference from `add`, which is in no block any more.
            unsafe { crate::jni::forget_weak(env, reference) };
        }
    }
}

/// Puts a block's entries behind the others, without leaving room between them.
fn keep(blocks: &mut Blocks, mut block: Vec<Entry>) {
    if let Some(last) = blocks.last_mut() {
        let fits = (BLOCK - last.len()).min(block.len());
        last.extend(block.drain(..fits));
    }
    if !block.is_empty() {
        blocks.push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_kept_in_full_blocks() {
        let mut next = 0;
        let mut blocks = Vec::new();
        for length in [3, 0, BLOCK, BLOCK - 4, 1, 5] {
            let entry = |_| {
                next += 1;
                Entry {
                    reference: 0,
                    number: next,
                }
            };
            let mut block = Vec::with_capacity(BLOCK);
            block.extend((0..length).map(entry));
            keep(&mut blocks, block);
        }
        let lengths: Vec<usize> = blocks.iter().map(Vec::len).collect();
        assert_eq!(lengths, [BLOCK, BLOCK, 5]);
        let numbers: Vec<u64> = blocks.iter().flatten().map(|e| e.number).collect();
        assert!(numbers.is_sorted() && numbers.len() == 2 * BLOCK + 5);
    }
}
