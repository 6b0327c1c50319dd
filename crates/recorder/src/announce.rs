//! What the rest of the agent tells the writer besides records: buffers, and all else that [`Announcement`] has.

use crate::buffer::{ThreadBuffer, live};
use jtrail_records::Announcement;

/// A message on the announcements' channel.
pub enum Message {
    /// A thread began to record.
    Buffer(BufferHandle),
    /// Something that is to be known before records that use it.
    Told(Announcement),
}

/// A thread's buffer, shared between its thread and the writer, who frees it in the end.
pub struct BufferHandle(*mut ThreadBuffer);

// SAFETY: the pointee is `Sync`, and only the writer frees it.
unsafe impl Send for BufferHandle {}

impl BufferHandle {
    /// Shares a buffer: the handle for the writer, and the pointer for the recording thread, which may
    /// use it until it calls [`ThreadBuffer::finish`].
    pub fn share(buffer: Box<ThreadBuffer>) -> (Self, *mut ThreadBuffer) {
        let buffer = Box::into_raw(buffer);
        (Self(buffer), buffer)
    }

    /// The buffer.
    pub fn get(&self) -> &ThreadBuffer {
        // SAFETY: it lives until `free`, which consumes the handle.
        unsafe { &*self.0 }
    }

    /// Frees the buffer.
    ///
    /// # Safety
    /// Its thread has called [`ThreadBuffer::finish`].
    pub unsafe fn free(self) {
        live::forget(self.0);
        // SAFETY: made by `Box::into_raw`; the other user of the pointer is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
