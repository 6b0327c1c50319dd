//! Weak references to objects whose death is to be reported.
//!
//! A weak reference replaces a tag if the agent must learn when an object dies, but never looks up
//! the number of a live object. It costs a third of a tag, because the JVM keeps no table of weak
//! references. The JVM clears weak references at the same moment as it drops tags. But it sends no
//! event when it clears a weak reference. So an agent thread checks all weak references after each
//! collection (a sweep), and deletes the cleared ones.
//!
//! New references are stored in shards ([`Spread`]), each of which has blocks of references. There
//! are many shards, so that threads rarely compete for one. A sweep takes all blocks from the
//! shards, and packs the references to live objects into as few blocks as possible.

use crate::jni::refs::RawWeak;
use crate::jni::{Env, ObjectRef, Vm};
use jtrail_guard::guard::Spread;
use parking_lot::Mutex;
use std::mem::take;

/// A weak reference, and the number of its object.
struct Entry {
    reference: RawWeak,
    number: u64,
}

// SAFETY: any thread may use a weak global reference, says JNI; an entry is its only owner.
unsafe impl Send for Entry {}

type Blocks = Vec<Vec<Entry>>;

/// The number of entries in a block, which takes 64 KiB.
const BLOCK: usize = 4096;

/// Weak references to objects, with the objects' numbers.
pub struct WeakObjects {
    vm: Vm,
    new: Spread<Mutex<Blocks>>,
    /// References whose objects were alive at the last sweep. The lock is held during a sweep.
    old: Mutex<Blocks>,
}

impl WeakObjects {
    /// Creates an empty set for this JVM.
    pub fn new(vm: Vm) -> Self {
        Self {
            vm,
            new: Spread::default(),
            old: Mutex::default(),
        }
    }

    /// Adds a new object. Does nothing if the JVM has no memory for a reference.
    pub fn add(&self, env: &Env<'_>, object: ObjectRef<'_>, number: u64) {
        let Some(reference) = RawWeak::new(env, object) else {
            return;
        };
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

    /// Deletes the references to dead objects, and passes the objects' numbers to `report`.
    pub fn sweep(&self, env: &Env<'_>, mut report: impl FnMut(u64)) {
        let mut old = self.old.lock();
        let mut blocks = take(&mut *old);
        for new in self.new.iter() {
            blocks.append(&mut new.lock());
        }
        for mut block in blocks {
            block.retain(|entry| {
                let is_dead = entry.reference.is_cleared(env);
                if is_dead {
                    report(entry.number);
                    entry.reference.delete(env); // `retain` drops the entry
                }
                !is_dead
            });
            keep(&mut old, block);
        }
    }
}

impl Drop for WeakObjects {
    /// Deletes all references, if the running thread is attached to the JVM.
    fn drop(&mut self) {
        let mut blocks = take(self.old.get_mut());
        for new in self.new.iter() {
            blocks.append(&mut new.lock());
        }
        self.vm.with_env(|env| {
            for entry in blocks.into_iter().flatten() {
                entry.reference.delete(env);
            }
        });
    }
}

/// Appends a block's entries to `blocks`, filling the last block first.
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
                    reference: RawWeak::from_word(8).expect("a number"),
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
