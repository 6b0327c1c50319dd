//! Where application threads record: chunks of memory, one at a time for each thread, handed to the
//! writer when full.

mod chunk;
mod exchange;
mod gap;
mod line;
pub(crate) mod live;
mod pool;
mod published;
mod thread;
pub(crate) mod tls;

pub(crate) use chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
pub(crate) use exchange::{Exchange, Full, Seen, WhenFull};
pub(crate) use jtrail_records::record;
pub(crate) use line::Line;
#[cfg(test)]
pub(crate) use pool::Supply;
pub(crate) use pool::{Returns, create as create_pool, create_in as create_pool_in};
pub(crate) use thread::ThreadBuffer;
