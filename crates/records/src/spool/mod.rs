//! The spool: what is recorded and not written yet, in files that outlive the process.
//!
//! The agent records into memory that is a file as well, so what is in it is there when the process
//! is killed. A folder beside the trace, which has its name with `.spool` behind, holds
//!
//! | File | What |
//! |---|---|
//! | `memory` | lines and chunks of all threads, as [`layout`] says. The agent holds a lock on it |
//! | `defined` | all [announcements](crate::Announcement), in the order in which the writer gets them |
//! | `named` | the ids that classes and methods got in the trace |
//! | `state-0`, `state-1` | in turn, how far the trace is written: [`State`] |
//!
//! The writer *commits* every so often: it writes all that it has read to the trace, then a new
//! state, says in `memory` which one counts, and only then gives the chunks back that it has read.
//! So the trace up to the length that the state says, and what the chunks hold behind the places
//! that it says, are all that was recorded, and nothing is there twice. Where the buffers keep the
//! newest events (`overflow=ring`), no trace is written; the state says what one would begin with,
//! and the folder has the name of the next one. No data has to reach the disk for that: the system
//! keeps what a killed process has written.
//!
//! Records of `defined` and `named`, and the states, are *frames*: length and CRC-32C of what
//! follows (4 bytes each, little-endian), and so many bytes of [`postcard`].

mod bounds;
mod frame;
pub mod layout;
mod state;
mod tail;

pub use frame::frame;
pub use state::{BufferState, State, TraceState};
pub use tail::{Spool, SpoolError, Tail};

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the folder's name has behind that of the trace.
pub const SPOOL: &str = ".spool";
/// Name of the file that is mapped.
pub const MEMORY: &str = "memory";
/// Name of the file with all announcements.
pub const DEFINITIONS: &str = "definitions";
/// Name of the file with all ids.
pub const NAMED: &str = "named";

/// Name of the file with the state of that number.
pub fn state_name(number: u64) -> &'static str {
    match number % 2 {
        0 => "state-0",
        _ => "state-1",
    }
}

/// The spool of a trace.
pub fn folder_of(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace.as_os_str());
    name.push(SPOOL);
    name.into()
}
