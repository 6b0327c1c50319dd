//! All buffers that there are, and how their threads find them.
//!
//! A thread finds its buffer through a variable of its own ([`super::tls`]), which others may empty
//! while the thread lives. So the place of that variable is kept here, from the moment when the
//! thread gets its buffer until it ends, or gives the buffer up. All of that happens under one
//! lock; it is taken when threads begin and end, and when the agent leaves.

use super::thread::ThreadBuffer;
use super::tls;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

type Live = FxHashMap<Buffer, Finder>;

/// By address of the buffer.
static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);

/// A buffer, as an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Buffer(*mut ThreadBuffer);

// SAFETY: an address, which is compared. Who dereferences it says why it may: `give_up` and
// `Hidden::free`.
unsafe impl Send for Buffer {}

/// The variable of the thread that the buffer is for; none when that has given it up.
struct Finder(Option<*mut *mut ThreadBuffer>);

// SAFETY: an address, which only `hide_all` dereferences, under the lock: an ending thread removes
// it before.
unsafe impl Send for Finder {}

thread_local! {
    /// Gives the thread's buffer up when the thread ends, also where the JVM does not tell.
    static AT_END: AtEnd = const { AtEnd };
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        finish();
    }
}

/// From now on, the running thread finds this buffer, which [`finish`] or the end of the thread
/// takes away. One that it has already is finished.
///
/// # Safety
/// [`super::BufferHandle::share`] has made the address, and it is passed once.
///
/// # Panics
/// If the thread's variables are destroyed already.
pub unsafe fn begin(buffer: *mut ThreadBuffer) {
    tls::prepare();
    AT_END.with(|_| {});
    let mut live = LIVE.lock();
    take_away(&mut live);
    live.insert(Buffer(buffer), Finder(Some(tls::place())));
    tls::set(buffer);
}

/// Hands over what the running thread recorded, and takes its buffer away, if it has one.
pub fn finish() {
    take_away(&mut LIVE.lock());
}

/// Like [`finish`], under the lock.
fn take_away(live: &mut Live) {
    let buffer = tls::get();
    if !buffer.is_null() {
        tls::set(std::ptr::null_mut());
        give_up(live, buffer);
    }
}

/// Hands over what is in a buffer of the running thread that the thread does not find any more.
fn give_up(live: &mut Live, buffer: *mut ThreadBuffer) {
    if let Some(finder) = live.get_mut(&Buffer(buffer)) {
        finder.0 = None;
    }
    // SAFETY: the callers have taken the buffer out of the running thread's variable, into which
    // `begin` put it, so it is this thread's and not found again. `live` is locked, so
    // `Hidden::free` has not freed it; the writer does so at the earliest when it has the message,
    // behind which `finish` does not touch the buffer.
    unsafe { ThreadBuffer::finish(buffer) };
}

/// Runs `f` while the running thread has no buffer to be found.
pub fn without_buffer<T>(f: impl FnOnce() -> T) -> T {
    let _hidden = Aside::hide();
    f()
}

/// The running thread's buffer, or null, while it is not to be found. Dropping it lets the thread
/// find it again.
struct Aside(*mut ThreadBuffer);

impl Aside {
    fn hide() -> Self {
        let _live = LIVE.lock();
        let buffer = tls::get();
        tls::set(std::ptr::null_mut());
        // SAFETY: null, or the running thread's own, which is freed under the lock only.
        if let Some(buffer) = unsafe { buffer.as_ref() } {
            buffer.disarm();
        }
        Self(buffer)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let mut live = LIVE.lock();
        // Unless the agent has left meanwhile, with all buffers.
        let is_there = live
            .get(&Buffer(self.0))
            .is_some_and(|finder| finder.0 == Some(tls::place()));
        match is_there {
            true if tls::get().is_null() => tls::set(self.0),
            true => give_up(&mut live, self.0), // the thread has got another one meanwhile
            false => {}
        }
    }
}

/// The writer frees this buffer.
pub(super) fn forget(buffer: *mut ThreadBuffer) {
    LIVE.lock().remove(&Buffer(buffer));
}

/// From now on, no thread finds a buffer. What they are; some threads may still be in the middle of
/// a record.
pub fn hide_all() -> Hidden {
    let mut live = LIVE.lock();
    for finder in live.values() {
        if let Some(place) = finder.0 {
            // SAFETY: the variable of a thread that has not ended: it would have taken the lock
            // before, and removed the address in `give_up`.
            unsafe { AtomicPtr::from_ptr(place) }.store(std::ptr::null_mut(), Ordering::SeqCst);
        }
    }
    Hidden(live.drain().map(|(buffer, _)| buffer).collect())
}

/// Buffers that no thread finds any more. They are never freed unless by [`Self::free`].
pub struct Hidden(Vec<Buffer>);

impl Hidden {
    /// Frees them.
    ///
    /// # Safety
    /// No thread is in the middle of a record, and there is no writer: nobody uses a
    /// [`BufferHandle`](super::BufferHandle) of them any more.
    pub unsafe fn free(self) {
        for Buffer(buffer) in self.0 {
            // SAFETY: `BufferHandle::share` made it with `Box::into_raw`. `hide_all` took it out of
            // all threads' variables, and the caller says that nobody is using what it read there
            // before.
            drop(unsafe { Box::from_raw(buffer) });
        }
    }
}
