//! The event model of jtrail: what a trace says, in whatever format it is written.
//!
//! Every format is an encoder and a decoder of [`Event`]. The agent's writer thread makes events
//! from raw records, the command line makes them from files, and both hand them to the same
//! encoders. This crate does no input or output.
//!
//! A format that can't hold an event or a field drops it and counts the loss; the event types here
//! hold what at least one format can say.

#![forbid(unsafe_code)]

mod by_number;
mod call_stack;
mod cost;
mod event;
mod grammar;
mod id;
mod method_ids;
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
