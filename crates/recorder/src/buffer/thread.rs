//! A thread's buffer: the chunk that the thread fills, and how it gets the next one.
//!
//! The owning thread stores a record and then moves the cursor after it. The writer may read all
//! words before the cursor (see [`crate::published`]). There is no lock, and while a chunk is being
//! filled, the two threads share nothing else.

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

/// Buffer of one operating-system thread.
pub struct ThreadBuffer {
    /// The buffer's cache line: `own_line`, or a line of the hooks' table. The owning thread may
    /// replace one by the other while no chunk is published.
    line: AtomicPtr<CacheLine>,
    own_line: OwnLine,
    spool: Option<Arc<Memory>>,
    owner: UnsafeCell<Owner>,
    pending: UnsafeCell<Pending>,
    number: u64,
    /// Number of lost events that no record counts yet.
    unwritten: AtomicU64,
    /// Channel through which the writer gives the reserve back.
    reserve_return: Sender<Chunk>,
    /// The thread's reserve chunk, whoever owns it now.
    reserve: Chunk,
}

// SAFETY: only the owning thread accesses `owner` and `pending` (see `Self::owner`). All other
// fields are atomic, are channels or never change.
unsafe impl Sync for ThreadBuffer {}
// SAFETY: no part of the buffer depends on one thread. The cache lines are shared memory, and the
// owning thread stops using its part when it finishes the buffer.
unsafe impl Send for ThreadBuffer {}

/// The cache line of a buffer that has no line in the hooks' table.
enum OwnLine {
    Boxed(Box<CacheLine>),
    /// A line in the spool, which the buffer keeps alive.
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
        // SAFETY: the address is that of the box, or of a line in the spool, which
        // `ThreadBuffer::spool` keeps mapped.
        unsafe { &*self.address() }
    }

    fn give_back(&self) {
        if let Self::Spooled(_) = self {
            self.line().give_back();
        }
    }
}

/// Maximum number of extra reserves that a thread may use for records that can't be dropped, while
/// the pool is empty: 1 MiB in total.
const MAX_EXTRA: u32 = 64;

/// Words of a record that says which thread the following records belong to.
const SWITCH_WORDS: usize = 2;

/// The part that only the owning thread accesses.
struct Owner {
    /// End of the words for records that may be dropped, as an address; 0 while there is no chunk.
    /// In an extra reserve, this is the cursor: only records that can't be dropped go there.
    end: usize,
    /// Address after the chunk's last word; 0 while there is no chunk.
    limit: usize,
    /// Epoch of the last full time in the chunk.
    epoch: u64,
    /// Number of the thread that records belong to now.
    running: u32,
    /// Number of the thread that the next record belongs to according to the chunk so far.
    running_in_chunk: u32,
    /// Number of the operating-system thread itself.
    base: u32,
    /// The reserve chunk, while it is empty and the thread owns it.
    reserve: Option<Chunk>,
    /// Number of extra reserves made since the pool last supplied a chunk.
    extra: u32,
    /// True if the current chunk is an extra reserve.
    in_extra: bool,
    reserve_back: Receiver<Chunk>,
    exchange: Exchange,
    /// Losses not yet recorded, by thread number.
    gaps: FxHashMap<u32, Gap>,
}

impl ThreadBuffer {
    /// Returns a buffer for an operating-system thread with the number `thread`.
    pub fn new(number: u64, thread: u32, exchange: Exchange) -> Box<Self> {
        let (reserve_return, reserve_back) = bounded(1);
        let spool = exchange.spool.clone();
        let reserve = pool::allocate_reserve(spool.as_deref());
        let own_line = OwnLine::new(spool.as_deref());
        own_line.line().assign_to(number, 0);
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

    /// Returns the buffer's number, by which the writer distinguishes buffers; never 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the cache line. Only the owning thread may call this.
    #[inline(always)]
    fn line(&self) -> &CacheLine {
        self.line_as(Ordering::Relaxed)
    }

    #[inline(always)]
    fn line_as(&self, order: Ordering) -> &CacheLine {
        // SAFETY: the address is that of `own_line`, or of a line in the table of `exchange.ticks`.
        // The buffer keeps both alive.
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

    /// Returns the part that only the owning thread accesses. Public methods call this once and
    /// pass the reference on.
    ///
    /// # Safety
    /// The owning thread calls this method, and has no other reference to the part.
    #[expect(
        clippy::mut_from_ref,
        reason = "the cell is how the owner alone changes its part"
    )]
    unsafe fn owner(&self) -> &mut Owner {
        // SAFETY: the caller promises to be the owning thread and to have no other reference. No
        // other thread accesses the part.
        unsafe { &mut *self.owner.get() }
    }

    /// Returns the running thread's pending objects: their constructors have not called `Object`'s
    /// constructor yet.
    ///
    /// # Safety
    /// The owning thread calls this method, and has no other reference to the list.
    #[expect(clippy::mut_from_ref, reason = "as for the owner's part")]
    #[inline(always)]
    pub unsafe fn pending(&self) -> &mut Pending {
        // SAFETY: the caller promises to be the owning thread and to have no other reference. No
        // other thread accesses the list.
        unsafe { &mut *self.pending.get() }
    }

    /// Records an enter or leave if a single store is enough. Returns false if [`Self::record`]
    /// must do it.
    ///
    /// # Safety
    /// The owning thread calls this method.
    #[inline(always)]
    pub unsafe fn try_record(&self, now: u64, low: u64) -> bool {
        let view = self.view();
        let cursor = view.cursor();
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        if cursor == owner.end || epoch(now) != owner.epoch {
            return false;
        }
        // SAFETY: `cursor` is the address of a word of the owner's chunk, because it is before the
        // end.
        unsafe { (cursor as *mut u64).write(word(now, low)) };
        view.advance(cursor + 8);
        true
    }

    /// Like [`Self::try_record`], for a record with `WORDS` payload words.
    ///
    /// # Safety
    /// The owning thread calls this method.
    #[inline(always)]
    pub unsafe fn try_record_with<const WORDS: usize>(
        &self,
        now: u64,
        low: u64,
        payload: [u64; WORDS],
    ) -> bool {
        let cursor = self.view().cursor();
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        if owner.end - cursor < 8 * (1 + WORDS) || epoch(now) != owner.epoch {
            return false;
        }
        // SAFETY: `cursor` is the address of a word of the owner's chunk, and at least 1 + `WORDS`
        // words are left before the end.
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

    /// Like [`Self::try_record`], with a record of the running thread's CPU time first.
    ///
    /// # Safety
    /// The owning thread calls this method.
    #[inline]
    pub unsafe fn try_record_with_cpu(&self, now: u64, cpu: u64, low: u64) -> bool {
        let cursor = self.view().cursor();
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        if owner.end - cursor < 24 || epoch(now) != owner.epoch {
            return false;
        }
        self.push(word(now, record::coded(Code::Cpu)), &[cpu]);
        self.push(word(now, low), &[]);
        true
    }

    /// Lets the hooks of the running thread find the buffer, if the table has a free cache line for
    /// the thread. `id` is the thread's Java id.
    ///
    /// # Safety
    /// The owning thread calls this method, and its Java id is `id`.
    pub unsafe fn show_to_hooks(&self, id: u64) {
        if self.for_hooks().thread_id() == id || self.has_place() {
            return; // visible already, or it keeps the line of an earlier Java id
        }
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        let ticks = owner.exchange.ticks.clone();
        let Some(line) = ticks.as_ref().and_then(|ticks| ticks.place(id)) else {
            return;
        };
        // A writer that still reads the old line sees no chunk there, as if it had looked earlier.
        self.hand_over(owner);
        line.assign_to(self.number, self.unwritten());
        self.line().assign_to(0, 0);
        self.line
            .store(ptr::from_ref(line).cast_mut(), Ordering::Release);
        self.for_hooks().set_thread_id(id);
    }

    /// Returns true if the buffer's cache line is one of the hooks' table.
    fn has_place(&self) -> bool {
        !ptr::eq(self.line(), self.own_line.address())
    }

    /// Lets hooks use the time of the last record, as long as the clock's word is `tick`.
    ///
    /// # Safety
    /// The owning thread calls this method.
    pub unsafe fn arm(&self, tick: u64) {
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        // Hooks detect the end of a chunk by its address alone.
        if owner.running == owner.running_in_chunk
            && !owner.in_extra
            && owner.end % CHUNK_BYTES == 0
        {
            self.for_hooks().arm(tick);
        }
    }

    /// Makes compiled hooks of the running thread call the agent, until the next [`Self::arm`].
    pub fn disarm(&self) {
        self.for_hooks().disarm();
    }

    /// Records an enter or leave, in a new chunk if needed.
    ///
    /// Returns false if recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls this method.
    #[cold]
    pub unsafe fn record(&self, now: u64, low: u64) -> bool {
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        self.write(owner, now, None, low, &[])
    }

    /// Records an enter or leave with any payload, and a record of the running thread's CPU time
    /// before it. Records both or neither.
    ///
    /// Returns false if recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls this method.
    pub unsafe fn record_with_cpu(&self, now: u64, cpu: u64, low: u64, payload: &[u64]) -> bool {
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        self.write(owner, now, Some(cpu), low, payload)
    }

    /// Records `code` with its payload, which has the number of words that belong to the code. In
    /// drop mode, records that can't be dropped ([`Code::may_drop`]) may use extra memory. When
    /// that is full too, they wait for room.
    ///
    /// Returns false if recording has ended for good.
    ///
    /// # Safety
    /// The owning thread calls this method.
    pub unsafe fn record_coded(&self, now: u64, code: Code, payload: &[u64]) -> bool {
        debug_assert_eq!(code.words(payload[0]), Some(payload.len()));
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        self.write(owner, now, None, record::coded(code), payload)
    }

    /// Returns the numbers of the thread that records belong to now, and of the operating-system
    /// thread itself.
    ///
    /// # Safety
    /// The owning thread calls this method.
    pub unsafe fn owners(&self) -> (u32, u32) {
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
        let owner = unsafe { self.owner() };
        (owner.running, owner.base)
    }

    /// Makes records belong to `thread` from now on, or to the operating-system thread itself for
    /// `None`. Never waits, and needs no chunk, because the header of the next chunk names the
    /// thread, too.
    ///
    /// # Safety
    /// The owning thread calls this method.
    pub unsafe fn switch_to(&self, now: u64, thread: Option<u32>) {
        // SAFETY: the caller promises to be the owning thread. No public method is called while
        // another one holds this reference.
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

    /// Returns true if `words` words fit before `end`, and a full time as well if one is due.
    fn has_room(&self, owner: &Owner, end: usize, now: u64, words: usize) -> bool {
        let room = (end - self.view().cursor()) / 8;
        let time = if epoch(now) == owner.epoch { 0 } else { 2 };
        room >= words + time
    }

    /// Stores a full time if one is due, and a record of the running thread if the chunk still
    /// names another one. The caller has made sure that there is room.
    fn store_header(&self, owner: &mut Owner, now: u64) {
        if epoch(now) != owner.epoch {
            self.for_hooks().disarm(); // the hooks' stamp is of the previous epoch
            self.push(word(now, record::coded(Code::Time)), &[now]);
            owner.epoch = epoch(now);
        }
        if owner.running != owner.running_in_chunk {
            let switch = word(now, record::coded(Code::Running));
            self.push(switch, &[u64::from(owner.running)]);
            owner.running_in_chunk = owner.running;
        }
    }

    /// Finishes the buffer: hands over its chunk for the last time. The writer frees the buffer,
    /// maybe before this function returns. So the argument is a pointer, and the function does not
    /// touch the buffer after sending the message.
    ///
    /// # Safety
    /// The owning thread calls this function, and does not use the buffer afterwards.
    pub unsafe fn finish(this: *const Self) {
        let (exchange, message) = {
            // SAFETY: the writer frees the buffer only after it has received the message, which is
            // sent below.
            let buffer = unsafe { &*this };
            // SAFETY: the caller promises to be the owning thread. No public method is called while
            // another one holds this reference.
            let owner = unsafe { buffer.owner() };
            buffer.line().hide();
            let chunk = buffer.close_chunk();
            buffer.view().leave(); // never retired: there is no next chunk
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

    /// Records `low` with its payload, in a new chunk if needed. Returns false if recording has
    /// ended for good.
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
        // No record of a thread may follow the record of its end. So its losses are recorded first.
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

    /// Stores a record for which there is room, and publishes it as a whole.
    fn push(&self, first: u64, payload: &[u64]) {
        let cursor = self.view().cursor();
        for (i, w) in std::iter::once(&first).chain(payload).enumerate() {
            // SAFETY: the callers have called `has_room`, or compared the cursor with the end. So
            // the words are inside of the owner's chunk.
            unsafe { (cursor as *mut u64).add(i).write(*w) };
        }
        self.for_hooks().note_time(first);
        self.view().advance(cursor + 8 * (1 + payload.len()));
    }

    /// Sets the number of used words in the chunk, and returns the chunk.
    fn close_chunk(&self) -> Option<Chunk> {
        // SAFETY: only `refill` publishes chunks, with the address of a chunk.
        let chunk = unsafe { Chunk::from_ptr(self.view().chunk()) }?;
        let used = (self.view().cursor() - chunk.first()) / 8;
        // SAFETY: only the owning thread calls this method, and it owns the chunk until it sends
        // the chunk. The writer reads `used` only after it has received the chunk.
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

    /// Hands over the chunk and gets an empty one. Keeps the current chunk if it is an extra
    /// reserve, no chunk is empty, and the record may be dropped.
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
                None if drops && owner.extra < MAX_EXTRA => {
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
        // SAFETY: the chunk comes from the pool or is a reserve of this buffer, so the owner owns
        // it until it hands it over.
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

    /// For the writer: returns the number of lost events that no record counts yet.
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// For the writer: returns what the thread has published.
    pub fn published(&self) -> BufferView {
        // SAFETY: only `refill` publishes chunks, with the address of a chunk.
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

    /// For the writer: gives back a reserve chunk that the writer has read.
    pub fn return_reserve(&self, chunk: Chunk) {
        if chunk.as_ptr() == self.reserve.as_ptr() {
            // The channel has room for the only reserve that is given back.
            let _ = self.reserve_return.try_send(chunk);
        } else {
            // SAFETY: `refill` got this extra reserve from `allocate_reserve` with this spool, and
            // handed it over. The caller, the writer, has read it and does not use it any more.
            unsafe { pool::free_reserve(chunk, self.spool.as_deref()) };
        }
    }
}

impl Drop for ThreadBuffer {
    fn drop(&mut self) {
        if self.has_place() {
            self.line().give_back();
        }
        // SAFETY: `new` got the reserve from `allocate_reserve` with this spool. The buffer is
        // dropped when its thread has finished and the writer has read all chunks, or when both
        // have ended. So nobody else uses the reserve.
        unsafe { pool::free_reserve(self.reserve, self.spool.as_deref()) };
        self.own_line.give_back();
    }
}

enum Refill {
    Done,
    /// No chunk is empty, and the record may be dropped.
    NoRoom,
    /// The writer has ended.
    Ended,
}

impl Owner {
    /// Gives back an empty chunk that the thread does not use.
    fn give_back(&mut self, chunk: Chunk) {
        if chunk.is_reserve() {
            self.reserve = Some(chunk);
        } else {
            // Only the writer can send to the pool. So an empty chunk goes to the writer like a
            // full one, but without records.
            self.exchange.hand_over(Full {
                buffer: 0,
                chunk: Some(chunk),
                last: false,
            });
        }
    }
}
