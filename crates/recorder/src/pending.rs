//! Objects that have a number, and whose constructor has not come to that of `Object` yet
//! (`alloc=sites` with `free`).
//!
//! The probe behind `new` can't hand the object over, and the one in `Object`'s constructor does
//! not know where it was made. So the first leaves the object's number here, on a stack of the
//! running thread, and the second takes it: of the innermost object that waits and has the same
//! class. Those above it wait in vain: what came between `new` and their constructor has thrown,
//! and nobody can have them.
//!
//! Such an object may be left here with nothing below it that ever comes to its end. It is found by
//! where the machine's stack was: a frame of the program that has objects waiting is a caller of
//! the one that runs, or that itself, so an object from further up than the running frame is one of
//! a frame that is gone. What a loop leaves in one and the same frame has one place in the code and
//! one on the stack; of these, the newest are kept.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How far apart the stack may be in two hooks that one frame of the program calls: their own
/// frames differ, and the JVM's for them.
const SLACK: usize = 2048;
/// Where the stack was is not known: the frames have moved to another one.
const MOVED: usize = usize::MAX;
/// Objects that may wait without a look for those that wait in vain.
const FEW: usize = 64;
/// Objects of one place in the code that may wait in one place of the stack: as often may a method
/// be compiled into itself.
const MOST_ALIKE: usize = 16;
/// The same, where the place on the stack is not known.
const MOST_MOVED: usize = 1024;

/// Which numbers can be taken: those that were left since this changed. 0 while `Object`'s
/// constructor has no probe.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static LAST_EPOCH: AtomicU32 = AtomicU32::new(0);

/// `Object`'s constructor has a probe, and nothing that was left before counts: some constructors
/// were not seen.
pub fn begin_epoch() {
    let next = LAST_EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
    EPOCH.store(next.max(1), Ordering::Release);
}

/// As [`begin_epoch`], where the probe was there, and was not heard for a while.
pub fn skip_epoch() {
    if EPOCH.load(Ordering::Relaxed) != 0 {
        begin_epoch();
    }
}

/// From now on, nothing is left for `Object`'s constructor.
pub fn end_epoch() {
    EPOCH.store(0, Ordering::Release);
}

/// The class of a new object: its number, and in the uppermost bit whether objects of it are asked
/// for their numbers, whatever the kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewClass(u32);

impl NewClass {
    /// No class.
    pub const NONE: Self = Self(u32::MAX);
    const LOOKED_UP: u32 = 1 << 31;

    /// The class with that number, which nobody has to know again.
    pub fn unknown(number: u32) -> Self {
        Self(number)
    }

    /// The class with that number, whose objects are asked for their numbers.
    pub fn looked_up(number: u32) -> Self {
        Self(number | Self::LOOKED_UP)
    }

    /// As a word that is not 0.
    pub fn to_word(self) -> u32 {
        self.0.wrapping_add(1)
    }

    /// Reverses [`Self::to_word`]; none for 0.
    #[inline(always)]
    pub fn from_word(word: u32) -> Option<Self> {
        Some(Self(word.checked_sub(1)?))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0 & !Self::LOOKED_UP
    }

    /// Whether objects of it are asked for their numbers, whatever the kinds of events.
    pub fn is_looked_up(self) -> bool {
        self.0 & Self::LOOKED_UP != 0
    }
}

/// Where the running thread's stack is.
#[inline(always)]
pub fn stack_place() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// An object that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingObject {
    /// Its number.
    pub number: u64,
    /// Its class.
    pub class: NewClass,
    /// Where the code makes it; [`Self::KNOWN`] if the object has its number already, as a tag.
    pub site: u32,
    /// [`stack_place`] in the hook behind `new`.
    pub stack: usize,
}

impl PendingObject {
    /// The [`Self::site`] of an object that has its number already.
    pub const KNOWN: u32 = u32::MAX;

    /// Whether the object has its number already, as a tag.
    pub fn is_known(&self) -> bool {
        self.site == Self::KNOWN
    }

    /// The number, unless the object has it, and so an end of its own.
    pub fn lost(self) -> Option<u64> {
        (!self.is_known()).then_some(self.number)
    }
}

/// The objects of one thread that wait, innermost last.
#[derive(Default)]
pub struct Pending {
    waiting: Vec<PendingObject>,
    epoch: u32,
    /// So many may wait until those that wait in vain are looked for.
    room: usize,
}

impl Pending {
    /// Whether one more can be added by [`Self::push`] at once, from that place of the stack.
    #[inline(always)]
    pub fn takes_more(&self, stack: usize) -> bool {
        let last = self.waiting.last();
        self.epoch == EPOCH.load(Ordering::Relaxed)
            && self.waiting.len() < self.room
            && last.is_none_or(|last| last.stack >= stack.saturating_sub(SLACK))
    }

    /// Adds one, for which there must be room: see [`Self::takes_more`].
    #[inline(always)]
    pub fn push(&mut self, object: PendingObject) {
        self.waiting.push(object);
    }

    /// Whether none waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether anything can wait now. What waited in an earlier epoch is forgotten.
    pub fn is_open(&mut self) -> bool {
        let epoch = EPOCH.load(Ordering::Acquire);
        if self.epoch != epoch {
            self.epoch = epoch;
            self.waiting.clear();
            self.room = FEW;
        }
        epoch != 0
    }

    /// Takes an object away whose frame is gone, to judge by where the stack is now.
    pub fn pop_unreachable(&mut self, stack: usize) -> Option<PendingObject> {
        self.waiting
            .pop_if(|last| last.stack < stack.saturating_sub(SLACK))
    }

    /// Makes room for one more: the numbers of those that must be waiting in vain, if there are
    /// many.
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
                MOVED => MOST_MOVED,
                _ => MOST_ALIKE,
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

    /// The object that waits innermost.
    pub fn last(&self) -> Option<PendingObject> {
        self.waiting.last().copied()
    }

    /// Takes the object away that waits innermost.
    pub fn pop(&mut self) -> Option<PendingObject> {
        self.waiting.pop()
    }

    /// Whether an object of that class waits.
    pub fn has(&self, class: u32) -> bool {
        self.waiting.iter().any(|w| w.class.number() == class)
    }

    /// The numbers of all that wait; none does any more.
    pub fn take_all(&mut self) -> Vec<u64> {
        let all = std::mem::take(&mut self.waiting);
        all.into_iter().filter_map(PendingObject::lost).collect()
    }
}

/// The objects of virtual threads that wait while their thread is on no carrier, and those of
/// carriers meanwhile, by thread.
#[derive(Default)]
pub struct PendingElsewhere {
    threads: Mutex<FxHashMap<u32, Pending>>,
    count: AtomicUsize,
}

impl PendingElsewhere {
    /// What ran `before` on that carrier makes room for `after`, which may be the carrier itself.
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
        // The carrier's own frames stay where they are.
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
        assert!(1000 - last >= MOST_ALIKE as u64);
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
