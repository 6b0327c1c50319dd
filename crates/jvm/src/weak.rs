//! Objects that are known by weak references of ours.
//!
//! Where nothing asks for the number of an object that is there, and all that is wanted is to hear
//! of its end, a weak reference does what a tag does, at a third of the price: the JVM has no table
//! to look it up in. It clears references and drops tags at the same moment, for the same reason.
//! But it does not say so. So a thread of ours looks at all of them after each collection
//! ([`crate::hooks`], `sweep`), and gives those up that are cleared.
//!
//! New references go into blocks of whoever makes objects on the same stack: there are many shards,
//! so that threads rarely meet at one. A sweep takes the blocks away from there, and keeps what is
//! alive in as few as it fits into.

use crate::jni::refs::RawWeak;
use crate::jni::{Env, ObjectRef, Vm};
use jtrail_guard::guard::Spread;
use parking_lot::Mutex;
use std::mem::take;

/// A reference, and its object's number.
struct Entry {
    reference: RawWeak,
    number: u64,
}

// SAFETY: JNI lets any thread use a weak global reference; an entry is its only owner.
unsafe impl Send for Entry {}

type Blocks = Vec<Vec<Entry>>;

/// Entries of a block, 64 KiB.
const BLOCK: usize = 4096;

/// Weak references to objects.
pub struct WeakObjects {
    vm: Vm,
    new: Spread<Mutex<Blocks>>,
    /// Those that a sweep found alive. Held during a sweep.
    old: Mutex<Blocks>,
}

impl WeakObjects {
    /// No objects of that JVM.
    pub fn new(vm: Vm) -> Self {
        Self {
            vm,
            new: Spread::default(),
            old: Mutex::default(),
        }
    }

    /// Remembers a new object. If there is no memory for a reference, it is not remembered.
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

    /// Deletes the references to dead objects, and reports their numbers.
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
                    entry.reference.delete(env); // the entry goes
                }
                !is_dead
            });
            keep(&mut old, block);
        }
    }
}

impl Drop for WeakObjects {
    /// Deletes all references, on a thread that is attached to the JVM.
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
