//! What a thread publishes to the writer: its chunk, and how far the chunk is filled.
//!
//! The owner stores words first, and then moves the cursor with release order. While it sends a
//! full chunk, it marks the chunk as in transit. So a reader that sees no chunk, or a later one,
//! finds all earlier chunks in the channel. And once a reader has taken a chunk from the channel,
//! it never sees that use of the chunk here again. With the feature `loom`, the tests below try all
//! interleavings.

use crate::chunk::Header;

#[cfg(feature = "loom")]
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
#[cfg(not(feature = "loom"))]
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The writer's view of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// No chunk; all earlier chunks are in the channel.
    Nothing,
    /// A chunk, and the address after its last published word.
    Chunk(*mut Header, usize),
    /// A chunk that is being sent to the channel.
    InTransit,
}

/// Value of the cursor while a chunk is in transit.
const IN_TRANSIT: usize = 1;

/// Address of a thread's chunk, and the address after its last published word.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Published {
    /// Address after the last published word; 0 while there is no chunk; [`IN_TRANSIT`] while a
    /// chunk is being sent.
    cursor: AtomicUsize,
    chunk: AtomicPtr<Header>,
}

impl Published {
    /// Returns a value without a chunk.
    pub(crate) fn new() -> Self {
        Self {
            cursor: AtomicUsize::new(0),
            chunk: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// For the owner: returns the address of the next word; 0 while there is no chunk.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> usize {
        self.cursor.load(Ordering::Relaxed)
    }

    /// For the owner: returns its chunk, or null.
    pub(crate) fn chunk(&self) -> *mut Header {
        self.chunk.load(Ordering::Relaxed)
    }

    /// For the owner: publishes all words before `cursor`.
    #[inline(always)]
    pub(crate) fn advance(&self, cursor: usize) {
        self.cursor.store(cursor, Ordering::Release);
    }

    /// For the owner: publishes a new, empty chunk whose first word is at `first`.
    pub(crate) fn begin(&self, chunk: *mut Header, first: usize) {
        self.chunk.store(chunk, Ordering::Release);
        self.cursor.store(first, Ordering::Release);
    }

    /// For the owner: marks the chunk as about to be sent.
    pub(crate) fn leave(&self) {
        self.cursor.store(IN_TRANSIT, Ordering::Release);
    }

    /// For the owner: marks the chunk as sent.
    pub(crate) fn retire(&self) {
        self.chunk.store(std::ptr::null_mut(), Ordering::Release);
        self.cursor.store(0, Ordering::Release);
    }

    /// For the writer: returns what is published. `holds` returns true if a cursor belongs to a
    /// chunk.
    pub(crate) fn view(&self, holds: impl Fn(*mut Header, usize) -> bool) -> View {
        loop {
            let chunk = self.chunk.load(Ordering::Acquire);
            let cursor = self.cursor.load(Ordering::Acquire);
            if chunk.is_null() || cursor == 0 {
                return View::Nothing;
            }
            if cursor == IN_TRANSIT {
                return View::InTransit;
            }
            // Only the writer gives chunks back. So if the address is the same before and after the
            // cursor was read, the cursor belongs to this use of the chunk.
            if self.chunk.load(Ordering::Acquire) == chunk && holds(chunk, cursor) {
                return View::Chunk(chunk, cursor);
            }
            #[cfg(feature = "loom")]
            loom::thread::yield_now();
            #[cfg(not(feature = "loom"))]
            std::hint::spin_loop();
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    const WORDS: usize = 2;

    /// Tries all interleavings with at most 4 preemptions; more would take hours.
    fn explore(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(model);
    }

    /// Returns chunk `n`, which stands for the addresses from 1000 n on.
    fn chunk(n: usize) -> *mut Header {
        std::ptr::without_provenance_mut(n * 1000)
    }

    fn holds(chunk: *mut Header, cursor: usize) -> bool {
        (chunk.addr() + 1..=chunk.addr() + 1 + WORDS).contains(&cursor)
    }

    #[test]
    fn what_is_not_in_view_was_handed_over() {
        explore(|| {
            let published = Arc::new(Published::new());
            let handed_over = Arc::new(Mutex::new(Vec::new()));
            let owner = {
                let (published, handed_over) = (Arc::clone(&published), Arc::clone(&handed_over));
                thread::spawn(move || {
                    for n in 1..=2 {
                        published.begin(chunk(n), chunk(n).addr() + 1);
                        for word in 1..=WORDS {
                            published.advance(chunk(n).addr() + 1 + word);
                        }
                        published.leave();
                        handed_over.lock().unwrap().push(n);
                        published.retire();
                    }
                })
            };
            let taken = handed_over.lock().unwrap().clone();
            let view = published.view(holds);
            let full = handed_over.lock().unwrap().clone();
            if let View::Chunk(seen, cursor) = view {
                // The cursor belongs to this chunk, all earlier chunks are in the channel, and this
                // one was not taken from there before.
                assert!(holds(seen, cursor));
                let n = seen.addr() / 1000;
                assert!(
                    (1..n).all(|earlier| full.contains(&earlier)),
                    "{n}, {full:?}"
                );
                assert!(!taken.contains(&n), "{n} is in use again");
            }
            if view == View::Nothing {
                // No chunk is lost in between: all chunks that were taken before are still in the
                // list, and later chunks have not begun.
                assert!(full.len() >= taken.len());
            }
            owner.join().unwrap();
        });
    }

    #[test]
    fn a_later_view_never_shows_less() {
        explore(|| {
            let published = Arc::new(Published::new());
            let owner = {
                let published = Arc::clone(&published);
                thread::spawn(move || {
                    published.begin(chunk(1), chunk(1).addr() + 1);
                    published.advance(chunk(1).addr() + 2);
                })
            };
            let first = published.view(holds);
            let second = published.view(holds);
            if let View::Chunk(_, before) = first {
                assert!(matches!(second, View::Chunk(_, after) if after >= before));
            }
            owner.join().unwrap();
            assert_eq!(
                published.view(holds),
                View::Chunk(chunk(1), chunk(1).addr() + 2)
            );
        });
    }
}
