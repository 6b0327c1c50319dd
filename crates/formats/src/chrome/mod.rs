//! Trace events of Chrome (`.json`), which many tools write and viewers such as Perfetto read. This
//! is the decoder.
//!
//! | Module | Contents |
//! |---|---|
//! | `decode` | the decoder: the parts of the document |
//! | `scan` | the ends of JSON values |
//! | `record` | a single trace event |
//! | `nest` | begins and ends of a thread's slices |
//! | `threads` | the threads, and their calls in the order of time |
//!
//! # Document
//!
//! JSON in UTF-8: an array of trace events, or an object whose key `traceEvents` has such an array.
//! The `]` at the end of an array without an object may be missing. Fields of a trace event:
//!
//! | Field | Contents |
//! |---|---|
//! | `ph` | the type: `B` begin, `E` end, `X` a whole slice, `M` metadata |
//! | `name` | name of the slice; optional in `E` |
//! | `ts`, `dur` | time and length in µs, with fractions |
//! | `pid`, `tid` | process and thread: numbers or texts |
//! | `args` | of metadata: the `name` of a `process_name` or `thread_name` |
//!
//! # Detection
//!
//! The file begins with `[` and an object or `]`, or with `{` and a key or `}`. A document without
//! `traceEvents` is refused.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | `B`, `E`, `X` | a call that begins, ends, or both. The name is read as in collapsed stacks: class, method, signature |
//! | `thread_name` | name of the thread, the last one if there are several; else its `tid` |
//! | `process_name` | group of the process's threads |
//! | times | rounded down to ns; above 2⁶³ − 1 ns they are clamped |
//! | numbers as texts | read |
//! | other types, such as counters, instants and flows | skipped, counted by type |
//! | no `ph`, `ts` or `name`; an `X` without `dur`; what is no object | fault; skipped |
//! | lone surrogates in names | kept as escapes: the six characters `\ud800` |
//! | a `dur` below 0 | read as 0; counted |
//! | `E` without an open begin of its name | skipped, counted |
//! | slices that overlap, and do not nest | the inner one ends with the outer one; counted |
//! | `B` without an `E` | the call is open at the end of its thread, or ends with the slice around it |
//! | text that is not UTF-8 | replaced by U+FFFD; counted |
//! | what is no JSON | fault; nothing after it is read |
//! | no end of the document | truncated |
//!
//! # Order
//!
//! The events of a file are in any order. So they are kept in memory until the end of the file, 24
//! bytes each, and are then sorted by time. Events of one thread at one time stay in the order of
//! the file, except for slices `X`: the longest one is the outermost. The calls of all threads are
//! returned in the order of time.

mod decode;
mod nest;
mod record;
mod scan;
mod threads;

pub(crate) use decode::{Decoder, Remarked, is_begin};

/// Name of the format in errors.
pub(crate) const FORMAT: &str = "chrome";

#[cfg(test)]
mod tests;
