//! The agent's options: keys, values, filters.
//!
//! Pure parsing: text in, [`Options`] or one [`OptionError`] out. Files that the options name are
//! read by a function of the caller's, usually [`read_file`]. The agent and the command line both
//! use this crate, so both take the same options and report the same errors.
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
//! care. Each key comes at most once, unless it is repeatable. [`keys`] lists them; `help` alone
//! answers with that list. Empty text means: everything at its default.
//!
//! Text that begins with `JPIAgent` is read in the spelling of the TPTP agent instead
//! (`JPIAgent:server=standalone,file=app.trcxml;CGProf:execdetails=true`).
//!
//! | Module | Holds |
//! |---|---|
//! | `key` | what a key is: what is said about it, and what it does |
//! | `keys` | the table of keys, in a file for each subject |
//! | `value` | enumerated values, booleans, numbers, sizes, times |
//! | `set` | sets of words: events, moments of heap snapshots |
//! | `item` | text to key and value |
//! | `pattern`, `filter` | class and method patterns; which method is traced |
//! | `burst` | when something is recorded, and for how long |
//! | `format` | what each format of a trace has a place for |
//! | `file` | the output file's name and its `%` letters |
//! | `options` | the result: what the agent shall do |
//! | `parse` | the parser of our own spelling |
//! | `builder` | options while they are read, whatever the spelling |
//! | `checks` | which options go together |
//! | `socket` | where clients find the agent |
//! | `change` | the options of another trace |
//! | `tptp` | the TPTP spelling, filter file and options file |
//! | `error` | the one line that says what is wrong |

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
    Priority, Server, Trivial, duration_text, parse_duration, parse_nanos, parse_size, size_text,
};

use std::fs::File;
use std::io::{self, Read};

/// Size of the largest file of rules or options that is read, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Reads a file that the options name: the `read_file` of [`parse`] in programs.
///
/// # Errors
/// If the file can't be read, is no UTF-8, or is larger than 16 MiB: a device may have no end.
pub fn read_file(path: &str) -> io::Result<String> {
    let mut text = String::new();
    let size = File::open(path)?
        .take(LARGEST_FILE + 1)
        .read_to_string(&mut text)?;
    if size as u64 > LARGEST_FILE {
        let message = format!("it is larger than {LARGEST_FILE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Reads the agent's option text.
///
/// `read_file` reads the files that the text names (`filters`, `options`).
///
/// # Errors
/// The first thing that is wrong. [`OptionError::may_continue`] says whether the program shall
/// go on without a trace.
pub fn parse(
    text: &str,
    read_file: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Options, OptionError> {
    if tptp::is_tptp(text) {
        // Its specification lets the program run without collection after any error.
        return tptp::parse(text, read_file).map_err(|e| e.with_continue(true));
    }
    // Plain search, because the wrong option may be one that upsets the splitting of the rest.
    let requested = text
        .split(',')
        .any(|o| o == "onerror=continue" || o == "onerror=\"continue\"");
    parse::parse(text, read_file).map_err(|e| e.with_continue(requested))
}
