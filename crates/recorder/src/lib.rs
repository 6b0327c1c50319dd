//! The recorder: where application threads leave what happened, without a lock, for the writer to
//! read.
//!
//! A thread has a [`buffer::ThreadBuffer`], which it finds without a call ([`buffer::tls`]). It
//! fills one chunk of the pool after another with records ([`jtrail_records::record`]) and hands
//! each over when it is full; the writer also reads what is published of the chunk that is being
//! filled. Nothing here knows the JVM.
//!
//! | Module | Holds |
//! |---|---|
//! | [`message`] | what the writer gets besides records |
//! | [`buffer`] | the buffer of a thread, the pool of chunks, and how threads find their buffers |
//! | `chunk`, `line`, `published` | what a thread and the writer share: records, and how far they go |
//! | [`clock`], [`ticks`] | time stamps: exact ones, and the coarse clock that compiled hooks read |
//! | [`cost`] | what recording takes |
//! | [`spool`] | buffers that outlive the process |
//! | [`bursts`] | when recording begins and ends by itself |
//! | [`pending`] | objects whose constructor has not come to that of `Object` yet |
//! | [`memory`] | memory from the system |

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
