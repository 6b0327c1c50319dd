//! The recorder: application threads store events here without a lock, and the writer reads them.
//!
//! Each thread has a [`buffer::ThreadBuffer`], which it finds without a function call
//! ([`buffer::tls`]). The thread fills chunks of the pool with records
//! ([`jtrail_records::record`]), one chunk after the other, and hands each full chunk to the
//! writer. The writer also reads the published part of the chunk that is being filled. Nothing in
//! this crate depends on the JVM.
//!
//! | Module | Holds |
//! |---|---|
//! | [`message`] | what the writer receives besides records |
//! | [`buffer`] | the buffer of a thread, the pool of chunks, and how threads find their buffers |
//! | `chunk`, `cache_line`, `published` | memory that a thread shares with the writer: records, and how many are stored |
//! | [`clock`], [`ticks`] | time stamps: exact ones, and the coarse clock that compiled hooks read |
//! | [`cost`] | the time that recording takes |
//! | [`spool`] | buffers that outlive the process |
//! | [`bursts`] | triggers that begin bursts, and the gate that is open during a burst |
//! | [`pending`] | objects whose constructor has not called the constructor of `Object` yet |
//! | [`memory`] | memory from the operating system |

pub mod buffer;
pub mod bursts;
mod cache_line;
mod chunk;
pub mod clock;
pub mod cost;
pub mod memory;
pub mod message;
pub mod pending;
mod published;
pub mod spool;
pub mod ticks;
