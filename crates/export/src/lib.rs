//! Traces in the formats of other tools.
//!
//! A **target** is such a format. It is written and not read, and holds what its tool can show.
//! Each target is a folder whose `mod.rs` begins with the specification of what is written.
//!
//! | Module | Contents |
//! |---|---|
//! | `target` | the targets, their names and extensions |
//! | `filter` | which calls are exported |
//! | `timeline` | turns events into what happens on a time line |
//! | `slices` | calls and waits as nested slices of their threads |
//! | `sink` | the interface of targets that show a time line |
//! | `dropped` | counts of what a target has no place for |
//! | `weights` | what the calls of call paths took |
//! | `profile` | sums by thread and call path, for targets that show a profile |
//! | `survey` | counts of calls and waits, to find out which part of a trace fits a target |
//! | `protobuf` | the encoding of protocol buffers, which several targets share |
//! | `json` | JSON text, which several targets share |
//! | `perfetto`, `chrome`, `speedscope`, `firefox`, `jfr`, `collapsed`, `flame`, `pprof`, `otlp` | the targets |

#![forbid(unsafe_code)]

#[cfg(test)]
mod any_events;
mod chrome;
mod collapsed;
mod dropped;
mod filter;
mod firefox;
mod flame;
mod jfr;
mod json;
mod otlp;
mod per_thread;
mod perfetto;
mod pprof;
mod profile;
mod protobuf;
mod sink;
mod slices;
mod speedscope;
mod survey;
mod target;
#[cfg(test)]
mod testing;
mod timeline;
mod weights;

pub use collapsed::Weight;
pub use filter::{CallFilter, MethodFilter, left_out};
pub use flame::{Base, BaseEncoder};
pub use otlp::{Format as OtlpFormat, body_len as otlp_body_len};
pub use survey::Survey;
pub use target::{Ceiling, Export, Options, Target};
pub use timeline::UNMATCHED;
