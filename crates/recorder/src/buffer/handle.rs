//! The writer's share of a thread's buffer.

use super::live;
use super::thread::ThreadBuffer;

/// A thread's buffer, shared between its thread and the writer, which frees it in the end.
pub struct BufferHandle(*mut ThreadBuffer);

// SAFETY: `ThreadBuffer` is `Sync`, so the writer may look at it while its thread records; `free`
// consumes the handle, of which there is one for each buffer.
unsafe impl Send for BufferHandle {}

impl BufferHandle {
    /// Shares a buffer: the handle for the writer, and the pointer for the recording thread, which
    /// may use it until it calls [`ThreadBuffer::finish`].
    pub fn share(buffer: Box<ThreadBuffer>) -> (Self, *mut ThreadBuffer) {
        let buffer = Box::into_raw(buffer);
        (Self(buffer), buffer)
    }

    /// The buffer.
    pub fn get(&self) -> &ThreadBuffer {
        // SAFETY: `share` made the address. The buffer is freed by `free`, which consumes the
        // handle, or by `Hidden::free`, whose caller promises that no handle is used any more.
        unsafe { &*self.0 }
    }

    /// Frees the buffer.
    ///
    /// # Safety
    /// Its thread has called [`ThreadBuffer::finish`].
    pub unsafe fn free(self) {
        live::forget(self.0);
        // SAFETY: `share` made the address with `Box::into_raw`. The buffer's thread has finished,
        // so the handle, which ends here, is the last that knows it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
