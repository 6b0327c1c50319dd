//! Where application threads record: chunks of memory, one at a time for each thread, handed to the
//! writer when full.

mod chunk;
mod exchange;
mod for_hooks;
mod gap;
pub(crate) mod live;
mod pool;
mod published;
pub(crate) mod record;
mod thread;
pub(crate) mod tls;

pub(crate) use chunk::{CHUNK_BYTES, Chunk};
pub(crate) use exchange::{Exchange, Full, Seen, WhenFull};
pub(crate) use pool::create as create_pool;
pub(crate) use thread::ThreadBuffer;
