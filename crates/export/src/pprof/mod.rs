//! Profiles of Go's pprof (`.pb.gz`): what `go tool pprof`, its web page and many profile stores
//! read.
//!
//! The file is gzip of one `Profile` message of `profile.proto`.
//!
//! | Module | Contents |
//! |---|---|
//! | `encoder` | the parts of the message |
//! | `functions` | methods as functions, with their names and source files |
//! | `wire` | field numbers |
//!
//! # Samples
//!
//! There is a sample for each thread and call path. Its locations are the path, the innermost call
//! first. Its values are those of the path's own calls, without their callees: tools add them up.
//! A sample has these labels:
//!
//! | Label | Value |
//! |---|---|
//! | `thread` | name of the thread; `thread-7` if it has none |
//! | `thread_id` | id of the thread in the trace, a number; virtual threads without a name are one, and have none |
//!
//! | Sample type | Unit | Value |
//! |---|---|---|
//! | `calls` | count | number of calls |
//! | `self` (the default) | nanoseconds | time without callees |
//! | `cpu` | nanoseconds | CPU time without callees |
//! | `alloc_objects` | count | number of allocated objects |
//! | `alloc_space` | bytes | bytes of allocated objects |
//! | `blocked` | nanoseconds | time blocked on monitors |
//! | `waiting` | nanoseconds | time in `Object.wait` and parked |
//!
//! A type that is 0 everywhere is left out, except `calls` and `self`. A path whose values are all
//! 0 has no sample. What a thread allocates outside of all recorded calls is in a function of its
//! own, `[outside of calls]`.
//!
//! The flat value of a method in `self` is its self time. The cumulative value is its total time:
//! a sample counts once for a method, even if the method is several times in its path.
//!
//! The time of calls that were recorded as sums is taken from their callers. If a thread called
//! their caller on one path, their own path continues it. Otherwise their path is unknown: it is a
//! function `(calls recorded as sums)` and their caller. The flat values are exact in either case.
//! A value is negative only if the trace lacks calls of the caller.
//!
//! A path has at most 1,024 calls. Calls within so many others are samples of these, of a function
//! `(deeper calls)`, and of their method. So the time of their callers lacks theirs from there on.
//!
//! # Functions
//!
//! Each method is a function with one location.
//!
//! | Field | Value |
//! |---|---|
//! | name | `com.acme.Shop.pay(Order, int)` |
//! | system name | `com.acme.Shop.pay(Lcom/acme/Order;I)V` |
//! | file name | `com/acme/Shop.java`; the class if its source file is unknown |
//! | start line, line of the location | the method's smallest source line; none if unknown |
//!
//! If several methods have the same readable name, their system names are their names. The system
//! name is empty if it equals the name, because tools would take it for a C++ name. All locations
//! are in one mapping, whose file name is the traced program.
//!
//! # The profile
//!
//! The time of the profile is that of its first slice or allocation, and the duration extends to
//! the last one. The comments are the marks of the trace, what the trace lacks, and which calls
//! were left out. The period is 1 nanosecond of self time: nothing was sampled.

mod encoder;
mod functions;
mod wire;

use crate::profile::{Profile, WriteProfile};
use encoder::Encoder;
use jtrail_model::names::Names;

/// Writes profiles of pprof.
#[derive(Debug)]
pub(crate) struct Writer;

impl WriteProfile for Writer {
    fn write(&mut self, profile: Profile, names: &Names, out: &mut Vec<u8>) {
        let mut encoder = Encoder::new(&profile, names, out);
        encoder.write_head();
        encoder.write_samples();
        encoder.finish();
    }
}

#[cfg(test)]
mod tests;
