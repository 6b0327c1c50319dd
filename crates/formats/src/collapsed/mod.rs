//! Collapsed stacks (`.collapsed`, `.folded`), which flame graph tools read. jtrail writes them by
//! `jtrail-export`, and profilers such as async-profiler and `perf` by a script. This is the
//! decoder.
//!
//! UTF-8 text with a line for each call path, the outermost call first, and a number:
//!
//! ```text
//! com.acme.Main.main(String[]);com.acme.Shop.pay(Order, int) 120000
//! ```
//!
//! # Detection
//!
//! The first line that is not empty is text, and has a name, a blank, and a number. If it is longer
//! than 64 KiB, it has a semicolon.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | a line | aggregated calls of its path, one within the other |
//! | the number | self time of the innermost call, in ns |
//! | a first frame in brackets, before other frames: `[main]` | the thread |
//! | no such frame | the thread `all threads` |
//! | frame `com.acme.Shop.pay(Order, int)` | method `pay` of class `com.acme.Shop`, with `(Order, int)` as its signature |
//! | frame `com/acme/Shop.pay` | method `pay` of class `com.acme.Shop` |
//! | frame without a class, such as `start_thread` | a method of class `?`, which its name is shown without |
//! | number with a fraction | rounded down; counted |
//! | number above 2⁶³ − 1 | read as 2⁶³ − 1; counted |
//! | a line with a thread and no other frame | skipped, counted: it is what happened outside of calls |
//! | line without a number, or with a negative one | fault; skipped |
//! | bytes that are not UTF-8, NUL | replaced by U+FFFD; counted |
//! | line above 16 MiB | fault; skipped |
//! | more than 65,536 frames | fault; skipped |
//! | last line without `\n` | read |
//!
//! The format does not say what its numbers are. So they count as **nanoseconds**: those of jtrail
//! by self time are exact. If the numbers are samples, a sample counts as 1 ns. Then times have no
//! meaning, and shares of the total are right. The format does not count calls, either. Each path
//! counts as one call where it begins, so numbers of calls have no meaning.
//!
//! Consecutive lines share the calls that begin both paths. A path that occurs again later is read
//! as further calls. So memory grows with the number of distinct frames and the length of a line
//! only. The trace has no times.

mod decode;

pub(crate) use decode::{Decoder, Remarked, is_begin};

/// Name of the format in errors.
pub(crate) const FORMAT: &str = "collapsed";

#[cfg(test)]
mod tests;
