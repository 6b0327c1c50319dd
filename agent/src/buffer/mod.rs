//! Where application threads record: chunks of memory, one at a time for each thread, handed to the
//! writer when full.

mod chunk;
mod exchange;
mod gap;
mod line;
pub(crate) mod live;
mod pool;
mod published;
pub(crate) mod record;
mod thread;
pub(crate) mod tls;

#[cfg(test)]
pub(crate) use chunk::CHUNK_BYTES;
pub(crate) use chunk::Chunk;
pub(crate) use exchange::{Exchange, Full, Seen, WhenFull};
pub(crate) use line::Line;
pub(crate) use pool::{Returns, create as create_pool};
pub(crate) use thread::ThreadBuffer;
