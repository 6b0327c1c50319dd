//! Buffers of application threads. A thread fills one chunk of memory at a time and hands full
//! chunks to the writer.

mod exchange;
mod gap;
mod handle;
pub mod live;
mod own;
mod pool;
mod thread;
pub mod tls;

pub use crate::cache_line::CacheLine;
pub use crate::chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
pub use exchange::{BufferView, Exchange, Full, WhenFull};
pub use handle::BufferHandle;
pub use jtrail_records::record;
pub use own::{LentBuffer, OwnBuffer, OwnPending};
pub use pool::{Returns, Supply, create as create_pool, create_in as create_pool_in};
pub use thread::ThreadBuffer;
