//! Messages that the agent sends to the writer besides records: new buffers and every
//! [`Definition`].

pub use crate::buffer::BufferHandle;
use jtrail_records::Definition;

/// A message on the definitions' channel.
pub enum Message {
    /// A thread began to record.
    Buffer(BufferHandle),
    /// A definition, which the writer must receive before the records that refer to it.
    Define(Definition),
}
