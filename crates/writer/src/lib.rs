//! The writer: a thread that reads full chunks and published records, merges them by time, and
//! writes the trace.
//!
//! Application threads wait for the writer only when no chunk is empty. The writer accesses no Java
//! objects and is not attached to the JVM, so no safepoint waits for it. The crate does not depend
//! on the JVM or on the agent. The writer gets data of the traced program through [`Program`], and
//! notifies the agent through [`Observer`].
//!
//! | Module | Holds |
//! |---|---|
//! | `writer`, `action`, `setup`, `progress`, `program` | the interface of the writer |
//! | `command`, `writer_thread` | commands to the writer's thread, and what the thread does |
//! | `stream`, `merge` | the records of one buffer in order, and those of all buffers |
//! | `compilations`, `windows` | compiled code and bursts, which are ordered among the records by time |
//! | `format`, `preamble`, `dropped` | the encoder, the opening of a trace, and what its format has no field for |
//! | `helpers`, `ahead` | threads that do some of the encoder's work, and that follow calls before the merge reaches them |
//! | `output`, `names`, `files` | files and other outputs |

mod action;
mod ahead;
mod command;
mod compilations;
mod dropped;
mod files;
mod format;
mod helpers;
mod merge;
mod names;
mod output;
mod preamble;
mod program;
mod progress;
mod setup;
mod stream;
#[cfg(test)]
mod tests;
mod windows;
mod writer;
mod writer_thread;

pub use action::{Acted, Action, Burst, Handshake, Meeting, NextTrace, SaveReason};
pub use command::FirstTrace;
pub use format::has_notes;
pub use names::Names;
pub use output::{Output, part};
pub use preamble::hostname;
pub use program::{Observer, Program};
pub use progress::{Progress, RingState, Saved};
pub use setup::{Clocks, Input, Setup, Target};
pub use writer::Writer;
