//! The event model of jtrail: the content of a trace, independent of its format.
//!
//! Every format is an encoder and a decoder of [`Event`]. The agent's writer thread makes events
//! from raw records, and the command line makes them from files. Both hand them to the same
//! encoders. This crate does no input or output.
//!
//! The event types hold everything that at least one format can express. A format that can't
//! express an event or a field drops it and counts the loss.
//!
//! [`names`] keeps the names that a trace defines, for readers.

#![forbid(unsafe_code)]

mod by_number;
mod call_stack;
mod cost;
mod event;
mod grammar;
mod id;
mod method_ids;
pub mod names;
mod note;
pub mod text;
mod time;

pub use by_number::*;
pub use call_stack::*;
pub use cost::*;
pub use event::*;
pub use id::*;
pub use method_ids::*;
pub use note::*;
pub use time::*;
