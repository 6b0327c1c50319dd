//! The writer: one thread that reads full and published chunks, merges them by time, and writes the
//! trace.
//!
//! Application threads only wait for it when no chunk is empty. It touches no Java object and is
//! not attached to the JVM, so no safepoint waits for it. It knows neither the JVM nor the agent:
//! what it needs of them comes by [`Program`], and what they want to know goes by [`Observer`].
//!
//! | Module | Holds |
//! |---|---|
//! | `writer`, `action`, `setup`, `progress`, `program` | what the agent sees of it |
//! | `command`, `work` | what its thread is asked for, and does |
//! | `stream`, `merge` | the records of a buffer in order, and those of all buffers |
//! | `compilations`, `windows` | what has its place between records: compiled code, bursts |
//! | `format`, `preamble`, `losses` | the encoder, what opens a trace, and what it has no place for |
//! | `helpers`, `ahead` | threads that do some of the encoder's work, and follow calls before the merge comes to them |
//! | `output`, `names`, `files` | where the bytes go |

mod action;
mod ahead;
mod command;
mod compilations;
mod files;
mod format;
mod helpers;
mod losses;
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
mod work;
mod writer;

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
