//! The spool: records and definitions that are not written to the trace yet, in files that outlive
//! the process.
//!
//! The agent records into a mapped file, whose contents remain when the process is killed. A folder
//! beside the trace, named like the trace with `.spool` appended, holds these files:
//!
//! | File | Contents |
//! |---|---|
//! | `memory` | lines and chunks of all threads (see [`layout`]). The agent holds a lock on it |
//! | `definitions` | all [definitions](crate::Definition), in the order in which the writer receives them |
//! | `named` | the ids that classes and methods got in the trace |
//! | `state-0`, `state-1` | in turn, how far the trace is written: [`State`] |
//!
//! The writer *commits* at intervals. First, it writes all records that it has read to the trace.
//! Then it writes a new state, and marks the state as valid in `memory`. Only then does it give
//! back the chunks that it has read. So two parts together hold everything that was recorded, and
//! nothing twice: the trace up to the length in the state, and the chunks after the positions in
//! the state. With a flight recorder (`overflow=ring`), no trace is written. In this case, the
//! state says what a trace would begin with, and the folder has the name of the next trace. No data
//! has to reach the disk for that, because the system keeps what a killed process has written.
//!
//! The entries of `definitions` and `named`, and the states, are *frames*: the length and the
//! CRC-32C of the contents (4 bytes each, little-endian), followed by the contents, encoded with
//! [`postcard`].

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

/// Suffix that the folder's name adds to that of the trace.
pub const SPOOL: &str = ".spool";
/// Name of the mapped file.
pub const MEMORY: &str = "memory";
/// Name of the file with all definitions.
pub const DEFINITIONS: &str = "definitions";
/// Name of the file with all ids.
pub const NAMED: &str = "named";

/// Returns the name of the file for the state with that number.
pub fn state_name(number: u64) -> &'static str {
    match number % 2 {
        0 => "state-0",
        _ => "state-1",
    }
}

/// Returns the path of the spool folder of a trace.
pub fn folder_of(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace.as_os_str());
    name.push(SPOOL);
    name.into()
}
