//! The agent's options: keys, values, filters.
//!
//! The crate only parses: it turns text into [`Options`] or one [`OptionError`]. The options may
//! name files. The caller provides a function that reads them, usually [`read_file`]. The agent and
//! the command line both use this crate, so both accept the same options and report the same
//! errors.
//!
//! # Grammar
//!
//! ```text
//! options = "" | option *( "," option )
//! option  = key "=" value
//! value   = plain | quoted
//! plain   = text up to the next comma; "\," stands for a comma and "\\" for a backslash
//! quoted  = '"' text '"' with "\"" and "\\" for a quotation mark and a backslash
//! ```
//!
//! A backslash before any other character stands for itself, so `file=C:\tmp\app.trcbin` needs no
//! escaping. Each key may be given once, unless it is repeatable. [`keys`] lists the keys; `help`
//! alone returns this list. Empty text means that every option has its default.
//!
//! Text that begins with `JPIAgent` is read in the spelling of the TPTP agent instead
//! (`JPIAgent:server=standalone,file=app.trcxml;CGProf:execdetails=true`).
//!
//! | Module | Holds |
//! |---|---|
//! | `key` | definition of a key: its description and its effect |
//! | `keys` | the table of keys, one file per subject |
//! | `value` | enumerated values, booleans, numbers, sizes, times |
//! | `set` | sets of words: events, moments of heap snapshots |
//! | `item` | splits the text into keys and values |
//! | `pattern`, `filter` | class and method patterns; which methods are traced |
//! | `burst` | when a burst is recorded, and for how long |
//! | `format` | what each format supports |
//! | `file` | the output file's name and its `%` letters |
//! | `options` | the result: the settings of the agent |
//! | `parse` | the parser of our own spelling |
//! | `builder` | options while they are read, in either spelling |
//! | `checks` | which options go together |
//! | `socket` | where clients find the agent |
//! | `change` | options of a further trace |
//! | `tptp` | the TPTP spelling, filter file and options file |
//! | `error` | the one-line error |

#![forbid(unsafe_code)]

mod builder;
mod burst;
mod change;
mod checks;
mod error;
mod file;
mod filter;
mod format;
mod item;
mod key;
mod keys;
mod options;
mod parse;
mod pattern;
mod set;
mod socket;
mod tptp;
mod value;

pub use burst::{Burst, BurstLimit, Trigger};
pub use change::TraceChange;
pub use error::OptionError;
pub use file::{FilePattern, Target};
pub use filter::{ClassVerdict, Filter, Rule};
pub use item::escape;
pub use key::{Key, Subject};
pub use keys::{SUBJECTS, find, help, keys, renamed};
pub use options::Options;
pub use pattern::Pattern;
pub use set::{Events, HeapMoments, SaveMoments};
pub use socket::Control;
pub use value::{
    AllocMode, AtMaxSize, Clock, Compat, Engine, MlpdVersion, OnError, OutputFormat, Overflow,
    Priority, Server, Trivial, Weight, duration_text, parse_duration, parse_nanos, parse_size,
    size_text,
};

use std::fs::File;
use std::io::{self, Read};

/// Maximum size in bytes of a file with rules or options.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Reads a file that the options name. Programs pass this function to [`parse`] as `read_file`.
///
/// # Errors
/// If the file can't be read, is not UTF-8, or is larger than 16 MiB. The limit also ends the
/// reading of an endless device.
pub fn read_file(path: &str) -> io::Result<String> {
    let mut text = String::new();
    let size = File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if size as u64 > MAX_FILE_BYTES {
        let message = format!("it is larger than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Reads the agent's option text.
///
/// `read_file` reads the files that the keys `filters` and `options` name.
///
/// # Errors
/// Returns the first error in the text. [`OptionError::may_continue`] says whether the program
/// should continue without a trace.
pub fn parse(
    text: &str,
    read_file: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Options, OptionError> {
    if tptp::is_tptp(text) {
        // TPTP's specification lets the program run without a trace after any error.
        return tptp::parse(text, read_file).map_err(|e| e.with_continue(true));
    }
    // This is a plain text search: because of the wrong option, the rest may not be split
    // correctly.
    let requested = text
        .split(',')
        .any(|o| o == "onerror=continue" || o == "onerror=\"continue\"");
    parse::parse(text, read_file).map_err(|e| e.with_continue(requested))
}
