//! All existing buffers, and the thread-local variables by which their threads find them.
//!
//! A thread finds its buffer through a variable of its own ([`super::tls`]). Other threads may
//! clear that variable while the thread lives. So this module keeps the variable's address, until
//! the thread ends or finishes the buffer. One lock guards all of that; it is taken when threads
//! begin and end, and when the agent leaves.

use super::thread::ThreadBuffer;
use super::tls;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

type Live = FxHashMap<Buffer, Finder>;

/// All buffers, by address.
static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);

/// Address of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Buffer(*mut ThreadBuffer);

// SAFETY: a `Buffer` is an address that is compared. It is dereferenced in `give_up` and
// `Hidden::free` only, which prove that this is sound.
unsafe impl Send for Buffer {}

/// Address of the variable of the buffer's thread; `None` if the thread has finished the buffer.
struct Finder(Option<*mut *mut ThreadBuffer>);

// SAFETY: a `Finder` is an address that only `hide_all` dereferences, under the lock. An ending
// thread removes the address before, under the same lock.
unsafe impl Send for Finder {}

thread_local! {
    /// Finishes the thread's buffer when the thread ends, even if the JVM does not report the end.
    static AT_END: AtEnd = const { AtEnd };
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        finish();
    }
}

/// Makes `buffer` the running thread's buffer, until [`finish`] or the end of the thread. A buffer
/// that the thread had before is finished.
///
/// # Safety
/// [`super::BufferHandle::share`] has made the address, and no other call passes it.
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

/// Finishes the running thread's buffer, if it has one: hands its records over and clears the
/// thread's variable.
pub fn finish() {
    take_away(&mut LIVE.lock());
}

/// Like [`finish`], while the caller holds the lock.
fn take_away(live: &mut Live) {
    let buffer = tls::get();
    if !buffer.is_null() {
        tls::set(std::ptr::null_mut());
        give_up(live, buffer);
    }
}

/// Finishes a buffer of the running thread that is no longer in the thread's variable.
fn give_up(live: &mut Live, buffer: *mut ThreadBuffer) {
    if let Some(finder) = live.get_mut(&Buffer(buffer)) {
        finder.0 = None;
    }
    // SAFETY: `begin` put the buffer into the running thread's variable, and the callers have taken
    // it out. So the buffer is this thread's, and the thread does not find it again. `live` is
    // locked, so `Hidden::free` has not freed it. The writer frees the buffer only after it has
    // received the message, and `finish` does not touch the buffer after sending the message.
    unsafe { ThreadBuffer::finish(buffer) };
}

/// Runs `f` while the running thread does not find its buffer.
pub fn without_buffer<T>(f: impl FnOnce() -> T) -> T {
    let _hidden = Aside::hide();
    f()
}

/// The running thread's buffer, or null, while the thread does not find it. Dropping the value puts
/// the buffer back into the thread's variable.
struct Aside(*mut ThreadBuffer);

impl Aside {
    fn hide() -> Self {
        let _live = LIVE.lock();
        let buffer = tls::get();
        tls::set(std::ptr::null_mut());
        // SAFETY: the pointer is null, or points to the running thread's own buffer, which is freed
        // under the lock only.
        if let Some(buffer) = unsafe { buffer.as_ref() } {
            buffer.disarm();
        }
        Self(buffer)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let mut live = LIVE.lock();
        // If the agent has left meanwhile, all buffers were freed.
        let is_there = live
            .get(&Buffer(self.0))
            .is_some_and(|finder| finder.0 == Some(tls::place()));
        match is_there {
            true if tls::get().is_null() => tls::set(self.0),
            true => give_up(&mut live, self.0), // the thread got another buffer meanwhile
            false => {}
        }
    }
}

/// Removes a buffer from the list, before the writer frees it.
pub(super) fn forget(buffer: *mut ThreadBuffer) {
    LIVE.lock().remove(&Buffer(buffer));
}

/// Clears the variables of all threads, so that no thread finds its buffer any more. Returns the
/// buffers. Some threads may still be in the middle of a record.
pub fn hide_all() -> Hidden {
    let mut live = LIVE.lock();
    for finder in live.values() {
        if let Some(place) = finder.0 {
            // SAFETY: the address is that of the variable of a thread that has not ended. An ending
            // thread takes the lock first, and removes the address in `give_up`.
            unsafe { AtomicPtr::from_ptr(place) }.store(std::ptr::null_mut(), Ordering::SeqCst);
        }
    }
    Hidden(live.drain().map(|(buffer, _)| buffer).collect())
}

/// Buffers that no thread finds any more. They leak unless [`Self::free`] is called.
pub struct Hidden(Vec<Buffer>);

impl Hidden {
    /// Frees the buffers.
    ///
    /// # Safety
    /// No thread is in the middle of a record. There is no writer, so nobody uses a
    /// [`BufferHandle`](super::BufferHandle) of these buffers any more.
    pub unsafe fn free(self) {
        for Buffer(buffer) in self.0 {
            // SAFETY: `BufferHandle::share` made the address with `Box::into_raw`. `hide_all`
            // cleared the variables of all threads, and the caller promises that no thread uses an
            // address that it read before.
            drop(unsafe { Box::from_raw(buffer) });
        }
    }
}
