//! All buffers that there are, and how their threads find them.
//!
//! A thread finds its buffer through a variable of its own ([`super::tls`]), which others may empty while the thread lives. So the place of
//! that variable is kept here, from the moment when the thread gets its buffer until it ends, or gives the buffer up. All of
//! that happens under one lock; it is taken when threads begin and end, and when the agent leaves.

use super::thread::ThreadBuffer;
use super::tls;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// By address of the buffer.
static LIVE: LazyLock<Mutex<FxHashMap<Buffer, Finder>>> = LazyLock::new(Mutex::default);

/// A buffer, as an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Buffer(*mut ThreadBuffer);

// SAFETY: an address; what it points to is used under the lock, or as the functions below promise.
unsafe impl Send for Buffer {}

/// The variable of the thread that the buffer is for; none when that has given it up.
struct Finder(Option<*mut *mut ThreadBuffer>);

// SAFETY: as for `Buffer`.
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

/// From now on, the running thread finds this buffer, which [`finish`] or the end of the thread takes away.
pub fn begin(buffer: *mut ThreadBuffer) {
    AT_END.with(|_| {});
    let mut live = LIVE.lock();
    live.insert(Buffer(buffer), Finder(Some(tls::place())));
    tls::set(buffer);
}

/// Hands over what the running thread recorded, and takes its buffer away, if it has one.
pub fn finish() {
    let mut live = LIVE.lock();
    let buffer = tls::get();
    if buffer.is_null() {
        return;
    }
    tls::set(std::ptr::null_mut());
    if let Some(finder) = live.get_mut(&Buffer(buffer)) {
        finder.0 = None;
    }
    // SAFETY: it is this thread's own, and nobody finds it any more. The lock keeps it from being freed by those who leave; the writer, which
    // may free it as soon as it has the message, does not take the buffer from under us: nothing of it is touched then.
    unsafe { ThreadBuffer::finish(buffer) };
}

/// Runs `f` while the running thread has no buffer to be found.
pub fn without_buffer<T>(f: impl FnOnce() -> T) -> T {
    let buffer = {
        let _live = LIVE.lock();
        let buffer = tls::get();
        tls::set(std::ptr::null_mut());
        // SAFETY: null, or the running thread's own, which is freed under the lock only.
        if let Some(buffer) = unsafe { buffer.as_ref() } {
            buffer.disarm();
        }
        buffer
    };
    let result = f();
    let live = LIVE.lock();
    // Unless the agent has left meanwhile, with all buffers.
    let is_there = live
        .get(&Buffer(buffer))
        .is_some_and(|finder| finder.0 == Some(tls::place()));
    if is_there && tls::get().is_null() {
        tls::set(buffer);
    }
    result
}

/// The writer frees this buffer.
pub fn forget(buffer: *mut ThreadBuffer) {
    LIVE.lock().remove(&Buffer(buffer));
}

/// From now on, no thread finds a buffer. What they are; some threads may still be in the middle of a record.
pub fn hide_all() -> Hidden {
    let mut live = LIVE.lock();
    for finder in live.values() {
        if let Some(place) = finder.0 {
            // SAFETY: the variable of a thread that has not ended: it would have taken the lock before.
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
    /// No thread is in the middle of a record, and there is no writer.
    pub unsafe fn free(self) {
        for Buffer(buffer) in self.0 {
            // SAFETY: `BufferHandle::share` made it with `Box::into_raw`; the rest is the caller's promise.
            drop(unsafe { Box::from_raw(buffer) });
        }
    }
}
