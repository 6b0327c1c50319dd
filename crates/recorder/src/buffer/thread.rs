//! One thread's place to record: its chunk, and the way to the next one.
//!
//! The owning thread stores a record and then moves the cursor behind it; the writer may read all
//! words before the cursor (see [`crate::published`]). There is no lock, and nothing else that the
//! two share while a chunk is being filled.

mod missing;

use super::exchange::{BufferView, Exchange, Full, WhenFull};
use super::gap::Gap;
use super::pool;
use crate::cache_line::{CacheLine, ForHooks};
use crate::chunk::{CHUNK_BYTES, Chunk};
use crate::pending::Pending;
use crate::published::{Published, View};
use crate::spool::Memory;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, select_biased};
use jtrail_records::record::{self, Code, epoch, word};
use rustc_hash::FxHashMap;
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// One operating-system thread's buffer.
pub struct ThreadBuffer {
    /// Its line: its own, or one of a table. The owning thread may change the one for the other
    /// while no chunk is in view.
    line: AtomicPtr<CacheLine>,
    own_line: OwnLine,
    spool: Option<Arc<Memory>>,
    owner: UnsafeCell<Owner>,
    pending: UnsafeCell<Pending>,
    number: u64,
    /// Events that are lost and that no record tells of yet.
    unwritten: AtomicU64,
    /// The writer gives the reserve back through this.
    reserve_return: Sender<Chunk>,
    /// The reserve, whoever has it in its hands.
    reserve: Chunk,
}

// SAFETY: `owner` and `pending` are only touched by the owning thread (see `Self::owner`), all else
// is atomic or never changes.
unsafe impl Sync for ThreadBuffer {}
// SAFETY: nothing of it belongs to one thread: the lines that it points to are shared memory, and
// the owning thread hands over its part when it finishes.
unsafe impl Send for ThreadBuffer {}

/// The line of a buffer that is in no table.
enum OwnLine {
    Boxed(Box<CacheLine>),
    /// Of the spool, which the buffer keeps.
    Spooled(NonNull<CacheLine>),
}

impl OwnLine {
    fn new(spool: Option<&Memory>) -> Self {
        match spool.and_then(Memory::line) {
            Some(line) => Self::Spooled(line.into()),
            None => Self::Boxed(Box::new(CacheLine::own())),
        }
    }

    fn address(&self) -> *const CacheLine {
        match self {
            Self::Boxed(line) => &raw const **line,
            Self::Spooled(line) => line.as_ptr(),
        }
    }

    fn line(&self) -> &CacheLine {
        // SAFETY: a box of its own, or a line of the spool, which stays as long as
        // `ThreadBuffer::spool`.
        unsafe { &*self.address() }
    }

    fn give_back(&self) {
        if let Self::Spooled(_) = self {
            self.line().give_back();
        }
    }
}

/// Further reserves that a thread may make for what may not be left out, while the pool is empty: 1
/// MiB of them.
const MOST_EXTRA: u32 = 64;

/// Words of a record that says whose records follow.
const SWITCH_WORDS: usize = 2;

/// What only the owning thread touches.
struct Owner {
    /// Address behind the last word of the chunk; 0 while there is no chunk. In a further reserve,
    /// that of the cursor: there is room for what may not be left out, and for nothing else.
    end: usize,
    /// Address behind the last word of the chunk, always.
    limit: usize,
    /// Epoch of the last full time in the chunk.
    epoch: u64,
    /// Thread that records belong to now.
    running: u32,
    /// The same, as far as the chunk says.
    running_in_chunk: u32,
    /// Thread that the operating-system thread itself is.
    base: u32,
    reserve: Option<Chunk>,
    /// Further reserves that were made since the pool had a chunk.
    extra: u32,
    /// The chunk is one of them.
    in_extra: bool,
    reserve_back: Receiver<Chunk>,
    exchange: Exchange,
    /// Losses not yet written down, by thread.
    gaps: FxHashMap<u32, Gap>,
}

impl ThreadBuffer {
    /// A buffer for the operating-system thread that is `thread`.
    pub fn new(number: u64, thread: u32, exchange: Exchange) -> Box<Self> {
        let (reserve_return, reserve_back) = bounded(1);
        let spool = exchange.spool.clone();
        let reserve = pool::allocate_reserve(spool.as_deref());
        let own_line = OwnLine::new(spool.as_deref());
        own_line.line().be_of(number, 0);
        Box::new(Self {
            line: AtomicPtr::new(own_line.address().cast_mut()),
            own_line,
            spool,
            number,
            pending: UnsafeCell::default(),
            unwritten: Default::default(),
            reserve_return,
            reserve,
            owner: UnsafeCell::new(Owner {
                end: 0,
                limit: 0,
                epoch: 0,
                running: thread,
                running_in_chunk: thread,
                base: thread,
                reserve: Some(reserve),
                extra: 0,
                in_extra: false,
                reserve_back,
                exchange,
                gaps: FxHashMap::default(),
            }),
        })
    }

    /// Its number, by which the writer tells buffers apart; never 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// For the owning thread.
    #[inline(always)]
    fn line(&self) -> &CacheLine {
        self.line_as(Ordering::Relaxed)
    }

    #[inline(always)]
    fn line_as(&self, order: Ordering) -> &CacheLine {
        // SAFETY: it is `own_line`, or one of the table of `exchange.ticks`; the buffer keeps both.
        unsafe { &*self.line.load(order) }
    }

    #[inline(always)]
    fn view(&self) -> &Published {
        &self.line().published
    }

    #[inline(always)]
    fn for_hooks(&self) -> &ForHooks {
        &self.line().for_hooks
    }

    /// The part that the owning thread alone touches. Public methods take it once and pass it on.
    ///
    /// # Safety
    /// The owning thread calls it, and has no other reference to the part.
    #[expect(
        clippy::mut_from_ref,
        reason = "the cell is how the owner alone changes its part"
    )]
    unsafe fn owner(&self) -> &mut Owner {
        // SAFETY: no other thread touches the part, and the caller, its owner, has no other
        // reference to it.
        unsafe { &mut *self.owner.get() }
    }

    /// The objects of the running thread whose constructor is to come.
    ///
    /// # Safety
    /// The owning thread calls it, and has no other reference to these objects.
    #[expect(clippy::mut_from_ref, reason = "as for the owner's part")]
    #[inline(always)]
    pub unsafe fn pending(&self) -> &mut Pending {
        // SAFETY: no other thread touches the objects, and the caller, their owner, has no other
        // reference to them.
        unsafe { &mut *self.pending.get() }
    }

    /// Records an enter or leave, when that needs nothing but a store. Otherwise `false`, and
    /// [`Self::record`] has to do it.
    ///
    /// # Safety
    /// The owning thread calls it.
    #[inline(always)]
    pub unsafe fn try_record(&self, now: u64, low: u64) -> bool {
        let view = self.view();
        let cursor = view.cursor();
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        if cursor == owner.end || epoch(now) != owner.epoch {
            return false;
        }
        // SAFETY: `cursor` is before the end of the owner's chunk, so it is the address of one of
        // its words.
        unsafe { (cursor as *mut u64).write(word(now, low)) };
        view.advance(cursor + 8);
        true
    }

    /// As [`Self::try_record`], for a record with so many words of payload.
    ///
    /// # Safety
    /// The owning thread calls it.
    #[inline(always)]
    pub unsafe fn try_record_with<const WORDS: usize>(
        &self,
        now: u64,
        low: u64,
        payload: [u64; WORDS],
    ) -> bool {
        let cursor = self.view().cursor();
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        if owner.end - cursor < 8 * (1 + WORDS) || epoch(now) != owner.epoch {
            return false;
        }
        // SAFETY: `cursor` is the address of a word of the owner's chunk, and 1 + `WORDS` words are
        // before its end.
        unsafe {
            (cursor as *mut u64).write(word(now, low));
            (cursor as *mut u64)
                .add(1)
                .cast::<[u64; WORDS]>()
                .write(payload);
        }
        self.for_hooks().note_time(word(now, low));
        self.view().advance(cursor + 8 * (1 + WORDS));
        true
    }

    /// As [`Self::try_record`], with the running thread's CPU time in front.
    ///
    /// # Safety
    /// The owning thread calls it.
    #[inline]
    pub unsafe fn try_record_with_cpu(&self, now: u64, cpu: u64, low: u64) -> bool {
        let cursor = self.view().cursor();
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        if owner.end - cursor < 24 || epoch(now) != owner.epoch {
            return false;
        }
        self.push(word(now, record::coded(Code::Cpu)), &[cpu]);
        self.push(word(now, low), &[]);
        true
    }

    /// Lets hooks of the running thread, which Java gives the id `id`, find the buffer, if there is
    /// a place for it.
    ///
    /// # Safety
    /// The owning thread calls it, which is the one with that id.
    pub unsafe fn show_to_hooks(&self, id: u64) {
        if self.for_hooks().thread_id() == id || self.has_place() {
            return; // or it was another thread's to Java, and cannot be found any more
        }
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        let ticks = owner.exchange.ticks.clone();
        let Some(line) = ticks.as_ref().and_then(|ticks| ticks.place(id)) else {
            return;
        };
        // Whoever looks at the line before sees no chunk from now on, as if it had looked earlier.
        self.hand_over(owner);
        line.be_of(self.number, self.unwritten());
        self.line().be_of(0, 0);
        self.line
            .store(ptr::from_ref(line).cast_mut(), Ordering::Release);
        self.for_hooks().set_thread_id(id);
    }

    /// Whether its line is one of a table.
    fn has_place(&self) -> bool {
        !ptr::eq(self.line(), self.own_line.address())
    }

    /// The stamp that was taken for the last record is good for hooks, as long as the clock's word
    /// is `tick`.
    ///
    /// # Safety
    /// The owning thread calls it.
    pub unsafe fn arm(&self, tick: u64) {
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        // They see the end of a chunk by its address alone.
        if owner.running == owner.running_in_chunk
            && !owner.in_extra
            && owner.end % CHUNK_BYTES == 0
        {
            self.for_hooks().arm(tick);
        }
    }

    /// Compiled hooks of the running thread call the agent, until the next [`Self::arm`].
    pub fn disarm(&self) {
        self.for_hooks().disarm();
    }

    /// Records an enter or leave, in a new chunk if need be.
    ///
    /// Returns `false` when recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls it.
    #[cold]
    pub unsafe fn record(&self, now: u64, low: u64) -> bool {
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        self.write(owner, now, None, low, &[])
    }

    /// Records an enter or leave, of either kind, with the running thread's CPU time in front: both
    /// or none.
    ///
    /// Returns `false` when recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls it.
    pub unsafe fn record_with_cpu(&self, now: u64, cpu: u64, low: u64, payload: &[u64]) -> bool {
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        self.write(owner, now, Some(cpu), low, payload)
    }

    /// Records something with a payload, of as many words as its code has. In drop mode, there is
    /// further memory for records that may not be left out ([`Code::may_drop`]); when that is full
    /// too, they wait for room.
    ///
    /// Returns `false` when recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls it.
    pub unsafe fn record_coded(&self, now: u64, code: Code, payload: &[u64]) -> bool {
        debug_assert_eq!(code.words(payload[0]), Some(payload.len()));
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        self.write(owner, now, None, record::coded(code), payload)
    }

    /// Numbers of the thread that records belong to now, and of the operating-system thread's own.
    ///
    /// # Safety
    /// The owning thread calls it.
    pub unsafe fn owners(&self) -> (u32, u32) {
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        (owner.running, owner.base)
    }

    /// From now on, records belong to `thread`; `None`: to the operating-system thread's own. That
    /// never waits, and needs no chunk: the next chunk's header says it too.
    ///
    /// # Safety
    /// The owning thread calls it.
    pub unsafe fn switch_to(&self, now: u64, thread: Option<u32>) {
        // SAFETY: the owning thread calls this, and none of its methods calls another that takes
        // this part.
        let owner = unsafe { self.owner() };
        owner.running = thread.unwrap_or(owner.base);
        if owner.running == owner.running_in_chunk || owner.in_extra {
            return;
        }
        match self.has_room(owner, owner.end, now, SWITCH_WORDS) {
            true => self.store_header(owner, now),
            false => self.hand_over(owner),
        }
    }

    /// Whether so many words fit in front of `end`, and the full time if that is due.
    fn has_room(&self, owner: &Owner, end: usize, now: u64, words: usize) -> bool {
        let room = (end - self.view().cursor()) / 8;
        let time = if epoch(now) == owner.epoch { 0 } else { 2 };
        room >= words + time
    }

    /// Stores the full time, if it is due, and whose records follow, if the chunk says otherwise.
    /// There is room.
    fn store_header(&self, owner: &mut Owner, now: u64) {
        if epoch(now) != owner.epoch {
            self.for_hooks().disarm(); // their stamp is of the epoch before
            self.push(word(now, record::coded(Code::Time)), &[now]);
            owner.epoch = epoch(now);
        }
        if owner.running != owner.running_in_chunk {
            let switch = word(now, record::coded(Code::Running));
            self.push(switch, &[u64::from(owner.running)]);
            owner.running_in_chunk = owner.running;
        }
    }

    /// Hands over what there is, for ever. The writer frees the buffer, maybe before this returns:
    /// hence the pointer, and nothing of the buffer is touched once the message is out.
    ///
    /// # Safety
    /// The owning thread calls it, and forgets the buffer.
    pub unsafe fn finish(this: *const Self) {
        let (exchange, message) = {
            // SAFETY: the writer frees the buffer when it has the message, which is sent below.
            let buffer = unsafe { &*this };
            // SAFETY: the owning thread calls this, and none of its methods calls another that
            // takes this part.
            let owner = unsafe { buffer.owner() };
            buffer.line().hide();
            let chunk = buffer.close_chunk();
            buffer.view().leave(); // for ever
            (
                owner.exchange.clone(),
                Full {
                    buffer: buffer.number,
                    chunk,
                    last: true,
                },
            )
        };
        exchange.hand_over(message);
    }

    /// Records something, in a new chunk if need be; `false` when recording has ended for good.
    fn write(
        &self,
        owner: &mut Owner,
        now: u64,
        cpu: Option<u64>,
        low: u64,
        payload: &[u64],
    ) -> bool {
        let needed = 1 + payload.len() + if cpu.is_some() { 2 } else { 0 };
        let code = match record::kind(low) {
            Some(record::Kind::Coded(code)) => Some(code),
            _ => None,
        };
        let may_drop = code.is_none_or(Code::may_drop);
        // Nothing of a thread comes behind its end, so what is missing is told in front of it.
        let is_end = code == Some(Code::ThreadEnd);
        loop {
            let is_whole =
                !is_end || !owner.in_extra || self.write_gap_of(owner, now, owner.running);
            let end = if may_drop { owner.end } else { owner.limit };
            let switch = if owner.running == owner.running_in_chunk {
                0
            } else {
                SWITCH_WORDS
            };
            if is_whole && self.has_room(owner, end, now, needed + switch) {
                self.store_header(owner, now);
                if let Some(cpu) = cpu {
                    self.push(word(now, record::coded(Code::Cpu)), &[cpu]);
                }
                self.push(word(now, low), payload);
                if owner.in_extra {
                    owner.end = self.view().cursor();
                }
                return true;
            }
            match self.refill(owner, now, may_drop) {
                Refill::Done => {}
                Refill::NoRoom => {
                    self.count_missing(owner, low, payload);
                    return true;
                }
                Refill::Ended => return false,
            }
        }
    }

    /// Stores a record that fits, and publishes it as a whole.
    fn push(&self, first: u64, payload: &[u64]) {
        let cursor = self.view().cursor();
        for (i, w) in std::iter::once(&first).chain(payload).enumerate() {
            // SAFETY: the owner has called `has_room`, or compared the cursor with the end: the
            // words lie in its chunk.
            unsafe { (cursor as *mut u64).add(i).write(*w) };
        }
        self.for_hooks().note_time(first);
        self.view().advance(cursor + 8 * (1 + payload.len()));
    }

    /// Notes in the chunk how much of it is used.
    fn close_chunk(&self) -> Option<Chunk> {
        // SAFETY: only `refill` brings chunks into view, with the address of one.
        let chunk = unsafe { Chunk::from_ptr(self.view().chunk()) }?;
        let used = (self.view().cursor() - chunk.first()) / 8;
        // SAFETY: only the owning thread calls it, which owns the chunk until it is sent; the
        // writer reads `used` only once it has received the chunk.
        unsafe { (*chunk.as_ptr()).used = used as u32 };
        Some(chunk)
    }

    /// Hands over the chunk, if there is one.
    fn hand_over(&self, owner: &mut Owner) {
        (owner.end, owner.limit) = (0, 0);
        owner.in_extra = false;
        self.for_hooks().disarm();
        let Some(chunk) = self.close_chunk() else {
            return;
        };
        self.view().leave();
        owner.exchange.hand_over(Full {
            buffer: self.number,
            chunk: Some(chunk),
            last: false,
        });
        self.view().retire();
    }

    /// Hands over the chunk, and gets an empty one. A further reserve, which has room for what may
    /// not be left out, stays as long as there is no other.
    fn refill(&self, owner: &mut Owner, now: u64, may_drop: bool) -> Refill {
        if let Ok(chunk) = owner.reserve_back.try_recv() {
            owner.reserve = Some(chunk);
        }
        let drops = owner.exchange.when_full == WhenFull::Drop;
        let found = owner.exchange.empty.try_take();
        let is_none = found == Err(TryRecvError::Empty) && owner.reserve.is_none();
        if is_none && may_drop && owner.in_extra {
            return Refill::NoRoom;
        }
        self.hand_over(owner);
        let mut in_extra = false;
        let chunk = match found {
            Ok(chunk) => {
                owner.extra = 0;
                chunk
            }
            Err(TryRecvError::Disconnected) => return Refill::Ended,
            Err(TryRecvError::Empty) => match owner.reserve.take() {
                Some(chunk) => chunk,
                None if may_drop && drops => return Refill::NoRoom,
                None if drops && owner.extra < MOST_EXTRA => {
                    owner.extra += 1;
                    in_extra = true;
                    pool::allocate_reserve(self.spool.as_deref())
                }
                None => {
                    owner.exchange.wake();
                    select_biased! {
                        recv(owner.exchange.empty.returned()) -> chunk => match chunk {
                            Ok(chunk) => chunk,
                            Err(_) => return Refill::Ended,
                        },
                        recv(owner.reserve_back) -> chunk => match chunk {
                            Ok(chunk) => chunk,
                            Err(_) => return Refill::Ended,
                        },
                    }
                }
            },
        };
        if may_drop && owner.gaps.values().any(Gap::is_deep) {
            owner.give_back(chunk);
            return Refill::NoRoom;
        }
        // SAFETY: the chunk comes from the pool, or is a reserve of this buffer, so it is the
        // owner's until it is handed over.
        unsafe { chunk.begin(self.number, now, owner.running) };
        owner.running_in_chunk = owner.running;
        owner.limit = chunk.end();
        owner.in_extra = in_extra;
        owner.end = if in_extra { chunk.first() } else { owner.limit };
        owner.epoch = epoch(now);
        self.view().begin(chunk.as_ptr(), chunk.first());
        if !in_extra {
            self.write_gaps(owner, now);
        }
        Refill::Done
    }

    /// For the writer: how many events are lost that no record tells of yet.
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// For the writer: what the thread has published.
    pub fn published(&self) -> BufferView {
        // SAFETY: only `refill` brings chunks into view, with the address of one.
        let of = |chunk| unsafe { Chunk::from_ptr(chunk) };
        let holds = |chunk, cursor| of(chunk).is_some_and(|chunk| chunk.holds(cursor));
        match self.line_as(Ordering::Acquire).published.view(holds) {
            View::Nothing => BufferView::Nothing,
            View::InTransit => BufferView::InTransit,
            View::Chunk(chunk, cursor) => match of(chunk) {
                Some(chunk) => BufferView::Chunk(chunk, (cursor - chunk.first()) / 8),
                None => BufferView::Nothing,
            },
        }
    }

    /// For the writer: gives back the reserve chunk that it has read.
    pub fn return_reserve(&self, chunk: Chunk) {
        if chunk.as_ptr() == self.reserve.as_ptr() {
            // There is room: no other one is given back.
            let _ = self.reserve_return.try_send(chunk);
        } else {
            // SAFETY: `refill` got a further one from `allocate_reserve` with this spool, and
            // handed it over; the caller, the writer, has read it.
            unsafe { pool::free_reserve(chunk, self.spool.as_deref()) };
        }
    }
}

impl Drop for ThreadBuffer {
    fn drop(&mut self) {
        if self.has_place() {
            self.line().give_back();
        }
        // SAFETY: `new` got it from `allocate_reserve` with this spool. The buffer is dropped when
        // its thread has finished and the writer has read what was handed over, or when both are
        // gone.
        unsafe { pool::free_reserve(self.reserve, self.spool.as_deref()) };
        self.own_line.give_back();
    }
}

enum Refill {
    Done,
    /// Nothing is empty, and the record may be dropped.
    NoRoom,
    /// The writer is gone.
    Ended,
}

impl Owner {
    fn give_back(&mut self, chunk: Chunk) {
        if chunk.is_reserve() {
            self.reserve = Some(chunk);
        } else {
            // The pool's own sender is the writer's; an empty chunk can go to it as a full one
            // without records.
            self.exchange.hand_over(Full {
                buffer: 0,
                chunk: Some(chunk),
                last: false,
            });
        }
    }
}
