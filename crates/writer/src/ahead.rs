//! Helpers follow the calls of full chunks before the merge comes to them.
//!
//! A chunk is followed in strips, each by whoever has time. Where somebody follows the strip that
//! the merge comes to, the merge follows a later one meanwhile, rather than do the same. When it
//! comes to a strip that nobody has followed, it reads the words itself. It waits only before a
//! chunk is given back, until nobody reads that chunk.

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

/// Words that are followed at once.
const STRIP: usize = 4096;
/// How many strips, for each helper and for the writer, may be followed and still unread.
const STRIPS: usize = 4;

/// What is to be followed, and by whom.
pub(crate) struct Following {
    helpers: Arc<Pool>,
    follower: Option<Follower>,
    work: Arc<Work>,
    /// See [`STRIPS`].
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
    /// Strips that nobody has begun to follow, in the order in which their chunks came.
    waiting: Mutex<VecDeque<Arc<Strip>>>,
    /// How many jobs that follow strips are queued or running, and how many of them are queued.
    helping: AtomicUsize,
    queued: AtomicUsize,
    /// How many rooms are in use.
    lent: AtomicUsize,
    /// Rooms that are free.
    spare: Mutex<Vec<Followed>>,
}

/// Room for what is found in a strip.
struct Room {
    /// None once it is given back.
    followed: Option<Followed>,
    of: Arc<Work>,
}

/// Words of a chunk that was handed over.
struct Strip {
    chunk: Chunk,
    range: Range<usize>,
    /// The chunk's, when it was begun.
    epoch: u64,
    follower: Follower,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    /// Somebody follows it.
    UnderWay,
    Followed(Room),
    /// Nobody needs it any more.
    Over,
}

/// The strips of a chunk. While they are there, the chunk is not to be given back.
#[derive(Default)]
pub(crate) struct Strips {
    coming: VecDeque<Arc<Strip>>,
    /// The one that is read ends there, and this was found in it.
    until: usize,
    found: Option<Room>,
    /// It is still being followed.
    now: Option<Arc<Strip>>,
    /// Strips that the merge has passed while somebody was still following them.
    before: Vec<Arc<Strip>>,
}

/// What was found in a chunk that is being read.
pub(crate) struct Reading<'f> {
    pub(crate) strips: &'f mut Strips,
    pub(crate) following: &'f mut Following,
}

impl Following {
    /// Sets who follows the chunks that are handed over from now on; none: nobody, nor those that
    /// nobody has begun.
    pub(crate) fn follow_by(&mut self, follower: Option<Follower>, helpers: &Arc<Pool>) {
        self.follower = follower.filter(|_| helpers.count() > 0);
        if self.follower.is_none() {
            self.work.waiting.lock().clear();
        }
        self.helpers = Arc::clone(helpers);
    }

    /// The strips of these words of a chunk, all that are not read yet.
    ///
    /// # Safety
    /// The chunk was handed over, and is not given back as long as there are its strips.
    pub(crate) unsafe fn strips(&mut self, chunk: Chunk, words: Range<usize>) -> Strips {
        let mut strips = Strips::default();
        let Some(follower) = &self.follower else {
            return strips;
        };
        // SAFETY: it was handed over, so nobody writes to it.
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

    /// As many strips as there are may be followed.
    #[cfg(test)]
    pub(crate) fn follow_all(&mut self) {
        self.strips = 1 << 20;
    }

    /// How many strips are followed, or about to be, and not read yet.
    #[cfg(test)]
    pub(crate) fn followed(&self) -> usize {
        self.work.lent.load(Ordering::Relaxed)
    }

    /// How many strips may be followed and not read yet.
    fn most(&self) -> usize {
        self.strips * (self.helpers.count() + 1)
    }

    /// Asks one more helper to follow strips, if there are some and others are not at it. The
    /// helper stops as soon as a segment waits to be packed: packing costs the same whoever does
    /// it, following calls ahead costs more than following them when the merge comes to them.
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
    /// Follows the next strip, if there is one and fewer than so many rooms are in use. Whether it
    /// did.
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

/// Counts as a job that follows strips, queued at first.
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

    /// It is queued no more.
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
    /// Follows it, unless it is over.
    fn follow(&self, room: impl FnOnce() -> Room) {
        {
            let mut state = self.state.lock();
            if !matches!(*state, State::Waiting) {
                return;
            }
            *state = State::UnderWay;
        }
        let promise = Promise(self);
        // SAFETY: the chunk was handed over with these words, and is given back only after the drop
        // of its `Strips`, which waits until this one is not under way.
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

    /// What was found, if it is followed. Nobody begins to follow it any more.
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

    fn is_under_way(&self) -> bool {
        matches!(*self.state.lock(), State::UnderWay)
    }

    /// Nobody follows it any more.
    fn end(&self) {
        drop(self.take());
        let mut state = self.state.lock();
        while matches!(*state, State::UnderWay) {
            self.changed.wait(&mut state);
        }
    }
}

/// Marks a strip as over if a panic ends how it is followed.
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
    /// Goes on to the strip that has that position.
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
                && strip.is_under_way()
                && work.follow_one(self.following.most())
            {
                strips.found = strip.take();
            }
            let is_under_way = strips.found.is_none() && strip.is_under_way();
            if is_here {
                strips.until = strip.range.end;
                strips.now = is_under_way.then_some(strip);
                break;
            }
            strips.before.extend(is_under_way.then_some(strip));
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
        if let Some(strip) = now.take_if(|strip| !strip.is_under_way()) {
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
