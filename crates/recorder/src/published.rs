//! What a thread lets the writer see: its chunk, and how far it is filled.
//!
//! The owner moves the cursor with release order behind what it stored. Around the sending of a
//! full chunk it says that the chunk is on its way. So whoever sees no chunk, or a later one, finds
//! the earlier ones in the channel; and whoever has taken a chunk from the channel never sees it
//! here again, where it may be in use anew. Built with the feature `loom`, the tests below try the
//! interleavings.

use crate::chunk::Header;

#[cfg(feature = "loom")]
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
#[cfg(not(feature = "loom"))]
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What the writer sees of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// No chunk; all that there were before are in the channel.
    Nothing,
    /// A chunk, and the address behind its last published word.
    Chunk(*mut Header, usize),
    /// A chunk is on its way into the channel.
    InTransit,
}

/// The cursor while a chunk is on its way.
const IN_TRANSIT: usize = 1;

/// A chunk's address, and the address behind its last published word.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Published {
    /// 0 while there is no chunk.
    cursor: AtomicUsize,
    chunk: AtomicPtr<Header>,
}

impl Published {
    /// No chunk.
    pub(crate) fn new() -> Self {
        Self {
            cursor: AtomicUsize::new(0),
            chunk: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// For the owner: where the next word goes; 0 while there is no chunk.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> usize {
        self.cursor.load(Ordering::Relaxed)
    }

    /// For the owner: its chunk, or null.
    pub(crate) fn chunk(&self) -> *mut Header {
        self.chunk.load(Ordering::Relaxed)
    }

    /// For the owner: all words before `cursor` are stored.
    #[inline(always)]
    pub(crate) fn advance(&self, cursor: usize) {
        self.cursor.store(cursor, Ordering::Release);
    }

    /// For the owner: a new, empty chunk is in view.
    pub(crate) fn begin(&self, chunk: *mut Header, first: usize) {
        self.chunk.store(chunk, Ordering::Release);
        self.cursor.store(first, Ordering::Release);
    }

    /// For the owner: the chunk is about to be sent.
    pub(crate) fn leave(&self) {
        self.cursor.store(IN_TRANSIT, Ordering::Release);
    }

    /// For the owner: the chunk is sent.
    pub(crate) fn retire(&self) {
        self.chunk.store(std::ptr::null_mut(), Ordering::Release);
        self.cursor.store(0, Ordering::Release);
    }

    /// For the writer. `holds` says whether a cursor belongs to a chunk.
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
            // Only the writer gives chunks back, so the same address before and behind is the same
            // use.
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

    /// Tries all interleavings with up to so many switches that no thread asked for; more take
    /// hours.
    fn explore(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(model);
    }

    /// Chunk `n` stands for the addresses from 1000 n.
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
                // The cursor is one of this very chunk, all chunks before it are in the channel,
                // and it was not there before.
                assert!(holds(seen, cursor));
                let n = seen.addr() / 1000;
                assert!(
                    (1..n).all(|earlier| full.contains(&earlier)),
                    "{n}, {full:?}"
                );
                assert!(!taken.contains(&n), "{n} is in use anew");
            }
            if view == View::Nothing {
                // Nothing is under way that is neither here nor there: what comes later is not
                // begun yet.
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
