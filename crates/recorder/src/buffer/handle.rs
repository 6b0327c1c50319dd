//! The writer's handle of a thread's buffer.

use super::live;
use super::thread::ThreadBuffer;

/// A thread's buffer, shared between its thread and the writer. The writer frees it in the end.
pub struct BufferHandle(*mut ThreadBuffer);

// SAFETY: `ThreadBuffer` is `Sync`, so the writer may look at it while its thread records. There is
// one handle for each buffer, and `free` consumes it.
unsafe impl Send for BufferHandle {}

impl BufferHandle {
    /// Shares a buffer. Returns the handle for the writer, and the pointer for the recording
    /// thread, which may use it until it calls [`ThreadBuffer::finish`].
    pub fn share(buffer: Box<ThreadBuffer>) -> (Self, *mut ThreadBuffer) {
        let buffer = Box::into_raw(buffer);
        (Self(buffer), buffer)
    }

    /// Returns the buffer.
    pub fn get(&self) -> &ThreadBuffer {
        // SAFETY: `share` made the address from a box. The buffer is freed by `free`, which
        // consumes the handle, or by `Hidden::free`, whose caller promises that no handle is used
        // any more.
        unsafe { &*self.0 }
    }

    /// Frees the buffer.
    ///
    /// # Safety
    /// The buffer's thread has called [`ThreadBuffer::finish`].
    pub unsafe fn free(self) {
        live::forget(self.0);
        // SAFETY: `share` made the address with `Box::into_raw`. The caller promises that the
        // buffer's thread has finished, so this handle is the last reference.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
