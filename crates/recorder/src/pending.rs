//! Numbered objects whose constructor has not called `Object`'s constructor yet (`alloc=sites` with
//! `free`).
//!
//! The probe after `new` can't pass the object on, because it is not initialised. The probe in
//! `Object`'s constructor has the object, but does not know its allocation site. So the first probe
//! appends the object's number to a list of the running thread. The second probe takes the last
//! number in the list that belongs to an object of the same class. Objects after that one in the
//! list are unreachable: an exception was thrown between `new` and their constructor.
//!
//! An unreachable object stays pending as long as no earlier object in the list is constructed.
//! Until then, the stack address of its frame shows that it is unreachable. A frame with a pending
//! object is the running frame or one of its callers. So a pending object from a frame deeper than
//! the running one belongs to a frame that has returned. A loop may leave many objects in one
//! frame; all of them have the same site and the same stack address. Only the newest of these
//! objects are kept.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Maximum distance between the stack addresses of two hooks that are called by one frame of the
/// program. The addresses differ because the hooks, and the JVM's stubs for them, have frames of
/// different sizes.
const SLACK: usize = 2048;
/// Stands for an unknown stack address: the frame was moved to another stack with its virtual
/// thread.
const MOVED: usize = usize::MAX;
/// Unreachable objects are searched only if at least this many objects are pending.
const FEW: usize = 64;
/// Maximum number of pending objects with the same site and stack address. More than one is
/// possible because the JIT compiler may inline a recursive method into itself.
const MAX_ALIKE: usize = 16;
/// Maximum number of pending objects with the same site whose stack address is not known.
const MAX_MOVED: usize = 1024;

/// Current epoch: only objects that became pending in this epoch can be taken. 0 while `Object`'s
/// constructor has no probe.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static LAST_EPOCH: AtomicU32 = AtomicU32::new(0);

/// Begins an epoch when `Object`'s constructor has got its probe. Objects that became pending
/// before are forgotten, because some of their constructors were not seen.
pub fn begin_epoch() {
    let next = LAST_EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
    EPOCH.store(next.max(1), Ordering::Release);
}

/// Begins a new epoch if `Object`'s constructor has a probe. Called when the probe was disabled for
/// a while.
pub fn skip_epoch() {
    if EPOCH.load(Ordering::Relaxed) != 0 {
        begin_epoch();
    }
}

/// Ends the epoch: from now on, no object becomes pending.
pub fn end_epoch() {
    EPOCH.store(0, Ordering::Release);
}

/// The class of a new object: its number, and a flag in the uppermost bit. The flag is set if the
/// numbers of the class's objects are always looked up, whichever kinds of events are enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewClass(u32);

impl NewClass {
    /// Stands for no class.
    pub const NONE: Self = Self(u32::MAX);
    const LOOKED_UP: u32 = 1 << 31;

    /// Returns the class with the number `number`, whose objects' numbers need not be looked up.
    pub fn unknown(number: u32) -> Self {
        Self(number)
    }

    /// Returns the class with the number `number`, whose objects' numbers are looked up.
    pub fn looked_up(number: u32) -> Self {
        Self(number | Self::LOOKED_UP)
    }

    /// Returns the class as a word that is not 0; [`Self::NONE`] becomes 0.
    pub fn to_word(self) -> u32 {
        self.0.wrapping_add(1)
    }

    /// Reverses [`Self::to_word`]. Returns `None` for 0.
    #[inline(always)]
    pub fn from_word(word: u32) -> Option<Self> {
        Some(Self(word.checked_sub(1)?))
    }

    /// Returns the class's number.
    pub fn number(self) -> u32 {
        self.0 & !Self::LOOKED_UP
    }

    /// Returns true if the numbers of the class's objects are looked up, whichever kinds of events
    /// are enabled.
    pub fn is_looked_up(self) -> bool {
        self.0 & Self::LOOKED_UP != 0
    }
}

/// Returns an address in the running thread's stack, in the frame of the caller.
#[inline(always)]
pub fn stack_address() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// A pending object: its constructor has not called `Object`'s constructor yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingObject {
    /// Number of the object.
    pub number: u64,
    /// Class of the object.
    pub class: NewClass,
    /// Allocation site of the object; [`Self::KNOWN`] if the object already has its number as a
    /// tag.
    pub site: u32,
    /// Result of [`stack_address`] in the hook after `new`.
    pub stack: usize,
}

impl PendingObject {
    /// The [`Self::site`] of an object that already has its number as a tag.
    pub const KNOWN: u32 = u32::MAX;

    /// Returns true if the object already has its number as a tag.
    pub fn is_known(&self) -> bool {
        self.site == Self::KNOWN
    }

    /// For an unreachable object: returns its number if the agent must record its end. Returns
    /// `None` if the object has its number as a tag, because the JVM reports the end then.
    pub fn lost(self) -> Option<u64> {
        (!self.is_known()).then_some(self.number)
    }
}

/// The pending objects of one thread, innermost last.
#[derive(Default)]
pub struct Pending {
    waiting: Vec<PendingObject>,
    epoch: u32,
    /// Unreachable objects are searched once this many objects are pending.
    room: usize,
}

impl Pending {
    /// Returns true if [`Self::push`] can add an object from a hook at the address `stack` at once.
    #[inline(always)]
    pub fn takes_more(&self, stack: usize) -> bool {
        let last = self.waiting.last();
        self.epoch == EPOCH.load(Ordering::Relaxed)
            && self.waiting.len() < self.room
            && last.is_none_or(|last| last.stack >= stack.saturating_sub(SLACK))
    }

    /// Adds an object. [`Self::takes_more`] must have returned true.
    #[inline(always)]
    pub fn push(&mut self, object: PendingObject) {
        self.waiting.push(object);
    }

    /// Returns true if no object is pending.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns true if objects can be pending now. Forgets objects of an earlier epoch.
    pub fn is_open(&mut self) -> bool {
        let epoch = EPOCH.load(Ordering::Acquire);
        if self.epoch != epoch {
            self.epoch = epoch;
            self.waiting.clear();
            self.room = FEW;
        }
        epoch != 0
    }

    /// Removes and returns the innermost object if its frame has returned. `stack` is the running
    /// thread's stack address.
    pub fn pop_unreachable(&mut self, stack: usize) -> Option<PendingObject> {
        self.waiting
            .pop_if(|last| last.stack < stack.saturating_sub(SLACK))
    }

    /// Makes room for one more object. If many objects are pending, removes some that must be
    /// unreachable, and returns their numbers.
    pub fn make_room(&mut self) -> Vec<u64> {
        let mut unreachable = Vec::new();
        if self.waiting.len() < self.room {
            return unreachable;
        }
        let mut alike: FxHashMap<(u32, usize), usize> = FxHashMap::default();
        let mut kept: Vec<PendingObject> = Vec::with_capacity(self.waiting.len());
        for object in self.waiting.iter().rev() {
            let count = alike.entry((object.site, object.stack)).or_default();
            *count += 1;
            let most = match object.stack {
                MOVED => MAX_MOVED,
                _ => MAX_ALIKE,
            };
            match *count > most {
                true => unreachable.extend(object.lost()),
                false => kept.push(*object),
            }
        }
        kept.reverse();
        self.waiting = kept;
        self.room = FEW.max(2 * self.waiting.len());
        unreachable
    }

    /// Returns the innermost object.
    pub fn last(&self) -> Option<PendingObject> {
        self.waiting.last().copied()
    }

    /// Removes and returns the innermost object.
    pub fn pop(&mut self) -> Option<PendingObject> {
        self.waiting.pop()
    }

    /// Returns true if an object of the class with the number `class` is pending.
    pub fn has(&self, class: u32) -> bool {
        self.waiting.iter().any(|w| w.class.number() == class)
    }

    /// Removes all objects and returns their numbers.
    pub fn take_all(&mut self) -> Vec<u64> {
        let all = std::mem::take(&mut self.waiting);
        all.into_iter().filter_map(PendingObject::lost).collect()
    }
}

/// Pending objects of threads that are not running, by thread number: of unmounted virtual threads,
/// and of carriers that run a virtual thread.
#[derive(Default)]
pub struct PendingElsewhere {
    threads: Mutex<FxHashMap<u32, Pending>>,
    count: AtomicUsize,
}

impl PendingElsewhere {
    /// Swaps the lists when the carrier `carrier` changes from the thread `before` to the thread
    /// `after`. Each of the two may be the carrier itself.
    pub fn exchange(&self, pending: &mut Pending, before: u32, after: u32, carrier: u32) {
        let is_simple = pending.is_empty() && self.count.load(Ordering::Acquire) == 0;
        if before == after || is_simple {
            return;
        }
        let mut threads = self.threads.lock();
        let left = std::mem::take(pending);
        if !left.is_empty() {
            threads.insert(before, left);
        }
        *pending = threads.remove(&after).unwrap_or_default();
        self.count.store(threads.len(), Ordering::Release);
        // Frames of the carrier itself do not move.
        if after != carrier {
            for object in &mut pending.waiting {
                object.stack = MOVED;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: usize = 1 << 20;

    fn waiting(number: u64, site: u32, stack: usize) -> PendingObject {
        PendingObject {
            number,
            class: NewClass::unknown(1),
            site,
            stack,
        }
    }

    fn numbers(pending: &Pending) -> Vec<u64> {
        pending.waiting.iter().map(|w| w.number).collect()
    }

    #[test]
    fn objects_pending_further_up_the_stack_are_dropped() {
        let mut pending = Pending::default();
        for (number, depth) in [(1, 0), (2, 10_000), (3, 20_000)] {
            pending.push(waiting(number, 0, TOP - depth));
        }
        assert_eq!(
            pending.pop_unreachable(TOP - 20_000 + SLACK),
            None,
            "another hook"
        );
        let unreachable = [1, 2].map(|_| pending.pop_unreachable(TOP - 5000).map(|w| w.number));
        assert_eq!(unreachable, [Some(3), Some(2)]);
        assert_eq!(pending.pop_unreachable(TOP - 5000), None);
        assert_eq!(numbers(&pending), [1]);
    }

    #[test]
    fn of_those_that_a_loop_leaves_the_newest_are_kept() {
        let mut pending = Pending {
            room: FEW,
            ..Pending::default()
        };
        pending.push(waiting(1, 7, TOP));
        let mut unreachable = Vec::new();
        for number in 2..=1000 {
            unreachable.append(&mut pending.make_room());
            pending.push(waiting(number, 8, TOP - 100));
            assert!(pending.waiting.len() <= FEW);
        }
        unreachable.sort_unstable();
        let last = *unreachable.last().expect("some");
        assert_eq!(unreachable, (2..=last).collect::<Vec<_>>());
        assert_eq!(numbers(&pending)[0], 1, "it waits elsewhere in the code");
        assert!(1000 - last >= MAX_ALIKE as u64);
    }

    #[test]
    fn deep_recursion_waits_as_it_should() {
        let mut pending = Pending::default();
        for number in 1..=10_000_u64 {
            assert!(pending.make_room().is_empty());
            pending.push(waiting(number, 8, TOP - 100 * number as usize));
        }
        assert_eq!(pending.take_all().len(), 10_000);
        assert!(pending.is_empty());
    }

    #[test]
    fn they_move_with_their_thread() {
        const CARRIERS: [u32; 2] = [1, 2];
        const THREAD: u32 = 3;
        let elsewhere = PendingElsewhere::default();
        let mut on = [Pending::default(), Pending::default()];
        on[0].push(waiting(1, 0, TOP));
        elsewhere.exchange(&mut on[0], CARRIERS[0], THREAD, CARRIERS[0]);
        assert!(on[0].is_empty());
        on[0].push(waiting(2, 0, TOP - 100));
        elsewhere.exchange(&mut on[0], THREAD, CARRIERS[0], CARRIERS[0]);
        assert_eq!(on[0].waiting, [waiting(1, 0, TOP)], "it never moved");
        elsewhere.exchange(&mut on[1], CARRIERS[1], THREAD, CARRIERS[1]);
        assert_eq!(on[1].waiting, [waiting(2, 0, MOVED)]);
        assert_eq!(on[1].pop_unreachable(usize::MAX), None);
        elsewhere.exchange(&mut on[1], THREAD, CARRIERS[1], CARRIERS[1]);
        assert!(on[1].is_empty());
        assert_eq!(elsewhere.count.load(Ordering::Relaxed), 1);
    }
}
