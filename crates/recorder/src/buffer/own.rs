//! The buffer of the running thread, as a value with which safe code records.
//!
//! [`ThreadBuffer`] relies on its callers for two facts: only the owning thread records into it,
//! and only while the buffer exists. [`OwnBuffer`] establishes both facts itself. It holds no
//! address: each method reads the running thread's variable ([`super::tls`]), which is cleared
//! before the buffer is freed. So a copy that was made before [`live::finish`] is harmless
//! afterwards: its methods do nothing.
//!
//! The hooks on the hot path do not use [`OwnBuffer`]. They call [`ThreadBuffer::try_record`] with
//! the address that they have just read.

use super::handle::BufferHandle;
use super::thread::ThreadBuffer;
use super::{live, tls};
use crate::pending::{Pending, PendingElsewhere, PendingObject};
use jtrail_guard::lend::Lend;
use jtrail_records::record::{Code, NO_THREAD};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The buffer of the running thread. The value does not leave that thread.
///
/// Nothing is recorded once the thread has no buffer any more ([`live::finish`],
/// [`live::hide_all`]), nor during [`live::without_buffer`]. The methods `record`,
/// `record_with_cpu` and `record_coded` return true then, because recording has not ended for good.
#[derive(Clone, Copy, Debug)]
pub struct OwnBuffer(PhantomData<*mut ()>);

impl OwnBuffer {
    /// Returns the running thread's buffer, if it has one.
    #[inline]
    pub fn current() -> Option<Self> {
        (!tls::get().is_null()).then_some(Self(PhantomData))
    }

    /// Makes `buffer` the running thread's buffer, until [`live::finish`] or the end of the thread.
    /// The returned handle is for the writer. A buffer that the thread had before is finished.
    ///
    /// # Panics
    /// If the thread's variables are destroyed already.
    pub fn begin(buffer: Box<ThreadBuffer>) -> (Self, BufferHandle) {
        let (handle, buffer) = BufferHandle::share(buffer);
        // SAFETY: `share` has just made the address, and only this thread and the handle know it.
        unsafe { live::begin(buffer) };
        (Self(PhantomData), handle)
    }

    /// Returns the running thread's buffer, if it has one. The methods below call nothing that
    /// finishes the buffer, so it exists until they return.
    #[inline]
    fn get(&self) -> Option<&ThreadBuffer> {
        // SAFETY: the variable is null, or points to the buffer that `begin` gave this thread. Two
        // functions end the buffer's life. Only this thread calls `live::finish`, which clears the
        // variable first. The caller of `Hidden::free` promises that no thread is recording.
        unsafe { tls::get().as_ref() }
    }

    /// Records an enter or leave. Returns false if recording has ended for good.
    #[inline]
    pub fn record(self, now: u64, low: u64) -> bool {
        // SAFETY: `get` returns the buffer of the running thread.
        self.get()
            .is_none_or(|buffer| unsafe { buffer.record(now, low) })
    }

    /// Records an enter or leave, after a record of the running thread's CPU time. Returns false if
    /// recording has ended for good.
    #[inline]
    pub fn record_with_cpu(self, now: u64, cpu: u64, low: u64, payload: &[u64]) -> bool {
        // SAFETY: `get` returns the buffer of the running thread.
        self.get()
            .is_none_or(|buffer| unsafe { buffer.record_with_cpu(now, cpu, low, payload) })
    }

    /// Records `code` with its payload. Returns false if recording has ended for good.
    #[inline]
    pub fn record_coded(self, now: u64, code: Code, payload: &[u64]) -> bool {
        // SAFETY: `get` returns the buffer of the running thread.
        self.get()
            .is_none_or(|buffer| unsafe { buffer.record_coded(now, code, payload) })
    }

    /// Returns the numbers of the thread that records belong to now, and of the operating-system
    /// thread itself; [`NO_THREAD`] for both if the thread has no buffer any more.
    #[inline]
    pub fn owners(self) -> (u32, u32) {
        // SAFETY: `get` returns the buffer of the running thread.
        self.get()
            .map_or((NO_THREAD, NO_THREAD), |buffer| unsafe { buffer.owners() })
    }

    /// Makes records belong to `thread` from now on, or to the operating-system thread itself for
    /// `None`.
    #[inline]
    pub fn switch_to(self, now: u64, thread: Option<u32>) {
        if let Some(buffer) = self.get() {
            // SAFETY: `get` returns the buffer of the running thread.
            unsafe { buffer.switch_to(now, thread) };
        }
    }

    /// Lets compiled hooks of the running thread record into the buffer, if there is a free cache
    /// line for its id.
    ///
    /// # Safety
    /// `id` is the Java id of the running thread: from now on, the hooks of the thread with that id
    /// store into the buffer's chunk.
    #[inline]
    pub unsafe fn show_to_hooks(self, id: u64) {
        if let Some(buffer) = self.get() {
            // SAFETY: `get` returns the buffer of the running thread, whose id the caller passes.
            unsafe { buffer.show_to_hooks(id) };
        }
    }

    /// Lets compiled hooks use the time of the last record while the clock's word is `tick`.
    #[inline]
    pub fn arm(self, tick: u64) {
        if let Some(buffer) = self.get() {
            // SAFETY: `get` returns the buffer of the running thread.
            unsafe { buffer.arm(tick) };
        }
    }

    /// Makes compiled hooks call the agent for their next record.
    #[inline]
    pub fn disarm(self) {
        if let Some(buffer) = self.get() {
            buffer.disarm();
        }
    }

    /// Returns the buffer's number; 0, which no buffer has, if the thread has no buffer any more.
    #[inline]
    pub fn number(self) -> u64 {
        self.get().map_or(0, ThreadBuffer::number)
    }

    /// Returns the running thread's pending objects.
    #[inline]
    pub fn pending(self) -> OwnPending {
        OwnPending(self)
    }
}

/// The running thread's pending objects ([`Pending`]): their constructors have not called
/// `Object`'s constructor yet. Without a buffer, the list is empty, and new objects are dropped.
#[derive(Clone, Copy, Debug)]
pub struct OwnPending(OwnBuffer);

impl OwnPending {
    /// Runs `f` on the thread's list. `f` is a method of [`Pending`] or [`PendingElsewhere`]; none
    /// of these methods uses [`OwnPending`] again, so there is no second reference.
    #[inline]
    fn with<T>(self, f: impl FnOnce(&mut Pending) -> T) -> Option<T> {
        // SAFETY: `get` returns the buffer of the running thread, and this is the only reference to
        // the list.
        self.0.get().map(|buffer| f(unsafe { buffer.pending() }))
    }

    /// Like [`Pending::takes_more`].
    #[inline]
    pub fn takes_more(self, stack: usize) -> bool {
        self.with(|pending| pending.takes_more(stack))
            .unwrap_or(false)
    }

    /// Like [`Pending::push`].
    #[inline]
    pub fn push(self, object: PendingObject) {
        self.with(|pending| pending.push(object));
    }

    /// Like [`Pending::is_empty`].
    #[inline]
    pub fn is_empty(self) -> bool {
        self.with(|pending| pending.is_empty()).unwrap_or(true)
    }

    /// Like [`Pending::is_open`].
    #[inline]
    pub fn is_open(self) -> bool {
        self.with(Pending::is_open).unwrap_or(false)
    }

    /// Like [`Pending::pop_unreachable`].
    #[inline]
    pub fn pop_unreachable(self, stack: usize) -> Option<PendingObject> {
        self.with(|pending| pending.pop_unreachable(stack))
            .flatten()
    }

    /// Like [`Pending::make_room`].
    pub fn make_room(self) -> Vec<u64> {
        self.with(Pending::make_room).unwrap_or_default()
    }

    /// Like [`Pending::last`].
    #[inline]
    pub fn last(self) -> Option<PendingObject> {
        self.with(|pending| pending.last()).flatten()
    }

    /// Like [`Pending::pop`].
    #[inline]
    pub fn pop(self) -> Option<PendingObject> {
        self.with(Pending::pop).flatten()
    }

    /// Like [`Pending::has`].
    pub fn has(self, class: u32) -> bool {
        self.with(|pending| pending.has(class)).unwrap_or(false)
    }

    /// Like [`Pending::take_all`].
    pub fn take_all(self) -> Vec<u64> {
        self.with(Pending::take_all).unwrap_or_default()
    }

    /// Like [`PendingElsewhere::exchange`].
    pub fn exchange(self, elsewhere: &PendingElsewhere, before: u32, after: u32, carrier: u32) {
        self.with(|pending| elsewhere.exchange(pending, before, after, carrier));
    }
}

/// The buffer of a thread that waits for the running thread. The running thread may record into it
/// meanwhile.
#[derive(Debug)]
pub struct LentBuffer(*mut *mut ThreadBuffer);

// SAFETY: the value is the address of a thread's variable, which is read as an atomic. The caller
// of `Lend::lend` promises which thread uses the value, and when.
unsafe impl Send for LentBuffer {}

// SAFETY: `lend` runs on the buffer's own thread. That thread waits while another one uses the
// result. So it does not end, which would destroy its variable, and does not record at the same
// time.
unsafe impl Lend for OwnBuffer {
    type Lent = LentBuffer;

    unsafe fn lend(&self) -> LentBuffer {
        LentBuffer(tls::place())
    }
}

impl LentBuffer {
    /// Like [`OwnBuffer::record_coded`], for the waiting thread.
    pub fn record_coded(&mut self, now: u64, code: Code, payload: &[u64]) -> bool {
        // SAFETY: the caller of `lend` promised that the variable's thread waits for this one, so
        // the variable exists. Other threads write it only as an atomic (`live::hide_all`).
        let variable = unsafe { AtomicPtr::from_ptr(self.0) };
        // SAFETY: the pointer is null, or points to the waiting thread's buffer. That buffer
        // exists, because the waiting thread does not call `live::finish`, and `Hidden::free`
        // requires that no thread is recording.
        let buffer = unsafe { variable.load(Ordering::Relaxed).as_ref() };
        // SAFETY: this thread records in place of the buffer's owner, which waits.
        buffer.is_none_or(|buffer| unsafe { buffer.record_coded(now, code, payload) })
    }
}

/// Fails to compile if one of the types is `Send` or `Sync`: then `check` is ambiguous.
const _: fn() = || {
    trait IfSend<A> {
        fn check() {}
    }
    trait IfSync<A> {
        fn check() {}
    }
    impl<T> IfSend<()> for T {}
    impl<T> IfSync<()> for T {}
    impl<T: Send> IfSend<u8> for T {}
    impl<T: Sync> IfSync<u8> for T {}
    <OwnBuffer as IfSend<_>>::check();
    <OwnBuffer as IfSync<_>>::check();
    <OwnPending as IfSend<_>>::check();
    <OwnPending as IfSync<_>>::check();
};

// With the feature `loom`, cache lines hold atomics of loom, which exist only inside of a model.
#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use crate::buffer::{CHUNK_BYTES, Exchange, Full, Returns, WhenFull, create_pool};
    use crate::memory::Mapping;
    use crate::pending::{NewClass, begin_epoch};
    use crossbeam_channel::{Receiver, bounded, unbounded};
    use jtrail_records::record;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Once;
    use std::thread;

    const THREAD: u32 = 7;

    /// A pool for buffers, and the writer's ends of its channels.
    struct Pool {
        exchange: Exchange,
        full: Receiver<Full>,
        _returns: Returns,
        _memory: Mapping,
    }

    impl Pool {
        fn new() -> Self {
            let (returns, empty, memory) = create_pool(4 * CHUNK_BYTES as u64).expect("memory");
            let (sender, full) = unbounded();
            let exchange = Exchange {
                empty,
                full: sender,
                wake: bounded(1).0,
                when_full: WhenFull::Drop,
                ticks: None,
                spool: None,
            };
            Self {
                exchange,
                full,
                _returns: returns,
                _memory: memory,
            }
        }

        fn begin(&self, number: u64) -> (OwnBuffer, BufferHandle) {
            OwnBuffer::begin(ThreadBuffer::new(number, THREAD, self.exchange.clone()))
        }

        /// Receives the last message of the next finished buffer. Returns the buffer's number, and
        /// the number of words in its chunk.
        fn ended(&self) -> (u64, Option<u32>) {
            let full = self.full.try_recv().expect("handed over");
            assert!(full.last);
            // SAFETY: the chunk was received from the channel, so the test owns it.
            let words = full.chunk.map(|chunk| unsafe { chunk.header() }.used);
            (full.buffer, words)
        }
    }

    /// Frees a buffer that its thread has finished.
    fn free(handle: BufferHandle) {
        // SAFETY: the callers have received the message that the buffer's thread sends when it
        // finishes.
        unsafe { handle.free() };
    }

    /// Lets objects be pending. Begins the epoch only once, because the tests run at the same time.
    fn objects_wait() {
        static ONCE: Once = Once::new();
        ONCE.call_once(begin_epoch);
    }

    fn waiting(number: u64) -> PendingObject {
        PendingObject {
            number,
            class: NewClass::unknown(1),
            site: 0,
            stack: 1 << 20,
        }
    }

    #[test]
    fn a_thread_records_into_its_own_buffer() {
        let pool = Pool::new();
        assert!(OwnBuffer::current().is_none());
        let (own, handle) = pool.begin(1);
        assert_eq!(own.number(), 1);
        assert_eq!(own.owners(), (THREAD, THREAD));
        assert!(own.record(10, record::enter(3)));
        assert!(own.record_with_cpu(20, 5, record::leave(3), &[]));
        own.switch_to(30, Some(9));
        assert_eq!(own.owners(), (9, THREAD));
        assert!(own.record_coded(40, Code::Burst, &[0]));
        own.switch_to(50, None);
        own.arm(1);
        own.disarm();
        let other = thread::spawn(|| OwnBuffer::current().is_none());
        assert!(other.join().expect("no panic"));
        let current = OwnBuffer::current().expect("the thread has a buffer");
        assert_eq!(current.number(), 1);
        live::finish();
        // The words of the enter, the CPU time and the leave, the switch, the burst, and the switch
        // back.
        assert_eq!(pool.ended(), (1, Some(1 + 2 + 1 + 2 + 2 + 2)));
        free(handle);
    }

    #[test]
    fn a_copy_from_before_the_end_does_nothing() {
        let pool = Pool::new();
        let (own, handle) = pool.begin(1);
        objects_wait();
        assert!(own.pending().is_open());
        own.pending().push(waiting(1));
        live::finish();
        assert_eq!(pool.ended(), (1, None));
        free(handle);
        assert!(OwnBuffer::current().is_none());
        assert_eq!((own.number(), own.owners()), (0, (NO_THREAD, NO_THREAD)));
        assert!(own.record(10, record::enter(3)));
        assert!(own.record_with_cpu(10, 5, record::enter(3), &[]));
        assert!(own.record_coded(10, Code::Burst, &[0]));
        own.switch_to(10, None);
        own.arm(1);
        own.disarm();
        let pending = own.pending();
        pending.push(waiting(2));
        assert!(!pending.is_open() && pending.is_empty() && !pending.has(1));
        assert_eq!((pending.last(), pending.pop()), (None, None));
        assert!(pending.make_room().is_empty() && pending.take_all().is_empty());
        assert!(pool.full.is_empty());
        // A copy also works with a later buffer of the same thread.
        let (_, handle) = pool.begin(2);
        assert_eq!(own.number(), 2);
        live::finish();
        assert_eq!(pool.ended(), (2, None));
        free(handle);
    }

    #[test]
    fn objects_wait_in_the_threads_list() {
        let pool = Pool::new();
        let (own, handle) = pool.begin(1);
        let elsewhere = PendingElsewhere::default();
        let pending = own.pending();
        objects_wait();
        assert!(pending.is_open() && pending.is_empty());
        assert!(pending.takes_more(1 << 20));
        pending.push(waiting(1));
        pending.push(waiting(2));
        assert!(pending.has(1) && !pending.has(2));
        assert_eq!(pending.last(), Some(waiting(2)));
        pending.exchange(&elsewhere, THREAD, 9, THREAD);
        assert!(pending.is_empty());
        pending.exchange(&elsewhere, 9, THREAD, THREAD);
        assert_eq!(pending.pop(), Some(waiting(2)));
        assert_eq!(pending.pop_unreachable(2 << 20), Some(waiting(1)));
        pending.push(waiting(3));
        assert!(pending.make_room().is_empty());
        assert_eq!(pending.take_all(), [3]);
        live::finish();
        pool.ended();
        free(handle);
    }

    #[test]
    fn the_end_of_the_thread_hands_over() {
        let pool = Pool::new();
        let handle = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let (own, handle) = pool.begin(1);
                assert!(own.record(10, record::enter(3)));
                handle
            });
            thread.join().expect("no panic")
        });
        assert_eq!(pool.ended(), (1, Some(1)));
        free(handle);
    }

    #[test]
    fn another_thread_records_while_the_owner_waits() {
        let pool = Pool::new();
        let (own, handle) = pool.begin(1);
        for has_buffer in [true, false] {
            // SAFETY: this thread waits for the thread of the scope, which alone uses the result.
            let mut lent = unsafe { own.lend() };
            thread::scope(|scope| {
                scope.spawn(move || {
                    assert!(OwnBuffer::current().is_none());
                    assert!(lent.record_coded(10, Code::Burst, &[0]));
                });
            });
            if has_buffer {
                live::finish();
                assert_eq!(pool.ended(), (1, Some(2)));
            }
        }
        assert!(pool.full.is_empty());
        free(handle);
    }

    /// The variables of a thread are destroyed in an unspecified order, so some destructors run
    /// after the buffer is finished.
    #[test]
    fn a_copy_in_a_variable_that_outlives_the_buffer_does_nothing() {
        struct RecordsAtEnd(Cell<Option<OwnBuffer>>);
        impl Drop for RecordsAtEnd {
            fn drop(&mut self) {
                if let Some(own) = self.0.get() {
                    own.record(20, record::leave(3));
                    own.pending().push(waiting(1));
                }
            }
        }
        thread_local! {
            static AT_END: RecordsAtEnd = const { RecordsAtEnd(Cell::new(None)) };
        }
        let pool = Pool::new();
        let handle = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                AT_END.with(|_| {}); // registered before the buffer's destructor
                let (own, handle) = pool.begin(1);
                AT_END.with(|at_end| at_end.0.set(Some(own)));
                assert!(own.record(10, record::enter(3)));
                handle
            });
            thread.join().expect("no panic")
        });
        let (buffer, words) = pool.ended();
        assert!(buffer == 1 && words >= Some(1));
        assert!(pool.full.is_empty());
        free(handle);
    }

    #[test]
    fn nothing_is_recorded_without_the_buffer() {
        let pool = Pool::new();
        let (own, handle) = pool.begin(1);
        live::without_buffer(|| {
            assert!(OwnBuffer::current().is_none());
            assert!(own.record(10, record::enter(3)));
        });
        let panics = || live::without_buffer(|| panic!("expected"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(own.number(), 1);
        live::finish();
        assert_eq!(pool.ended(), (1, None));
        free(handle);
    }

    /// A second buffer finishes the first one. Otherwise the first one would remain when the thread
    /// ends.
    #[test]
    fn a_second_buffer_takes_the_place_of_the_first() {
        let pool = Pool::new();
        let (own, first) = pool.begin(1);
        assert!(own.record(10, record::enter(3)));
        let (own, second) = pool.begin(2);
        assert_eq!(pool.ended(), (1, Some(1)));
        let third = live::without_buffer(|| pool.begin(3).1);
        assert_eq!(pool.ended(), (2, None));
        assert_eq!(own.number(), 3);
        live::finish();
        assert_eq!(pool.ended(), (3, None));
        [first, second, third].into_iter().for_each(free);
    }
}
