//! Helpers follow the calls of full chunks before the merge comes to them.
//!
//! A chunk is followed in strips, each by whoever has time. The merge waits for none: where a strip is not followed when it comes there, it goes on without.
//! But a chunk is not given back while somebody reads it.

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
/// So many strips for each helper and for the writer may be followed and not read yet.
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
    /// How many helpers are at it, or will be.
    helping: AtomicUsize,
    /// Rooms that are in use, and others.
    lent: AtomicUsize,
    spare: Mutex<Vec<Followed>>,
}

/// Room for what is found in a strip.
struct Room {
    followed: Followed,
    of: Arc<Work>,
}

/// Words of a chunk that was handed over.
struct Strip {
    chunk: Chunk,
    /// How many words the chunk has.
    count: usize,
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
    /// The one that is read, up to that position, and what was found in it.
    now: Option<Arc<Strip>>,
    until: usize,
    found: Option<Room>,
    /// Those that somebody still followed when they had been read.
    behind: Vec<Arc<Strip>>,
}

/// What was found in a chunk that is being read.
pub(crate) struct Reading<'f> {
    pub(crate) strips: &'f mut Strips,
    pub(crate) following: &'f mut Following,
}

impl Following {
    /// Chunks that come from now on are followed so.
    pub(crate) fn follow_by(&mut self, follower: Option<Follower>, helpers: &Arc<Pool>) {
        self.follower = follower.filter(|_| helpers.count() > 0);
        if !Arc::ptr_eq(&self.helpers, helpers) {
            self.helpers = Arc::clone(helpers);
        }
    }

    /// The strips of a chunk with so many words.
    ///
    /// # Safety
    /// The chunk was handed over, and is not given back as long as there are its strips.
    pub(crate) unsafe fn strips(&mut self, chunk: Chunk, count: usize) -> Strips {
        let mut strips = Strips::default();
        let Some(follower) = &self.follower else {
            return strips;
        };
        // SAFETY: it was handed over, so nobody writes to it.
        let epoch = record::epoch(unsafe { chunk.header() }.start);
        for first in (0..count).step_by(STRIP) {
            strips.coming.push_back(Arc::new(Strip {
                chunk,
                count,
                range: first..(first + STRIP).min(count),
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

    /// Asks one more helper to follow strips, if there are some and others are not at it.
    fn ask(&self) {
        let (work, helpers) = (&self.work, self.helpers.count());
        let most = self.strips * (helpers + 1);
        let has_room = work.lent.load(Ordering::Relaxed) < most;
        if has_room
            && work.helping.load(Ordering::Relaxed) < helpers
            && !work.waiting.lock().is_empty()
        {
            work.helping.fetch_add(1, Ordering::Relaxed);
            let work = Arc::clone(work);
            self.helpers.give(Box::new(move || work.follow(most)));
        }
    }
}

impl Work {
    /// Follows strips as long as there are some, and fewer than so many rooms are in use.
    fn follow(self: Arc<Self>, most: usize) {
        while self.lent.load(Ordering::Relaxed) < most {
            let Some(strip) = self.waiting.lock().pop_front() else {
                break;
            };
            strip.follow(|| Room::new(&self));
        }
        self.helping.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Room {
    fn new(of: &Arc<Work>) -> Self {
        of.lent.fetch_add(1, Ordering::Relaxed);
        Self {
            followed: of.spare.lock().pop().unwrap_or_default(),
            of: Arc::clone(of),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.of.spare.lock().push(mem::take(&mut self.followed));
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
        // SAFETY: the chunk was handed over with so many words, and is given back only when its strips are gone, who wait for this.
        let words = unsafe { self.chunk.words(self.count) };
        let (mut room, range) = (room(), self.range.clone());
        self.follower
            .follow(words, range, self.epoch, &mut room.followed);
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

/// Says that nothing comes of it, where it is not followed to the end.
struct Promise<'s>(&'s Strip);

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.0.set(State::Over);
    }
}

impl Drop for Strips {
    fn drop(&mut self) {
        let here = self.now.iter().chain(&self.behind).chain(&self.coming);
        here.for_each(|strip| strip.end());
    }
}

impl Reading<'_> {
    /// Goes on to the strip that has that position.
    #[cold]
    fn go_on(&mut self, position: usize) {
        let strips = &mut *self.strips;
        (strips.found, strips.until) = (None, usize::MAX);
        strips
            .behind
            .extend(strips.now.take_if(|strip| strip.is_under_way()));
        while let Some(strip) = strips.coming.pop_front() {
            strips.found = strip.take();
            if position < strip.range.end {
                strips.until = strip.range.end;
                strips.now = Some(strip);
                break;
            }
            if strip.is_under_way() {
                strips.behind.push(strip);
            }
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
        if let (Some(strip), None) = (&now, &found) {
            *found = strip.take();
        }
        let (piece, more) = match found {
            Some(room) => room.followed.at(position),
            None => (None, None),
        };
        (piece, more.or(Some(*until)))
    }
}
