//! What the rest of the agent tells the writer besides records: buffers, and all else that
//! [`Definition`] has.

pub use crate::buffer::BufferHandle;
use jtrail_records::Definition;

/// A message on the announcements' channel.
pub enum Message {
    /// A thread began to record.
    Buffer(BufferHandle),
    /// Something that is to be known before records that use it.
    Define(Definition),
}
