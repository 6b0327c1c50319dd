//! Helpers that follow the calls of full chunks before the merge reads them.
//!
//! A chunk is followed in strips. Each strip is followed by whichever thread has time. If a helper
//! is still following the strip that the merge has reached, the merge does not follow that strip as
//! well. Meanwhile, the merge follows a later strip. If nobody has followed a strip when the merge
//! reaches it, the merge reads the strip's words directly. The merge waits only before it gives a
//! chunk back, until no helper reads that chunk.

use crate::helpers::Pool;
use jtrail_formats::Helpers;
use jtrail_recorder::buffer::Chunk;
use jtrail_records::read::{Ahead, Piece};
use jtrail_records::{Followed, Follower, record};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of words in a strip.
const STRIP: usize = 4096;
/// Maximum number of strips, for each helper and for the writer, that are followed and not read
/// yet.
const STRIPS: usize = 4;

/// The strips to be followed, and the helpers that follow them.
pub(crate) struct Following {
    helpers: Arc<Pool>,
    follower: Option<Follower>,
    work: Arc<Work>,
    /// Maximum number of strips, for each of these threads, that are followed and not read yet:
    /// [`STRIPS`], except in tests.
    strips: usize,
}

impl Default for Following {
    fn default() -> Self {
        Self {
            helpers: Arc::default(),
            follower: None,
            work: Arc::default(),
            strips: STRIPS,
        }
    }
}

#[derive(Default)]
struct Work {
    /// Strips that no thread has begun to follow, in the order of their chunks.
    waiting: Mutex<VecDeque<Arc<Strip>>>,
    /// Number of jobs that follow strips, queued or running.
    helping: AtomicUsize,
    /// Number of these jobs that are queued.
    queued: AtomicUsize,
    /// Number of rooms in use.
    lent: AtomicUsize,
    /// Memory of rooms that were given back.
    spare: Mutex<Vec<Followed>>,
}

/// Memory for the results of a strip.
struct Room {
    /// `None` once the memory is given back.
    followed: Option<Followed>,
    of: Arc<Work>,
}

/// A range of words of a chunk that was handed over.
struct Strip {
    chunk: Chunk,
    range: Range<usize>,
    /// Epoch at the start of the chunk.
    epoch: u64,
    follower: Follower,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    /// A thread follows the strip.
    UnderWay,
    Followed(Room),
    /// The results are taken, or not needed.
    Over,
}

/// The strips of a chunk. The chunk must not be given back while they exist.
#[derive(Default)]
pub(crate) struct Strips {
    /// Strips that the merge has not reached.
    coming: VecDeque<Arc<Strip>>,
    /// Position at which the current strip ends.
    until: usize,
    /// Results of the current strip.
    found: Option<Room>,
    /// The current strip, while a thread is still following it.
    now: Option<Arc<Strip>>,
    /// Strips that the merge has passed while a thread was still following them.
    before: Vec<Arc<Strip>>,
}

/// A chunk that is being read, with the results for its strips.
pub(crate) struct Reading<'f> {
    pub(crate) strips: &'f mut Strips,
    pub(crate) following: &'f mut Following,
}

impl Following {
    /// Sets the follower for chunks that are handed over from now on. Without a follower, waiting
    /// strips are dropped.
    pub(crate) fn follow_by(&mut self, follower: Option<Follower>, helpers: &Arc<Pool>) {
        self.follower = follower.filter(|_| helpers.count() > 0);
        if self.follower.is_none() {
            self.work.waiting.lock().clear();
        }
        self.helpers = Arc::clone(helpers);
    }

    /// Returns the strips of the words `words` of a chunk, which are not read yet, and asks helpers
    /// to follow them.
    ///
    /// # Safety
    /// The chunk was handed over, and is not given back while its strips exist.
    pub(crate) unsafe fn strips(&mut self, chunk: Chunk, words: Range<usize>) -> Strips {
        let mut strips = Strips::default();
        let Some(follower) = &self.follower else {
            return strips;
        };
        // SAFETY: the chunk was handed over, so no thread writes to its header.
        let epoch = record::epoch(unsafe { chunk.header() }.start);
        for first in words.clone().step_by(STRIP) {
            strips.coming.push_back(Arc::new(Strip {
                chunk,
                range: first..(first + STRIP).min(words.end),
                epoch,
                follower: follower.clone(),
                state: Mutex::default(),
                changed: Condvar::new(),
            }));
        }
        let new = strips.coming.iter().map(Arc::clone);
        self.work.waiting.lock().extend(new);
        self.ask();
        strips
    }

    /// Removes the limit on the number of followed strips.
    #[cfg(test)]
    pub(crate) fn follow_all(&mut self) {
        self.strips = 1 << 20;
    }

    /// Returns the number of strips that are followed, or being followed, and not read yet.
    #[cfg(test)]
    pub(crate) fn followed(&self) -> usize {
        self.work.lent.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of strips that may be followed and not read yet.
    fn most(&self) -> usize {
        self.strips * (self.helpers.count() + 1)
    }

    /// Asks one more helper to follow strips, if strips are waiting and not all helpers are at
    /// work. The helper stops as soon as a segment waits for compression. Compression costs the
    /// same in every thread, but following calls ahead costs more than following them in the merge.
    fn ask(&self) {
        let (work, most) = (&self.work, self.most());
        let has_room = work.lent.load(Ordering::Relaxed) < most;
        if has_room
            && work.helping.load(Ordering::Relaxed) < self.helpers.count()
            && !work.waiting.lock().is_empty()
        {
            let mut helping = Helping::new(work);
            let waiting = self.helpers.waiting();
            self.helpers.give(Box::new(move || {
                helping.begin();
                let work = &helping.of;
                while waiting() <= work.queued.load(Ordering::Relaxed) && work.follow_one(most) {}
            }));
        }
    }
}

impl Work {
    /// Follows the next strip, if there is one and fewer than `most` rooms are in use. Returns true
    /// if a strip was followed.
    fn follow_one(self: &Arc<Self>, most: usize) -> bool {
        let has_room = self.lent.load(Ordering::Relaxed) < most;
        let next = has_room.then(|| self.waiting.lock().pop_front());
        let Some(strip) = next.flatten() else {
            return false;
        };
        strip.follow(|| Room::new(self));
        true
    }
}

/// Counts a job that follows strips. At first, the job is queued.
struct Helping {
    of: Arc<Work>,
    has_begun: bool,
}

impl Helping {
    fn new(work: &Arc<Work>) -> Self {
        work.helping.fetch_add(1, Ordering::Relaxed);
        work.queued.fetch_add(1, Ordering::Relaxed);
        Self {
            of: Arc::clone(work),
            has_begun: false,
        }
    }

    /// Notes that the job runs.
    fn begin(&mut self) {
        if !mem::replace(&mut self.has_begun, true) {
            self.of.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Helping {
    fn drop(&mut self) {
        self.begin();
        self.of.helping.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Room {
    fn new(of: &Arc<Work>) -> Self {
        of.lent.fetch_add(1, Ordering::Relaxed);
        let spare = of.spare.lock().pop();
        Self {
            followed: Some(spare.unwrap_or_default()),
            of: Arc::clone(of),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.of.spare.lock().extend(self.followed.take());
        self.of.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Strip {
    /// Follows the strip, unless another thread does or the strip is not needed.
    fn follow(&self, room: impl FnOnce() -> Room) {
        {
            let mut state = self.state.lock();
            if !matches!(*state, State::Waiting) {
                return;
            }
            *state = State::UnderWay;
        }
        let promise = Promise(self);
        // SAFETY: the chunk was handed over with these words. It is given back only after its
        // `Strips` are dropped, and dropping them waits while this strip is being followed.
        let words = unsafe { self.chunk.words(self.range.end) };
        let (mut room, range) = (room(), self.range.clone());
        if let Some(followed) = &mut room.followed {
            self.follower.follow(words, range, self.epoch, followed);
        }
        mem::forget(promise);
        self.set(State::Followed(room));
    }

    fn set(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Returns the results if the strip is followed. Prevents threads from beginning to follow it.
    fn take(&self) -> Option<Room> {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, State::Over) {
            State::Followed(room) => Some(room),
            State::UnderWay => {
                *state = State::UnderWay;
                None
            }
            State::Waiting | State::Over => None,
        }
    }

    fn is_unfinished(&self) -> bool {
        matches!(*self.state.lock(), State::UnderWay)
    }

    /// Waits until no thread follows the strip, and prevents threads from beginning.
    fn end(&self) {
        drop(self.take());
        let mut state = self.state.lock();
        while matches!(*state, State::UnderWay) {
            self.changed.wait(&mut state);
        }
    }
}

/// Marks a strip as over if a panic ends the thread that follows it.
struct Promise<'s>(&'s Strip);

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.0.set(State::Over);
    }
}

impl Drop for Strips {
    fn drop(&mut self) {
        let here = self.now.iter().chain(&self.before).chain(&self.coming);
        here.for_each(|strip| strip.end());
    }
}

impl Reading<'_> {
    /// Proceeds to the strip that contains `position`.
    #[cold]
    fn go_on(&mut self, position: usize) {
        let strips = &mut *self.strips;
        (strips.found, strips.until) = (None, usize::MAX);
        strips.before.extend(strips.now.take());
        while let Some(strip) = strips.coming.pop_front() {
            strips.found = strip.take();
            let (is_here, work) = (position < strip.range.end, &self.following.work);
            while is_here
                && strips.found.is_none()
                && strip.is_unfinished()
                && work.follow_one(self.following.most())
            {
                strips.found = strip.take();
            }
            let is_unfinished = strips.found.is_none() && strip.is_unfinished();
            if is_here {
                strips.until = strip.range.end;
                strips.now = is_unfinished.then_some(strip);
                break;
            }
            strips.before.extend(is_unfinished.then_some(strip));
        }
        self.following.ask();
    }
}

impl Ahead for Reading<'_> {
    #[inline]
    fn at(&mut self, position: usize) -> (Option<Piece<'_>>, Option<usize>) {
        if position >= self.strips.until {
            self.go_on(position);
        }
        let Strips {
            now, until, found, ..
        } = &mut *self.strips;
        if let Some(strip) = now.take_if(|strip| !strip.is_unfinished()) {
            *found = strip.take();
        }
        let (piece, more) = match found {
            Some(Room {
                followed: Some(followed),
                ..
            }) => followed.at(position),
            _ => (None, None),
        };
        (piece, more.or(Some(*until)))
    }
}
